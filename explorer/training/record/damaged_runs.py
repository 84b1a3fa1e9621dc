"""Delete what killed processes left in a folder of runs."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from explorer import run_folder
from explorer.training.record import folder_lock, runs
from explorer.training.record import status as statuses

UNTOUCHED = 600.0  # seconds; where nothing can be locked, what is as old is no longer the work of a process
_LEFT = re.compile(r"\.\d+-\d+\.part|\.deleted-.+-\d+")


def collect(folder: Path | None = None) -> None:
    """Delete half-made and half-deleted runs, and the states of finished runs: hundreds of megabytes each."""
    for run in runs.every(folder):
        if run.state.exists() and run.status().state == statuses.FINISHED and not folder_lock.is_held(run.folder):
            shutil.rmtree(run.state, ignore_errors=True)
    for path in run_folder.home(folder).glob(".*"):
        if _LEFT.fullmatch(path.name) and _untouched(path) and not folder_lock.is_in_use(path):
            shutil.rmtree(path, ignore_errors=True)


def _untouched(path: Path) -> bool:
    """Whether a folder was renamed, or an entry of it changed, long ago or by a clock that has been set back since."""
    try:
        return abs(time.time() - path.stat().st_ctime) >= UNTOUCHED
    except OSError:
        return False
