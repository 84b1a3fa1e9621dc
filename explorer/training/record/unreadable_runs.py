"""Name the runs that cannot be read, for those who list runs: in a list they are missing, or look interrupted."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from explorer import run_folder
from explorer.places import is_utf8
from explorer.training.record import status as statuses


def told(folder: Path | None = None) -> list[str]:
    """One line for each folder in that of runs whose recipe or status cannot be read."""
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
