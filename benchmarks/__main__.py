"""Run benchmarks by name, or all but the slow ones: `make bench`, `make bench ARGS=memory`, `make bench ARGS=gpu`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile

QUICK = ("grid", "step", "start", "compare")
SLOW = (
    *("memory", "batches", "alongside", "sharing", "methods", "efficiency", "search", "large", "maps", "dragging"),
    *("panning", "exact", "demonstration", "blend", "advice", "walks", "words", "deletion", "edits", "coverage"),
    *("groups", "marked_pairs", "estimates", "pictures", "at_once"),
    *("few_rows", "few_labels", "quoted", "gpu"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*QUICK, *SLOW, []], metavar="NAME", help=", ".join(QUICK + SLOW))
    parser.add_argument("--dry", action="store_true", help="of gpu: run every part in miniature on this processor")
    given = parser.parse_args()
    names = given.names or QUICK
    if given.dry and names != ["gpu"]:
        parser.error("--dry is an option of gpu alone: make bench ARGS='gpu --dry'")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STRATA_CACHE"] = folder  # nothing measured before is taken for measured now
        options = {"dry": True} if given.dry else {}
        failed = [name for name in names if importlib.import_module(f"benchmarks.{name}").main(**options)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
