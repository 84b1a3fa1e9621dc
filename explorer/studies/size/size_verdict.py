"""Say which sizes of an encoder are as good as the whole model, and what they save, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from explorer import in_words
from explorer.measuring.comparing.verdict_sentence import Sentence
from explorer.measuring.scores.verdict import BETTER, CHANCE, UNKNOWN, WORSE
from explorer.studies.size.points import COSTS, Picture, Point


def equals(picture: Picture) -> list[Point]:
    """The points other than the whole model whose score is not significantly lower than its score."""
    return [point for point in picture.points[1:] if point.verdict.kind in (BETTER, CHANCE)]


def smallest_vectors(picture: Picture) -> Point | None:
    """The point with the smallest vectors among those as good as the whole model; of several the best one."""
    good = equals(picture)
    return _least(good, "bytes per vector") if good else None


def verdict(picture: Picture) -> tuple[Sentence, ...]:
    """The smallest vectors and the fastest encoder without a significant loss, in a sentence each."""
    if picture.why_no_score:
        return (_sentence(UNKNOWN, f"No size has a score on {picture.evaluation}: {picture.why_no_score}."),)
    good, whole, others = equals(picture), picture.whole, picture.points[1:]
    if not others:
        return (_sentence(UNKNOWN, "Only the whole model was measured."),)
    if not good:
        nearest = max(others, key=lambda point: -math.inf if (gap := point.verdict.difference) is None else gap)
        text = f"Every smaller encoder is significantly worse than the whole model ({in_words.number(whole.score)}). "
        return (
            _sentence(WORSE, f"{text}The nearest is {picture.named(nearest)}, difference (95 % CI) {nearest.gap}."),
        )

    def message(what: str, point: Point, gain: str) -> Sentence:
        text = f"{what} without a significant loss: {picture.named(point)}, {gain}. Difference (95 % CI): {point.gap}."
        return _sentence(point.verdict.kind, text)

    small, fast = _least(good, "bytes per vector"), _least(good, "milliseconds per query")
    gain = f"{small.vector_bytes:,} bytes in place of {whole.vector_bytes:,}"
    smallest = message("The smallest vectors", small, gain)
    weights = [_of_weights(whole, point) for point in (_smallest_weights(picture),) if point]
    fewer = (one for one in others if one.size.tokens and replace(one.size, tokens=0) == whole.size)
    weights += [_of_words(picture, one) for one in fewer]
    # whether fewer layers pay off is asked of the encoder as it is loaded
    cut = [point for point in good if point.size.layers < whole.size.layers]
    if not cut and any(point.size.layers < whole.size.layers for point in others):
        return smallest, *weights, _sentence(WORSE, "Every encoder with fewer layers is significantly worse.")
    times = fast.sentences_per_second / whole.sentences_per_second
    return smallest, *weights, message("The fastest encoder", fast, f"{times:.1f} times as many sentences per second")


def _least(points: Sequence[Point], cost: str) -> Point:
    return min(points, key=lambda point: (COSTS[cost](point), -point.score))


def _smallest_weights(picture: Picture) -> Point | None:
    """The whole model with its weights in the format that takes the fewest bytes; None if only one was measured."""
    same = replace(picture.whole.size, weights="")
    whole = [
        one for one in picture.points if replace(one.size, weights="") == same and one.model == picture.whole.model
    ]
    found = min(whole, key=lambda point: (point.model_bytes, -point.sentences_per_second))
    return None if found is picture.whole else found


def _of_weights(whole: Point, point: Point) -> Sentence:
    smaller = whole.model_bytes / point.model_bytes
    times = point.sentences_per_second / whole.sentences_per_second
    return _sentence(
        point.verdict.kind,
        f"Weights in {point.size.weights}: {smaller:.1f} times smaller and {times:.1f} times as many sentences per "
        f"second as in {whole.size.weights}. {_with_gap(point)}",
    )


def _of_words(picture: Picture, point: Point) -> Sentence:
    bytes_of = " in place of ".join(in_words.size(one.model_bytes) for one in (point, picture.whole))
    words = f"Only the words of {picture.words} ({point.size.tokens:,} tokens): weights of {bytes_of}. "
    return _sentence(point.verdict.kind, words + _with_gap(point))


def _with_gap(point: Point) -> str:
    sure = "could be chance" if point.verdict.kind == CHANCE else "significant"
    return f"Difference (95 % CI): {point.gap}, {sure}."


def _sentence(kind: str, text: str) -> Sentence:
    return Sentence(kind, ((text, False),))
