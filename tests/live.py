"""Run the app for real: a server, a browser, and waiting for a page to be drawn."""

from __future__ import annotations

import base64
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING
from urllib.parse import parse_qs, urlparse

import pytest

from tests import colours

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

ROOT = Path(__file__).parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# no sandbox: it needs rights that root in a container lacks; the rest keeps the browser off the network
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-compositing",  # otherwise it first tries to draw with one
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # one process for all tabs: a new one compiles the scripts of the app anew
]


def executable() -> str | None:
    """The path of a browser that is there, if one is."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


IN_A_BROWSER = [  # the marks of a file of tests that need one
    pytest.mark.browser,
    pytest.mark.skipif(executable() is None, reason=f"no browser: none of {', '.join(NAMES)} is on the PATH"),
]


@contextmanager
def browser() -> Iterator[Browser]:
    """That browser, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        yield opened
        opened.close()


_open = ExitStack()
_tabs: list[BrowserContext] = []


def tabs() -> BrowserContext:
    """One browser for all tests until `close`, with a profile on disk: only its first page compiles all scripts."""
    if not _tabs:
        from playwright.sync_api import sync_playwright

        profile = _open.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
        playwright = _open.enter_context(sync_playwright())
        opened = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=executable(),
            args=FLAGS,
            reduced_motion="reduce",  # what moves while a page waits is drawn by the processor, sixty times a second
        )
        _open.callback(opened.close)
        _tabs.append(opened)
    return _tabs[0]


def close() -> None:
    """Close it: playwright's loop would be in the way of tests without a browser."""
    _tabs.clear()
    _open.close()


def tab(tabs: BrowserContext, width: int = 1280, height: int = 1400) -> Page:
    """A new page of a size, which waits half a minute at most: a busy machine takes long to load torch."""
    page = tabs.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.set_default_timeout(30_000)
    return page


def processor_seconds() -> float:
    """The processor time so far of all processes that this one has started and that are alive, such as a browser's."""
    parents, ticks = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(file.parent.name)] = int(fields[1])
        ticks[int(file.parent.name)] = int(fields[11]) + int(fields[12])

    def is_below(number: int) -> bool:
        parent = parents.get(number, 0)
        return parent == os.getpid() or (parent > 1 and is_below(parent))

    return sum(spent for number, spent in ticks.items() if is_below(number)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def told(page: Page, more: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Add to an error of the browser what the page shows: that says more than that it took too long."""
    from playwright.sync_api import Error

    try:
        yield
    except Error as error:
        script = page.locator("[data-testid=stApp]").get_attribute("data-test-script-state")
        shown = page.get_by_test_id("stMain").inner_text()
        raise AssertionError(f"{page.url}, script {script}, shows:\n{shown[:2000]}\n{more()}") from error


@contextmanager
def server(**environment: str) -> Iterator[str]:
    """The app in a process of its own, on a free port; gives its address."""
    with serving(subprocess.DEVNULL, environment) as (address, _):
        yield address


@contextmanager
def serving(log: IO[bytes] | int, environment: Mapping[str, str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The app with a file for its log; gives its address and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait(30)


def answer(address: str, path: str, host: str = "", origin: str = "") -> int:
    """The status of an answer, asked for by this name; with an origin, of the opening of a websocket."""
    own = urlparse(address)
    asked = http.client.HTTPConnection(own.hostname or "", own.port, timeout=10)
    headers = {"Host": host or own.netloc}
    if origin:
        key = base64.b64encode(b"sixteen bytes ..").decode()
        headers |= {"Origin": origin, "Connection": "Upgrade", "Upgrade": "websocket"}
        headers |= {"Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13"}
    asked.request("GET", path, headers=headers)
    status = asked.getresponse().status
    asked.close()
    return status


def settle(page: Page) -> None:
    """Wait until the script has ended and every widget is drawn."""
    page.wait_for_timeout(200)  # a click reaches the server before the state changes
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=30_000)
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=30_000, polling=100)


def count_requests(page: Page) -> None:
    """Count from now on what the page asks of the server, once it asks nothing by itself: it looks after its jobs."""
    page.evaluate(
        """() => { const real = WebSocket.prototype.send; window.sent = 0; window.lastSent = Date.now();
        WebSocket.prototype.send = function (...given) {
            window.sent += 1; window.lastSent = Date.now(); return real.apply(this, given); }; }"""
    )
    page.wait_for_function("Date.now() - window.lastSent > 1500", timeout=60_000)  # jobs are looked after every 0.25 s
    page.evaluate("window.sent = 0")


def requests(page: Page) -> int:
    """How often the page has asked the server since they are counted."""
    return page.evaluate("window.sent")


def follow(page: Page, address: str) -> None:
    """Open another page of the app by its address, without a reload."""
    page.evaluate(
        "address => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')); }", address
    )


def keyed(page: Page, key: str) -> Locator:
    """The button with this key."""
    return page.locator(f".st-key-{key.replace(' ', '-')}").get_by_role("button")


def parameters(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


# not the empty one of a first wait, which stays until the script has ended
FIGURES = ".js-plotly-plot:not(.st-key-empty-figure *)"


def plots(page: Page, count: int) -> None:
    """Wait until so many figures are drawn."""
    page.wait_for_function(
        "([figures, count]) => document.querySelectorAll(figures).length === count",
        arg=[FIGURES, count],
        timeout=30_000,
        polling=100,  # by default at each frame, and a page in the background has none
    )
    settle(page)


def hover_cell(page: Page, column: float, row: float, plot: int = 0, figures: str = FIGURES) -> None:
    """Move to a place of a figure, in the numbers of its axes, until the figure says what is there."""
    figure = page.locator(figures).nth(plot)
    said = figure.locator(".hoverlayer .hovertext")
    for _ in range(100):  # a figure that is still being drawn does not notice the mouse
        page.mouse.move(*_in_the_window(figure, column, row))
        page.wait_for_timeout(200)  # a click counts for what is hovered
        if said.count():
            return
        page.mouse.move(0, 0)
    raise TimeoutError(f"figure {plot} of {figures} says nothing of column {column}, row {row}")


def click_cell(page: Page, column: float, row: float, plot: int = 0, figures: str = FIGURES) -> None:
    """Click a place of a figure, in the numbers of its axes."""
    hover_cell(page, column, row, plot, figures)
    page.mouse.click(*_in_the_window(page.locator(figures).nth(plot), column, row))


def _in_the_window(figure: Locator, column: float, row: float) -> tuple[float, float]:
    x, y = figure.evaluate(
        """(plot, [column, row]) => {
            const box = plot.getBoundingClientRect(), layout = plot._fullLayout;
            return [box.x + layout._size.l + layout.xaxis.d2p(column), box.y + layout._size.t + layout.yaxis.d2p(row)];
        }""",
        [column, row],
    )
    return x, y


def contrast(text: Locator, ground: Locator | None = None) -> float:
    """How far apart text and what is behind it are in lightness, from 1 to 21 (WCAG 2.2), as drawn."""
    behind = """element => {
        const grounds = [];
        for (let at = element; at; at = at.parentElement) grounds.push(getComputedStyle(at).backgroundColor);
        return grounds;
    }"""
    filled = "element => [getComputedStyle(element).fill]"
    colour = text.evaluate("element => getComputedStyle(element)[element.closest('svg') ? 'fill' : 'color']")
    return contrast_of(colour, text.evaluate(behind) if ground is None else ground.evaluate(filled))


def contrast_of(colour: str, grounds: list[str]) -> float:
    """The same of a colour over others, the uppermost first."""
    under = (255.0, 255.0, 255.0)
    for layer in reversed(grounds):
        under = _over(layer, under)
    return colours.contrast(*([part / 255 for part in parts] for parts in (under, _over(colour, under))))


def _over(colour: str, under: tuple[float, ...]) -> tuple[float, ...]:
    *parts, share = ([float(number) for number in re.findall(r"[0-9.]+", colour)] + [1.0])[:4]
    return tuple(share * part + (1 - share) * below for part, below in zip(parts, under, strict=True))


def wait_for(address: str) -> None:
    """Wait until a server answers."""
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"no answer from {address}")
