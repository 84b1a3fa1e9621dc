"""What does a method need that does not come along, is it there, and how is it got?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.errors import BadChoice


@dataclass(frozen=True)
class Need:
    """Something from outside; `fetch` brings it, and only when someone asks for it."""

    name: str
    size: str
    there: Callable[[], bool]
    fetch: Callable[[], None]
    told: str  # what to run, in a sentence

    def check(self) -> None:
        """Refuse to go on without it."""
        if not self.there():
            raise BadChoice(f"{self.name} is not on this machine. {self.told}")
