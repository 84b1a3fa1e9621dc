"""Run the tests that take a device on the GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.gpu.parts import Row, Setting

ROOT = Path(__file__).parents[2]
IN_MINIATURE = ("tests/training/loop/test_fetching_from_the_device.py",)
MOST = 12  # failed tests that are named


def results(setting: Setting, paths: tuple[str, ...] = ()) -> Iterator[Row]:
    """The number of tests that passed, and every test that failed."""
    chosen = paths or (IN_MINIATURE if setting.dry else ("tests",))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "device",
        "-p",
        "no:cacheprovider",
        *(() if setting.dry else ("-n", "4")),  # what a test computes is little beside starting it
        "--tb=line",
        "-rfE",
        *chosen,
    ]
    environment = os.environ | {"STRATA_TEST_DEVICE": setting.device}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["pytest printed nothing"]
    yield Row(f"tests on {setting.device}", lines[-1].strip("= "), done.returncode == 0)
    wrong = [line for line in lines if re.match("FAILED|ERROR", line)]
    for line in wrong[:MOST]:
        name, _, reason = line.partition(" ")[2].partition(" - ")
        yield Row(f"`{name}`", reason or "no reason given", False)
    if len(wrong) > MOST:
        yield Row("more", f"{len(wrong) - MOST} failed tests are not listed", False)
