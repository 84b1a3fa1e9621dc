"""The scores of each seed of a run, and their average."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from explorer.measuring.scores.class_scores import ClassScores
from explorer.measuring.scores.verdict import Verdict


@dataclass(frozen=True)
class SeedScores:
    """One training of a run: its best step, and the scores × 100 there."""

    seed: int
    steps: int | None = None
    best_step: int | None = None
    dev: float | None = None
    test: float | None = None
    verdict: Verdict | None = None  # compared with the base
    criterion: float | None = None  # the score that chose the best step, if not the dev score alone
    candidate: str = ""  # the trained copy that was best, if the method trains several
    remark: str = ""  # what the method reports about its rows
    classes: ClassScores | None = None  # of the test rows of labelled texts

    @property
    def selection_score(self) -> float | None:
        """The score by which the best seed is chosen."""
        return self.dev if self.criterion is None else self.criterion

    def score(self, use: str) -> float | None:
        """The score on an evaluation set by use: dev, test, test 2 and so on."""
        if use in ("dev", "test"):
            return self.dev if use == "dev" else self.test
        found = self.verdict.by_use.get(use) if self.verdict else None
        return found.exported if found else None

    def as_json(self) -> dict[str, Any]:
        """The scores for status.json and the output of `train`; without fields that only some methods have."""
        unsaid = {"criterion": None, "candidate": "", "remark": "", "classes": None}
        stated = asdict(self) | {"verdict": self.verdict and self.verdict.as_json()}
        return {name: value for name, value in stated.items() if name not in unsaid or value != unsaid[name]}


def spread(scores: Sequence[float | None]) -> tuple[float, float] | None:
    """Mean and sample standard deviation over seeds; None if a seed has no score: a mean of some would mislead."""
    known = [score for score in scores if score is not None]
    if not known or len(known) < len(scores):
        return None
    return statistics.mean(known), statistics.stdev(known) if len(known) > 1 else 0.0
