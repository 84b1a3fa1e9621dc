"""Estimate a run's time, memory and disk from a few real steps, and refuse a run that would not fit."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from explorer import in_words
from explorer.encoding.load import hardware
from explorer.errors import BadChoice, RunTooLarge
from explorer.places import runs_folder
from explorer.progress import Progress, Work, finish
from explorer.training.loop.learner import Learner, kept_buffers
from explorer.training.loop.memory import give_back
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.recipe import Recipe

FEW = 2  # rows of a first try that measures the memory per row, before a whole batch
_RESERVE = 1.1  # a tenth of the free memory stays free


@dataclass(frozen=True)
class Estimate:
    """What a run needs, measured on the longest rows."""

    step_seconds: float
    seconds: float
    memory: int  # bytes: weights, gradients, the optimiser's two moments, and the activations of a step
    free: int
    disk: int

    @property
    def told(self) -> str:
        """`0.21 s per step, about 3 min in all; 1.2 GB of memory (18.3 GB free), 0.4 GB on disk`."""
        return (
            f"{self.step_seconds:.2g} s per step, about {in_words.duration(self.seconds)} in all; "
            f"{self.memory / 1e9:.1f} GB of memory ({self.free / 1e9:.1f} GB free), {self.disk / 1e9:.1f} GB on disk"
        )


def estimate(learner: Learner, folder: Path, seeds: int = 1) -> Estimate:
    """Estimate a run; an error names the batch size that would fit. Weights and random states do not change."""
    device = learner.world.device.type
    free, fixed = hardware.free_memory(device), _fixed(learner)
    disk = _disk(learner, seeds)
    room = shutil.disk_usage(folder).free
    if disk * _RESERVE > room:
        raise RunTooLarge(
            f"The run needs {disk / 1e9:.1f} GB in {folder}, but {room / 1e9:.1f} GB are free there. Make room, or "
            "set STRATA_RUNS to a folder on another disk."
        )
    rows = learner.feed.share
    with _untouched(learner):
        a_row = _held_by(learner, min(FEW, rows)) / min(FEW, rows)
        needed = int(fixed + a_row * rows)
        if needed * _RESERVE > free:
            raise too_large(learner, needed, free, int((free / _RESERVE - fixed) / a_row))
        learner.gradients(learner.feed.longest(rows))  # the first call also allocates what later calls reuse
        learner.optimizer.zero_grad()
        started = time.monotonic()
        learner.gradients(learner.feed.batch(0))
        step = (time.monotonic() - started) * learner.schedule.accumulate
    if device == "cuda":
        needed = max(needed, int(torch.cuda.max_memory_allocated()))
    return Estimate(step, step * learner.total * seeds, needed, free, disk)


def check_reading(learner: Learner) -> None:
    """Refuse to train the first token of a decoder: it does not depend on the tokens after it."""
    one, other = finish(learner.method.reading(["one and two", "one and three"], learner.method.start()))
    if torch.equal(one, other):
        raise BadChoice(
            f"'{learner.method.base.encoder.name}' reads from left to right, so the first token of a sentence ('cls') "
            "does not depend on the rest. Set pooling to mean."
        )


def too_large(learner: Learner, needed: int, free: int, fits: int) -> RunTooLarge:
    """The error for a batch that does not fit."""
    batch = learner.schedule.batch_size
    fits *= learner.world.size
    if fits < 2:
        told = "No batch of this model fits: choose a smaller model, or a machine with more memory"
    else:
        told = (
            f"Set batch_size to {min(fits, batch - 1)}, or lower max_length. accumulate restores the rows per update, "
            "but not the negatives in a batch"
        )
    return RunTooLarge(
        f"A batch of {batch} needs about {needed / 1e9:.1f} GB of memory, but {free / 1e9:.1f} GB are free. {told}."
    )


def _fixed(learner: Learner) -> int:
    """Bytes for gradients, both moments of the optimiser, and the copy of the best weights."""
    trained = sum(weight.numel() for weight in learner.method.parameters() if weight.requires_grad)
    return trained * 4 * 4


def _disk(learner: Learner, seeds: int) -> int:
    """Bytes in the run's folder: the models and two states, since the old one is deleted after the new one."""
    trained = sum(weight.numel() for weight in learner.method.parameters() if weight.requires_grad)
    model = sum(weight.numel() for weight in learner.method.base.parameters())
    schedule = learner.schedule
    looks = learner.total // schedule.look_every(learner.total) + 1
    kept = looks * seeds if schedule.keep_steps else 0
    return trained * 4 * 4 * 2 + model * 4 * (2 + kept)


def _held_by(learner: Learner, rows: int) -> int:
    """Bytes that the longest rows hold between the forward and the backward pass."""
    weights = {weight.untyped_storage().data_ptr() for weight in learner.method.parameters()}
    held: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        learner.gradients(learner.feed.longest(rows))
    learner.optimizer.zero_grad()
    return sum(held.values())


@contextmanager
def _untouched(learner: Learner) -> Iterator[None]:
    """Restore weights, buffers and random states afterwards."""
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    buffers = {name: value.clone() for name, value in kept_buffers(learner.method).items()}
    try:
        yield
    finally:
        learner.optimizer.zero_grad()
        for name, value in kept_buffers(learner.method).items():
            value.copy_(buffers[name])
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state(cuda)


def try_out(recipe: Recipe, online: bool = False) -> Work[Estimate]:
    """Estimate a recipe, or raise the error that the run would raise."""
    recipe = recipe.checked()
    try:
        return (yield from _tried(recipe, online))
    finally:
        give_back()


def _tried(recipe: Recipe, online: bool) -> Work[Estimate]:
    world = World(recipe.precision, recipe.device)
    prepared = yield from prepare(recipe, world.device.type, online)
    yield Progress("measuring one step", 0, 0)
    learner = Learner(prepared, recipe.seeds[0], world)
    check_reading(learner)
    return estimate(learner, _existing(runs_folder()), len(recipe.seeds))


def _existing(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    return next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
