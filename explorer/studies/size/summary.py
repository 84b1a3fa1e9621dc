"""The verdict of a size-quality picture: how small an encoder gets before its score is significantly lower."""

from __future__ import annotations

from collections.abc import Callable

from explorer import in_words
from explorer.studies.size.points import Picture, Point


def equals(picture: Picture) -> list[Point]:
    """The points other than the whole model whose score is not significantly lower than its score."""
    return [point for point in picture.points[1:] if not point.is_worse and point.low > float("-inf")]


def told(picture: Picture) -> tuple[str, ...]:
    """The smallest vectors, the fewest layers and the cheapest front within the noise, in a sentence each."""
    good, whole = equals(picture), picture.whole
    if not good:
        worst = max(picture.points[1:], key=lambda point: point.difference, default=None)
        if worst is None:
            return ("Only the whole model was measured.",)
        return (
            f"Every smaller encoder is significantly worse than the whole model ({in_words.number(whole.score)}). "
            f"The nearest is {picture.named(worst)}, difference (95 % CI) {worst.gap}.",
        )
    found = [_smallest(good, picture, lambda point: point.vector_bytes, "The smallest vectors", _bytes)]
    if any(point.size.layers < whole.size.layers for point in good):
        found.append(_smallest(good, picture, lambda point: point.query_ms, "The fastest encoder", _times))
    else:
        found.append("Every encoder with fewer layers is significantly worse.")
    return tuple(found)


def _smallest(
    good: list[Point], picture: Picture, cost: Callable[[Point], float], name: str, told: Callable[[Point, Point], str]
) -> str:
    """Among equal costs the one with the highest score."""
    best = min(good, key=lambda point: (cost(point), -point.score))
    size = f"{picture.named(best)}, {told(best, picture.whole)}"
    return f"{name} without a significant loss: {size}. Difference (95 % CI): {best.gap}."


def _bytes(point: Point, whole: Point) -> str:
    return f"{point.vector_bytes:,} bytes in place of {whole.vector_bytes:,}"


def _times(point: Point, whole: Point) -> str:
    faster = point.sentences_per_second / whole.sentences_per_second
    return f"{faster:.1f} times as many sentences per second"
