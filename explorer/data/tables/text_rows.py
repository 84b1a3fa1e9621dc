"""Read sentences, pairs, triplets and scored pairs from a table, with a report on dropped rows."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq
from pathlib import Path
from statistics import median
from typing import TypeVar

from explorer.data import text_sets
from explorer.data.set_items import Attribute
from explorer.data.tables.columns import check_spread, gold_scores, guess
from explorer.data.tables.files import read_file
from explorer.data.tables.further_columns import further
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.text_sets import GradedPairs, Kind, Labelled, Sentences, Triplets
from explorer.errors import TooFewRows, WrongColumns

EMPTY = "empty sentence"
NO_LABEL = "label missing"
FEW_OF_CLASS = 10  # rows of a class, of which each of ten folds has one
MOST_CLASSES = 20  # with more, a class that occurs less than twice on average is none
AGAIN = "sentence seen before"
SAME = "both sentences are the same"
SAME_NEGATIVE = "the negative is the anchor or the positive"
RAGGED = "ragged row"  # found when the file was read
SHOWN = 5  # lines named for each reason
# Scores are outliers if they are at most one in so many, and further from all others than so many times their range.
OUTLIERS_IN, OUTLIER_TIMES = 20, 10

Cell = TypeVar("Cell")
Columns = tuple[tuple[str, ...], ...]  # (role, row)


@dataclass(frozen=True)
class Dropped:
    """Rows dropped for one reason, and their first lines."""

    reason: str
    count: int
    lines: tuple[int, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.lines) else ""
        return f"{self.count} dropped: {self.reason} (line {', '.join(map(str, self.lines))}{more})"


@dataclass(frozen=True)
class Report:
    """The report on reading a table, for the user."""

    rows_read: int
    rows_kept: int
    dropped: tuple[Dropped, ...]
    duplicates: int  # rows equal to an earlier row
    score_range: tuple[float, float] | None  # None without scores
    # numbers of words of the kept sentences, split at spaces; tokenizers count more
    least_words: int
    median_words: float
    nearly_most_words: int  # 95 % of the sentences have no more
    most_words: int
    set_aside: tuple[str, ...]  # columns of lists, objects or bytes
    same_twice: int = 0  # rows of scored pairs whose two sentences are the same
    contradicting: int = 0  # rows of scored pairs whose two sentences have another score in another row
    outliers: tuple[tuple[int, float], ...] = ()  # scores far from all others, with their lines
    rare: tuple[tuple[str, int], ...] = ()  # classes with few rows, and how many

    def __str__(self) -> str:
        lines = [f"{self.rows_kept} of {self.rows_read} rows kept", *map(str, self.dropped)]
        if self.duplicates:
            lines.append(f"exact duplicates: {self.duplicates}")
        if self.same_twice:
            lines.append(f"the same sentence in both columns: {self.same_twice}")
        if self.contradicting:
            lines.append(f"rows whose pair has another score in another row: {self.contradicting}")
        if self.outliers:
            lines.append(f"scores far from all others: {self.outliers_text}")
        if self.rare:
            lines.append(f"classes with fewer than {FEW_OF_CLASS} rows: {self.rare_text}")
        if self.score_range:
            lines.append("scores {:g} to {:g}".format(*self.score_range))
        lines.append(
            f"{self.least_words} to {self.most_words} words per sentence, median {self.median_words:g}, "
            f"95 % have at most {self.nearly_most_words}"
        )
        if self.set_aside:
            lines.append(f"columns set aside (lists, objects or bytes): {', '.join(self.set_aside)}")
        return "\n".join(lines)

    @property
    def rare_text(self) -> str:
        """The classes with few rows: `'ABBR' 3, 'LOC' 9`."""
        return _listed([f"{label!r} {count}" for label, count in self.rare])

    @property
    def outliers_text(self) -> str:
        """The scores far from all others: `9e+09 (line 17)`."""
        return _listed([f"{score:g} (line {line})" for line, score in self.outliers])


def _listed(texts: Sequence[str]) -> str:
    """The first of some texts, and how many more there are."""
    return ", ".join([*texts[:SHOWN], *[f"and {len(texts) - SHOWN} more"] * (len(texts) > SHOWN)])


def dropped_rows(table: Table, faults: Sequence[str]) -> tuple[Dropped, ...]:
    """The rows with a fault, by reason; `faults` has one entry per row, "" for a good row."""
    lines: dict[str, list[int]] = {}
    for line, fault in zip(table.lines, faults, strict=True):
        if fault:
            lines.setdefault(fault, []).append(line)
    if table.ragged:
        lines[RAGGED] = list(table.ragged)
    return tuple(Dropped(reason, len(found), tuple(found[:SHOWN])) for reason, found in lines.items())


def report_on(
    table: Table, faults: Sequence[str], rows: Sequence[Hashable], texts: Sequence[str], gold: Sequence[float] = ()
) -> Report:
    """Build the report on a table of which `rows` were kept; `texts` are all their sentences."""
    counts = sorted(len(text.split()) for text in texts)
    return Report(
        rows_read=len(table.rows) + len(table.ragged),
        rows_kept=len(rows),
        dropped=dropped_rows(table, faults),
        duplicates=len(rows) - len(set(rows)),
        score_range=(min(gold), max(gold)) if gold else None,
        least_words=counts[0],
        median_words=median(counts),
        nearly_most_words=counts[math.ceil(0.95 * len(counts)) - 1],
        most_words=counts[-1],
        set_aside=table.set_aside,
    )


def sentences(
    table: Table, roles: ColumnRoles, name: str = "", *, keep_duplicates: bool = False, as_written: bool = False
) -> tuple[Sentences, Report]:
    """The distinct sentences, in file order.

    `keep_duplicates` keeps those that were seen before, and `as_written` every space, tab and line end in them.
    """
    (texts,) = columns = _sentence_columns(table, roles, text_sets.SENTENCES, as_written=as_written)
    first_at = {text: at for at, text in reversed(tuple(enumerate(texts)))}
    again = ["" if keep_duplicates or first_at[text] == at else AGAIN for at, text in enumerate(texts)]
    faults = _faults(table, text_sets.SENTENCES, columns, again)
    kept = _kept(texts, faults)
    return Sentences(name or table.name, kept), report_on(table, faults, kept, kept)


def texts(table: Table, roles: ColumnRoles) -> tuple[Columns, Report]:
    """The columns of sentences; a row with an empty one is dropped, or with two equal ones that may not be equal."""
    kept, _, report = _texts(table, roles)
    return kept, report


def texts_with_attributes(table: Table, roles: ColumnRoles) -> tuple[Columns, tuple[Attribute, ...], Report]:
    """The columns of sentences as `texts` reads them, and further columns of their rows."""
    kept, faults, report = _texts(table, roles)
    return kept, further(table, roles, faults), report


def _texts(table: Table, roles: ColumnRoles, known: Sequence[str] | None = None) -> tuple[Columns, list[str], Report]:
    """The columns of sentences, the fault of each row, and the report; `known` are faults of rows."""
    kind, columns = roles.kind, _sentence_columns(table, roles, roles.kind)
    # a translation may be equal
    same = [place for place, text in enumerate(kind.texts[: len(columns)]) if text.relation == "same"]
    others = [place for place, text in enumerate(kind.texts[: len(columns)]) if text.relation == "other"]
    equal = []
    for row in zip(*columns, strict=True):
        rest = {sentence for place, sentence in enumerate(row) if place not in others}
        opposite = any(row[place] in rest for place in others)
        equal.append(SAME if any(row[place] == row[0] for place in same) else SAME_NEGATIVE if opposite else "")
    faults = _faults(table, kind, columns, [one or other for one, other in zip(equal, known or equal, strict=True)])
    kept = tuple(_kept(column, faults) for column in columns)
    report = report_on(table, faults, tuple(zip(*kept, strict=True)), sum(kept, ()))
    return kept, faults, report


def triplets(table: Table, roles: ColumnRoles, name: str = "") -> tuple[Triplets, Report]:
    """An anchor, a positive and a negative per row; a row with two equal ones is dropped."""
    _check_kind(table, roles, text_sets.TRIPLETS)
    (anchors, positives, negatives), attributes, report = texts_with_attributes(table, roles)
    return Triplets(name or table.name, anchors, positives, negatives, attributes=attributes), report


def scored_triplets(table: Table, roles: ColumnRoles) -> tuple[tuple[tuple[Cell, ...], ...], Report]:
    """Triplets, and of each how much higher a teacher scores its positive than its negative."""
    roles.check(table)
    positive, negative, margin = map(roles.column, ("score_positive", "score_negative", "margin"))
    named = (positive, negative) if positive and negative else (margin,) if margin else ()
    if not named:
        raise WrongColumns(
            f"{table.name} has no teacher scores: score_positive and score_negative, or margin, their difference. "
            f"{table.inventory()} Add them, name their columns (margin=…), or set teacher to an encoder."
        )
    numbers, bad = zip(*(gold_scores(table, column) for column in named), strict=True)
    margins = [of_row[0] - sum(of_row[1:]) for of_row in zip(*numbers, strict=True)]
    texts, faults, report = _texts(table, roles, [next(filter(None, row), "") for row in zip(*bad, strict=True)])
    kept = _kept(margins, faults)
    return (*texts, kept), replace(report, score_range=(min(kept), max(kept)))


def graded_pairs(
    table: Table, roles: ColumnRoles, name: str = "", *, as_written: bool = False
) -> tuple[GradedPairs, Report]:
    """Scored pairs; exact duplicates are kept, as in the published sets, and if `as_written` every space in a text."""
    columns = _sentence_columns(table, roles, text_sets.SCORED_PAIRS, as_written=as_written)
    score, part = roles.column("score") or "", roles.column("part")
    numbers, bad = gold_scores(table, score)
    faults = _faults(table, text_sets.SCORED_PAIRS, columns, bad)
    first, second = (_kept(column, faults) for column in columns)
    same = sum(map(eq, first, second))
    if same == len(first):
        raise WrongColumns(
            f"{table.name}: in all {same} rows {roles.column('first')!r} and {roles.column('second')!r} hold the "
            f"same sentence, whose cosine is always 1. {table.inventory()} Choose another for one of them."
        )
    gold = _kept(numbers, faults)
    check_spread(table, score, gold)
    parts = _kept(map(squeezed, table.column(part)), faults) if part else ("",) * len(gold)
    report = report_on(table, faults, tuple(zip(first, second, gold, strict=True)), first + second, gold)
    pairs = GradedPairs(name or table.name, first, second, gold, parts, attributes=further(table, roles, faults))
    lines = _kept(table.lines, faults)
    outliers = tuple((lines[place], gold[place]) for place in _outliers(gold))
    return pairs, replace(report, same_twice=same, contradicting=_contradicting(pairs), outliers=outliers)


def _contradicting(pairs: GradedPairs) -> int:
    """How many rows hold two sentences, in either order, that have another score in another row."""
    scores: dict[tuple[str, ...], list[float]] = {}
    for first, second, score in zip(pairs.first, pairs.second, pairs.gold, strict=True):
        scores.setdefault(pairs.identity_of((first, second)), []).append(score)
    return sum(len(found) for found in scores.values() if len(set(found)) > 1)


def _outliers(gold: Sequence[float]) -> list[int]:
    """The places of the few highest, or lowest, scores that are far from all others; none if all others are equal."""
    ascending = sorted(range(len(gold)), key=gold.__getitem__)
    for order in (ascending, ascending[::-1]):
        for count in range(1, max(1, len(gold) // OUTLIERS_IN) + 1):
            ends = gold[order[0]], gold[order[-count - 1]]  # of all others
            if abs(gold[order[-count]] - ends[1]) > OUTLIER_TIMES * abs(ends[1] - ends[0]) > 0:
                return sorted(order[-count:])
    return []


def labelled(table: Table, roles: ColumnRoles, name: str = "") -> tuple[Labelled, Report]:
    """Texts with their classes; exact duplicates are kept, as in the published sets."""
    columns = _sentence_columns(table, roles, text_sets.LABELLED_TEXTS)
    label = roles.column("label") or ""
    cells = tuple(map(squeezed, table.column(label)))
    faults = _faults(table, text_sets.LABELLED_TEXTS, columns, ["" if cell else NO_LABEL for cell in cells])
    labels, (first, *second) = _kept(cells, faults), (_kept(column, faults) for column in columns)
    counts = Counter(labels)
    count = len(counts)
    if count > MOST_CLASSES and 2 * count > len(labels):
        raise WrongColumns(
            f"{table.name}: {label!r} has {count} different values in {len(labels)} rows, so it holds no classes. "
            f"{table.inventory()} Choose another column for label."
        )
    rows = tuple(zip(first, *second, labels, strict=True))
    rare = tuple(one for one in sorted(counts.items()) if one[1] < FEW_OF_CLASS)
    report = replace(report_on(table, faults, rows, sum(second, first)), rare=rare)
    attributes = further(table, roles, faults)
    return Labelled(name or table.name, first, labels, *second, attributes=attributes), report


def read_graded_pairs(path: str | Path, columns: Mapping[str, str | None] | None = None) -> tuple[GradedPairs, Report]:
    """The scored pairs in a file, with columns detected or given by role."""
    table = read_file(path)
    return graded_pairs(table, guess(table, text_sets.SCORED_PAIRS).corrected(columns or {}))


def read_labelled(
    path: str | Path, columns: Mapping[str, str | None] | None = None, name: str = ""
) -> tuple[Labelled, Report]:
    """The labelled rows in a file, with columns detected or given by role."""
    table = read_file(path)
    return labelled(table, guess(table, text_sets.LABELLED_TEXTS).corrected(columns or {}), name)


def _sentence_columns(table: Table, roles: ColumnRoles, kind: Kind, *, as_written: bool = False) -> Columns:
    """The column of each role; a cell without a word is ""."""
    _check_kind(table, roles, kind)
    roles.check(table)
    read = _written if as_written else squeezed
    columns = (roles.column(text.role) for text in kind.texts)
    return tuple(tuple(map(read, table.column(column))) for column in columns if column is not None)


def _check_kind(table: Table, roles: ColumnRoles, kind: Kind) -> None:
    if roles.kind != kind:
        raise WrongColumns(f"The columns of {table.name} are chosen as {roles.kind}, not as {kind}. Choose again.")


def _written(cell: str) -> str:
    return "" if cell.isspace() else cell


def squeezed(cell: str) -> str:
    """A sentence with single spaces between words and none around them."""
    return " ".join(cell.split())


def _faults(table: Table, kind: Kind, columns: Columns, others: Sequence[str]) -> list[str]:
    """The fault of each row, an empty sentence or the other one, "" for a good row; an error if too few are good."""
    rows = zip(*columns, strict=True)
    faults = [other if all(row) else EMPTY for row, other in zip(rows, others, strict=True)]
    kept = faults.count("")
    if kept < kind.least:
        why = "; ".join(map(str, dropped_rows(table, faults))) or "nothing was dropped"
        raise TooFewRows(
            f"{table.name} has too few usable rows: {kept}. "
            f"{kind.title.capitalize()} need at least {kind.least}; {why}. Add rows, or choose other columns."
        )
    return faults


def _kept(column: Iterable[Cell], faults: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(cell for cell, fault in zip(column, faults, strict=True) if not fault)
