"""Start the app."""

import argparse
import runpy
import signal
import sys

from explorer import fair_share
from explorer.data.graded import sts
from explorer.errors import BadChoice
from explorer.places import app_file, cache_folder, results_folder, runs_folder
from explorer.typed_numbers import whole_in


def app_flags(verb: argparse.ArgumentParser) -> None:
    """Take the port."""
    verb.add_argument("--port", metavar="N", help="The port (default: 8501 or the next free one)")


def app(options: argparse.Namespace) -> None:
    """Start the app (the default).

    Start the app on 127.0.0.1 and print its address. Ctrl-C stops it.
    """
    if options.port is not None and not 1 <= (whole_in(options.port) or 0) <= 65535:
        raise BadChoice(f"--port {options.port} is not possible. Choose 1 to 65535.")
    if not app_file().is_file():
        raise BadChoice(f"There is no {app_file()}: this copy has the commands alone. Copy the whole project.")
    for folder in (cache_folder, runs_folder, results_folder, sts.data_folder):
        folder()  # refuse a variable that names no possible folder before every page does
    # the server stops every job first, then hands the signal back
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, lambda *_: sys.exit())
    port = [] if options.port is None else ["--server.port", options.port.strip()]
    fair_share.one_arena()  # before Streamlit has threads: those of its start would keep arenas of their own
    sys.argv = ["streamlit", "run", str(app_file()), *port]
    runpy.run_module("streamlit", run_name="__main__")
