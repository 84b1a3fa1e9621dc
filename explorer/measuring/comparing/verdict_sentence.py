"""Say a verdict in a sentence: which model is better, by how much, and whether it could be chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer import in_words
from explorer.data import sources
from explorer.measuring.scores.power import POWER
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CI,
    NO_TEST,
    OPTIMISTIC,
    UNKNOWN,
    WORDS,
    WORSE,
    ElsewhereVerdict,
    Verdict,
)

Marked = tuple[tuple[str, bool], ...]  # pieces of a text, and whether each is emphasised
NOTHING = 0.005  # points × 100: a smaller difference is written as 0.00


@dataclass(frozen=True)
class Sentence:
    """A verdict in words: its kind, for a colour and an icon, and pieces of text, of which some are emphasised."""

    kind: str
    pieces: Marked

    @classmethod
    def of(cls, kind: str, detail: str, optimistic: bool = False) -> Sentence:
        """A sentence that begins with the word of its kind: `Better (optimistic): …`."""
        return cls(kind, ((WORDS[kind] + " (optimistic)" * optimistic, True), (": ", False), (detail, False)))

    @property
    def text(self) -> str:
        """The whole sentence, as plain text."""
        return "".join(text for text, _ in self.pieces)


def gap_with_ci(verdict: Verdict) -> str:
    """The difference where nothing else says what is in brackets: `−0.42 (95 % CI −0.89 to +0.05)`."""
    if not verdict.is_test or not verdict.known:
        return verdict.gap_alone
    return f"{in_words.signed(verdict.shown_difference)} ({CI} {verdict.ends()})"


def is_untrained(verdict: Verdict) -> bool:
    """Whether training changed nothing: its part of the difference and its interval are 0.00."""
    part = verdict.training
    return part is not None and max(map(abs, (part.difference, part.low, part.high))) < NOTHING


def parts(verdict: Verdict, poolings: str = "") -> str:
    """The two parts of the difference: `+4.39 is due to … and …`; "" if all of it is due to training.

    `poolings` says which layer & pooling took the place of which; without it the prompts may be others, too.
    """
    if not verdict.known or verdict.training is None:
        return ""
    others, part = verdict.shown_parts
    due = f"the layer & pooling ({poolings})" if poolings else "layer, pooling and prompts"
    nothing = ": training changed nothing" * is_untrained(verdict)
    by_training = in_words.change(part, verdict.training.low, verdict.training.high)
    return f"{in_words.signed(others)} is due to {due} and {by_training} to training{nothing}"


def power(verdict: Verdict) -> str:
    """`A gain of 6.0 points would show in 80 % of samples.`; "" if it is not known, or if one was seen."""
    if verdict.smallest_gain is None or verdict.kind != CHANCE:
        return ""
    gain = in_words.number(verdict.smallest_gain, 1)
    return f"A gain of {gain} points would show in {100 * POWER:.0f} % of samples."


def sentence(
    verdict: Verdict,
    before: str,
    after: str,
    pairs: str,
    *,
    poolings: str = "",
    optimistic: bool = False,
    why_none: str = "",
) -> Sentence:
    """Say which model is better, by how much, and whether it could be chance.

    `before` and `after` are the names of the models, `pairs` says which pairs and how many, `poolings` which layer &
    pooling took the place of which, and `why_none` why a score is missing.
    """
    scores = f"{after} scores {in_words.number(verdict.after)}, {before} {in_words.number(verdict.before)}"
    if not verdict.is_test:
        return Sentence.of(verdict.kind, f"{scores}, on {pairs}. {NO_TEST[verdict.kind]}")
    if verdict.kind == UNKNOWN:
        why = f": {why_none}" * bool(why_none)
        detail = f"{scores}, on {pairs}. A score that is missing cannot be compared{why}."
        return Sentence.of(UNKNOWN, detail, optimistic)
    detail = f"{scores}: {gap_with_ci(verdict)} on {pairs}"
    if of_which := parts(verdict, poolings):
        detail += f", of which {of_which}"
    return Sentence.of(verdict.kind, detail + f"; {OPTIMISTIC}" * optimistic + ".", optimistic)


def worst(every: Sequence[ElsewhereVerdict]) -> str:
    """The kind of the worst of several verdicts; unknown only if all are."""
    kinds = {one.verdict.kind for one in every}
    return next((kind for kind in (WORSE, CHANCE, BETTER) if kind in kinds), UNKNOWN)


def elsewhere(every: Sequence[ElsewhereVerdict], lead: str = "Elsewhere") -> Sentence | None:
    """Say what became of sets that a model was not trained for; None if it was scored on none.

    `Elsewhere: SICK-R test Spearman −1.10 (−1.60 to −0.62), worse; Sample search nDCG@10 +0.30 (−0.20 to +0.81), could
    be chance.` The kind is that of the worst.
    """
    scored = [one for one in every if one.verdict.after is not None]
    if not scored:
        return None
    pieces: list[tuple[str, bool]] = [(lead, True), (": ", False)]
    for place, one in enumerate(scored):
        gap = one.verdict.gap or "no score that can be compared"
        text = f"{'; ' * bool(place)}{sources.shown(one.name)} {one.measure} {gap}, "
        pieces += [(text, False), (WORDS[one.verdict.kind].lower(), True)]
    return Sentence(worst(scored), (*pieces, (".", False)))


def rendered(pieces: Marked, escape: Callable[[str], str], emphasise: Callable[[str], str]) -> str:
    """Pieces of text as markup: each is escaped, and the emphasised ones are marked."""
    return "".join(emphasise(escape(text)) if marked else escape(text) for text, marked in pieces)
