"""Measure an epoch, for BERT's shapes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.gpu.models import encoder, learner, pairs, shaped, shapes
from benchmarks.gpu.parts import Row, Setting
from explorer.data import sample
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.progress import finish

PRECISIONS = ("float32", "bfloat16")
EPOCH, OF_EPOCH = 15_455, 60  # sentences of STS-B, the text of the paper; steps that are measured


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


def _now(device: str) -> float:
    """The time when the GPU has done all that was asked of it."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
