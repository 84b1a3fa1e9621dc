"""Run the app for real: a server, a browser, and waiting for a page to be drawn."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# no sandbox: it needs rights that root in a container lacks; the rest keeps the browser off the network
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
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


@contextmanager
def server(**environment: str) -> Iterator[str]:
    """The app in a process of its own, on a free port; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", str(port)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def settle(page: Page) -> None:
    """Wait until the script has ended and every widget is drawn."""
    page.wait_for_timeout(200)  # a click reaches the server before the state changes
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=60_000)


def _wait_for(address: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"no answer from {address}")
