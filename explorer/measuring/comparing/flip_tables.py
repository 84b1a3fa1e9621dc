"""Table rows of pairs whose rank error changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.rank_errors import RankErrors
from explorer.measuring.table_cells import Rows


def pair_rows(pairs: GradedPairs, comparison: Comparison, errors: RankErrors, places: NDArray[np.intp]) -> Rows:
    """A row for each pair: both sentences, the gold score, and the cosines and rank errors of A and B."""
    one, other = (
        comparison.one.cosines_of(comparison.one_reading),
        comparison.other.cosines_of(comparison.other_reading),
    )
    return [
        {
            "first": pairs.first[place],
            "second": pairs.second[place],
            "gold score": pairs.gold[place],
            "cosine A": round(float(one[place]), 4),
            "cosine B": round(float(other[place]), 4),
            "rank error A": round(float(errors.one[place]), 4),
            "rank error B": round(float(errors.other[place]), 4),
            **({"sub-corpus": pairs.parts[place]} if comparison.one.has_parts else {}),
            **({"tag": pairs.tags[place]} if pairs.tags else {}),
        }
        for place in places
    ]
