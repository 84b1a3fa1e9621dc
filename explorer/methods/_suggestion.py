"""Which method suits rows of a kind, for people who have chosen none, and why."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.data.row_kinds import Kind

DEMONSTRATION = "demonstration"  # the preset of the run that a first visit to the Train page shows
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


def suggested(kind: Kind, texts: int) -> str:
    """The name of the method that is suggested for rows of a kind with so many sentences; "" if none is."""
    from explorer.methods import load, names

    for name in names():
        method = load(name)
        if method.eats == kind and method.suggestion is not None and method.suggestion.texts == texts:
            return name
    return ""
