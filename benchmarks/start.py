"""Measure the time to the first view and the time of a click."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import told
from tests import live

ROOT = Path(__file__).parent.parent
ROUNDS = 5


def main() -> None:
    print("\nStarting")
    both = [
        (_seconds_of_import("explorer.ui.frame.page_frame"), _seconds_of_import("streamlit")) for _ in range(ROUNDS)
    ]
    imports, streamlit = map(list, zip(*both, strict=True))  # in turn, as all that is compared
    print(f"  imports of app.py                       {told(imports)}")
    print(f"    of which streamlit                    {told(streamlit)}")
    first = _picture()
    print(
        f"  Layers picture, nothing measured yet    {first:7.3f} s  (process start to the drawn grid)" if first else ""
    )
    warm = [seconds for seconds in (_picture() for _ in range(ROUNDS)) if seconds]
    print(f"  Layers picture, warm                    {told(warm)}" if warm else "  no browser: no picture was timed")
    print(f"  re-run of the Layers page               {told(_reruns())}")


def _seconds_of_import(module: str) -> float:
    code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    return float(subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True).stdout)


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
    if not page.metric:
        raise RuntimeError("the Layers page shows no scores, so its re-run is not the one to time")
    return times


def _picture() -> float | None:
    """Seconds from the start of the process until the grid is drawn in a browser; None without a browser."""
    if live.executable() is None:
        return None
    with live.browser() as browser:
        page = browser.new_page()
        started = time.perf_counter()
        with live.server() as address:
            page.goto(f"{address}/layers")
            page.wait_for_function("document.querySelector('.js-plotly-plot')?._fullData?.length > 0", timeout=120_000)
            seconds = time.perf_counter() - started
    return seconds
