"""Serve the app in a fork of a process that has imported all it needs: a server of its own imports for seconds."""

from __future__ import annotations

import faulthandler
import os
import runpy
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock

from explorer.measuring.maps import umap_layout
from explorer.studies.size import duration
from tests import live, processes

APP = ("streamlit.web.cli", "streamlit.web.bootstrap", "explorer.ui.frame.page_frame", "explorer.ui.train.run_view")
PATIENCE = 60.0  # seconds until it has ended


def serve(port: int, environment: dict[str, str]) -> None:
    """The app, in this process; what it asks outside this machine is written down where `STRATA_ASKED` says."""
    os.environ.update(environment)
    if "STRATA_ASKED" in environment:
        import tests.outside.sitecustomize  # noqa: F401  # it watches from now on
    sys.argv = ["streamlit", "run", str(live.ROOT / "app.py"), "--server.port", str(port)]
    with mock.patch.multiple(duration, TRIED=16, TIMES=1):  # Size & quality times more than it shows, at each visit
        runpy.run_module("streamlit", run_name="__main__")


def serve_without_maps(port: int, environment: dict[str, str], stacks: Path | None = None) -> None:
    """The app, in this process; asked for it, it writes to `stacks` what each of its threads is doing."""
    umap_layout.loaded = lambda: iter(())  # no map is drawn there, and to compile its code takes seconds
    if stacks is not None:
        faulthandler.register(signal.SIGUSR1, stacks.open("w"), all_threads=True)
    serve(port, environment)


@contextmanager
def served(port: int, do: Callable[..., None], *arguments: object) -> Iterator[BaseProcess]:
    """The app in a fork of a process that has imported all it needs, until it ends or is ended as by Ctrl-C."""
    server = forked(do, *arguments)
    try:
        live.wait_for(f"http://127.0.0.1:{port}")
        yield server
    finally:
        server.terminate()
        server.join(PATIENCE)


def forked(do: Callable[..., object], *arguments: object) -> BaseProcess:
    """A fork of a process that has imported the app, too, if it is the first one that is asked for."""
    processes.PRELOADED += [name for name in APP if name not in processes.PRELOADED]
    return processes.process(do, *arguments)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
