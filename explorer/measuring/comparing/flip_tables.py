"""What is to be seen of pairs that changed places, as rows?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.rank_errors import RankErrors
from explorer.measuring.table_cells import Rows


def pair_rows(pairs: GradedPairs, comparison: Comparison, errors: RankErrors, places: NDArray[np.intp]) -> Rows:
    """A row for each of these pairs: both sentences, what people and both readings say, and both errors."""
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
