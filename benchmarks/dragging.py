"""Measure how two maps of 20,000 sentences respond in a browser, to hovering and to dragging."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.maps import sentences
from tests import live

if TYPE_CHECKING:
    from playwright.sync_api import Page

COUNT, MOVES, FRAME = 20_000, 60, 16  # a frame is so many milliseconds
BEGIN = """() => {
    window.frames_seen = []; window.watching = true;
    let last = performance.now();
    const frame = () => {
        const now = performance.now();
        window.frames_seen.push(now - last); last = now;
        if (window.watching) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""
END = "() => { window.watching = false; return window.frames_seen; }"
DRAWN = """() => {
    const plots = [...document.querySelectorAll(".js-plotly-plot")];
    return plots.length === 2 && plots.every(plot => plot._fullData);
}"""


def main() -> None:
    if live.executable() is None:
        print("\nTwo large maps: no browser here")
        return
    found = sentences(COUNT)
    with tempfile.TemporaryDirectory() as folder, live.browser() as browser:
        file = Path(folder) / "sentences.txt"
        file.write_text("\n".join(" ".join(sentence.split()) for sentence in found), encoding="utf-8")
        asked = {"mapped": "a file", "map_file": str(file), "projection": "PCA"}
        asked |= {"map_view": "side by side", "beside": "all-MiniLM-L6-v2", "beside_reading": "mean of layer 3"}
        with live.server() as address:
            page = browser.new_page(viewport={"width": 1280, "height": 1400})
            page.goto(f"{address}/map?{urlencode(asked)}")
            page.wait_for_function(DRAWN, timeout=600_000)
            live.settle(page)
            _measure(page, len(found))


def _measure(page: Page, count: int) -> None:
    plot = page.locator(".js-plotly-plot").first
    box = plot.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    print(f"\nTwo maps of {count:,} sentences in a browser without a GPU, milliseconds from frame to frame")
    with _frames(page, "the pointer goes over one"):
        for move in range(MOVES):
            page.mouse.move(x - 80 + 3 * move, y + 7 * move % 40)
            page.wait_for_timeout(FRAME)
    plot.hover()
    page.locator("[data-title=Pan]").first.click()
    page.mouse.move(x, y)
    page.mouse.down()
    with _frames(page, "one is dragged"):
        for move in range(MOVES):
            page.mouse.move(x + 2 * move, y + move)
            page.wait_for_timeout(FRAME)
    started = time.perf_counter()
    page.mouse.up()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    print(f"  and it is let go of          {1000 * (time.perf_counter() - started):.0f}")


@contextmanager
def _frames(page: Page, name: str) -> Iterator[None]:
    page.evaluate(BEGIN)
    yield
    seen = sorted(page.evaluate(END)[2:])  # the first two are those in which the watching begins
    print(
        f"  {name:28} median {statistics.median(seen):.0f}, 95 % within {seen[int(0.95 * len(seen))]:.0f}, "
        f"longest {seen[-1]:.0f} ({len(seen)} frames)"
    )
