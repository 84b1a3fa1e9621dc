"""The items of an evaluation set as texts: what each is scored by, and what the right answer is."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.data.graded.probes import ProbePairs
from explorer.data.kinds import GradedPairs, Labelled, Triplets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.retrieval.retrieval_set import RetrievalSet

LABEL = "label"
Items = RetrievalSet | Triplets | LabelledSet | GradedPairs | ProbePairs


@dataclass(frozen=True)
class Column:
    """A text of each item, with a heading."""

    heading: str
    cells: tuple[str, ...]


def columns_of(given: Items) -> tuple[Column, ...]:
    """The texts of every item: of a query also a relevant passage, of a labelled row its label."""
    if isinstance(given, RetrievalSet):
        best = (max(judged, key=lambda place: (judged[place], -place)) for judged in given.judgements)
        return Column("query", given.queries), Column("passage", tuple(given.documents[place] for place in best))
    if isinstance(given, Triplets):
        return (
            Column("anchor", given.anchors),
            Column("positive", given.positives),
            Column("negative", given.negatives),
        )
    if isinstance(given, LabelledSet):
        return _of_rows(given.scored)
    return Column("first", given.first), Column("second", given.second)


def texts_in(given: Items) -> tuple[Column, ...]:
    """The columns that hold texts: all but the labels."""
    return tuple(column for column in columns_of(given) if column.heading != LABEL)


def items_of(given: Items) -> tuple[str, ...]:
    """The first text of every item, such as the query."""
    return columns_of(given)[0].cells


def _of_rows(rows: Labelled) -> tuple[Column, ...]:
    second = (Column("second", rows.second),) if rows.second else ()
    return Column("text", rows.texts), *second, Column(LABEL, rows.labels)


def as_pairs(given: Items) -> GradedPairs | None:
    """The pairs of texts in a set: those that belong together have 1, those that do not 0; None of single texts."""
    if isinstance(given, GradedPairs):
        return given
    if isinstance(given, ProbePairs):
        rows = list(zip(given.first, given.second, map(float, given.same), strict=True))
    elif isinstance(given, Triplets):
        rows = [
            row
            for anchor, positive, negative in zip(given.anchors, given.positives, given.negatives, strict=True)
            for row in ((anchor, positive, 1.0), (anchor, negative, 0.0))
        ]
    elif isinstance(given, RetrievalSet):
        related = zip(given.queries, given.judgements, strict=True)
        rows = [(query, given.documents[place], 1.0) for query, judged in related for place in judged]
    else:
        return None
    first, second, gold = zip(*rows, strict=True)
    return GradedPairs(given.name, first, second, gold, ("",) * len(rows))
