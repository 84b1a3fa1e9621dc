"""Estimate a run before it starts: time, memory and disk from a few real steps.

A run that would not fit is refused.
"""

import math
import shutil
import time
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from explorer import fair_share, in_words, places
from explorer.encoding.load import hardware
from explorer.encoding.tune.tunable import Tunable, all_kept
from explorer.errors import BadChoice, RunTooLarge, ran_out_of_memory
from explorer.evaluating.probes.class_rows import RowsJudge
from explorer.measuring.scores.judge import Judge
from explorer.methods import Autocast, Method, PredictedClasses, changing, untouched
from explorer.progress import Phase, Progress, Work, finish
from explorer.training.loop import computed, folds, judging, preparing, stages, training_texts
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import Estimate
from explorer.training.loop.processes import World
from explorer.training.recipe import Recipe, naming

TRIED = 256  # sentences of an evaluation set whose encoding is timed: few would not fill their batches
BATCHES, TIMES = 3, 2  # that are timed, from all over the training, and how often each
PATIENCE = 5.0  # seconds after which nothing is timed again
FEW = 2  # rows of a first try that measures the memory per row, before a whole batch
_RESERVE = 1.1  # a tenth more than is needed has to be free


def of_run(learner: Learner, prepared: preparing.Prepared, folder: Path, trainings: int = 1) -> Estimate:
    """Estimate a run from what it needs, with all that it is scored on, and several trainings for each seed."""
    judged, elsewhere = prepared.measured, prepared.elsewhere
    known = {use for use, judge in judged.items() if judging.is_kept(prepared.encoder, learner.method, judge)}
    return estimate(learner, folder, len(prepared.recipe.seeds), judged, known, elsewhere, trainings)


def estimate(
    learner: Learner,
    folder: Path,
    seeds: int = 1,
    judged: Mapping[str, Judge] = MappingProxyType({}),
    known: Collection[str] = (),
    elsewhere: Collection[str] = (),
    trainings: int = 1,
) -> Estimate:
    """Estimate a run; an error names the batch size that would fit. Weights and random states do not change.

    `judged` is what it is scored on by use; in `known` are the uses of which the base's scores are stored, and in
    `elsewhere` those of sets that it is not trained for. Each seed has so many `trainings`, one after the other.
    """
    device = learner.world.device.type
    free, fixed = hardware.free_memory(device), _fixed(learner)
    # the models and two states, since the old one is deleted after the new one; in a state is all that changes, also
    # without a gradient, and of what is trained, the optimiser's two moments and the best weights
    state = sum(tensor.numel() for tensor in changing(learner.method).values()) * 4 + _trained(learner) * 4 * 3
    disk = 2 * state + learner.method.base.size * 4 + _kept_bytes(learner, seeds)
    _check_room(folder, disk * _RESERVE)
    rows = learner.feed.share
    with untouched(learner.method):
        a_row = _activation_bytes(learner, min(FEW, rows)) / min(FEW, rows)
        if fixed + a_row * 8 * FEW <= free:  # so that four times as many rows fit, too
            a_row = max(a_row, _peak_per_row(learner, rows))
        needed = int(fixed + a_row * learner.method.rows_in_memory(rows))
        if needed * _RESERVE > free:
            raise too_large(learner, needed, free, int((free / _RESERVE - fixed) / a_row))
        # a GPU's peak has the gradients and every temporary; the moments and the copy of the best weights come on top
        peak = _peak_of(learner, rows)
        measured = peak + fixed * 3 // 4 if peak else 0
        step = _step_seconds(learner)
        single, dev = _evaluating(learner)
    if measured * _RESERVE > free:
        raise too_large(learner, measured, free, int((free / _RESERVE - fixed) / max(1, measured - fixed) * rows))
    needed = max(needed, measured)
    # the best checkpoint of each seed on every set, and the base where it is not known
    sets = {use: single * len(judge.texts) * (seeds + (use not in known)) for use, judge in judged.items()}
    return Estimate(
        step,
        (step * learner.total + dev) * seeds * trainings + sum(sets.values()),
        needed,
        free,
        disk,
        learner.total * seeds * trainings,
        _kept_bytes(learner, seeds),
        _trained(learner),
        learner.method.base.size,
        _added(learner.method),
        sum(sets[use] for use in elsewhere),
    )


def _check_room(folder: Path, needed: float) -> None:
    """Refuse a run that needs more bytes than are free on the disk."""
    room = shutil.disk_usage(folder).free
    if needed > room:
        raise RunTooLarge(
            f"The run needs {in_words.size(needed)} in {folder}, but {in_words.size(room)} are free there. "
            "Make room, or set STRATA_RUNS to a folder on another disk."
        )


def _added(method: Method) -> int:
    """The number of trained weights that are in no copy of the encoder, such as those of a head."""
    copies = [part for part in method.modules() if isinstance(part, Tunable)]
    added = {weight for weight in method.parameters() if weight.requires_grad}
    added -= {weight for copy in copies for weight in copy.parameters()}
    return sum(weight.numel() for weight in added)


@dataclass(frozen=True)
class Tried:
    """What a try of the stages of a run found: the steps of each, the last learner, and what all need together."""

    steps: tuple[int, ...]
    last: Learner
    estimate: Estimate | None  # None if no stage trains, or several processes train


def try_stages(learners: Iterable[Learner], prepared: preparing.Prepared, folder: Path) -> Tried:
    """Estimate the stages of a run one after the other; the last one is evaluated on every set, others on dev."""
    steps: list[int] = []
    parts: list[Estimate] = []
    seeds, last = len(prepared.recipe.seeds), len(prepared.recipe.chain)
    for learner in learners:
        steps.append(learner.total)
        with naming(prepared.recipe, len(steps)):
            check_reading(learner)
            if learner.method.trains() and learner.world.size == 1:
                if len(steps) == last:
                    parts.append(of_run(learner, prepared, folder))
                else:
                    parts.append(estimate(learner, folder, seeds))
    return Tried(tuple(steps), learner, _together(parts, seeds))


def try_folds(learner: Learner, prepared: preparing.Prepared, folder: Path) -> Tried:
    """Estimate a run in folds by the first one: as many trainings as there are folds, and one on all rows."""
    check_reading(learner)
    folds.check(prepared, learner)
    trainings = len(prepared.folds) + 1
    found = of_run(learner, prepared, folder, trainings) if learner.world.size == 1 else None
    return Tried((learner.total,) * trainings, learner, found and replace(found, folds=len(prepared.folds)))


def _together(parts: Sequence[Estimate], seeds: int) -> Estimate | None:
    """One estimate from those of stages; the models of finished stages are on disk as long as the run trains."""
    if len(parts) < 2:
        return parts[0] if parts else None
    last, steps = parts[-1], sum(one.steps for one in parts)
    before = sum(one.weights for one in parts[:-1]) * 4
    return replace(
        last,
        step_seconds=sum(one.step_seconds * one.steps for one in parts) / max(1, steps),
        seconds=sum(one.seconds for one in parts),
        memory=max(one.memory for one in parts),
        free=min(one.free for one in parts),
        disk=max(one.disk for one in parts) + before * seeds,
        steps=steps,
        kept=sum(one.kept for one in parts) - before,
    )


def _step_seconds(learner: Learner) -> float:
    """Seconds of an update, without the optimiser, which would move weights.

    Batches differ in length, so that some from all over the training are timed. Of each its fastest time counts: what
    else the machine did then slowed it least.
    """
    device, many = learner.world.device.type, learner.schedule.accumulate
    places = sorted({learner.total * many * part // BATCHES for part in range(BATCHES)})
    fastest: dict[int, float] = {}
    began = _now(device)
    for place in places * (TIMES + learner.captured.seen_before):
        if fastest and _now(device) - began > PATIENCE:
            break
        started = _now(device)
        with learner.captured.batch():
            learner.gradients(learner.feed.batch(place))
        fastest[place] = min(_now(device) - started, fastest.get(place, math.inf))
        clipped = _now(device)
        torch.nn.utils.clip_grad_norm_(list(learner.names), learner.schedule.clip or math.inf)
        clipping = _now(device) - clipped
        learner.optimizer.zero_grad()
    return many * sum(fastest.values()) / len(fastest) + clipping


def _evaluating(learner: Learner) -> tuple[float, float]:
    """Seconds of a sentence in float32, and of all evaluations of a training, from some of the texts of one of them."""
    every = sorted(_evaluated_texts(learner), key=len)
    some = every[:: max(1, len(every) // TRIED)]

    def a_sentence(autocast: Autocast) -> float:
        fastest, began = math.inf, time.monotonic()
        for _ in range(TIMES):
            if time.monotonic() - began <= PATIENCE:
                started = time.monotonic()
                finish(learner.method.vectors(some, None, autocast))
                fastest = min(fastest, time.monotonic() - started)
        return fastest / len(some)

    evaluations = learner.total // learner.evaluate_every + 1 + len(learner.shares)  # also of each blend
    in_training = a_sentence(learner.world.autocast)
    exact = in_training if learner.world.precision == "float32" else a_sentence(nullcontext)
    each = in_training if learner.prepared.fold is None else exact
    return exact, each * len(every) * evaluations


def _evaluated_texts(learner: Learner) -> list[str]:
    """The texts that one evaluation encodes: dev set, held-out rows, and the rows that a class layer is fitted to."""
    method, dev, rows = learner.method, learner.prepared.dev, learner.held_out
    texts = [*dev.texts] * len(method.candidates())
    if learner.prepared.fold and isinstance(dev, RowsJudge):
        rows = dev.rows
    if rows is not None:
        texts += set(chain.from_iterable(rows.texts))
        if isinstance(method, PredictedClasses) and method.classifies_exported:
            texts += learner.corpus.texts[0]
    return texts


def ran_out(error: Exception, batch: int) -> RunTooLarge | None:
    """The error for memory that ran out all the same; None for any other one."""
    if not ran_out_of_memory(error):
        return None
    return RunTooLarge(
        f"Memory ran out with batches of {batch}. Set batch_size to {max(2, batch // 2)} and accumulate to 2: "
        "the rows per update stay the same, but each batch has fewer negatives. Or lower max_length."
    )


def check_reading(learner: Learner) -> None:
    """Refuse to train the first token of a decoder: it does not depend on the tokens after it."""
    one, other = finish(learner.method.vectors(["one and two", "one and three"], learner.method.base_head()))
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
        remedy = "No batch of this model fits: choose a smaller model, or a machine with more memory"
    else:
        remedy = (
            f"Set batch_size to {min(fits, batch - 1)}, or lower max_length. accumulate restores the rows per update, "
            "but not the negatives in a batch"
        )
        remedy += "; a chunk of 32 or 64 keeps them" * ("chunk" in learner.method.knobs)
    return RunTooLarge(
        f"A batch of {batch} needs about {in_words.size(needed * _RESERVE)} of memory, but {in_words.size(free)} are "
        f"free. {remedy}."
    )


def _now(device: str) -> float:
    """The time when the device has done all that was asked of it: a GPU works while the program goes on."""
    if device != "cpu":
        torch.accelerator.synchronize()
    return time.monotonic()


def _fixed(learner: Learner) -> int:
    """Bytes for gradients, both moments of the optimiser, and the copy of the best weights."""
    return _trained(learner) * 4 * 4


def _trained(learner: Learner) -> int:
    """The number of weights that are trained."""
    return sum(weight.numel() for weight in learner.method.parameters() if weight.requires_grad)


def _kept_bytes(learner: Learner, seeds: int) -> int:
    """Bytes of the models in the folder of the finished run."""
    model = learner.method.base.size * 4
    evaluations = learner.total // learner.evaluate_every + 1
    return model * (1 + (evaluations * seeds if learner.schedule.keep_steps else 0))


def _activation_bytes(learner: Learner, rows: int) -> int:
    """Bytes that the longest rows hold between the forward and the backward pass, or in it.

    Where layers are computed again, one at a time holds its activations, too.
    """
    held, base = _held_bytes(learner, rows), learner.method.base
    if not base.checkpointing:
        return held
    with all_kept(base.model) as layers:
        return held + max(0, _held_bytes(learner, rows) - held) // layers


def _held_bytes(learner: Learner, rows: int) -> int:
    """Bytes that the longest rows hold for the backward pass."""
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


def _peak_per_row(learner: Learner, rows: int) -> float:
    """Bytes by which a GPU's peak grows with each row; 0 on other devices.

    The backward pass adds temporaries to what is held before it. Gradients are in both peaks, and so not in this.
    """
    few, more = min(FEW, rows), min(4 * FEW, rows)
    return 0.0 if more == few else (_peak_of(learner, more) - _peak_of(learner, few)) / (more - few)


def _peak_of(learner: Learner, rows: int) -> int:
    """The most bytes that a GPU holds for the longest rows, above what it held before; 0 on other devices."""
    device = learner.world.device.type
    if device not in hardware.COUNTED:
        return 0
    hardware.reset_peak(device)
    held = hardware.held_memory(device)
    learner.gradients(learner.feed.longest(rows))
    learner.optimizer.zero_grad()
    return hardware.peak_memory(device) - held


def try_out(recipe: Recipe, online: bool = False) -> Work[Estimate]:
    """Estimate a recipe, or raise the error that the run would raise."""
    try:
        # as the run: while others compute, such as a browser that draws, other work has fewer threads
        return (yield from fair_share.with_threads(computed.threads_of(recipe), _tried(recipe, online)))
    except (MemoryError, RuntimeError) as error:
        traceback.clear_frames(error.__traceback__)  # they hold the model
        raise ran_out(error, recipe.schedule().batch_size) or error from None
    finally:
        fair_share.give_back()


def _tried(recipe: Recipe, online: bool) -> Work[Estimate]:
    # a function of its own, since the frame of a caught error can be cleared only after it has ended
    world = World(recipe.precision, recipe.device)
    prepared = yield from preparing.prepare(recipe, world.device.type, online)
    yield Progress(Phase.MEASURING_STEP, 0, 0)
    began = time.monotonic()
    folder = places.runs_folder()  # or its nearest parent that exists
    there = next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
    if prepared.folds:
        of_fold = yield from folds.prepare(prepared, 1, recipe.seeds[0], (), mine=False)
        tried = try_folds(Learner(of_fold, recipe.seeds[0], world), prepared, there)
    else:
        tried = try_stages(stages.tried(prepared, recipe.seeds[0], world), prepared, there)
    if tried.estimate is None:
        raise BadChoice(f"{recipe.method} is fitted in closed form: there are no steps to estimate. Start the run.")
    cut = training_texts.cut(prepared.corpus, prepared.encoder, tried.last.schedule.max_length)
    # the run tries its steps as well before it begins
    return replace(tried.estimate, cut=cut, seconds=tried.estimate.seconds + time.monotonic() - began)
