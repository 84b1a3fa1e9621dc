"""export: copy the tuned encoder of a run to a folder.

Copy the model of a run. transformers and sentence-transformers can load the folder.
"""

import argparse

from explorer.places import given_path
from explorer.training.record import runs


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("run", metavar="RUN", help="The name of a run, or its folder")
    verb.add_argument("folder", metavar="DIR", type=given_path, help="The folder to write; it must not exist yet")


def run(options: argparse.Namespace) -> None:
    """Copy the model."""
    from explorer.training import saved_model

    given = given_path(options.run)
    run = runs.find(given.name, given.parent) if len(given.parts) > 1 else runs.find(options.run)
    saved_model.take(run, options.folder)
    print(options.folder)
