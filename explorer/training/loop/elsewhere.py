"""Choose what of each set elsewhere a run is scored on: items that are in neither its text nor its other sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from explorer.data import sources, splitting
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import Corpus
from explorer.errors import BadChoice, StrataError
from explorer.evaluating import kinds
from explorer.measuring.scores.judge import Judge
from explorer.measuring.scores.verdict import ElsewhereVerdict, Verdict

LEAST = 10  # items; the interval of fewer says nothing
LEFT_OUT = "elsewhere, {} is left out: {:,} of its {:,} items share no text with the training text, dev and test set"
UNREADABLE = "elsewhere, {} is left out: {}"
Choice = tuple[str, ItemSet, int]  # the name of a set, what of it is scored, and the size of the whole


@dataclass(frozen=True)
class Elsewhere:
    """A set that a run is scored on, but not trained for: its name, how it is scored, and the size of the whole set."""

    name: str
    judge: Judge
    of: int

    def verdict(self, found: Verdict) -> ElsewhereVerdict:
        """The verdict on this set, with what it is about."""
        judge = self.judge
        return ElsewhereVerdict(self.name, len(judge), self.of, judge.measure, found, judge.item, judge.pool)


def named(asked: Iterable[SetIdentity], then: Sequence[str] | None = None) -> tuple[SetIdentity, ...]:
    """The sets; 'at hand' stands for those of a run that has begun, or else for those that are at hand now."""
    at_hand = sources.at_hand() if then is None else tuple(map(sources.identity, then))
    every = chain.from_iterable(at_hand if one == sets.AT_HAND else (one,) for one in asked)
    return tuple(dict.fromkeys(every))


def choose(
    asked: Sequence[SetIdentity],
    most: int,
    used: Set[str],
    online: bool,
    then: Sequence[str] | None = None,
    *,
    resumed: bool = False,
) -> tuple[list[Choice], list[str]]:
    """What is scored of each set, at most so many items without a text that is used; and which sets are left out.

    A set that cannot be read is an error only if it is named. `then` names the sets of the run whose recipe this is;
    one that is resumed is scored on no others, and without those that can no longer be read.
    """
    found: dict[str, Choice] = {}  # by digest: a set under two names is scored once
    left_out: list[str] = []
    for one in named([sets.AT_HAND] if resumed and then is not None else asked, then):
        name = str(one)
        try:
            whole = kinds.run_set(one, online)
        except StrataError as error:
            if one in asked and not resumed:
                raise
            left_out.append(UNREADABLE.format(sources.shown(name), error))
            continue
        if whole.scored_as_whole:
            raise BadChoice(f"elsewhere cannot be {whole.name!r}: every run is scored on them. Name other sets.")
        texts = whole.row_texts
        kept = [row for row, of_row in enumerate(texts) if used.isdisjoint(of_row)]
        if len(kept) < LEAST:
            left_out.append(LEFT_OUT.format(sources.shown(name), len(kept), len(texts)))
            continue
        if most and len(kept) > most:
            kept = [kept[place] for place in splitting.drawn([texts[row] for row in kept], most)]
        part = whole if len(kept) == len(texts) else whole.taken(kept)
        found.setdefault(part.digest, (name, part, len(texts)))
    return list(found.values()), left_out


def used(rows: Iterable[Corpus | None], judged_by: Iterable[ItemSet]) -> set[str]:
    """Every text of the rows of a run, whether they are drawn or held out, and of its evaluation sets."""
    columns = (column for one in rows if one is not None for column in one.texts)
    return {*chain.from_iterable(columns), *chain.from_iterable(one.sentences for one in judged_by)}
