"""Find the length at which a server cuts texts: vectors of shorter ones are equal, those of longer ones are not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from explorer.progress import Work
from explorer.studies.serving.changes import LENGTHS

Numbers = NDArray[np.int_]
Cosine = Callable[[int, int], Work[float]]  # under a limit, of the vector of a row
MOST = 512  # limits that are all tried
CLOSE_ENOUGH = 1 - 1e-6  # a cosine that only the limit of the server gives


def bounds(lengths: Numbers, equal: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Tokens of the longest text with an equal vector, and of the shortest without; None if a limit explains nothing.

    A limit explains differences of texts that are all longer than those without one.
    """
    if equal.all() or not equal.any():
        return None
    longest, shortest = int(lengths[equal].max()), int(lengths[~equal].min())
    return (longest, shortest) if longest < shortest else None


def fitted(lengths: Numbers, equal: NDArray[np.bool_], most: int, cosine: Cosine) -> Work[int | None]:
    """The limit that explains which texts differ; None if none can. `most` is that of the model."""
    between = bounds(lengths, equal)
    if between is None:
        return None
    low, high = between
    limit, likeness = yield from _best(int(np.flatnonzero(lengths == high)[0]), low, min(high, most), cosine)
    longest = int(lengths.argmax())
    if limit >= high and lengths[longest] > high:  # that text is not cut by the server, but perhaps a longer one
        limit, likeness = yield from _best(longest, high, min(int(lengths[longest]), most), cosine)
    return limit if likeness > 0 else None


def _best(row: int, low: int, high: int, cosine: Cosine) -> Work[tuple[int, float]]:
    """The limit from `low` to `high` under which the vector of a row is most similar, and its cosine.

    Usual limits are tried first, then all: two tokens more or less may be further off than ten.
    """
    usual = [low, *(one for one in LENGTHS if low < one < high), high]
    known: dict[int, float] = {}
    for limit in dict.fromkeys([*usual, *(range(low, high) if high - low <= MOST else ())]):
        known[limit] = yield from cosine(limit, row)
        if known[limit] >= CLOSE_ENOUGH:
            break
    best = max(known, key=lambda one: known[one])
    return best, known[best]
