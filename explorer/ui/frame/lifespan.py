"""What the server does beside answering, from its start to its end."""

from __future__ import annotations

import importlib
import inspect
import logging
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from explorer.measuring.maps import umap_layout
from explorer.progress import Progress, Work
from explorer.ui.access import jobs, side_scores, sidebar_choice
from explorer.ui.runs import restored_queue, training_queue

if TYPE_CHECKING:
    from streamlit.starlette import App


LEFT_ALONE = 10  # seconds
INTERRUPTED = "'%s' is interrupted. Resume it on its page, or with: python -m explorer train --resume %s"
logger = logging.getLogger(__name__)


@asynccontextmanager
async def until_the_server_ends(app: App) -> AsyncIterator[None]:
    """Prepare the first page and restore the queue, in threads; stop every job when the server ends."""
    _end_with_the_terminal()
    jobs.follow("first page", "Preparing the first page", _first_page, lane=jobs.LOADING)
    threading.Thread(target=restored_queue.restore, name="restoring the queue", daemon=True).start()
    under_way: list[str] = []
    try:
        async with jobs.until_the_server_ends(app):
            yield
            under_way = training_queue.in_training()
    finally:
        for name in under_way:
            logger.warning(INTERRUPTED, name, name)


def _end_with_the_terminal() -> None:
    """End as at Ctrl-C when the terminal is closed, which the server itself does not handle; nohup keeps it alive."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def _first_page() -> Work[None]:
    """Import what every measurement needs, and measure what the first page shows, while nobody waits for it yet."""
    yield Progress("looking", 0, 0)
    inspect.stack()  # Streamlit does so before it first draws; the path of every module is known from then on
    importlib.import_module("pandas")  # every page needs it before it can draw
    first = sidebar_choice.first()
    measured = side_scores.are_kept(first)
    for _ in range(LEFT_ALONE if measured else 0):  # the first page is faster without: it shows what was kept
        yield Progress("leaving the processor to the first page", 0, 0)
        time.sleep(1)
    from explorer.encoding.load import libraries

    yield from libraries.loading()
    if not measured and jobs.idle(jobs.MEASURING):  # otherwise a visitor is there, and may have asked for another page
        measuring = side_scores.measure_ahead(first)
        while not measuring.ends_within(1):
            yield measuring.progress
    if jobs.idle(jobs.TRAINING):  # a run needs the processor more, and the first map can load it too
        yield from umap_layout.loaded()
