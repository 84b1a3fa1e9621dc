"""Use the app for an hour, and compare what its server holds after a warm-up and at the end.

`python -m tests.soak` (`make soak`) opens sessions in a browser that click through every page, while runs are queued,
stopped, resumed and deleted. It samples the server every few seconds. Memory is what the process has allocated, in
which a library's caches count too, without the pages of files: those depend on what else runs on the machine. Each
number is the median of the samples of a tenth of the time: the one after the warm-up, and the last one. It fails if one
grew by more than 5 % (threads, files and sockets: and by more than two), if the server had more than 1.5 GB in memory
at any moment, or if its log or a page shows an exception. Every other session uses the included encoder beside an
example, the others a tiny one. Streamlit keeps a session for two minutes after its tab has gone, and each holds an
event loop: so the file descriptors may also grow by those of as many sessions as were left within two minutes.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock
from urllib.parse import urlencode

import psutil

from explorer import run_folder
from explorer.encoding.locate import lookup
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.frame.page_list import PAGES
from tests import live, trainings
from tests.live import FLAGS, settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

SESSIONS, RUNS, STEPS = 20, 3, 4000
A_SESSION = 150_000_000  # bytes of a browser's page
EVERY = 3.0  # seconds between two samples
WARM_UP = 1 / 3  # of the time, until every cache is filled
SHARE = 1 / 10  # of the time, of which a number is the median
MOST = 0.05
MOST_RESIDENT = 1500  # MB at any moment, the pages of libraries and files included
FEW = 2  # threads, files and sockets that come and go
KEPT = 120.0  # seconds that Streamlit keeps a session whose tab has gone
OF_A_SESSION = 3  # descriptors of its event loop: what it waits on, and two ends to wake it
SAFE = "[data-testid=stExpander] summary:visible, [role=tab]:visible"  # they start nothing
PATIENCE = 10_000  # milliseconds for a click
METHODS = ("simcse", "sg-opt", "conisi-o1", "flow")


@dataclass(frozen=True)
class Sample:
    """What the server holds at a moment."""

    time: float
    memory: float  # MB
    threads: int
    files: int  # regular ones
    sockets: int  # of the network
    descriptors: int  # of every kind, also of event loops

    @classmethod
    def of(cls, process: psutil.Process) -> Sample:
        """Take it now."""
        memory = allocated(process) / 1e6
        files, sockets = len(process.open_files()), len(process.net_connections(kind="inet"))
        return cls(time.monotonic(), memory, process.num_threads(), files, sockets, process.num_fds())


def allocated(process: psutil.Process) -> int:
    """The bytes of memory that a process has allocated; where the system does not say, of the pages it has alone."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return int(process.memory_full_info().uss)
    return 1024 * int(status.partition("RssAnon:")[2].split()[0])


def highest(process: psutil.Process) -> float:
    """The most MB that a process had in memory at any moment; where the system does not say, what it has now."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return process.memory_info().rss / 1e6
    return 1024 * int(status.partition("VmHWM:")[2].split()[0]) / 1e6


@dataclass
class Soak:
    """The sessions, the runs they train, and the samples."""

    address: str
    place: trainings.Place
    process: psutil.Process
    drawn: random.Random
    samples: list[Sample] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    clicks: int = 0
    left: list[float] = field(default_factory=list)  # when a session was left for a new one
    done: dict[str, int] = field(default_factory=dict)
    highest: float = 0.0  # MB in memory at any moment

    def visit(self, page: Page) -> None:
        """Open another page by the menu, and something in it."""
        try:
            page.get_by_test_id("stSidebarNavLink").nth(self.drawn.randrange(len(PAGES))).click()
            settle(page)
            inside = page.get_by_test_id("stMain").locator(SAFE)
            if inside.count():
                inside.nth(self.drawn.randrange(inside.count())).click(timeout=PATIENCE)
                settle(page)
        except Exception as error:  # noqa: BLE001 (a page that moves away under a click is no fault of the server)
            self._count(f"not clicked: {type(error).__name__}")
        self._look(page)

    def use_a_run(self, page: Page) -> None:
        """Open a run, and do with it what its page offers: resume, stop or delete."""
        found = runs.every()
        if len(found) < RUNS:
            found.append(self._new_run())
        run = self.drawn.choice(found)
        page.goto(f"{self.address}/train?{urlencode({'run': run.name})}")
        self.left.append(time.monotonic())
        try:
            settle(page)
            offered = [name for name in ("run resume", "run stop", "Delete") if self._button(page, name).is_visible()]
            chosen = self.drawn.choice(offered) if offered else ""
            if chosen:
                self._button(page, chosen).click(timeout=PATIENCE)
            if chosen == "Delete":
                live.keyed(page, "run delete").click(timeout=PATIENCE)
            self._count(chosen or "nothing offered")
        except Exception as error:  # noqa: BLE001 (another session may have been quicker)
            self._count(f"not clicked: {type(error).__name__}")
        self._look(page)

    def _button(self, page: Page, name: str):
        return page.get_by_role("button", name=name, exact=True) if name == "Delete" else live.keyed(page, name)

    def _new_run(self) -> runs.Run:
        """A run that can be resumed; the server trains it."""
        method = self.drawn.choice(METHODS)
        settings = {} if method == "flow" else {"steps": STEPS, "evaluate_every": 100}
        run = runs.new(trainings.recipe(self.place, method, settings=settings))
        statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
        return run

    def _look(self, page: Page) -> None:
        self.clicks += 1
        shown = page.get_by_test_id("stException")
        if shown.count():
            self.faults.append(f"{page.url}: {shown.first.inner_text()[:500]}")

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1


@contextmanager
def sampled(work: Soak) -> Iterator[None]:
    """Take samples meanwhile."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY):
            work.samples.append(Sample.of(work.process))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        work.highest = highest(work.process)


def soak(work: Soak, pages: list[Page], minutes: float) -> None:
    """Visit with every session in turn until the time is over."""
    end = time.monotonic() + 60 * minutes
    turn = 0
    while time.monotonic() < end:
        page = pages[turn % len(pages)]
        if turn % len(pages) < 2:  # two sessions use the same runs
            work.use_a_run(page)
        else:
            work.visit(page)
        turn += 1


def most_kept(left: list[float]) -> int:
    """The most sessions that were left within the time that Streamlit keeps them."""
    return max((sum(0 <= later - first < KEPT for later in left) for first in left), default=0)


def table(samples: list[Sample], kept: int) -> list[tuple[str, float, float, bool]]:
    """Each number after the warm-up and at the end, and whether it grew too much, if so many left sessions are kept."""
    start, end = samples[0].time, samples[-1].time
    long = end - start
    early = [one for one in samples if WARM_UP <= (one.time - start) / long <= WARM_UP + SHARE]
    late = [one for one in samples if (one.time - start) / long >= 1 - SHARE]
    rows = []
    few = {"memory": 0, "threads": FEW, "files": FEW, "sockets": FEW, "descriptors": FEW + OF_A_SESSION * kept}
    for name, come_and_go in few.items():
        before, after = (statistics.median(getattr(one, name) for one in some) for some in (early, late))
        grown = after > before * (1 + MOST) and after - before > come_and_go
        rows.append((name, before, after, grown))
    return rows


def sessions_that_fit() -> int:
    """As many as asked for by default, fewer where a browser with that many pages would take more than is free."""
    return max(2, min(SESSIONS, int(psutil.virtual_memory().available / 2 / A_SESSION)))


@contextmanager
def browser_pages(address: str, count: int, queries: Sequence[str]) -> Iterator[list[Page]]:
    """So many sessions, each a page of one browser, which begin with these choices in turn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = [*FLAGS, "--renderer-process-limit=2"]
        opened = playwright.chromium.launch(executable_path=live.executable(), args=flags)
        context = opened.new_context(viewport={"width": 1280, "height": 1400})
        context.set_default_timeout(60_000)
        pages = [context.new_page() for _ in range(count)]
        for page, query in zip(pages, cycle(queries), strict=False):
            page.goto(f"{address}/?{query}")
            settle(page)
        yield pages
        opened.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, metavar="M", help="default: 60")
    parser.add_argument("--sessions", type=int, default=sessions_that_fit(), metavar="N", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the clicks")
    options = parser.parse_args()
    if live.executable() is None:
        print("No browser is on the PATH. Install chromium or Google Chrome.")
        return 1
    with tempfile.TemporaryDirectory() as name, (Path(name) / "server.log").open("wb") as log:
        folder = Path(name)
        place = trainings.furnish(folder)
        environment = {"STRATA_RUNS": str(place.runs), "STRATA_CACHE": str(folder / "cache"), "STRATA_DATA": ""}
        with live.serving(log, environment) as (address, server), mock.patch.dict("os.environ", environment):
            included = [{"model": lookup.BUNDLED, "beside": name} for name in run_folder.models()]
            queries = [urlencode(chosen) for one in included for chosen in ({"model": place.model}, one)]
            with browser_pages(address, options.sessions, queries) as pages:
                work = Soak(address, place, psutil.Process(server.pid), random.Random(options.seed))
                with sampled(work):
                    soak(work, pages, options.minutes)
        return report(work, options, (folder / "server.log").read_text(encoding="utf-8", errors="replace"))


def report(work: Soak, options: argparse.Namespace, log: str) -> int:
    """Print the table, and say whether all is well."""
    done = ", ".join(f"{what} {count}" for what, count in sorted(work.done.items()))
    print(f"{options.sessions} sessions, {options.minutes:g} minutes, {work.clicks} visits; {done}")
    kept = most_kept(work.left)
    rows = table(work.samples, kept)
    print(f"Sessions left for a new one: {len(work.left)}, at most {kept} within {KEPT:g} seconds")
    print(f"{'':<12}{'warm':>10}{'end':>10}{'change':>10}")
    for name, before, after, grown in rows:
        unit = " MB" if name == "memory" else ""
        print(f"{name:<12}{before:>10.0f}{after:>10.0f}{after / before - 1:>+10.1%}{unit}{'  grew' * grown}")
    too_much = work.highest > MOST_RESIDENT
    print(f"At most in memory at any moment: {work.highest:.0f} MB{f', more than {MOST_RESIDENT}' * too_much}")
    if "Traceback" in log:
        work.faults.append(f"the log has a traceback: {log[log.index('Traceback') :][:3000]}")
    if options.minutes < 20:
        print("Caches may still fill in so short a time: what grew here need not grow in an hour.")
    print("\n".join(work.faults) or "No exception in the log or on a page.")
    return 1 if work.faults or too_much or any(grown for *_, grown in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
