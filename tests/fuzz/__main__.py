"""Try random cases for some seconds, and print how many failed and the command that repeats each."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz import cases


def main(arguments: Sequence[str]) -> int:
    """Run the kinds one after the other; 1 if a case failed."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before the processes import torch
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for all kinds together (60)")
    parser.add_argument("--kind", action="append", choices=cases.KINDS, help="of these kinds only")
    parser.add_argument("--seed", type=int, help="this case only")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed (0)")
    asked = parser.parse_args(arguments)
    kinds = asked.kind or cases.KINDS
    failed = 0
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="strata-fuzz-") as folder:
            end = time.monotonic() + asked.seconds / len(kinds)
            failed += _kind(kind, asked.seed, asked.first, Path(folder), end)
    return 1 if failed else 0


def _kind(kind: str, seed: int | None, first: int, folder: Path, end: float) -> int:
    began, tried, refused, failures = time.monotonic(), 0, 0, 0
    for case in cases.tried(kind, [seed] if seed is not None else range(first, first + 10**9), folder):
        tried, refused = tried + 1, refused + case.refused
        if case.fault:
            failures += 1
            print(f"{kind}: {case.fault}\n    python -m tests.fuzz --kind {kind} --seed {case.seed}", flush=True)
        if time.monotonic() > end and seed is None:
            break
    seconds = time.monotonic() - began
    print(f"{kind}: {tried:,} cases in {seconds:,.0f} s, {refused:,} of them refused, {failures} failures", flush=True)
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
