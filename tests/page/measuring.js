// Looks at the page in the frame, with everything unfolded, and leaves what it sees as JSON in #measured.
addEventListener("load", () => {
  const { contentDocument: page, contentWindow: view } = document.querySelector("iframe");
  for (const fold of page.querySelectorAll("details")) fold.open = true;

  const all = [...page.body.querySelectorAll("*")];
  const visible = all.filter((node) => node.checkVisibility());
  const told = visible.filter((node) =>
    [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()) && !node.closest("svg"));
  const name = (node) => `${node.tagName.toLowerCase()}.${node.className.baseVal ?? node.className}: ${node.textContent.slice(0, 40)}`;

  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = channels(colour).slice(0, 3).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const opaque = (colour) => (channels(colour)[3] ?? 1) > 0;
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = view.getComputedStyle(at).backgroundColor;
      if (opaque(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (node) => {
    const [light, dark] = [view.getComputedStyle(node).color, behind(node)].map(luminance).sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const size = (node) => parseFloat(view.getComputedStyle(node).fontSize);
  const least = (nodes, value) => nodes.map((node) => [value(node), name(node)]).sort(([a], [b]) => a - b)[0];

  const width = view.innerWidth;
  const inFlow = visible.filter((node) => view.getComputedStyle(node).display !== "inline" && !node.closest("svg svg, svg *"));
  document.querySelector("#measured").textContent = JSON.stringify({
    width,
    scrollWidth: Math.max(page.documentElement.scrollWidth, page.body.scrollWidth),
    sticksOut: inFlow.filter((node) => node.getBoundingClientRect().right > width + 0.5).map(name),
    overflows: inFlow.filter((node) => node.tagName !== "svg" && node.scrollWidth > node.clientWidth + 1).map(name),
    smallest: least(told, size),
    faintest: least(told, contrast),
    background: luminance(view.getComputedStyle(page.body).backgroundColor),
    pictures: [...page.querySelectorAll("svg[role=img]")].map((node) => node.getBoundingClientRect()).map((box) => [box.width, box.height]),
    bars: [...page.querySelectorAll("rect.now")].map((node) => node.getBoundingClientRect().width),
    verdict: page.querySelector("h1").innerText,
    verdictEnds: page.querySelector("h1").getBoundingClientRect().bottom,
    results: page.querySelectorAll(".result").length,
    resources: view.performance.getEntriesByType("resource").map((entry) => entry.name),
    ran: Boolean(view.ran || window.ran),
  });
});
