"""Save and restore a run: weights, optimiser, random states and position, in one folder that is written atomically.

Tensors are safetensors and everything else is JSON: nothing is unpickled. Each save is a new folder, renamed into
place when it is complete; only then is the previous one deleted.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from explorer import fair_share, places, typed_json
from explorer.errors import CannotResume, NotWritable
from explorer.measuring.scores.metrics import AVERAGE_PRECISION, SPEARMAN
from explorer.methods import changing, random_states, set_random_states, sow
from explorer.training.loop import computed
from explorer.training.loop.measured_facts import Blend

if TYPE_CHECKING:
    from explorer.training.loop.learner import Learner

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
    """Save a state atomically; the previous one is kept until then."""
    from safetensors.torch import save_file

    number = max((_number(path) for path in _saves(folder)), default=0) + 1
    part = folder / f"save-{number}.part"
    try:
        folder.mkdir(exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        save_file({name: value.detach().cpu().contiguous() for name, value in state.tensors.items()}, part / "tensors")
        (part / "notes.json").write_text(json.dumps(state.notes), encoding="utf-8")
        places.settle(part)
        part.rename(folder / f"save-{number}")
        places.sync(folder)
    except Exception as error:  # safetensors raises its own errors for a full disk
        shutil.rmtree(part, ignore_errors=True)
        raise NotWritable(
            f"The state of the run cannot be saved in {folder} ({_short(error)}). The last good state is still there. "
            "Make room on that disk, then resume."
        ) from error
    for path in _saves(folder):
        if _number(path) < number:
            shutil.rmtree(path, ignore_errors=True)


def load(folder: Path) -> State | None:
    """The last saved state; None if there is none."""
    from safetensors.torch import load_file

    saves = _saves(folder)
    if not saves:
        return None
    last = max(saves, key=_number)
    try:
        return State(load_file(last / "tensors"), typed_json.parsed((last / "notes.json").read_text(encoding="utf-8")))
    except Exception as error:  # safetensors and json raise errors of their own for a damaged file
        raise CannotResume(
            f"The state in {last} cannot be read ({_short(error)}). Delete the folder {folder} to start the run over."
        ) from error


def threads(folder: Path) -> int | None:
    """The number of threads that the last saved state was computed with; None if there is none that states it."""
    try:
        last = max(_saves(folder), key=_number)
        stated = typed_json.parsed((last / "notes.json").read_text(encoding="utf-8"))[computed.THREADS]
        return stated if fair_share.allowed(stated) else None
    except (OSError, ValueError, TypeError, LookupError):  # a damaged state is refused when it is loaded
        return None


def check(state: State, recipe: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings than those of the recipe at the time of the state."""
    then = state.notes["recipe"]
    changed = [f"{name} was {then[name]}, not {now}" for name, now in recipe.items() if then.get(name, now) != now]
    if changed:
        raise CannotResume(
            f"recipe.yaml was changed since the run was stopped: {'; '.join(changed)}. Undo that, or start a new run "
            "from a copy of recipe.yaml without made_with."
        )


def there(folder: Path) -> bool:
    """Whether a state was saved."""
    return bool(_saves(folder))


def forget(folder: Path) -> None:
    """Delete the state; a finished run needs none."""
    shutil.rmtree(folder, ignore_errors=True)


def _saves(folder: Path) -> list[Path]:
    return [path for path in folder.glob("save-*") if _SAVED.fullmatch(path.name)]


def _number(path: Path) -> int:
    found = _SAVED.fullmatch(path.name)
    return int(found[1]) if found else 0


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else 'no reason'}"


def state_of(learner: Learner) -> State:
    """All that resuming needs."""
    tensors: dict[str, Tensor] = {f"best/{name}": weight for name, weight in learner.kept.items()}
    tensors |= {f"method/{name}": value for name, value in changing(learner.method).items()}
    for weight, name in learner.names.items():
        for what, value in learner.optimizer.state.get(weight, {}).items():
            tensors[f"optimizer/{what}/{name}"] = value
    if learner.judged:
        tensors["judged"] = torch.from_numpy(np.stack([items for _, items in learner.judged]))
    tensors |= {f"random/{name}": value for name, value in random_states().items()}
    notes: dict[str, Any] = {
        "seed": learner.seed,
        "step": learner.step,
        "scores": [None if math.isnan(score) else score for score in learner.scores],
        "evaluated_at": learner.evaluated_at,
        "best_step": learner.best_step,
        "best_dev": learner.best_dev,
        "best_candidate": learner.best_candidate,
        "by_loss": learner.by_loss,
        "measure": learner.prepared.dev.measure,
        "judged": [step for step, _ in learner.judged],
        "candidate": learner.method.candidate,
        "blend": learner.blend and asdict(learner.blend),
        computed.THREADS: computed.made_with(learner.prepared.recipe.made_with, learner.world.device.type)[
            computed.THREADS
        ],
    }
    return State(tensors, notes)


def restore(learner: Learner, state: State) -> None:
    """Restore a learner to exactly where a state was saved."""
    notes, saved = state.notes, state.under("method/")
    now = learner.prepared.dev.measure
    # states without it are of versions that scored all pairs by Spearman
    if (then := notes.get("measure", SPEARMAN if now == AVERAGE_PRECISION else now)) != now:
        raise CannotResume(
            f"The checkpoints of this run were chosen by {then}, and pairs with two labels are now scored by {now}. "
            "Start a new run from its recipe."
        )
    missing = sorted(set(changing(learner.method)) - set(saved))
    if missing:
        raise CannotResume(
            f"The state of the run lacks '{missing[0]}', which this version of {learner.method.title()!r} has. Start a "
            "new run from its recipe."
        )
    with torch.no_grad():
        for name, value in changing(learner.method).items():
            if value.shape != saved[name].shape:  # the size of some buffers depends on the data
                value.resize_(saved[name].shape)
            value.copy_(saved[name])
    moments: dict[str, dict[str, Tensor]] = {}  # by weight
    for place, value in state.under("optimizer/").items():
        what, _, name = place.partition("/")
        moments.setdefault(name, {})[what] = value
    for weight, name in learner.names.items():
        if name in moments:
            # a fused optimiser keeps its step on the device too
            learner.optimizer.state[weight] = {what: value.to(weight.device) for what, value in moments[name].items()}
    learner.kept = {name: weight.to(learner.world.device) for name, weight in state.under("best/").items()}
    learner.step, learner.evaluated_at, learner.best_step = notes["step"], notes["evaluated_at"], notes["best_step"]
    learner.scores = [float("nan") if score is None else score for score in notes["scores"]]
    learner.best_dev, learner.best_candidate = notes["best_dev"], notes["best_candidate"]
    learner.by_loss = notes.get("by_loss", False)
    if steps := notes.get("judged"):
        learner.judged = list(zip(steps, state.tensors["judged"].numpy(), strict=True))
    learner.method.candidate = notes["candidate"]
    learner.blend = Blend(**notes["blend"]) if notes.get("blend") else None
    set_random_states(state.under("random/"))
    if learner.world.rank:  # the saved random states are the first process's; each process draws its own dropout
        sow(learner.seed + 7919 * learner.world.rank + 104_729 * learner.step)
