"""Measure training steps and an epoch, for BERT's shapes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.gpu.models import encoder, learner, pairs, shaped, shapes
from benchmarks.gpu.parts import Row, Setting
from explorer.data import sample
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.progress import finish

PRECISIONS = ("float32", "bfloat16")
ROUNDS = 3
BATCH, LENGTH, STEPS = 64, 32, 10
EPOCH, OF_EPOCH = 15_455, 60  # sentences of STS-B, the text of the paper; steps that are measured


def step(setting: Setting) -> Iterator[Row]:
    """Seconds of a training step of SimCSE."""
    rows, many = (8, 1) if setting.dry else (BATCH, STEPS)
    for shape in shapes(setting):
        of = encoder(setting, shaped(setting, shape))
        for precision in PRECISIONS:
            made = learner(setting, of, "simcse", 4 * rows, precision, batch_size=rows, max_length=LENGTH)

            def steps(made=made) -> None:
                for _ in range(many):
                    made.update()

            yield Row(f"{shape}, {precision}: SimCSE, {rows} rows", _timed(setting, steps, many, "per step"))


def epoch(setting: Setting) -> Iterator[Row]:
    """Seconds of an epoch of SG-OPT with its evaluations, from some of its steps."""
    rows, many, dev = (64, 2, pairs(8)) if setting.dry else (EPOCH, OF_EPOCH, sample.dev())
    for shape in shapes(setting)[:1]:
        of = encoder(setting, shaped(setting, shape))
        for precision in PRECISIONS:
            made = learner(setting, of, "sg-opt", rows, precision)
            total = made.feed.a_batch
            evaluations = total // made.schedule.evaluation_interval(total) + 1
            made.update()
            started = _now(setting.device)
            for _ in range(many):
                made.update()
                if made.fetch_due:
                    made.fetch()
            a_step = (_now(setting.device) - started) / many
            made.fetch()
            started = _now(setting.device)
            finish(made.evaluate(PairJudge(dev)))
            an_evaluation = _now(setting.device) - started
            yield Row(
                f"{shape}, {precision}: SG-OPT, {rows:,} sentences",
                f"{total * a_step + evaluations * an_evaluation:.0f} s: {total} steps of {made.feed.size} rows at "
                f"{a_step:.3f} s (from {many} steps), {evaluations} evaluations of {len(dev)} pairs "
                f"at {an_evaluation:.2f} s",
            )


def _timed(setting: Setting, thing: Callable[[], object], many: int = 1, of: str = "") -> str:
    """Median and range of the seconds of one of so many, and the most memory of the GPU."""
    import torch

    if setting.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    times = [seconds / many for seconds in _times(setting, thing)]
    told = f"{statistics.median(times):.3f} s {of}".strip() + f" ({min(times):.3f} to {max(times):.3f})"
    if setting.device == "cuda":
        told += f", at most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
    return told


def _times(setting: Setting, thing: Callable[[], object]) -> list[float]:
    """Seconds of some rounds, after one that prepares what the others reuse."""
    thing()
    times = []
    for _ in range(1 if setting.dry else ROUNDS):
        started = _now(setting.device)
        thing()
        times.append(_now(setting.device) - started)
    return times


def _now(device: str) -> float:
    """The time when the GPU has done all that was asked of it."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
