"""Kill the app's process while a browser shows a run in training, start it again, and resume the run in the same page.

`python -m tests.kill_points app` (`make kill ARGS=app`) does so with five methods, at calls that change a file of the
run; the tests take one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from explorer.run_folder import QUEUED
from explorer.training.loop import loop
from explorer.training.recipe import Recipe
from explorer.training.record import recorder, runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.training.record.status import FAILED, FINISHED, STOPPED
from explorer.ui.runs import training_queue
from tests import kill_points, live, trainings
from tests.disk_calls import Killed, Watch, watched
from tests.forked_app import forked, free_port, serve_without_maps, served
from tests.kill_outcomes import Outcome, heading, show, spread, verdict
from tests.kill_points import NAME

if TYPE_CHECKING:
    from playwright.sync_api import Page

WAY = "app killed"
MOST = 20  # points of a method
PATIENCE = 60.0  # seconds
BADGE = ".stMarkdownBadge"  # the first one is the state of the run
CONNECTED = "[data-testid=stApp][data-test-connection-state=CONNECTED]"
APART = "[data-testid=stApp]:not([data-test-connection-state=CONNECTED])"
NOTICE = ".strata-stopped"


def serve_slowly(port: int, environment: dict[str, str], stacks: Path) -> None:
    """The app, in this process, with steps that take as long as a large model's, and no processor while they wait."""
    with trainings.paced(0.25):
        serve_without_maps(port, environment, stacks)


def serve_until(at: int, run: Path, port: int, environment: dict[str, str]) -> None:
    """The app, in this process, which is killed at a call that changes a file of a run."""
    with run.parent.with_suffix(".log").open("a", encoding="utf-8", buffering=1) as log:
        sys.stdout = sys.stderr = log
        _as_in_trials()
        with watched(Killed(run, at)):
            serve_without_maps(port, environment)


def doing(server: BaseProcess, stacks: Path) -> str:
    """What each thread of a served app is doing."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGUSR1)
    server.join(1)  # it writes for a moment
    return stacks.read_text(encoding="utf-8")


def reconnect(page: Page) -> None:
    """Wait until an open page is that of the next server."""
    page.wait_for_selector(CONNECTED)
    page.locator(NOTICE).wait_for(state="hidden")
    live.settle(page)


def stopped(folder: Path, chosen: Recipe) -> Run:
    """A run without a step that its page offers to resume."""
    run = runs.new(chosen, NAME, folder)
    statuses.write(run.folder, replace(run.status(), state=STOPPED))
    return run


def unbroken(folder: Path, chosen: Recipe) -> tuple[Run, list[str]]:
    """The run that nobody interrupts, and the calls at which the app can be killed."""
    run, told = stopped(folder, chosen), folder.with_suffix(".calls")
    forked(_train, run, told).join()
    return run, Killed.points(json.loads(told.read_text(encoding="utf-8")))


def _train(run: Run, told: Path) -> None:
    _as_in_trials()
    watch = Watch(run.folder)
    with trainings.in_no_time(), watched(watch):
        training_queue.resume(run)  # as the page does: a run that waits has a marker
        job = training_queue.job_of(run)
        assert job is not None
        assert job.ends_within(PATIENCE)
    told.write_text(json.dumps(watch.calls), encoding="utf-8")


def _as_in_trials() -> None:
    """Make the calls of a run the same each time."""
    loop.SAVE_EVERY = 0.0
    recorder.BEAT = 1e9  # a status is written at the same calls each time
    os.fsync = lambda handle: None  # a killed process loses nothing that it has written


class Trial:
    """A run in a folder of runs of its own, and a page that shows it."""

    def __init__(self, page: Page, folder: Path, chosen: Recipe) -> None:
        self.page, self.run, self.port = page, stopped(folder, chosen), free_port()
        self.environment = {"STRATA_RUNS": str(folder), "STRATA_CACHE": str(folder.parent / "cache"), "STRATA_DATA": ""}

    def fault(self, at: int, whole: Run, at_rest: bool = False) -> str:
        """Kill the app at a call, start it again, and resume the run in the page; what is wrong then, if anything is.

        At rest: the app is killed once before, while the page shows the run as stopped and asks for nothing.
        """
        if at_rest:
            with self._served() as server:
                self._open()
                server.kill()
                self.page.wait_for_selector(APART)
                self._read_that_it_stopped()
        with self._served(at) as server:
            reconnect(self.page) if at_rest else self._open()
            self._press_resume()
            server.join(PATIENCE)
            if server.exitcode != -signal.SIGKILL:
                return f"it was not killed: {server.exitcode}, the run is {self.run.status().state}"
        self.page.wait_for_selector(APART)
        state, badge, waited = self.run.status().state, self._badge(), (self.run.folder / QUEUED).exists()
        if badge == FINISHED != state or badge == FAILED:
            return f"the page says {badge} of a run that is {state}"
        with self._served():
            reconnect(self.page)
            if waited:  # it is queued again by itself
                self._wait_for_badge(FINISHED)
                return kill_points.different(self.run, whole)
            self._wait_for_badge(state)
            if state != FINISHED:
                self._press_resume()
                self._wait_for_badge(FINISHED)
        return kill_points.different(self.run, whole)

    def _served(self, at: int = kill_points.NEVER) -> Any:
        return served(self.port, serve_until, at, self.run.folder, self.port, self.environment)

    def _open(self) -> None:
        self.page.goto(f"http://127.0.0.1:{self.port}/train?{urlencode({'run': NAME})}")
        self.page.locator(BADGE).first.wait_for()  # before the first run of its script a page is at rest too
        live.settle(self.page)

    def _read_that_it_stopped(self) -> None:
        """The page says how to start the app again, and Streamlit's own dialog is not shown."""
        self.page.locator(NOTICE).filter(has_text=f"make run PORT={self.port}").wait_for()
        dialog = self.page.get_by_test_id("stDialog")
        dialog.wait_for(state="attached")
        assert not dialog.is_visible()

    def _press_resume(self) -> None:
        with live.told(self.page):
            live.keyed(self.page, "run resume").click()

    def _badge(self) -> str:
        return self.page.locator(BADGE).first.inner_text().split()[-1]

    def _wait_for_badge(self, state: str) -> None:
        self.page.locator(BADGE).first.filter(has_text=re.compile(rf"\b{state}$")).wait_for(timeout=1000 * PATIENCE)


def outcome(page: Page, folder: Path, method: str, most: int) -> Outcome:
    """Kill the app at so many calls of a method at equal distances (0: at all)."""
    chosen = kill_points.short(trainings.furnish(folder), method, folder)
    started = os.times().elapsed
    whole, points = unbroken(folder / "unbroken", chosen)
    faults, tried = [], spread(len(points), most)
    for at in tried:
        trial = Trial(page, folder / f"at-{at}", chosen)
        try:
            fault = trial.fault(at, whole)
        except Exception as error:  # noqa: BLE001 (a page that does not come to what it should is a fault too)
            fault = f"{type(error).__name__}: {error}"
        page.goto("about:blank")
        faults += [f"at {at}, {points[at]}: {fault}"] if fault else []
    return Outcome(method, WAY, len(points), len(tried), faults, os.times().elapsed - started)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kill_points app", description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"default: {', '.join(kill_points.METHODS)}")
    parser.add_argument("--most", type=int, default=MOST, metavar="N", help="points of each (default: 20; 0: all)")
    options = parser.parse_args(arguments)
    if live.executable() is None:
        print("No browser is on the PATH. Install chromium or Google Chrome.")
        return 1
    found = []
    heading("s")
    with live.browser() as browser:
        page = live.tab(browser.new_context())
        for method in options.methods or kill_points.METHODS:
            with tempfile.TemporaryDirectory() as place:
                found.append(outcome(page, Path(place), method, options.most))
            show(found[-1])
    return verdict(found)
