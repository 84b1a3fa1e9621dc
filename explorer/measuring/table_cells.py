"""Format a number for a table cell."""

from __future__ import annotations

import math
from typing import Any

Rows = list[dict[str, object]]


def rounded(value: Any, digits: int = 4) -> float | None:
    """A rounded number; missing numbers are empty cells, never 0."""
    return round(float(value), digits) + 0.0 if value is not None and math.isfinite(value) else None  # 0.0: no -0.0
