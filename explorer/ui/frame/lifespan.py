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

from explorer import run_folder, typed_json
from explorer.errors import RunBusy, StrataError
from explorer.measuring.maps import umap_layout
from explorer.places import runs_folder
from explorer.progress import Progress, Work
from explorer.run_folder import QUEUED, STATUS
from explorer.training.record import folder_lock
from explorer.ui.access import jobs, side_scores, sidebar_choice
from explorer.ui.runs import plan_queue, training_queue

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
    threading.Thread(target=restore_queue, name="restoring the queue", daemon=True).start()
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
    from explorer.encoding.load import loading

    yield from loading.importing()
    if not measured and jobs.idle(jobs.MEASURING):  # otherwise a visitor is there, and may have asked for another page
        measuring = side_scores.measure_ahead(first)
        while not measuring.ends_within(1):
            yield measuring.progress
    if jobs.idle(jobs.TRAINING):  # a run needs the processor more, and the first map can load it too
        yield from umap_layout.loaded()


def restore_queue() -> None:
    """Queue again what another server left; nothing is loaded if there is nothing."""
    try:
        home = run_folder.home()
        waited, planned = any(home.glob(f"[!.]*/{QUEUED}")), _plans_were_under_way()
        if not waited and not planned:
            return
        # of two servers that start at once, the second finds everything queued
        with folder_lock.holding(home, "Another server restores the queue.", "The queue is not restored."):
            if waited:
                training_queue.queue_again()
            if planned:
                plan_queue.go_on()
    except RunBusy:
        return
    except StrataError as error:
        logger.warning("The queue is not restored: %s", error)


def _plans_were_under_way() -> bool:
    """Whether a plan of the app is written as waiting or running, by this server or one that ended."""
    for path in runs_folder().glob(f"plans/[!.]*/{STATUS}"):
        try:
            stated = typed_json.parsed(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and stated.get("of_app") and stated.get("state") in ("waiting", "running"):
            return True
    return False
