"""Choose the cases of a product of settings that `make test` runs; `make products` runs all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations

import pytest


def covering(cases: Sequence[Sequence[Hashable]], together: int) -> list[int]:
    """The places of cases in which every level meets every other one that it meets in any case.

    A case is one level of each factor. With `together` = 2 every pair of levels is in one of the cases, with 1 every
    level. The case with the most that is missing is next; of several, one whose levels were chosen least; then the
    first.
    """
    inside = [set(combinations(enumerate(case), together)) for case in cases]
    missing = set().union(*inside)
    chosen: list[int] = []
    used: Counter[tuple[int, Hashable]] = Counter()
    while missing:
        place = max(
            range(len(cases)),
            key=lambda at: (len(inside[at] & missing), -sum(used[one] for one in enumerate(cases[at]))),
        )
        missing -= inside[place]
        used.update(enumerate(cases[place]))
        chosen.append(place)
    return sorted(chosen)


def spared(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases that are left out of tests that are marked as a product; a test that is chosen by its id is not."""
    found: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("product"):
            found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = []
    for cases in found.values():
        (together,) = cases[0].get_closest_marker("product").args
        chosen = covering([tuple(map(id, case.callspec.params.values())) for case in cases], together)
        left_out += [case for place, case in enumerate(cases) if place not in chosen]
    return left_out
