"""export: copy the tuned model of a run to a folder."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.places import given_path


def add(verbs: Any) -> None:
    """State the flags."""
    export = verbs.add_parser(
        "export",
        help="copy the tuned encoder of a run to a folder",
        description="Copy the model of a run. transformers and sentence-transformers can load the folder.",
    )
    export.set_defaults(verb=_export)
    export.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    export.add_argument("folder", metavar="DIR", type=given_path, help="the folder to write; it must not exist yet")


def _export(options: argparse.Namespace) -> None:
    from explorer.training import saved_model
    from explorer.training.record import runs

    given = given_path(options.run)
    run = runs.find(given.name, given.parent) if len(given.parts) > 1 else runs.find(options.run)
    saved_model.take(run, options.folder)
    print(options.folder)
