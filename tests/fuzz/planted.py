"""Cases that fail on purpose, to test what tries them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.fuzz.cases import check_line


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Fail in the way of the seed."""
    if seed == 1:
        print(1 // 0)
    if seed == 2:
        os._exit(3)
    if seed == 3:
        time.sleep(60)
    if seed == 4:
        check_line("a\nb")
    while seed == 5:
        time.process_time()
    if seed == 6:
        time.sleep(0.7)
