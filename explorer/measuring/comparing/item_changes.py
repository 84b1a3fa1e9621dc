"""The items of a set of any kind that improved or got worse between two models, as rows and as lines of text.

A scored pair improved if its rank error was above a quarter of all ranks and no longer is. A query, triplet, labelled
text or probe pair improved if what it gets by the measure rose, or its rank where that stayed the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer import in_words
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.sample import ProbePairs
from explorer.data.set_items import ItemSet, several, size_of
from explorer.data.text_sets import GradedPairs
from explorer.in_words import Rows
from explorer.measuring.comparing.comparison import Comparison, chosen_not_measured
from explorer.measuring.comparing.pair_changes import (
    BROKEN,
    FAR,
    FIXED,
    KINDS,
    NOT_FOUND,
    STILL_WRONG,
    Floats,
    ItemChanges,
    RankErrors,
)
from explorer.measuring.scores import metrics
from explorer.measuring.scores.judge import DETAILS

SHOWN = 3  # items of either kind in a terminal; JSON has all
LONGEST = 160  # characters of a text in a terminal
MEANING = "meaning"  # of a probe pair: whether both sentences say the same
NO_ITEMS = "A side has no score here, so {} cannot be compared one by one. Choose another layer & pooling."
_RULES = {
    True: f"A pair is wrong if its rank error is above {in_words.percent(FAR)}: the distance between its ranks by "
    "cosine and by gold "
    "score, in percent of all pairs. Improved: wrong before, right after. Got worse: the opposite.",
    False: "Improved: its {} rose.",
}
RANKED = " Rank: the place of the first relevant passage among all passages; 1 is best."
CLIMBED = " If it stays the same, the rank decides."


@dataclass(frozen=True, eq=False)
class ChangedItems:
    """Rows of items that improved and got worse, most changed first, and what each item gained."""

    size: str  # how many items of what
    item: str
    sides: tuple[str, str]  # before and after: A and B, unless A was tuned from B
    readings: tuple[str, str]  # the layers & poolings
    rows: Mapping[str, Rows]  # by kind; of scored pairs also those that are still wrong
    gains: Floats  # of each item, above 0 is better; empty if they cannot be compared
    gain: str = ""  # what a gain is
    rule: str = ""  # when an item improved, in words
    why_none: str = ""  # why items cannot be compared

    @property
    def counts(self) -> dict[str, int]:
        """How many items are of each kind."""
        return {kind: len(rows) for kind, rows in self.rows.items()}

    @property
    def counts_text(self) -> str:
        """`60 queries among 600 passages: 12 improved, 9 got worse, 39 did not change`."""
        if self.why_none:
            return self.why_none
        others = len(self.gains) - self.counts[FIXED] - self.counts[BROKEN] - self.counts.get(STILL_WRONG, 0)
        parts = [f"{count:,} {kind}" for kind, count in self.counts.items()]
        return f"{self.size}: {', '.join(parts)}, {others:,} {'neither' if STILL_WRONG in self.rows else 'unchanged'}"

    @property
    def sides_text(self) -> str:
        """`from A (mean of layer 6) to B (model default)`."""
        before, after = (f"{side} ({title})" for side, title in zip(self.sides, self.readings, strict=True))
        return f"from {before} to {after}"

    def as_json(self) -> dict[str, object]:
        """All rows."""
        if self.why_none:
            return {"why_none": self.why_none}
        about = {"before": self.sides[0], "after": self.sides[1], "readings": list(self.readings)}
        return {**about, "of": len(self.gains), "counts": self.counts, "rule": self.rule, **self.rows}

    def lines(self) -> list[str]:
        """How many, and the first of those that improved and got worse."""
        if self.why_none:
            return [self.why_none]
        lines = [f"Changed {several(self.item)}, {self.sides_text}:", f"{self.counts_text}. {self.rule}"]
        for kind in (FIXED, BROKEN):
            for row in self.rows[kind][:SHOWN]:
                lines += ["", f"{kind}: {headline(row)}", *(f"  {name}: {_short(text)}" for name, text in texts(row))]
        left = sum(max(0, len(self.rows[kind]) - SHOWN) for kind in (FIXED, BROKEN))
        return [*lines, *(["", f"--json has the other {left:,}, too."] if left else [])]


def changed_items(given: ItemSet, chosen: Comparison, about: Comparison, measure: str, after: int = 1) -> ChangedItems:
    """The items of a set that improved and got worse.

    Scored pairs are compared under the chosen layers & poolings, from A to B; other items under those that the verdict
    is `about`, to the judged side (`after`).
    """
    if isinstance(given, GradedPairs):
        return _of_pairs(given, chosen)
    names = "A", "B"
    readings = about.one_reading.title, about.other_reading.title
    if after == 0:
        names, readings = names[::-1], readings[::-1]
    found = item_changes(given, about, measure, after)
    many = several(given.item)
    if not np.isfinite(found.gaps).all():
        return ChangedItems(
            size_of(given), given.item, names, readings, {}, np.empty(0), why_none=NO_ITEMS.format(many)
        )
    rows = {kind: found.rows_of(found.changed(improved=kind == FIXED), measure) for kind in (FIXED, BROKEN)}
    ranked = (CLIMBED + RANKED) * (found.ranks is not None)
    rule = _RULES[False].format(measure) + ranked
    gain = f"{measure} × 100, after − before"
    return ChangedItems(size_of(given), given.item, names, readings, rows, 100 * found.gaps, gain, rule)


def item_changes(given: ItemSet, about: Comparison, measure: str, after: int = 1) -> ItemChanges:
    """What each item of a set other than scored pairs gets under both models, the judged one `after`."""
    sides, readings = (about.one, about.other), (about.one_reading, about.other_reading)
    before, tuned = sides[1 - after], sides[after]
    of = tuple(
        (one.items_of(reading, measure), one.details_of(reading))
        for one, reading in ((before, readings[1 - after]), (tuned, readings[after]))
    )
    (items, details), (items_after, details_after) = of
    texts = given.shown_columns
    if isinstance(given, ProbePairs):  # an item is a cosine
        cosines = items, items_after
        items, items_after = (metrics.item_shares(before.gold, one) for one in cosines)
        texts[MEANING] = tuple("the same" if same else "another" for same in given.same)
        return ItemChanges(texts, items, items_after, None, cosines)
    ranks, near, firsts = (
        (details[name], details_after[name]) if name in details and name in details_after else None for name in DETAILS
    )
    passages = given.documents if isinstance(given, RetrievalSet) else ()
    return ItemChanges(texts, items, items_after, ranks, near, firsts, passages)


def _of_pairs(given: GradedPairs, comparison: Comparison) -> ChangedItems:
    readings = comparison.one_reading.title, comparison.other_reading.title
    about = size_of(given), given.item, ("A", "B"), readings
    if unknown := chosen_not_measured(comparison):
        return ChangedItems(*about, {}, np.empty(0), why_none=" ".join(unknown))
    errors = comparison.rank_errors()
    rows = {kind: pair_rows(given, comparison, errors, errors.places(kind)) for kind in KINDS}
    gain = "decrease of the rank error, in percent of all ranks"
    return ChangedItems(*about, rows, 100 * errors.change, gain, _RULES[True])


def pair_rows(
    pairs: GradedPairs, comparison: Comparison, errors: RankErrors, places: np.typing.NDArray[np.intp]
) -> Rows:
    """A row for each pair: both sentences, the gold score, and the cosines and rank errors of A and B."""
    one, other = (
        comparison.one.cosines_of(comparison.one_reading),
        comparison.other.cosines_of(comparison.other_reading),
    )
    return [
        {
            "first": pairs.first[place],
            "second": pairs.second[place],
            "gold score": pairs.own_gold[place],
            "cosine A": round(float(one[place]), 4),
            "cosine B": round(float(other[place]), 4),
            "rank error A": round(float(errors.one[place]), 4),
            "rank error B": round(float(errors.other[place]), 4),
            **({"sub-corpus": pairs.parts[place]} if comparison.one.has_parts else {}),
            **({"tag": pairs.tags[place]} if pairs.tags else {}),
        }
        for place in places
    ]


def texts(row: Mapping[str, object]) -> list[tuple[str, str]]:
    """The texts of a row by their headings."""
    return [(name, value) for name, value in row.items() if isinstance(value, str) and value]


def headline(row: Mapping[str, object]) -> str:
    """What became of an item: `rank 7 → 1, cosine 0.612 → 0.874, nDCG@10 33.33 → 100.00`."""
    parts = []
    for name in row:
        for before, after in ((" before", " after"), (" A", " B")):
            start = name.removesuffix(before)
            if start != name and f"{start}{after}" in row and not isinstance(row[name], str):
                parts.append(_change(start, row[name], row[f"{start}{after}"]))
    gold = row.get("gold score")
    return ", ".join(
        [*(part for part in parts if part), *([f"gold score {gold:g}"] if isinstance(gold, float) else [])]
    )


def _change(name: str, before: object, after: object) -> str:
    if name == "rank":
        one, other = (NOT_FOUND if side is None else f"{side}" for side in (before, after))
        return f"rank {one} → {other}"
    if not isinstance(before, float) or not isinstance(after, float):
        return ""
    if name == "rank error":
        digits = 2 if round(100 * before, 1) == round(100 * after, 1) else 1  # a changed pair is not shown as the same
        return f"rank error {in_words.arrow(100 * before, 100 * after, digits=digits)} %"
    if name == metrics.ACCURACY:
        one, other = (metrics.DECIDED.get(side, "undecided") for side in (before, after))
        return f"{one} → {other}"
    return f"{name} {in_words.cosines(before, after, digits=3) if name == 'cosine' else in_words.arrow(before, after)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1].rstrip() + "…"
