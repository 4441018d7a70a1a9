"""The page as a browser shows it: on a phone and on a wide screen, in light and in dark."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest

from conda_llmenv.page import render
from tests.page import browser
from tests.page.sample import EARLIER, REPORT
from tests.page.test_hostile import page_of
from tests.page.tree import parsed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.PROGRAM is None, reason="no Chromium here (apt-get install chromium)"),
]

PHONE, TABLET, WIDE = (360, 740), (720, 1024), (1280, 900)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [PHONE, TABLET, WIDE], ids=["phone", "tablet", "wide"])
def test_the_page_can_be_read(width: int, height: int, scheme: str, tmp_path: Path) -> None:
    """All of it, unfolded: nothing sideways, nothing small or faint, the verdict at a glance, a picture to look at."""
    seen = browser.measured(render(REPORT, EARLIER), tmp_path, width=width, height=height, scheme=scheme)
    assert seen["width"] == width
    assert seen["scrollWidth"] <= width
    assert seen["sticksOut"] == []
    assert seen["overflows"] == []
    assert seen["smallest"][0] >= 14
    assert seen["faintest"][0] >= 4.5, seen["faintest"]
    assert (seen["background"] > 0.5) == (scheme == "light")
    assert "/dev/shm has 64 MB" in seen["verdict"]
    assert seen["verdictEnds"] < height
    assert seen["results"] == 31
    assert len(seen["pictures"]) == 16
    assert all(wide >= 250 and high >= 20 for wide, high in seen["pictures"])
    assert max(seen["bars"]) > 200
    assert seen["resources"] == []


def test_hostile_output_breaks_neither_layout_nor_browser(tmp_path: Path) -> None:
    """Markup that would run and a word of 10 kB in every field: it is text, and wraps on a phone."""
    attack = "</style></title></pre><script>parent.ran = ran = true</script><img src=x onerror='ran = true'>"
    seen = browser.measured(page_of(attack + "x" * 10_000), tmp_path, width=360, height=740)
    assert not seen["ran"]
    assert seen["scrollWidth"] <= 360
    assert seen["sticksOut"] == []
    assert seen["resources"] == []


def test_the_browser_reads_the_file_as_it_was_written(tmp_path: Path) -> None:
    """Chromium's parser has nothing to repair: the elements it makes are those of the file."""
    page = render(REPORT, EARLIER)
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    read = parsed(browser.chromium(tmp_path, "--dump-dom", (tmp_path / "report.html").as_uri()))
    assert Counter(node.tag for node in read.walk()) == Counter(node.tag for node in parsed(page).walk())
    assert read.all("body")[0].text.strip() == parsed(page).all("body")[0].text.strip()


def test_the_page_can_be_pictured(tmp_path: Path) -> None:
    """A screenshot of the file itself has the window's size and is no empty sheet."""
    (tmp_path / "report.html").write_text(render(REPORT, EARLIER), encoding="utf-8")
    picture = tmp_path / "report.png"
    browser.chromium(tmp_path, f"--screenshot={picture}", "--window-size=1280,900", (tmp_path / "report.html").as_uri())
    content = picture.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (1280, 900)
    assert len(content) > 30_000
