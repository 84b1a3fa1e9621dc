"""The command line: the same verbs as the pages. Results go to standard output, progress to standard error."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from explorer.commands import backtranslate, compare, export, generator, methods, score, search, train
from explorer.errors import StrataError


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; 0 if it was done, 1 with the reason on standard error if not."""
    options = _parser().parse_args(arguments)
    try:
        options.verb(options)
    except StrataError as error:
        print(f"{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. Nothing half-done was kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m explorer", description="See what every layer of an encoder knows.")
    parser.add_argument("--version", action="version", version=f"strata {_version()}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for verb in (score, compare, search, train, methods, export, backtranslate, generator):
        verb.add(verbs)
    return parser


def _version() -> str:
    """The version, from the one place that states it."""
    project = Path(__file__).parent.parent / "pyproject.toml"
    return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


if __name__ == "__main__":
    sys.exit(main())
