"""Measure in a browser how two maps of 20,000 sentences respond, and how long a layer of three matrices takes."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from benchmarks.maps import sentences
from explorer.drawing.sentences import layer_matrices
from tests import live

if TYPE_CHECKING:
    from playwright.sync_api import Page

COUNT, MOVES, FRAME = 20_000, 60, 16  # a frame is so many milliseconds
SENTENCES, LAYERS, TIMES = 40, 7, 6  # of matrices; each layer is drawn so many times
LAYER = """async (name) => {
    const plot = document.querySelector(".js-plotly-plot");
    await new Promise(requestAnimationFrame);
    const started = performance.now();
    const now = {mode: "immediate", frame: {duration: 0, redraw: true}, transition: {duration: 0}};
    await Plotly.animate(plot, [name], now);
    return performance.now() - started;
}"""
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
    _layers()
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


def _layers() -> None:
    """The matrices of A, B and B - A of 40 sentences, as the slider of the Sentences page draws each layer of them."""
    drawn = np.random.default_rng(0)
    sides = []
    for name in "AB":
        cosines = drawn.uniform(-0.2, 1, (LAYERS, SENTENCES, SENTENCES)).astype(np.float32)
        sides.append(layer_matrices.LayeredSide(name, "a model", cosines, drawn.uniform(0, 0.3, LAYERS)))
    names, texts = [str(layer) for layer in range(LAYERS)], [f"Sentence {at}." for at in range(SENTENCES)]
    figure = layer_matrices.matrices(sides, names, texts, np.arange(SENTENCES), LAYERS - 1, (1, 2))
    with live.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_content(figure.to_html(include_plotlyjs=True), timeout=120_000)
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
        before = live.processor_seconds()
        seen = sorted(page.evaluate(LAYER, name) for _ in range(TIMES) for name in names)
        spent = 1000 * (live.processor_seconds() - before) / len(seen)
    print(f"\nThree matrices of {SENTENCES} sentences in a browser without a GPU, milliseconds for a layer")
    print(f"  best {seen[0]:.0f}, median {statistics.median(seen):.0f}, 95 % within {seen[int(0.95 * len(seen))]:.0f}")
    print(f"  {spent:.0f} of processor time in all processes of the browser")


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
