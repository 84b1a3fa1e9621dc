"""Detect the kind of rows that a table holds and the role of each column, from names, content and order."""

import math
from collections.abc import Collection, Iterable
from itertools import pairwise

from explorer.data.tables.number_columns import is_number, notations
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.text_sets import (
    BACK_TRANSLATIONS,
    DOCUMENTS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
    Kind,
)
from explorer.errors import WrongColumns

# Known names, normalised by `plain`; within a list the earlier has priority.
PAIR_NAMES = (
    ("sentence1", "sentence2"),
    ("sentencea", "sentenceb"),
    ("sent0", "sent1"),  # SimCSE's NLI file, with hard_neg
    ("sent1", "sent2"),
    ("text1", "text2"),
    ("texta", "textb"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("anchor", "positive"),
    ("query", "positive"),
    ("query", "answer"),
    ("query", "passage"),
    ("query", "document"),
    ("question", "answer"),
)
NEGATIVE_NAMES = ("negative", "negative1", "hardneg", "hardnegative", "contradiction")
SCORE_NAMES = ("score", "scores", "similarity", "similarityscore", "relatednessscore", "gold", "label", "labels")
LABEL_NAMES = ("label", "labels", "goldlabel", "class", "category", "sentiment", "target", "gold")
PART_NAMES = ("source", "subset", "part", "genre", "domain")
SENTENCE_NAMES = ("text", "sentence", "sentences")
ORIGINAL_NAMES = (*SENTENCE_NAMES, "original")
TRANSLATED_NAMES = ("backtranslation", "backtranslated", "translated", "paraphrase")
RECOGNISED = {*NEGATIVE_NAMES, *SCORE_NAMES, *LABEL_NAMES, *PART_NAMES, *ORIGINAL_NAMES, *TRANSLATED_NAMES}
RECOGNISED |= {name for pair in PAIR_NAMES for name in pair}

ID_ENDINGS = ("id", "idx", "index", "year")  # endings of names of ids and years, which are not scores
SAMPLE = 1000  # rows whose content is checked
MOST_CLASSES = 20  # of a column that no name calls a label
ROWS_EACH = 5  # the mean number of rows of a class in such a column
OUTLIER = 4  # times the median number of words of a column: more words of a cell are not counted
WORDY = 1 / 3  # of the longest column's words; a column with fewer holds categories, not sentences


def guess(table: Table, kind: Kind | None = None) -> ColumnRoles:
    """The most likely roles, or the most likely ones for a kind of rows; roles without a column stay empty.

    Known names decide first; back-translations are detected by name only. Without known names the order decides, by
    SimCSE's rule: one column of text is sentences, two are pairs, three are triplets; two with a column of numbers are
    scored pairs. A file is never taken for a labelled one unless that kind is given.
    """
    pair = _named_pair(table)
    source, translated = named_column(table, ORIGINAL_NAMES), named_column(table, TRANSLATED_NAMES)
    back = (source, translated) if source and translated else None
    words = _words(table)
    # in file order, without numbers and categories
    texts = [column for column, mean in words.items() if mean > 0 and mean >= WORDY * max(words.values())]
    if not (pair or back or texts):
        raise WrongColumns(f"{table.name} has no column of sentences. {table.inventory()} Add one.")
    lead = pair or back or tuple(texts)
    first, second, third = (lead[at] if at < len(lead) else None for at in range(3))
    negative = named_column(table, NEGATIVE_NAMES) or third
    sentence = named_column(table, SENTENCE_NAMES)
    original = (back or (sentence or first,))[0]
    score = _score_column(table, besides={*lead, *texts})
    if kind == LABELLED_TEXTS:
        return _labelled(table, pair, texts)
    if kind == DOCUMENTS:
        return ColumnRoles.of(kind, {"document": sentence or max(texts, key=words.__getitem__, default=None)})
    if kind is None:
        alone = not (pair or back) and bool(sentence or len(texts) == 1)
        if alone:
            kind = SENTENCES
        elif negative:
            kind = TRIPLETS
        else:
            kind = BACK_TRANSLATIONS if back and not pair else SCORED_PAIRS if score else PAIRS
    return ColumnRoles.of(
        kind,
        {
            "sentence": original,
            "first": first,
            "second": second,
            "score": score,
            "part": named_column(table, PART_NAMES),
            "anchor": first,
            "positive": second,
            "negative": negative,
            "translated": back[1] if back else next((column for column in lead if column != original), None),
        },
    )


def table_kind(table: Table) -> Kind:
    """The kind of rows, as `guess` finds it; labelled texts where a column next to the text has few values."""
    found = guess(table)
    if found.kind == SCORED_PAIRS:
        score = found.column("score") or ""
        words = plain(score) in LABEL_NAMES and not is_mostly_numbers(table.column(score))
        return LABELLED_TEXTS if words else found.kind  # a "score" without numbers is a fault, not a label
    if found.kind == PAIRS and are_unlabelled_pairs(table):
        return found.kind
    named = named_column(table, LABEL_NAMES)
    label = named or guess(table, LABELLED_TEXTS).column("label")
    if label is None or found.kind not in (SENTENCES, PAIRS):
        return found.kind
    # several values under the name of a label, or few values that many rows share
    rows, classes = len(table.rows), len({cell.strip() for cell in table.column(label)} - {""})
    most = max(2, rows // 2) if named else min(MOST_CLASSES, rows // ROWS_EACH)
    return LABELLED_TEXTS if 2 <= classes <= most else found.kind


def are_triplets(table: Table) -> bool:
    """Whether a table holds triplets."""
    return guess(table).kind == TRIPLETS


def are_unlabelled_pairs(table: Table) -> bool:
    """Whether a table holds pairs of texts, by their names or since no column can be a label."""
    if guess(table).kind != PAIRS:
        return False
    return _named_pair(table) is not None or guess(table, LABELLED_TEXTS).column("label") is None


def _labelled(table: Table, pair: tuple[str, str] | None, texts: list[str]) -> ColumnRoles:
    """Text by name or the wordiest; two of a named pair; a label by name, else the column with the fewest values."""
    named, words = named_column(table, LABEL_NAMES), _words(table)
    wordiest = max((column for column in texts if column != named), key=words.__getitem__, default=None)
    text, second = pair or (named_column(table, SENTENCE_NAMES) or wordiest, None)
    values = {column: len(set(cells)) for column, cells in _sampled(table) if column not in (text, second)}
    classes = [column for column, count in values.items() if 2 * count <= len(table.rows[:SAMPLE])]
    label = named or min(classes, key=values.__getitem__, default=None)
    return ColumnRoles.of(LABELLED_TEXTS, {"text": text, "label": label, "second": second})


def _named_pair(table: Table) -> tuple[str, str] | None:
    found = {plain(column): column for column in table.columns}
    return next(((found[one], found[two]) for one, two in PAIR_NAMES if one in found and two in found), None)


def named_column(table: Table, names: Iterable[str]) -> str | None:
    """The column with the first of these names, normalised by `plain`, that the table has."""
    found = {plain(column): column for column in table.columns}
    return next((found[name] for name in names if name in found), None)


def _words(table: Table) -> dict[str, float]:
    """The mean number of words of each column that may hold sentences."""
    means = {}
    for column, cells in _sampled(table):
        if plain(column) not in {*SCORE_NAMES, *PART_NAMES} and not is_mostly_numbers(cells):
            counts = [len(cell.split()) for cell in cells]
            filled = sorted(filter(None, counts))
            # a cell far longer than most counts less, or one would decide for all
            most = OUTLIER * filled[(len(filled) - 1) // 2] if filled else 0
            means[column] = sum(min(count, most) for count in counts) / max(1, len(counts))
    return means


def _score_column(table: Table, besides: Collection[str]) -> str | None:
    """The column with a score's name; else a column of numbers that are not ids, fractions first."""
    if named := named_column(table, SCORE_NAMES):
        return named
    found: dict[str, bool] = {}  # whether a column of numbers has fractions
    for column, cells in _sampled(table):
        if column not in besides and is_mostly_numbers(cells) and not plain(column).endswith(ID_ENDINGS):
            numbers = [math.nan if (number := notations(cell)[0]) is None else number for cell in cells]
            counted = len(numbers) > 2 and all(after - before == 1 for before, after in pairwise(numbers))
            if not counted:  # ids are each one more than the last
                found[column] = any("." in cell or "," in cell for cell in cells)
    return max(found, key=found.__getitem__, default=None)  # the first of those that are alike


def _sampled(table: Table) -> list[tuple[str, tuple[str, ...]]]:
    """Each column with its first cells."""
    rows = table.rows[:SAMPLE]
    return [(column, tuple(row[at] for row in rows)) for at, column in enumerate(table.columns)]


def plain(name: str) -> str:
    """Normalise a name of a column or set, without case, spaces and punctuation: "Sentence_A" is "sentencea"."""
    return "".join(filter(str.isalnum, name.lower()))


def is_recognised(name: str) -> bool:
    """Whether this is a known column name."""
    return plain(name) in RECOGNISED


def is_mostly_numbers(cells: Iterable[str]) -> bool:
    """Whether more than half of the non-empty cells hold numbers."""
    filled = [cell for cell in cells if cell.strip()]
    return 2 * sum(map(is_number, filled)) > len(filled)
