"""The server apart from its pages: jobs at its start and end, and no answer to foreign addresses.

Streamlit checks addresses for websockets alone, and by host: a page of another local port passes, and for a page from
elsewhere it asks a public server for this machine's address. Nor does it forbid frames, in which another site could
have a visitor click what is not seen; a `<meta>` tag cannot. The settings are Streamlit's own: `server.allowedHosts`,
`server.enableCORS` and `server.corsAllowedOrigins`.
"""

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
from urllib.parse import urlparse

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from streamlit import config
from streamlit.web.server.server_util import is_allowed_origin
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from explorer import errors, places, progress, run_folder, typed_json, work_folder
from explorer.encoding.load import loading
from explorer.measuring.maps import umap_layout
from explorer.ui.access import jobs, sidebar_choice
from explorer.ui.runs import training_queue

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from streamlit.starlette import App

LEFT_ALONE = 10  # seconds
LOOKED = 0.5  # seconds between two looks whether a visitor waits
LAST_ANSWERS = 3  # seconds
INTERRUPTED = "'%s' is interrupted. Resume it on its page, or with: python -m explorer train --resume %s"
LONGEST = 200  # characters of what was sent, in the answer
logger = logging.getLogger(__name__)


@asynccontextmanager
async def until_the_server_ends(app: App) -> AsyncIterator[None]:
    """Prepare the first page and restore the queue, in threads; stop every job when the server ends."""
    _end_with_the_terminal()
    _end_despite_open_connections()
    jobs.follow("first page", "Preparing the first page", _first_page, lane=jobs.AHEAD)
    threading.Thread(target=restore_queue, name="restoring the queue", daemon=True).start()
    under_way: list[str] = []
    try:
        yield
        under_way = training_queue.in_training()
    finally:
        jobs.stop_all()  # a signal ends the process before `atexit` is asked
        for name in under_way:
            logger.warning(INTERRUPTED, name, name)


def _end_with_the_terminal() -> None:
    """End as at Ctrl-C when the terminal is closed, which the server itself does not handle; nohup keeps it alive."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


def _end_despite_open_connections() -> None:
    """Limit how long the server waits for its visitors when it ends.

    A browser whose tab lost the server connects again at once. Where that falls between the end of accepting and the
    closing of all connections, uvicorn would wait for ever, and no job would be stopped.
    """
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)  # uvicorn's, whose method handles the signal
    if server is not None and hasattr(server, "config"):
        server.config.timeout_graceful_shutdown = LAST_ANSWERS


def _first_page() -> progress.Work[None]:
    """Import what every measurement needs, and measure what the first page shows, while nobody waits for it yet."""
    yield progress.Progress("looking", 0, 0)
    inspect.stack()  # Streamlit does so before it first draws; the path of every module is known from then on
    importlib.import_module("pandas")  # every page needs it before it can draw
    first = sidebar_choice.first()
    measured = sidebar_choice.are_kept(first)
    for _ in range(LEFT_ALONE if measured else 0):  # the first page is faster without: it shows what was kept
        yield progress.Progress("leaving the processor to the first page", 0, 0)
        time.sleep(1)
    yield from loading.importing()
    if not measured and jobs.idle(jobs.MEASURING):  # otherwise a visitor is there, and may have asked for another page
        measuring = sidebar_choice.measure_ahead(first)
        while not measuring.ends_within(1):
            yield measuring.progress
    while not (jobs.idle(jobs.MEASURING) and jobs.idle(jobs.LOADING)):
        yield progress.Progress("leaving the processor to a visitor", 0, 0)
        time.sleep(LOOKED)
    if jobs.idle(jobs.TRAINING):  # a run needs the processor more, and the first map can load it too
        yield from umap_layout.loaded()


def restore_queue() -> None:
    """Queue again what another server left; nothing is loaded if there is nothing."""
    try:
        home = run_folder.home()
        waited, planned = any(home.glob(f"[!.]*/{run_folder.QUEUED}")), _plans_were_under_way()
        if not waited and not planned:
            return
        # of two servers that start at once, the second finds everything queued
        with work_folder.holding(home, "Another server restores the queue.", "The queue is not restored."):
            if waited:
                training_queue.queue_again()
            if planned:
                training_queue.plans_again()
    except errors.RunBusy:
        return
    except errors.StrataError as error:
        logger.warning("The queue is not restored: %s", error)


def _plans_were_under_way() -> bool:
    """Whether a plan of the app is written as waiting or running, by this server or one that ended."""
    for path in places.runs_folder().glob(f"plans/[!.]*/{run_folder.STATUS}"):
        try:
            stated = typed_json.parsed(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and stated.get("of_app") and stated.get("state") in ("waiting", "running"):
            return True
    return False


class SameOrigin:
    """The middleware: 403 for a foreign Host or Origin, the app for all others, and no answer in a foreign frame."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or open one websocket."""
        refusal = _refusal(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                # who may show the answer in a frame; browsers that know the first ignore the second
                allowed = " ".join(["'self'", *config.get_option("server.corsAllowedOrigins")])
                frames = {"Content-Security-Policy": f"frame-ancestors {allowed}", "X-Frame-Options": "SAMEORIGIN"}
                MutableHeaders(scope=message).update(frames)
            await send(message)

        if refusal is None:
            await self.app(scope, receive, answer)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[:120]})
        else:
            await PlainTextResponse(refusal, status_code=403)(scope, receive, answer)


def _refusal(headers: Headers) -> str | None:
    host, origin = headers.get("host"), headers.get("origin")
    if not is_host_allowed(host):
        names = ", ".join(config.get_option("server.allowedHosts"))
        return f"Strata does not answer as '{(host or '')[:LONGEST]}', only as: {names} (server.allowedHosts)."
    same = origin is None or urlparse(origin).netloc == host
    if same or not config.get_option("server.enableCORS") or is_allowed_origin(origin or ""):
        return None
    return f"Strata answers its own pages, not those of '{(origin or '')[:LONGEST]}' (server.corsAllowedOrigins)."


MIDDLEWARE = [Middleware(SameOrigin)]
