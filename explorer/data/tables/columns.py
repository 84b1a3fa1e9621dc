"""Detect what the columns of a table hold, from names, content and order, and read those of numbers and scores.

A column of numbers is read in one notation, with a decimal point or with a decimal comma: `1,000` is 1000 where a point
is the decimal mark, and 1.0 where a comma is. The other cells of its column decide.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from explorer.data import text_sets
from explorer.data.tables.table import ColumnRoles, Table
from explorer.errors import BadScores, WrongColumns

# Known names, normalised by `plain`; within a list the earlier has priority.
TRANSLATION_NAMES = (  # of a text and its translation; the last are those of sentence-transformers
    *((text, "translation") for text in ("sentence", "text", "original", "source")),
    ("english", "nonenglish"),
)
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
    *TRANSLATION_NAMES,
)
NEGATIVE_NAMES = ("negative", "negative1", "hardneg", "hardnegative", "contradiction")
SCORE_NAMES = ("score", "scores", "similarity", "similarityscore", "relatednessscore", "gold", "label", "labels")
TEACHER_SCORE_NAMES = {  # by role
    "score_positive": ("scorepositive", "positivescore", "scorepos", "posscore"),
    "score_negative": ("scorenegative", "negativescore", "scoreneg", "negscore"),
    "margin": ("margin", "score", "label"),  # sentence-transformers and its data sets call it so
}
LABEL_NAMES = ("label", "labels", "goldlabel", "class", "category", "sentiment", "target", "gold")
PART_NAMES = ("source", "subset", "part", "genre", "domain")
LANGUAGE_NAMES = ("language", "lang", "locale")
SENTENCE_NAMES = ("text", "sentence", "sentences")
ORIGINAL_NAMES = (*SENTENCE_NAMES, "original")
TRANSLATED_NAMES = ("backtranslation", "backtranslated", "translated", "paraphrase")
RECOGNISED = {
    *NEGATIVE_NAMES,
    *SCORE_NAMES,
    *LABEL_NAMES,
    *PART_NAMES,
    *LANGUAGE_NAMES,
    *ORIGINAL_NAMES,
    *TRANSLATED_NAMES,
}
RECOGNISED |= {name for pair in PAIR_NAMES for name in pair}

ID_ENDINGS = ("id", "idx", "index", "year")  # endings of names of ids and years, which are not scores
SAMPLE = 1000  # rows whose content is checked
MOST_CLASSES = 20  # of a column that no name calls a label
ROWS_EACH = 5  # the mean number of rows of a class in such a column
OUTLIER = 4  # times the median number of words of a column: more words of a cell are not counted
WORDY = 1 / 3  # of the longest column's words; a column with fewer holds categories, not sentences

Pair = tuple[float | None, float | None]  # what a cell is with a decimal point, and with a decimal comma
_APART = "'’ \u00a0\u2009\u202f"  # other marks between thousands: apostrophes, and the spaces of SI
LARGE, TIMES = 100, 10  # a number above the first and so many times another one is on another scale
MISSING = "score missing, NaN or infinite"
TEXT = "score is text"
CLASSES = 10  # at most this many distinct, repeated words are classes, not scores
SPREADS = 1e-100, 1e100  # of the range of scores: squares of smaller or larger ranges are not finite in float64
NOISE = 1e-9  # share of the largest score: smaller differences are lost in rounding
NLI_CODES = {0.0, 1.0, 2.0}  # entailment, neutral, contradiction; -1 if the annotators disagree


def guess(table: Table, kind: text_sets.Kind | None = None) -> ColumnRoles:
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
    part = named_column(table, PART_NAMES)
    negative = named_column(table, NEGATIVE_NAMES) or third
    sentence = named_column(table, SENTENCE_NAMES)
    original = (back or (sentence or first,))[0]
    score = _score_column(table, besides={*lead, *texts})
    if kind == text_sets.LABELLED_TEXTS:
        return _labelled(table, pair, texts)
    if kind == text_sets.DOCUMENTS:
        return ColumnRoles.of(kind, {"document": sentence or max(texts, key=words.__getitem__, default=None)})
    likely = (  # the first that is so
        (not (pair or back) and bool(sentence or len(texts) == 1), text_sets.SENTENCES),
        (negative, text_sets.TRIPLETS),
        (back and not pair, text_sets.BACK_TRANSLATIONS),
        (score, text_sets.SCORED_PAIRS),
        (True, text_sets.PAIRS),
    )
    kind = kind or next(one for so, one in likely if so)
    return ColumnRoles.of(
        kind,
        {
            "sentence": original,
            "first": first,
            "second": second,
            "score": score,
            "part": None if part in lead else part,
            "anchor": first,
            "positive": second,
            "negative": negative,
            **{role: named_column(table, names) for role, names in TEACHER_SCORE_NAMES.items()},
            "translated": back[1] if back else next((column for column in lead if column != original), None),
        },
    )


def table_kind(table: Table) -> text_sets.Kind:
    """The kind of rows, as `guess` finds it; labelled texts where a column next to the text has few values."""
    found = guess(table)
    if found.kind == text_sets.SCORED_PAIRS:
        score = found.column("score") or ""
        words = plain(score) in LABEL_NAMES and not is_mostly_numbers(table.column(score))
        return text_sets.LABELLED_TEXTS if words else found.kind  # a "score" without numbers is a fault, not a label
    if found.kind == text_sets.PAIRS and are_unlabelled_pairs(table):
        return found.kind
    named = named_column(table, LABEL_NAMES)
    label = named or guess(table, text_sets.LABELLED_TEXTS).column("label")
    if label is None or found.kind not in (text_sets.SENTENCES, text_sets.PAIRS):
        return found.kind
    # several values under the name of a label, or few values that many rows share
    rows, classes = len(table.rows), len({cell.strip() for cell in table.column(label)} - {""})
    most = max(2, rows // 2) if named else min(MOST_CLASSES, rows // ROWS_EACH)
    return text_sets.LABELLED_TEXTS if 2 <= classes <= most else found.kind


def are_unlabelled_pairs(table: Table) -> bool:
    """Whether a table holds pairs of texts, by their names or since no column can be a label."""
    if guess(table).kind != text_sets.PAIRS:
        return False
    return _named_pair(table) is not None or guess(table, text_sets.LABELLED_TEXTS).column("label") is None


def are_translations(table: Table) -> bool:
    """Whether a table holds texts and their translations, by the names of its columns."""
    roles = guess(table)
    names = tuple(plain(roles.column(role) or "") for role in ("first", "second"))
    return roles.kind == text_sets.PAIRS and names in TRANSLATION_NAMES


def _labelled(table: Table, pair: tuple[str, str] | None, texts: list[str]) -> ColumnRoles:
    """Text by name or the wordiest; two of a named pair; a label by name, else the column with the fewest values."""
    named, words = named_column(table, LABEL_NAMES), _words(table)
    wordiest = max((column for column in texts if column != named), key=words.__getitem__, default=None)
    text, second = pair or (named_column(table, SENTENCE_NAMES) or wordiest, None)
    others = [(column, cells) for column, cells in _sampled(table) if column not in (text, second)]
    values = {column: len(set(cells)) for column, cells in others if plain(column) not in LANGUAGE_NAMES}
    classes = [column for column, count in values.items() if 2 * count <= len(table.rows[:SAMPLE])]
    label = named or min(classes, key=values.__getitem__, default=None)
    return ColumnRoles.of(text_sets.LABELLED_TEXTS, {"text": text, "label": label, "second": second})


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


def _notation(decimal: str, thousands: str) -> re.Pattern[str]:
    """Numbers with these marks, in the digits 0 to 9: `float` also takes `1_000`, and digits of every script."""
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>[{thousands}{_APART}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*(?:{decimal}[0-9]*)?"
    ungrouped = rf"(?={decimal}?[0-9])[0-9]*(?:{decimal}[0-9]*)?(?:e[+-]?[0-9]+)?"
    return re.compile(rf"[+-]?(?:{grouped}|{ungrouped}|nan|inf|infinity)", re.IGNORECASE)


_POINT, _COMMA = _notation(r"\.", ","), _notation(",", r"\.")


def notations(cell: str) -> Pair:
    """The number in a cell with a decimal point, and with a decimal comma; None where it is none."""
    text = cell.strip()
    point, comma = _POINT.fullmatch(text), _COMMA.fullmatch(text)
    return (
        None if point is None else float(text.replace(point["mark"] or " ", "")),
        None if comma is None else float(text.replace(comma["mark"] or " ", "").replace(",", ".")),
    )


def is_number(cell: str) -> bool:
    """Whether a cell holds a number in either notation."""
    return notations(cell) != (None, None)


def numbers(cells: Sequence[str]) -> tuple[float | None, ...]:
    """The number in each cell, NaN if it is empty, None if it is text; ValueError if the notation is not clear."""
    pairs = {cell: notations(cell) for cell in dict.fromkeys(cells)}
    chosen = 1 if _has_decimal_comma(pairs) else 0
    return tuple(pairs[cell][chosen] if cell.strip() else math.nan for cell in cells)


def _has_decimal_comma(pairs: Mapping[str, Pair]) -> bool:
    point = next((cell for cell, (one, other) in pairs.items() if one is not None and other is None), None)
    comma = next((cell for cell, (one, other) in pairs.items() if one is None and other is not None), None)
    if point is not None and comma is not None:
        raise ValueError(
            f"{comma.strip()!r} has a decimal comma, {point.strip()!r} a decimal point. Write all numbers with a "
            "decimal point and without marks between thousands."
        )
    if point is not None or comma is not None:
        return comma is not None
    finite = {
        cell: (one, other)
        for cell, (one, other) in pairs.items()
        if one is not None and other is not None and math.isfinite(one)
    }
    unclear = {cell: sorted(pair, key=abs) for cell, pair in finite.items() if pair[0] != pair[1]}
    if not unclear:
        return False
    largest = max((abs(one) for one, other in finite.values() if one == other), default=0)
    # 950 next to 1,000: as 1.0 it would be on another scale. A point alone is the decimal mark unless that is so.
    apart = largest > LARGE and largest > TIMES * max(abs(decimal) for decimal, _ in unclear.values())
    if {"," in cell for cell in unclear} == {apart}:
        return False
    cell, (decimal, whole) = next(iter(unclear.items()))
    raise ValueError(
        f"{cell.strip()!r} can be {whole:.0f} or {decimal!r}, and no other number of the column shows which. "
        f"Write {whole:.0f}, or {decimal!r}0 with a decimal point."
    )


def gold_scores(table: Table, column: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """One number per row, NaN if missing; and one fault per row, "" if none."""
    cells = table.column(column)
    try:
        found = numbers(cells)
    except ValueError as error:
        raise BadScores(f"{table.name}, {column!r}: {error}") from error
    faults = tuple(TEXT if number is None else "" if math.isfinite(number) else MISSING for number in found)
    if cells and all(faults):
        texts = [cell.strip() for cell, fault in zip(cells, faults, strict=True) if fault == TEXT]
        distinct, first = sorted(set(texts)), ", ".join(repr(text) for text in texts[:3])
        if not texts:
            wrong = f"every score in {column!r} is missing, NaN or infinite. Fill them in, or choose another column."
        elif len(distinct) <= CLASSES and 2 * len(distinct) <= len(texts):
            wrong = (
                f"{column!r} holds classes ({', '.join(distinct)}), not scores. Choose a column of numbers; "
                "from NLI data make triplets instead: a sentence, an entailed one, a contradicting one."
            )
        else:
            wrong = (
                f"no score in {column!r} is a number; the first are {first}. "
                "Choose a column of numbers, written like 3.5 or 3,5 in the digits 0 to 9, without a unit."
            )
        raise BadScores(f"{table.name}: {wrong}")
    values = {number for number, fault in zip(found, faults, strict=True) if number is not None and not fault}
    if column.strip().lower() in ("label", "labels") and values - {-1.0} == NLI_CODES:
        raise BadScores(
            f"{table.name}: {column!r} holds only 0, 1 and 2, like NLI classes (entailment, neutral, "
            "contradiction), where higher is not more similar. If they are scores, call the column 'score'."
        )
    return tuple(math.nan if number is None else number for number in found), faults


def scaled(gold: Sequence[float]) -> tuple[float, ...]:
    """Scale scores to 0 (lowest) to 1 (highest); 0 if all are equal."""
    low, high = min(gold), max(gold)
    return tuple((score - low) / (high - low) if high > low else 0.0 for score in gold)


def check_spread(table: Table, column: str, gold: Sequence[float]) -> None:
    """Raise if all scores are (almost) equal, or too far apart: no correlation is defined."""
    low, high = min(gold), max(gold)
    if low == high:
        raise BadScores(
            f"{table.name}: every score in {column!r} is {gold[0]:g}, so a correlation is undefined. "
            "Choose a column whose scores differ."
        )
    least, most = SPREADS
    if not max(least, NOISE * max(-low, high)) <= high - low <= most:
        apart = "far apart" if high - low > most else "close together"
        raise BadScores(
            f"{table.name}: the scores in {column!r} range from {low!r} to {high!r}, too {apart} to compute with. "
            "Rescale them, for example to 0 to 5, or choose another column."
        )
