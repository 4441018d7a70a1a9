"""How the page looks: one column on a phone, a table-like ladder on a wide screen, light, dark and on paper."""

from __future__ import annotations

from conda_llmenv.page.markup import Markup

CSS = Markup("""
:root { color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #dde1e7; --text: #1b1f26; --quiet: #58606d; --code: #f0f2f5;
  --link: #0b57c4;
  --pass: #1a7f37; --warn: #8a5a00; --fail: #c4232f; --skip: #626b78; --error: #8b3bb8;
  --pass-tint: #e9f6ec; --warn-tint: #fdf4dc; --fail-tint: #fdecec; --skip-tint: #f0f2f5; --error-tint: #f6ecfb;
  --on-mark: #ffffff; --track: #e9ecf1; --now: #2563c9; --range: #93a4c0; --median: #1b1f26; }
@media (prefers-color-scheme: dark) { :root {
  --page: #0f1217; --card: #181c23; --line: #2d333d; --text: #e7eaf0; --quiet: #a3acb9; --code: #10141a;
  --link: #84b4ff;
  --pass: #58c774; --warn: #e8b54a; --fail: #ff8088; --skip: #a3acb9; --error: #d59bf5;
  --pass-tint: #15261b; --warn-tint: #2b2413; --fail-tint: #2f181b; --skip-tint: #1f242c; --error-tint: #281b30;
  --on-mark: #0f1217; --track: #262c35; --now: #6ea5ff; --range: #5d6c88; --median: #f4f6fa; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
h1, h2, h3, h4, p, ul, ol, dl, dd, pre { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h1 { font-size: clamp(1.375rem, 1rem + 1.9vw, 2rem); line-height: 1.25; letter-spacing: -0.01em; text-wrap: pretty; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.25rem 0 0.75rem; }
h3 { font-size: 1.0625rem; }
h4 { font-size: 1rem; font-weight: 600; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.sentence, .told p, .told h4, h1, dd { unicode-bidi: isolate; }
.quiet, .kicker, footer, .took, dt, .bars .compared, .label, summary { color: var(--quiet); font-size: 0.9375rem; }
pre { white-space: pre-wrap; padding: 0.625rem 0.75rem; background: var(--code); border: 1px solid var(--line);
  border-radius: 6px; }
pre, code { font: 0.9375rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }

header { padding: 1rem; background: var(--card); border: 1px solid var(--line);
  border-top: 6px solid var(--skip); border-radius: 10px; }
header.pass { border-top-color: var(--pass); } header.warn { border-top-color: var(--warn); }
header.fail { border-top-color: var(--fail); } header.error { border-top-color: var(--error); }
.verdict { display: flex; gap: 0.75rem; align-items: flex-start; margin: 0.5rem 0 0.75rem; }
.verdict .mark { width: 2rem; height: 2rem; margin-top: 0.125rem; }
.mark { flex: none; vertical-align: middle; }
.mark circle { fill: currentColor; }
.mark path { fill: none; stroke: var(--on-mark); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.mark.pass, .badge.pass, .tally .pass { color: var(--pass); }
.mark.warn, .badge.warn, .tally .warn { color: var(--warn); }
.mark.fail, .badge.fail, .tally .fail { color: var(--fail); }
.mark.skip, .badge.skip, .tally .skip { color: var(--skip); }
.mark.error, .badge.error, .tally .error { color: var(--error); }
.badge, .tally li { display: inline-flex; gap: 0.375rem; align-items: center; font-weight: 600;
  font-size: 0.9375rem; white-space: nowrap; }
.tally { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; }
header .tally { margin-bottom: 0.375rem; }
.rungs ol { display: flex; flex-wrap: wrap; gap: 0.375rem; margin-top: 1rem; }
.rungs a { display: flex; gap: 0.375rem; align-items: center; padding: 0.25rem 0.625rem 0.25rem 0.375rem;
  color: var(--quiet);
  font-size: 0.9375rem; text-decoration: none; background: var(--page); border: 1px solid var(--line);
  border-radius: 999px; }
.rungs a:hover { border-color: var(--quiet); }
.rungs b { color: var(--text); }

.trouble { padding: 1rem 1.25rem; margin-bottom: 0.75rem; background: var(--skip-tint); border: 1px solid var(--line);
  border-left: 5px solid var(--skip); border-radius: 8px; }
.trouble.fail { background: var(--fail-tint); border-left-color: var(--fail); }
.trouble.error { background: var(--error-tint); border-left-color: var(--error); }
.trouble.warn { background: var(--warn-tint); border-left-color: var(--warn); }
.trouble h3 { display: flex; flex-wrap: wrap; gap: 0.125rem 0.75rem; align-items: center; }
.trouble h3 a { color: inherit; }
.trouble .sentence { margin-top: 0.375rem; font-size: 1.0625rem; }
.fix-head { margin-top: 0.625rem; font-weight: 600; font-size: 0.9375rem; }
.trouble .fix, details .fix { margin-top: 0.25rem; background: var(--card); color: var(--text); }

.group { margin-bottom: 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  overflow: hidden; }
.group-head { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; align-items: center;
  justify-content: space-between;
  padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--line); }
.result { display: grid; grid-template-columns: 1fr auto; gap: 0.25rem 1rem; padding: 0.75rem 1.25rem;
  border-bottom: 1px solid var(--line); }
.result:last-child { border-bottom: 0; }
.result:target { background: var(--code); }
.result.fail { background: var(--fail-tint); } .result.error { background: var(--error-tint); }
.result.warn { background: var(--warn-tint); }
.told { grid-column: 1 / -1; grid-row: 2; min-width: 0; }
.told p { color: var(--quiet); }
.told code { margin-left: 0.25rem; color: var(--quiet); font-weight: 400; }
.took { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
dl.compared { display: flex; flex-wrap: wrap; gap: 0 1.5rem; margin-top: 0.25rem; }
dl.compared div { display: flex; flex-wrap: wrap; gap: 0 0.5rem; align-items: baseline; min-width: 0; }
dl.compared dd { font-variant-numeric: tabular-nums; font-weight: 600; white-space: pre-wrap; }
details { margin-top: 0.375rem; }
summary { display: inline-block; padding: 0.25rem 0; cursor: pointer; }
summary::before { content: "\\25B8\\00A0"; }
[open] > summary::before { content: "\\25BE\\00A0"; }

#baseline, #machine, #versions, #run { padding: 0.25rem 1.25rem 1.25rem; margin-top: 1rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; }
#baseline h2, #machine h2, #versions h2, #run h2 { margin-top: 0.875rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; font-size: 0.9375rem; color: var(--quiet); }
.legend li { display: flex; gap: 0.5rem; align-items: center; }
.sample { width: 1.5rem; height: 0.5rem; background: var(--now); border-radius: 2px; }
.sample.range { height: 1rem; background: var(--range); }
.sample.median { width: 0; height: 1.25rem; background: none; border-left: 3px solid var(--median);
  border-radius: 0; }
#baseline h3 { margin: 1.25rem 0 0.5rem; }
.bars li { display: grid; grid-template-columns: 1fr auto; gap: 0.125rem 1rem; align-items: center;
  padding: 0.5rem 0; }
.bars li + li { border-top: 1px solid var(--line); }
.bars b { color: var(--text); font-weight: 600; font-size: 1rem; }
.bars .value { font-weight: 700; font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.bars svg, .bars .compared { grid-column: 1 / -1; }
.bars svg { display: block; width: 100%; }
.track { fill: var(--track); } .range { fill: var(--range); } .now { fill: var(--now); }
.median { stroke: var(--median); stroke-width: 3; }
.facts div { display: grid; gap: 0 1rem; padding: 0.375rem 0; border-bottom: 1px solid var(--line); }
.facts dd { white-space: pre-wrap; min-width: 0; }
#machine ul { margin-top: 0.75rem; color: var(--warn); }
footer { padding: 1.5rem 0 0.5rem; }

@media (min-width: 44rem) {
  body { padding: 2rem 1.5rem; }
  header { padding: 1.75rem 2rem; }
  .result { grid-template-columns: 10.5rem 1fr auto; align-items: start; }
  .told { grid-column: 2; grid-row: 1; }
  .facts div { grid-template-columns: 9rem 1fr; }
  .facts { columns: 2; column-gap: 3rem; }
  .facts div { break-inside: avoid; }
  .bars li { grid-template-columns: minmax(8rem, 1fr) 2fr 8rem; }
  .bars svg { grid-column: 2; grid-row: 1; }
  .bars .value { grid-column: 3; grid-row: 1; }
  .bars .compared { grid-column: 2 / -1; }
}
@media print {
  body { padding: 0; max-width: none; background: none; font-size: 11pt; }
  header, .group, .trouble, #baseline, #machine, #versions, #run { break-inside: auto; border-radius: 0; }
  .result, .trouble, .bars li { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .rungs { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
""")
"""The style sheet; colours are defined twice, for light and for dark, and nothing below them names one."""
