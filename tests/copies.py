"""Plant lines in a copy of the program, and run work in a process that imports the copy in its place."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.live import ROOT
from tests.processes import process

FOLDERS, FILES = ("explorer", "pages", "checkpoints"), ("app.py", "pyproject.toml")
STORES = ("cache", "data", "results", "runs", "talks")


def planted(folder: Path, lines: Iterable[tuple[str, str, str]]) -> None:
    """Copy the program into a folder, with new lines before others: (file, what is there, what is new)."""
    for part in FOLDERS:
        shutil.copytree(ROOT / part, folder / part)
    for part in FILES:
        shutil.copy(ROOT / part, folder / part)
    for home, before, new in lines:
        text = (folder / home).read_text(encoding="utf-8")
        assert text.count(before) == 1, (home, before)
        (folder / home).write_text(text.replace(before, new + before), encoding="utf-8")


def run_in(folder: Path, do: Callable[[Path], object], **stores: Path) -> None:
    """Do something with the copy in a folder, in a process of its own; the stores are in the folder unless stated."""
    where = {name: folder / name for name in STORES} | stores
    failed = folder / "failed.txt"
    there = process(_there, folder, do, {f"STRATA_{name.upper()}": str(path) for name, path in where.items()}, failed)
    there.join()
    assert there.exitcode == 0, failed.read_text()


def _there(folder: Path, do: Callable[[Path], object], environment: Mapping[str, str], failed: Path) -> None:
    os.environ.update(environment)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("explorer", "tests")]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        import explorer

        assert Path(explorer.__file__).is_relative_to(folder)
        do(folder)
    except BaseException:
        failed.write_text(traceback.format_exc(), encoding="utf-8")
        raise
