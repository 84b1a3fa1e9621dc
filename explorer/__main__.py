"""The command line. Results go to standard output, progress to standard error."""

import argparse
import importlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path

from explorer.commands.parts import output
from explorer.commands.parts.output import say
from explorer.errors import BadChoice, StrataError
from explorer.places import is_utf8, refused, version

COMMANDS = {  # the file of each, in the order of the help
    "app": "app",
    "score": "scores",
    "compare": "compare",
    "evaluate": "evaluate",
    "search": "sentences",
    "explain": "explain",
    "similarity": "similarity",
    "shrink": "scores",
    "static": "scores",
    "embed": "sentences",
    "verify": "verify",
    "mine": "methods",
    "train": "train",
    "blend": "finished_runs",
    "advise": "advise",
    "plan": "plans",
    "reproduce": "plans",
    "gallery": "finished_runs",
    "methods": "methods",
    "export": "finished_runs",
    "backtranslate": "methods",
    "generator": "methods",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default the app; return 0, or 1 with the reason on standard error, or 128 + a signal.

    A gate returns 1 or 2 as its command says.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        with output.checked(), output.raised():
            for word in words:
                if not is_utf8(word):  # no recipe, result or page could hold it
                    raise BadChoice(
                        f"'{word}' is not UTF-8. Rename the file or folder, or make a link to it with another name."
                    )
            options = _options(words or ["app"])
            if options is not None:
                return options.verb(options) or 0
    except StrataError as error:
        say(error)
        return 1
    except OSError as error:  # what is not expected of any file
        say(refused(error))
        return 1
    except KeyboardInterrupt as stop:
        say("Stopped. No incomplete result was saved.")
        return output.code(stop)
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace | None:
    """The command and its flags; None if help was asked for, and printed."""
    try:
        return _parser(arguments).parse_args(arguments)
    except SystemExit as end:
        if end.code:
            raise
        return None


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strata" if Path(sys.argv[0]).stem == "strata" else "python -m explorer",
        description="Analyse and fine-tune every layer of a sentence encoder. Without a verb, the app opens.",
    )
    parser.add_argument("--version", action="version", version=f"strata {version()}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    for name, file in COMMANDS.items():
        if name not in arguments and arguments[0] in COMMANDS:
            continue  # what the others import is not loaded
        commands = importlib.import_module(f"explorer.commands.{file}")
        command = getattr(commands, name)
        title, *about = inspect.cleandoc(command.__doc__).splitlines()
        help = title[0].lower() + title[1:].rstrip(".")
        verb = verbs.add_parser(name, help=help, description=" ".join(about))
        verb.set_defaults(verb=command)
        if name in arguments:
            getattr(commands, f"{name}_flags")(verb)
    return parser


if __name__ == "__main__":
    sys.exit(main())
