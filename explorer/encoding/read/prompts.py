"""The prompts of queries and documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RolePrompts:
    """What is put before a query and before a document of a search, in place of the prompt of other sentences."""

    query: str = ""
    document: str = ""
    pooled: bool = True  # their tokens are part of the pooling; otherwise they cannot be used here

    def pooled_ones(self) -> RolePrompts:
        """The prompts that can be used here."""
        return self if self.pooled else NO_PROMPTS


NO_PROMPTS = RolePrompts()
