"""Choose the best layer & pooling of two models on a dev set, to report them on other pairs."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import Reading
from explorer.errors import BadChoice
from explorer.measuring.scores.layer_scores import LayerScores

Two = tuple[LayerScores, LayerScores]

CHOSEN_ON = "The layer & pooling of each is the best on {} ({:,} pairs)"


@dataclass(frozen=True)
class DevPick:
    """The layer & pooling of A and of B that are best on a dev set."""

    pairs: str
    count: int
    readings: tuple[Reading, Reading]
    scores: tuple[float, float]
    shared: int  # the number of reported pairs that are in the dev set

    @property
    def told(self) -> str:
        """The choice in words, for pages and reports."""
        sides = ", ".join(
            f"{side} {reading.title} (score {score:.2f})"
            for side, reading, score in zip("AB", self.readings, self.scores, strict=True)
        )
        told = f"{CHOSEN_ON.format(self.pairs, self.count)}: {sides}."
        if self.shared:
            return f"{told} {self.shared:,} of the pairs scored here are among those: this score is optimistic."
        return f"{told} None of the pairs scored here were used for that choice."


def pick(dev: GradedPairs, scores: Two, reported: GradedPairs, metric: str = "Spearman") -> DevPick:
    """The best layer & pooling of each, by its score on the dev set."""
    best = []
    for side, of_side in zip("AB", scores, strict=True):
        reading = of_side.best(metric)
        if reading is None:
            raise BadChoice(
                f"No layer & pooling of {side} has a score on {dev.name}. Choose a dev set whose gold scores differ."
            )
        best.append((reading, of_side.score(reading, metric)))
    (one, one_score), (other, other_score) = best
    known = _both_ways(dev)
    shared = sum(pair in known for pair in zip(reported.first, reported.second, strict=True))
    return DevPick(dev.name, len(dev), (one, other), (one_score, other_score), shared)


def _both_ways(pairs: GradedPairs) -> set[tuple[str, str]]:
    return {*zip(pairs.first, pairs.second, strict=True), *zip(pairs.second, pairs.first, strict=True)}
