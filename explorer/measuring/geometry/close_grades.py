"""From which grade on do people call two sentences alike? From four fifths of the scale, as alignment is defined."""

from __future__ import annotations

from collections.abc import Sequence

# a file of grades does not name its scale; these are in use, and the first that holds every grade is taken
SCALES = (1.0, 5.0, 10.0, 100.0)
SHARE = 0.8


def scale(gold: Sequence[float]) -> tuple[float, float]:
    """The ends of the scale that grades are given on: 0 to 5, say; it starts below 0 where a grade does."""
    widest = max(max(gold), -min(gold))
    end = next((end for end in SCALES if widest <= end), widest)
    return (-end if min(gold) < 0 else 0.0), end


def close_from(gold: Sequence[float]) -> float:
    """The lowest grade of a close pair: 4 where the scale ends at 5 (Wang and Isola 2020; Gao, Yao and Chen 2021)."""
    low, high = scale(gold)
    return round(low + SHARE * (high - low), 9)  # 0.6 of -1 to 1, and not the next number above it
