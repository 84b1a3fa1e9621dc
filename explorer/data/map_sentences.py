"""Sentences to map, with their attributes: from scored pairs, from a table, or as they are."""

from collections import defaultdict
from collections.abc import Mapping as Lookup
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explorer.data.set_items import Attribute
from explorer.data.tables.columns import guess
from explorer.data.tables.further_columns import numbers_or_names
from explorer.data.tables.table import Table
from explorer.data.text_sets import SENTENCES, GradedPairs, Sentences
from explorer.errors import TooFewRows

MOST = 20_000  # most sentences of a map: more are slow in a browser
MOST_GROUPS = 20  # values of a column that colours well
EXTREMES = 20  # pairs at either end, as in the figures of the papers
AT_ENDS = "{} pairs at each end of {:,}; among equal scores the seed decides."


def of_pairs(pairs: GradedPairs) -> Sentences:
    """The sentences of scored pairs, with sub-corpus, length, and mean score of their pairs."""
    parts: dict[str, str] = {}
    scores: dict[str, list[float]] = defaultdict(list)
    for first, second, gold, part in zip(pairs.first, pairs.second, pairs.own_gold, pairs.parts, strict=True):
        for text in {first, second}:
            parts.setdefault(text, part)
            scores[text].append(gold)
    texts = pairs.sentences
    columns = [Attribute("sub-corpus", tuple(parts[text] for text in texts))] if any(pairs.parts) else []
    means = tuple(sum(scores[text]) / len(scores[text]) for text in texts)
    return Sentences(pairs.name, texts, (*columns, _words(texts), Attribute("score of its pairs", means)))


def of_set(name: str, columns: Lookup[str, Sequence[str]], labels: Sequence[str] = ()) -> Sentences:
    """The texts of queries, triplets or labelled rows by column, with the column of each, or its label."""
    parts: dict[str, str] = {}
    for heading, cells in columns.items():
        for place, text in enumerate(cells):
            parts.setdefault(text, labels[place] if labels else heading)
    texts = tuple(parts)
    return Sentences(name, texts, (Attribute("label" if labels else "part", tuple(parts.values())), _words(texts)))


def of_texts(name: str, texts: Sequence[str]) -> Sentences:
    """Distinct sentences as they are, without attributes but their lengths."""
    distinct = tuple(dict.fromkeys(texts))
    if len(distinct) < 2:
        raise TooFewRows(f"{name} has {len(distinct)} distinct sentences; a map needs at least 2. Add some.")
    return Sentences(name, distinct, (_words(distinct),))


def extremes(pairs: GradedPairs, seed: int, count: int = EXTREMES) -> Sentences:
    """The pairs with the highest and lowest gold scores, each joined by a line; ties are broken at random."""
    count = min(count, len(pairs) // 2)
    drawn = np.random.default_rng(seed).permutation(len(pairs))
    ranked = sorted(drawn.tolist(), key=lambda place: pairs.gold[place])  # a stable sort keeps the random order of ties
    ends: dict[str, list[int]] = {}  # by the range of their scores: `scored 5`, `scored 0 to 0.2`
    for end in (ranked[-count:], ranked[:count]):
        golds = [pairs.own_gold[at] for at in end]
        low, high = min(golds), max(golds)
        ends[f"scored {low:g}" if low == high else f"scored {low:.3g} to {high:.3g}"] = end
    groups: dict[str, str] = {}  # a sentence of both ends is of the first
    for scored, end in ends.items():
        for at in end:
            groups.setdefault(pairs.first[at], scored)
            groups.setdefault(pairs.second[at], scored)
    texts = tuple(groups)
    places = {text: place for place, text in enumerate(texts)}
    lines = tuple((places[pairs.first[at]], places[pairs.second[at]]) for end in ends.values() for at in end)
    return Sentences(
        f"{pairs.name}, {' and '.join(ends)}",
        texts,
        (Attribute("pairs", tuple(groups.values())), _words(texts)),
        lines,
        AT_ENDS.format(count, len(pairs)),
    )


def of_table(table: Table, column: str | None = None) -> Sentences:
    """The distinct sentences of a column, with the other columns of their first row."""
    column = column or guess(table, SENTENCES).column("sentence") or table.columns[0]
    first_at: dict[str, int] = {}
    for place, cell in enumerate(table.column(column)):
        text = " ".join(cell.split())
        if text:
            first_at.setdefault(text, place)
    if len(first_at) < 2:
        raise TooFewRows(
            f"{table.name} has {len(first_at)} distinct sentences in {column!r}; a map needs at least 2. "
            f"Add some, or choose another column. {table.inventory()}"
        )
    texts = tuple(first_at)
    columns = []
    for other in table.columns:
        if other != column:
            cells = table.column(other)
            heading = f"{other} (of the file)" if other in ("words", "sentence", "vector") else other
            columns.append(Attribute(heading, numbers_or_names([cells[place] for place in first_at.values()])))

    def order(column: Attribute) -> int:
        """Columns with few values first, since the first colours the map; last those that number the rows."""
        values = len({*column.cells})
        if values == len(column.cells) > MOST_GROUPS or values == 1:
            return 2
        return 0 if 2 <= values <= MOST_GROUPS else 1

    dropped = len(table.rows) - len(texts)
    note = f"{dropped:,} of {len(table.rows):,} rows are empty, or repeat a sentence." if dropped else ""
    return Sentences(table.name, texts, tuple(sorted([*columns, _words(texts)], key=order)), note=note)


def sampled(sentences: Sentences, most: int = MOST, seed: int = 0) -> Sentences:
    """A sample of at most so many sentences, stratified by the first column of names."""
    count = len(sentences)
    if count <= most:
        return sentences
    strata = next((column for column in sentences.columns if not column.counts), None)
    groups: dict[float | str, list[int]] = defaultdict(list)
    for place in np.random.default_rng(seed).permutation(count).tolist():
        groups[strata.cells[place] if strata else ""].append(place)
    # rounded to integers that keep the sum: those with the largest remainders are rounded up
    wanted = {name: len(group) * most / count for name, group in groups.items()}
    shares = {name: int(share) for name, share in wanted.items()}
    for name in sorted(wanted, key=lambda name: shares[name] - wanted[name])[: most - sum(shares.values())]:
        shares[name] += 1
    kept = sorted(place for name, group in groups.items() for place in group[: shares[name]])
    by = f", with the shares of '{strata.name}' kept" if strata else ""
    return replace(
        sentences,
        texts=tuple(sentences.texts[place] for place in kept),
        columns=tuple(one.taken(kept) for one in sentences.columns),
        note=f"{most:,} of {count:,} sentences, drawn at random{by}. {sentences.note}".strip(),
    )


def _words(texts: Sequence[str]) -> Attribute:
    return Attribute("words", tuple(float(len(text.split())) for text in texts))
