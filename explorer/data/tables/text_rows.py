"""Read sentences, pairs, triplets and scored pairs from a table, with a report on dropped rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Lookup
from dataclasses import replace
from operator import eq
from pathlib import Path
from typing import TypeVar

from explorer.data.kinds import BackTranslations, GradedPairs, Labelled, Pairs, Sentences, Triplets
from explorer.data.tables.column_roles import Kind, Mapping
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_file
from explorer.data.tables.grades import check_spread, grades
from explorer.data.tables.row_reports import Report, dropped_rows, report_on
from explorer.data.tables.table import Table
from explorer.errors import TooFewRows, WrongColumns

EMPTY = "empty sentence"
NO_LABEL = "label missing"
MOST_CLASSES = 20  # with more, a class that occurs less than twice on average is none
AGAIN = "sentence seen before"
SAME = "both sentences are the same"
SAME_NEGATIVE = "the negative is the anchor or the positive"
MINIMUM: dict[Kind, int] = {
    "sentences": 1,
    "pairs": 2,  # a contrastive loss needs a negative
    "graded pairs": 3,  # two points always correlate with 1 or -1
    "triplets": 1,
    "back-translations": 2,  # as for pairs
    "labelled texts": 1,  # how many a task needs depends on its folds
}

Cell = TypeVar("Cell")
Columns = tuple[tuple[str, ...], ...]  # (role, row)


def sentences(
    table: Table, mapping: Mapping, name: str = "", *, keep_duplicates: bool = False
) -> tuple[Sentences, Report]:
    """The distinct sentences, in file order; `keep_duplicates` keeps those that were seen before."""
    (texts,) = columns = _sentence_columns(table, mapping, "sentences", ("sentence",))
    first_at = {text: at for at, text in reversed(tuple(enumerate(texts)))}
    again = ("" if keep_duplicates or first_at[text] == at else AGAIN for at, text in enumerate(texts))
    faults = [empty or known for empty, known in zip(_empty(columns), again, strict=True)]
    _check_enough(table, "sentences", faults)
    kept = _kept(texts, faults)
    return Sentences(name or table.name, kept), report_on(table, faults, kept, kept)


def pairs(table: Table, mapping: Mapping, name: str = "") -> tuple[Pairs, Report]:
    """Positive pairs; a row with two equal sentences is dropped."""
    (first, second), report = _whole_rows(table, mapping, "pairs", ("first", "second"), _same)
    return Pairs(name or table.name, first, second), report


def triplets(table: Table, mapping: Mapping, name: str = "") -> tuple[Triplets, Report]:
    """An anchor, a positive and a negative per row; a row with two equal ones is dropped."""
    (anchors, positives, negatives), report = _whole_rows(
        table, mapping, "triplets", ("anchor", "positive", "negative"), _same
    )
    return Triplets(name or table.name, anchors, positives, negatives), report


def back_translations(table: Table, mapping: Mapping, name: str = "") -> tuple[BackTranslations, Report]:
    """A sentence and its back-translation per row; an unchanged one is kept."""
    (originals, translated), report = _whole_rows(table, mapping, "back-translations", ("sentence", "translated"))
    return BackTranslations(name or table.name, originals, translated), report


def graded_pairs(table: Table, mapping: Mapping, name: str = "") -> tuple[GradedPairs, Report]:
    """Scored pairs; exact duplicates are kept, as in the published sets."""
    columns = _sentence_columns(table, mapping, "graded pairs", ("first", "second"))
    score, part = mapping.column("score") or "", mapping.column("part")
    numbers, bad = grades(table, score)
    faults = [empty or fault for empty, fault in zip(_empty(columns), bad, strict=True)]
    _check_enough(table, "graded pairs", faults)
    first, second = (_kept(column, faults) for column in columns)
    same = sum(map(eq, first, second))
    if same == len(first):
        raise WrongColumns(
            f"{table.name}: in all {same} rows {mapping.column('first')!r} and {mapping.column('second')!r} hold the "
            f"same sentence, whose cosine is always 1. {table.inventory()} Choose another for one of them."
        )
    gold = _kept(numbers, faults)
    check_spread(table, score, gold)
    parts = _kept(map(_squeezed, table.column(part)), faults) if part else ("",) * len(gold)
    report = report_on(table, faults, tuple(zip(first, second, gold, strict=True)), first + second, gold)
    return GradedPairs(name or table.name, first, second, gold, parts), replace(report, same_twice=same)


def labelled(table: Table, mapping: Mapping, name: str = "") -> tuple[Labelled, Report]:
    """Texts with their classes; exact duplicates are kept, as in the published sets."""
    roles = ("text", "second") if mapping.column("second") else ("text",)
    texts = _sentence_columns(table, mapping, "labelled texts", roles)
    label = mapping.column("label") or ""
    cells = tuple(map(_squeezed, table.column(label)))
    faults = [empty or (NO_LABEL if not cell else "") for empty, cell in zip(_empty(texts), cells, strict=True)]
    _check_enough(table, "labelled texts", faults)
    labels, (first, *second) = _kept(cells, faults), (_kept(column, faults) for column in texts)
    count = len(set(labels))
    if count > MOST_CLASSES and 2 * count > len(labels):
        raise WrongColumns(
            f"{table.name}: {label!r} has {count} different values in {len(labels)} rows, so it holds no classes. "
            f"{table.inventory()} Choose another column for label."
        )
    rows = tuple(zip(first, *second, labels, strict=True))
    report = report_on(table, faults, rows, sum(second, first))
    return Labelled(name or table.name, first, labels, *second), report


def read_graded_pairs(path: str | Path, columns: Lookup[str, str | None] | None = None) -> tuple[GradedPairs, Report]:
    """The scored pairs in a file, with columns detected or given by role."""
    table = read_file(path)
    return graded_pairs(table, guess(table, "graded pairs").corrected(columns or {}))


def read_labelled(
    path: str | Path, columns: Lookup[str, str | None] | None = None, name: str = ""
) -> tuple[Labelled, Report]:
    """The labelled rows in a file, with columns detected or given by role."""
    table = read_file(path)
    if not table.rows:
        raise TooFewRows(f"{table.name} has column names and no rows; at least one is needed. Add rows.")
    return labelled(table, guess(table, "labelled texts").corrected(columns or {}), name)


def _whole_rows(
    table: Table,
    mapping: Mapping,
    kind: Kind,
    roles: Sequence[str],
    fault: Callable[[tuple[str, ...]], str] = lambda row: "",
) -> tuple[Columns, Report]:
    """The rows without an empty role or another fault."""
    columns = _sentence_columns(table, mapping, kind, roles)
    faults = [empty or fault(row) for empty, row in zip(_empty(columns), zip(*columns, strict=True), strict=True)]
    _check_enough(table, kind, faults)
    kept = tuple(_kept(column, faults) for column in columns)
    return kept, report_on(table, faults, tuple(zip(*kept, strict=True)), sum(kept, ()))


def _sentence_columns(table: Table, mapping: Mapping, kind: Kind, roles: Sequence[str]) -> Columns:
    if mapping.kind != kind:
        raise WrongColumns(f"The columns of {table.name} are chosen as {mapping.kind}, not as {kind}. Choose again.")
    mapping.check(table)
    return tuple(tuple(map(_squeezed, table.column(mapping.column(role) or ""))) for role in roles)


def _squeezed(cell: str) -> str:
    """A sentence with single spaces between words and none around them."""
    return " ".join(cell.split())


def _empty(columns: Columns) -> list[str]:
    return ["" if all(row) else EMPTY for row in zip(*columns, strict=True)]


def _same(row: tuple[str, ...]) -> str:
    """The fault of a row with two equal sentences; "" if they differ."""
    anchor, positive, *negatives = row
    if anchor == positive:
        return SAME
    return SAME_NEGATIVE if any(negative in (anchor, positive) for negative in negatives) else ""


def _kept(column: Iterable[Cell], faults: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(cell for cell, fault in zip(column, faults, strict=True) if not fault)


def _check_enough(table: Table, kind: Kind, faults: Sequence[str]) -> None:
    kept = sum(not fault for fault in faults)
    if kept < MINIMUM[kind]:
        why = "; ".join(map(str, dropped_rows(table, faults))) or "nothing was dropped"
        raise TooFewRows(
            f"{table.name} has too few usable rows: {kept}. "
            f"{kind.capitalize()} need at least {MINIMUM[kind]}; {why}. Add rows, or choose other columns."
        )
