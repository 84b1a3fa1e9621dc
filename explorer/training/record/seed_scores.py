"""Average scores over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any


def spread(results: Sequence[Mapping[str, Any]], name: str) -> tuple[float, float] | None:
    """Mean and sample standard deviation over seeds; None if a seed has no score."""
    numbers = [result[name] for result in results]
    if not numbers or any(number is None for number in numbers):
        return None
    return statistics.mean(numbers), statistics.stdev(numbers) if len(numbers) > 1 else 0.0
