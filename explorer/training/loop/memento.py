"""What of a learner has to be kept, so that it goes on as if it had never been broken off?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from explorer.training.loop.learner import Learner, kept_buffers, sow
from explorer.training.loop.state import State


def state_of(learner: Learner) -> State:
    """All that resuming needs."""
    tensors: dict[str, Tensor] = {f"best/{name}": weight for name, weight in learner.kept.items()}
    tensors |= {f"buffer/{name}": value for name, value in kept_buffers(learner.method).items()}
    for weight, name in learner.names.items():
        tensors[f"weight/{name}"] = weight
        for what, value in learner.optimizer.state.get(weight, {}).items():
            tensors[f"adam/{what}/{name}"] = value
    tensors |= {f"random/{name}": value for name, value in _random_states().items()}
    notes: dict[str, Any] = {
        "seed": learner.seed,
        "step": learner.step,
        "scores": [None if math.isnan(score) else score for score in learner.scores],
        "looked_at": learner.looked_at,
        "best_step": learner.best_step,
        "best_dev": learner.best_dev,
    }
    return State(tensors, notes)


def restore(learner: Learner, state: State) -> None:
    """Go on exactly where a state was taken."""
    notes, weights, adam = state.notes, state.under("weight/"), state.under("adam/")
    with torch.no_grad():
        buffers = state.under("buffer/")
        for name, value in kept_buffers(learner.method).items():
            value.resize_(buffers[name].shape).copy_(buffers[name])  # some are as large as what was learned
        for weight, name in learner.names.items():
            weight.copy_(weights[name])
            found = {what: adam[f"{what}/{name}"] for what in ("step", "exp_avg", "exp_avg_sq")
                     if f"{what}/{name}" in adam}  # fmt: skip
            if found:
                learner.optimizer.state[weight] = {
                    what: value.to(weight.device) if what != "step" or weight.is_cuda else value
                    for what, value in found.items()
                }
    learner.kept = {name: weight.to(learner.world.device) for name, weight in state.under("best/").items()}
    learner.step, learner.looked_at, learner.best_step = notes["step"], notes["looked_at"], notes["best_step"]
    learner.scores = [float("nan") if score is None else score for score in notes["scores"]]
    learner.best_dev = notes.get("best_dev", learner.best_score)  # older states chose by the dev score alone
    _set_random_states(state.under("random/"))
    if learner.world.rank:  # those are of the first process; each draws its own dropout
        sow(learner.seed + 7919 * learner.world.rank + 104_729 * learner.step)


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _set_random_states(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
