"""Which method suits rows of a kind, for people who have chosen none, and why."""

from __future__ import annotations

from dataclasses import dataclass

DEMONSTRATION = "demonstration"  # the preset of the run that a first visit to the Train page shows
UNEVEN = "uneven layer weights"  # the preset of the run that the Layer attention page offers first
FITS = "{} has {}; {} fits them: {}."


@dataclass(frozen=True)
class Suggestion:
    """The rows that a method is suggested for, of the kind that it trains on."""

    rows: str  # their name
    texts: int  # sentences in each
    why: str  # a clause

    def told(self, text: str, method: str) -> str:
        """What a text has, which method fits, and why, in a sentence."""
        return FITS.format(text, self.rows, method, self.why)
