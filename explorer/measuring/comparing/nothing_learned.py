"""Say that a training left the model as it was, and why, from what the training recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer import in_words
from explorer.data import sources
from explorer.measuring.scores.judge import Floats, Gap, Judge
from explorer.measuring.scores.verdict import of_best

# why, as a run stores it
NO_RATE, BELOW, IN_FOLDS, TIED, STOPPED, NO_GRADIENT = (
    "no rate", "below the base", "below the base in folds", "tied", "stopped early", "no gradient",
)  # fmt: skip
_REASONS = {
    NO_RATE: "no update had a learning rate",
    BELOW: "{every} on {on} was below the base ({measure}{best} at best, {base} before)",
    IN_FOLDS: "in {folds}, every evaluation on the rows that are held out was below the base",
    TIED: "{on} cannot choose: {every} has the score of the base ({measure}{base}), and the base has the lowest loss "
    "on held-out rows",
    STOPPED: "the training was stopped before its first evaluation",
    NO_GRADIENT: "every gradient was 0, so that no weight changed",
}
_MORE = "Add rows, lower the learning rate, or choose another method"
_NEXT = {
    NO_RATE: "Train more steps, or set warmup to 0.",
    BELOW: f"{_MORE}; or set keep_base to off, which keeps the best trained checkpoint all the same.",
    IN_FOLDS: f"{_MORE}; or set keep_base to off, which keeps the best trained checkpoint all the same.",
    TIED: "Add rows that the base gets wrong, or choose a larger dev set.",
    STOPPED: "Resume it.",
    NO_GRADIENT: "Check the text: rows that are all alike teach nothing.",
}


def excluded_gain(judge: Judge, base: Floats, tried: Sequence[Floats]) -> float | None:
    """The gain × 100 over the base that none of the 95 % intervals of what was `tried` (item) leaves open.

    They are as wide as Bonferroni has it for all of them. None if nothing was tried, or if a score is missing.
    """
    gaps = [Gap.of(judge.difference(base, one)) for one in tried]
    known = [of_best(gap, len(gaps)).high for gap in gaps if gap is not None]
    return max(0.0, *known) if known and len(known) == len(gaps) else None


@dataclass(frozen=True)
class NothingLearned:
    """The saved weights equal the base's: why, and the evaluations that say so."""

    why: str
    evaluations: int = 0  # after the first update, or of folds, those in which the base was best
    base: float | None = None  # the selection score × 100 before it
    best: float | None = None  # the best of the later ones
    on: str = ""  # what chose, by its name, and its number of items, or of folds
    items: int = 0
    excluded: float | None = None  # a larger gain × 100 is out of the 95 % intervals of all that was tried
    measure: str = ""  # of these scores; "" of rows that are held out

    @property
    def reason(self) -> str:
        """Why, as a clause."""
        every = "the evaluation" if self.evaluations == 1 else f"each of {self.evaluations:,} evaluations"
        text = _REASONS.get(self.why, _REASONS[NO_GRADIENT]).format(
            every=every,
            on=f"{sources.shown(self.on)} ({self.items:,} items)",
            best=in_words.number(self.best),
            base=in_words.number(self.base),
            measure=f"{self.measure} " * bool(self.measure),
            folds=f"{self.evaluations:,} of {self.items:,} folds",
        )
        if self.excluded is None:
            return text
        excluded = f"{in_words.bound(self.excluded)} {self.measure or 'points'}"
        return f"{text}; a gain of more than {excluded} is excluded (95 %)"

    @property
    def next_step(self) -> str:
        """What to do, as a sentence."""
        return _NEXT.get(self.why, _NEXT[NO_GRADIENT])

    @property
    def words(self) -> str:
        """Why, and what to do."""
        return f"{self.reason}. {self.next_step}"
