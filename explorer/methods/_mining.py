"""How hard negatives are mined from pairs: which neighbours of the base are taken, and which are too close."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mining:
    """Of each anchor's nearest second texts, those ranked `first` to `last` that are far enough from the positive.

    A candidate's cosine is at most that of the positive less the share `margin`: what is closer is probably another
    right answer that nobody marked (a false negative).
    """

    negatives: int  # of each row
    first: int
    last: int
    margin: float
