"""Run benchmarks by name, or all but the slow ones: `make bench`, `make bench ARGS=memory`."""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile

QUICK = ("grid", "step", "start", "compare")
SLOW = ("memory", "alongside", "sharing", "methods", "search", "maps", "dragging", "exact", "demonstration")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*QUICK, *SLOW, []], metavar="NAME", help=", ".join(QUICK + SLOW))
    names = parser.parse_args().names or QUICK
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STRATA_CACHE"] = folder  # nothing measured before is taken for measured now
        for name in names:
            importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
