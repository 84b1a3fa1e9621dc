"""What stands in a cell of a table?"""

from __future__ import annotations

import math
from typing import Any

Rows = list[dict[str, object]]


def rounded(value: Any, digits: int = 4) -> float | None:
    """A rounded number. Missing is missing: an empty cell, never 0."""
    return round(float(value), digits) + 0.0 if value is not None and math.isfinite(value) else None  # 0.0: no -0.0
