"""What pandas makes of a CSV: numbers alone in a column of numbers, and no text that states several numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

import pandas

from explorer.measuring.scores.layer_scores import as_csv

_NUMBER = r"[+−-]?\d[\d,]*(\.\d+)?"
STATED = re.compile(
    rf"{_NUMBER} ?%?( ± {_NUMBER}| to {_NUMBER}.*| \({_NUMBER} to {_NUMBER}\).*| \(\d+ of \d+ seeds\)| → .*)"
)


def faults(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """The columns of rows of a figure that are not read as they are meant."""
    found = pandas.read_csv(io.StringIO(as_csv(rows)), keep_default_na=False, na_values=[""], low_memory=False)
    wrong = []
    for place, name in enumerate(rows[0]):
        values = [value for row in rows if (value := row.get(name)) not in (None, "")]
        numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in values]
        if any(numbers) and not all(numbers):
            wrong.append(f"{name}: numbers and texts")
        elif values and all(numbers) and found.iloc[:, place].dtype.kind not in "iuf":
            wrong.append(f"{name}: its numbers are read as {found.iloc[:, place].dtype}")
        wrong += [f"{name}: {value}" for value in values if isinstance(value, str) and STATED.fullmatch(value)]
    return wrong
