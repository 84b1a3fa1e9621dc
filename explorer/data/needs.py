"""Requirements of a method that have to be downloaded or installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.errors import BadChoice


@dataclass(frozen=True)
class Need:
    """A requirement; `fetch` downloads it, only on request."""

    name: str
    size: str
    there: Callable[[], bool]
    fetch: Callable[[], None]
    told: str  # how to install it, in a sentence

    def check(self) -> None:
        """Raise if it is missing."""
        if not self.there():
            raise BadChoice(f"{self.name} is not on this machine. {self.told}")
