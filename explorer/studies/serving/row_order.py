"""Find out whether given vectors are in another order than their sentences, and in which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.studies.serving import causes
from explorer.studies.serving.causes import Cause
from explorer.studies.serving.closeness import Floats, unit

Rows = NDArray[np.intp]
SAME = 0.999  # the least cosine of a vector with itself after arithmetic of few bits
SHARE = 0.6  # of the sentences that have to be found in another row
SORTED = 0.9  # of neighbouring rows that are in order


def rows_of(pooled: NDArray[Any], rows: Rows, given: Floats) -> Rows | None:
    """The row of the given vectors that is most similar to that of each of some rows; None if it is their own.

    Of rows that are as similar as their own, it is their own: sentences may occur twice.
    """
    width = given.shape[1]
    if pooled.shape[1] < width:
        return None
    cosines = unit(pooled[:, :width].astype(np.float64)) @ unit(given).T
    best = cosines.argmax(axis=1)
    largest, own = cosines.max(axis=1), cosines[np.arange(len(rows)), rows]
    found = np.where(own >= largest - 1e-6, rows, best)
    moved = (found != rows) & (largest >= SAME)
    return found if moved.mean() >= SHARE else None


def cause(found: Rows, rows: Rows, sentences: Sequence[str]) -> Cause:
    """The order in words: shifted, reversed, sorted by length, or an example. A few rows may be found wrongly."""
    count = len(sentences)
    shifts, times = np.unique((found - rows) % count, return_counts=True)
    if times.max() >= SHARE * len(rows):
        shift = int(shifts[times.argmax()])
        by = shift if shift <= count / 2 else shift - count
        return causes.order(f"rows shifted by {abs(by):,} {'down' if by > 0 else 'up'}")
    if (found == count - 1 - rows).mean() >= SHARE:
        return causes.order("rows in reverse order")
    steps = np.diff([len(sentences[row]) for row in rows[np.argsort(found, kind="stable")]])
    for words, sorted_so in (("longest first", steps <= 0), ("shortest first", steps >= 0)):
        if sorted_so.mean() >= SORTED:
            return causes.order(f"rows sorted by length, {words}")
    at = int(np.flatnonzero(found != rows)[0])
    return causes.order(f"rows in another order (the vector of row {rows[at]:,} is in row {found[at]:,})")
