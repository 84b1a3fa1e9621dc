"""The lines of a run's metrics.jsonl: of a training step, and of an evaluation on the dev set."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass

from explorer import typed_json


@dataclass(frozen=True)
class TrainingStep:
    """What was measured in one training step; None is not finite, and left out of the file."""

    number: int  # of the seed, from 1
    seed: int
    step: int
    time: float = 0.0
    loss: float | None = None
    rate: float | None = None  # the learning rate
    positive: float | None = None  # mean cosine of the positive pairs of the batch
    negative: float | None = None  # and of its random pairs
    smooth: float | None = None  # the loss averaged over earlier steps; added when the file is read


@dataclass(frozen=True)
class Evaluation:
    """What was measured on the dev set after a step; the fields have the names they have in the file."""

    number: int
    seed: int
    step: int
    time: float = 0.0
    dev: float | None = None  # the score × 100; None if there is none
    alignment: float | None = None
    uniformity: float | None = None
    alike: float | None = None  # mean cosine of positive pairs
    strangers: float | None = None  # mean cosine of random pairs
    best: bool = False  # the best of its seed so far
    held_out: float | None = None  # the score × 100 of held-out rows: triplets in the right order, or classes
    criterion: float | None = None  # what chooses the best checkpoint, if not the dev score alone

    @property
    def selection_score(self) -> float | None:
        """The number that the best checkpoint is chosen by."""
        return self.dev if self.criterion is None else self.criterion


MetricLine = TrainingStep | Evaluation


def read(text: str | bytes) -> MetricLine | None:
    """The content of a line; None if it is damaged: a disk that was full leaves half a line."""
    try:
        stated = typed_json.parsed(text)
    except ValueError:
        return None
    if isinstance(stated, dict) and not stated.keys().isdisjoint({"loss", "rate"}):
        return typed_json.read(TrainingStep, stated)
    return typed_json.read(Evaluation, stated)


def as_text(line: MetricLine) -> str:
    """The line as the file holds it, with its end; JSON has no NaN, so such numbers are left out."""
    return json.dumps({name: value for name, value in asdict(line).items() if not _missing(value)}) + "\n"


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))
