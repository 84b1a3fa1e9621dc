"""The command line. Results go to standard output, progress to standard error."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from explorer.commands import (
    app,
    backtranslate,
    compare,
    embed,
    evaluate,
    export,
    generator,
    methods,
    plan,
    reproduce,
    score,
    search,
    shrink,
    train,
)
from explorer.commands.parts import stop_signals
from explorer.commands.parts.line import say
from explorer.errors import StrataError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default the app; return 0, or 1 with the reason on standard error."""
    options = _parser().parse_args((sys.argv[1:] if arguments is None else arguments) or ["app"])
    try:
        with stop_signals.raised():
            options.verb(options)
    except StrataError as error:
        say(error)
        return 1
    except KeyboardInterrupt as stop:
        say("Stopped. No incomplete result was saved.")
        return stop_signals.code(stop)
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strata" if Path(sys.argv[0]).stem == "strata" else "python -m explorer",
        description="Analyse and fine-tune every layer of a sentence encoder. Without a verb, the app opens.",
    )
    parser.add_argument("--version", action="version", version=f"strata {_version()}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for verb in (
        app,
        score,
        compare,
        evaluate,
        search,
        shrink,
        embed,
        train,
        plan,
        reproduce,
        methods,
        export,
        backtranslate,
        generator,
    ):
        verb.add(verbs)
    return parser


def _version() -> str:
    """The version, read from pyproject.toml, or from the package if it is installed."""
    project = Path(__file__).parent.parent / "pyproject.toml"
    if not project.exists():
        return importlib.metadata.version("strata")
    return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


if __name__ == "__main__":
    sys.exit(main())
