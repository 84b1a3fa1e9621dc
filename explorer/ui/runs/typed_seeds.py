"""Parse seeds that a visitor typed, such as `1, 2, 3`."""

from __future__ import annotations

import re

from explorer.errors import BadChoice


def read(typed: str) -> tuple[int, ...]:
    """Parse `1, 2, 3` as numbers."""
    words = re.split(r"[\s,;]+", typed.strip(" ,;\t"))
    if not all(re.fullmatch(r"[0-9]{1,10}", word) for word in words):
        raise BadChoice(f"Seeds cannot be '{typed}'. Type whole numbers with commas between them, such as 1, 2, 3.")
    return tuple(map(int, words))
