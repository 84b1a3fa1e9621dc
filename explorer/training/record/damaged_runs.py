"""Delete what killed processes left in a folder of runs, and name the runs that cannot be read."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from explorer import run_folder
from explorer.places import is_utf8
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


def unreadable(folder: Path | None = None) -> list[str]:
    """One line for each run whose recipe or status cannot be read: in a list it is missing, or looks interrupted."""
    found = (path for path in run_folder.home(folder).glob("[!.]*") if is_utf8(path.name) and path.is_dir())
    return [line for path in sorted(found) if (line := _fault(path))]


def _fault(path: Path) -> str:
    """Why a run is not listed as it is; "" if nothing is wrong, or if it is no run."""
    try:
        with suppress(FileNotFoundError):
            (path / run_folder.RECIPE).open("rb").close()
        with suppress(FileNotFoundError):
            if statuses.parsed((path / run_folder.STATUS).read_bytes()) is None:
                return f"'{path.name}' has a damaged status: it counts as interrupted. Restore its file, or resume it."
    except OSError as error:
        return f"'{path.name}' cannot be read: {error.filename}: {error.strerror}. Check its permissions."
    return ""
