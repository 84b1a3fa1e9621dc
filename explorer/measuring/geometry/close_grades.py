"""The gold score from which a pair counts as similar: four fifths of the scale, as alignment is defined."""

from __future__ import annotations

from collections.abc import Sequence

# common scales of gold scores; the first that contains every score is assumed
SCALES = (1.0, 5.0, 10.0, 100.0)
SHARE = 0.8


def scale(gold: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale of gold scores, such as 0 to 5; it starts below 0 if a score does."""
    widest = max(max(gold), -min(gold))
    end = next((end for end in SCALES if widest <= end), widest)
    return (-end if min(gold) < 0 else 0.0), end


def close_from(gold: Sequence[float]) -> float:
    """The lowest gold score of a similar pair: 4 on a scale to 5 (Wang and Isola 2020; Gao, Yao and Chen 2021)."""
    low, high = scale(gold)
    return round(low + SHARE * (high - low), 9)  # exactly 0.6 on -1 to 1
