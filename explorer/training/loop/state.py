"""What does resuming need? Weights, optimiser, random states and place, in one folder that is whole or not there.

Tensors are safetensors and everything else is JSON: nothing is unpickled. Each save is a folder of its own beside the
last, renamed into place when it is complete; only then is the last one deleted.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from explorer.errors import CannotResume, NotWritable

_SAVED = re.compile(r"save-(\d+)")


@dataclass(frozen=True)
class State:
    """Tensors by name, and notes."""

    tensors: Mapping[str, Tensor]
    notes: Mapping[str, Any]

    def under(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names start with a prefix, under the rest of the name."""
        return {name[len(prefix) :]: value for name, value in self.tensors.items() if name.startswith(prefix)}


def save(folder: Path, state: State) -> None:
    """Keep a state, whole or not at all; the one before it stays until then."""
    from safetensors.torch import save_file

    number = max((_number(path) for path in _saves(folder)), default=0) + 1
    part = folder / f"save-{number}.part"
    try:
        folder.mkdir(exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        save_file({name: value.detach().cpu().contiguous() for name, value in state.tensors.items()}, part / "tensors")
        (part / "notes.json").write_text(json.dumps(state.notes), encoding="utf-8")
        part.rename(folder / f"save-{number}")
    except Exception as error:  # safetensors has errors of its own for a full disk
        shutil.rmtree(part, ignore_errors=True)
        raise NotWritable(
            f"The state of the run cannot be kept in {folder} ({_short(error)}). The last good state is still there. "
            "Make room on that disk, then resume."
        ) from error
    for path in _saves(folder):
        if _number(path) < number:
            shutil.rmtree(path, ignore_errors=True)


def load(folder: Path) -> State | None:
    """The last state that was kept; None where none was."""
    from safetensors.torch import load_file

    saves = _saves(folder)
    if not saves:
        return None
    last = max(saves, key=_number)
    try:
        return State(load_file(last / "tensors"), json.loads((last / "notes.json").read_text(encoding="utf-8")))
    except Exception as error:
        raise CannotResume(
            f"The state in {last} cannot be read ({_short(error)}). Delete the folder {folder} to start the run over."
        ) from error


def there(folder: Path) -> bool:
    """Whether a state was kept."""
    return bool(_saves(folder))


def forget(folder: Path) -> None:
    """Delete it; a finished run needs none."""
    shutil.rmtree(folder, ignore_errors=True)


def _saves(folder: Path) -> list[Path]:
    return [path for path in folder.glob("save-*") if _SAVED.fullmatch(path.name)]


def _number(path: Path) -> int:
    found = _SAVED.fullmatch(path.name)
    return int(found[1]) if found else 0


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else 'no reason'}"
