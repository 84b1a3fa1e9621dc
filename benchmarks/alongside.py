"""Measure the time of a click while a run trains in the same server, compared with an idle server."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import told
from explorer.training.record import runs, status
from tests import live

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CLICKS = 12


def main() -> None:
    if live.executable() is None:
        print("\nClicks while a run trains: no browser here")
        return
    with tempfile.TemporaryDirectory() as folder, live.server(STRATA_RUNS=folder) as address, live.browser() as browser:
        page = browser.new_page()
        page.goto(f"{address}/layers")
        page.get_by_text("Spearman × 100 of").wait_for(timeout=120_000)
        live.settle(page)
        _clicks(page)  # once for everything to be loaded
        idle = _clicks(page)
        run = _start(browser, address, Path(folder))
        busy = _clicks(page)
        steps = run.status().step
        if not run.status().live:
            raise RuntimeError("the run was over before the clicks were: nothing was measured")
        run.request_stop(runs.DISCARD)
    print(f"\nA click on the Layers page, until the page says what was asked; {CLICKS} clicks")
    print(f"  nothing else going on       {told(idle)}")
    print(f"  a run training beside it    {told(busy)}  (at step {steps} when the clicks were done)")
    print(f"  ratio of the medians        {statistics.median(busy) / statistics.median(idle):.2f}")


def _clicks(page: Page) -> list[float]:
    """Seconds from a click on the metric until the page names it, over and over."""
    seconds = []
    for number in range(CLICKS):
        metric = ("Pearson", "Spearman")[number % 2]
        button = page.get_by_role("radio", name=metric)
        started = time.perf_counter()
        button.click()
        page.get_by_text(f"{metric} × 100 of").wait_for(timeout=60_000)
        seconds.append(time.perf_counter() - started)
    return seconds


def _start(browser: Browser, address: str, folder: Path) -> runs.Run:
    """A run of the defaults, started on the Train page and on its way."""
    page = browser.new_page()
    page.goto(f"{address}/train")
    page.get_by_role("button", name="Start", exact=True).click(timeout=120_000)
    for _ in range(1200):
        for run in runs.every(folder):
            if run.status().state == status.RUNNING and run.status().step > 1:
                page.close()
                return run
        time.sleep(0.1)
    raise TimeoutError("the run did not start")
