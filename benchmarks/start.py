"""Measure the time to the first view and the time of a click."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import told
from tests import live

ROOT = Path(__file__).parent.parent
ROUNDS, FEW = 5, 3
PICTURES = ("layers", "map")
MAP = ".moving-map[data-drawn]"
WAITED = (0, 10)  # seconds from the start of the server to the visit; 0: the server's start is counted too
# a figure with values: an empty one is drawn while the server measures
DRAWN = "[...document.querySelectorAll('.js-plotly-plot')].some(it => it._fullData?.[0]?.x?.length > 1)"


def main() -> None:
    print("\nStarting")
    _seconds_of_import("explorer.ui.frame.page_frame")  # writes the bytecode
    both = [
        (_seconds_of_import("explorer.ui.frame.page_frame"), _seconds_of_import("streamlit")) for _ in range(ROUNDS)
    ]
    imports, streamlit = map(list, zip(*both, strict=True))  # in turn, as all that is compared
    print(f"  imports of app.py                       {told(imports)}")
    print(f"    of which streamlit                    {told(streamlit)}")
    if live.executable() is None:
        print("  no browser: no picture was timed")
    else:
        for page, waited in itertools.product(PICTURES, WAITED):
            seconds = told([_picture(page, waited) for _ in range(FEW)])
            print(f"  {page:7} first picture, {waited:2} s after the start  {seconds}")
        kept = os.environ["STRATA_CACHE"]
        _picture("layers", 0, kept)
        seconds = told([_picture("layers", 0, kept) for _ in range(ROUNDS)])
        print(f"  layers  first picture, scores kept           {seconds}")
    print(f"  re-run of the Layers page               {told(_reruns())}")


def _seconds_of_import(module: str) -> float:
    code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    # with bytecode, as a second start has it, even where the environment forbids to write any
    allowed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=allowed, check=True, capture_output=True)
    return float(done.stdout)


def _reruns() -> list[float]:
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    page.run()
    page.switch_page("pages/layers.py").run()
    times = []
    for _ in range(3 * ROUNDS):
        started = time.perf_counter()
        page.run()
        times.append(time.perf_counter() - started)
    if not page.get("plotly_chart"):
        raise RuntimeError("the Layers page shows no scores, so its re-run is not the one to time")
    return times


def _picture(page: str, waited: int, kept: str = "") -> float:
    """Seconds until a page's figure is drawn in a browser: from the start of the process, or from a later visit."""
    with live.browser() as browser, tempfile.TemporaryDirectory() as fresh:
        tab = browser.new_page()
        started = time.perf_counter()
        with live.server(STRATA_CACHE=kept or fresh) as address:
            if waited:
                time.sleep(waited)
                started = time.perf_counter()
            tab.goto(f"{address}/{page}")
            if page == "map":
                tab.locator(MAP).wait_for(timeout=120_000)
            else:
                tab.wait_for_function(DRAWN, timeout=120_000)
            return time.perf_counter() - started
