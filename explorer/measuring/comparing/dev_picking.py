"""Which readings are best on development pairs, to be reported on other pairs?"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import Reading
from explorer.errors import BadChoice
from explorer.measuring.scores.layer_scores import LayerScores

Two = tuple[LayerScores, LayerScores]


@dataclass(frozen=True)
class Pick:
    """The best readings of A and of B on pairs that are not those they are reported on."""

    pairs: str
    count: int
    readings: tuple[Reading, Reading]
    scores: tuple[float, float]
    shared: int  # of the pairs they are reported on, how many are among these

    @property
    def told(self) -> str:
        """For the person at the screen, or the reader of a report."""
        sides = ", ".join(
            f"{side} {reading.title} ({score:.2f} there)"
            for side, reading, score in zip("AB", self.readings, self.scores, strict=True)
        )
        told = f"The readings are the best on {self.pairs} ({self.count:,} pairs): {sides}."
        if self.shared:
            return f"{told} {self.shared:,} of the pairs scored here are among those: in part this is a selection."
        return f"{told} None of the pairs scored here took part in that choice."


def pick(dev: GradedPairs, scores: Two, reported: GradedPairs, metric: str = "Spearman") -> Pick:
    """The best reading of each, by scores on the development pairs."""
    best = []
    for side, of_side in zip("AB", scores, strict=True):
        reading = of_side.best(metric)
        if reading is None:
            raise BadChoice(f"No reading of {side} has a score on {dev.name}. Pick on pairs whose scores differ.")
        best.append((reading, of_side.score(reading, metric)))
    (one, one_score), (other, other_score) = best
    known = _both_ways(dev)
    shared = sum(pair in known for pair in zip(reported.first, reported.second, strict=True))
    return Pick(dev.name, len(dev), (one, other), (one_score, other_score), shared)


def _both_ways(pairs: GradedPairs) -> set[tuple[str, str]]:
    return {*zip(pairs.first, pairs.second, strict=True), *zip(pairs.second, pairs.first, strict=True)}
