"""List the runs whose model has an attention pooler over its layers."""

from __future__ import annotations

from pathlib import Path

from explorer.encoding.locate import layout
from explorer.errors import StrataError
from explorer.training.record import runs
from explorer.training.record.runs import Run


def of_runs() -> list[Run]:
    """Runs whose model has a pooler over its layers, newest first."""
    return [run for run in runs.every() if _listens(run.model)]


def _listens(folder: Path) -> bool:
    try:
        return any(
            module.kind == "LayerReading" and bool(layout.settings(module.folder / "config.json").get("attention"))
            for module in layout.modules(folder)
        )
    except StrataError:
        return False
