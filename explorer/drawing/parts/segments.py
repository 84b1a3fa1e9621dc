"""Join many short lines into one plotly trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def segments(starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float32]:
    """Points (point, axis) of lines from starts to ends (line, axis), with a gap after each line."""
    points = np.full((len(starts) * 3, starts.shape[1]), np.nan, dtype=np.float32)
    points[0::3], points[1::3] = starts, ends
    return points
