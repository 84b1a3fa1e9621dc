"""Retrieval sets: queries, documents, and judgements of how relevant a document is to a query.

A corpus that is named beside a set has more passages to search among: those of a file, or of all files in a folder. A
passage that equals a document of the set is that document, and equal passages are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from explorer.data.set_items import LENGTH, QUERY, Attribute, ItemSet
from explorer.data.text_sets import digest_of
from explorer.errors import TooFewRows

PASSAGE_LENGTH = "passage length"  # in words

COUNTED = (  # what is found besides the queries that are searched
    "queries without a relevant document (excluded)",
    "judgements with grade 0 (not relevant)",
    "documents without text (left out)",
    "documents with the text of an earlier one",
)
Judged = Mapping[int, int]  # the grade, 1 or more, of each relevant document, by its position


@dataclass(frozen=True)
class RetrievalSet(ItemSet):
    """The judged queries, all documents, and for each query its relevant documents."""

    name: str
    split: str
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    judgements: tuple[Judged, ...]  # (query)
    attributes: tuple[Attribute, ...] = field(
        default=(), compare=False, kw_only=True
    )  # of the queries; not used in scores
    counted: tuple[int, int, int, int] = field(default=(0, 0, 0, 0), compare=False)  # of COUNTED, in the files
    item: ClassVar[str] = QUERY

    @property
    def counts(self) -> dict[str, int]:
        """What was found besides the queries that are searched, by its name in words."""
        return dict(zip(COUNTED, self.counted, strict=True))

    @property
    def pool(self) -> int:
        """How many documents each query is searched among."""
        return len(self.documents)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All distinct texts."""
        return tuple(dict.fromkeys((*self.documents, *self.queries)))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The queries and what is relevant to them: other documents are only searched among."""
        relevant = (self.documents[place] for judged in self.judgements for place in judged)
        return tuple(dict.fromkeys((*self.queries, *relevant)))

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """The queries, each with its most relevant passage."""
        best = (max(judged, key=lambda place: (judged[place], -place)) for judged in self.judgements)
        return {"query": self.queries, "passage": tuple(self.documents[place] for place in best)}

    @property
    def row_texts(self) -> list[tuple[str, ...]]:
        """Each query and what is relevant to it."""
        rows = zip(self.queries, self.judgements, strict=True)
        return [(query, *(self.documents[place] for place in judged)) for query, judged in rows]

    @property
    def measured_texts(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The queries, and their most relevant passages."""
        queries, passages = self.text_columns.values()
        return {LENGTH: (queries,), PASSAGE_LENGTH: (passages,)}

    @property
    def related(self) -> Iterable[tuple[str, str, float]]:
        """Each query with what is relevant to it."""
        return ((query, passage, 1.0) for query, *passages in self.row_texts for passage in passages)

    def identity_of(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """The query."""
        return texts[:1]

    def taken(self, rows: Sequence[int], name: str = "") -> RetrievalSet:
        """Some queries, which are searched in all documents."""
        return replace(
            self,
            name=name or self.name,
            queries=tuple(self.queries[row] for row in rows),
            judgements=tuple(self.judgements[row] for row in rows),
            attributes=tuple(one.taken(rows) for one in self.attributes),
        )

    @cached_property
    def digest(self) -> str:
        """The digest of queries, documents and judgements, independent of the name."""
        grades = (",".join(f"{place}:{grade}" for place, grade in sorted(of.items())) for of in self.judgements)
        return digest_of(("retrieval", *self.documents, "queries", *self.queries, "judgements", *grades))

    def __len__(self) -> int:
        return len(self.queries)


def retrieval_set(
    name: str,
    split: str,
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    grades: Mapping[tuple[str, str], int],
    attributes: Sequence[Attribute] = (),
) -> RetrievalSet:
    """The set of queries and documents by id, and of grades by both ids; all ids of the grades are known.

    The attributes are of all queries, in their order.
    """
    kept = {key: text for key, text in documents.items() if text}
    place = {key: at for at, key in enumerate(kept)}
    judged: dict[str, dict[int, int]] = {}
    for (query, document), grade in grades.items():
        if grade > 0:
            judged.setdefault(query, {})[place[document]] = grade
    searched = [key for key in queries if key in judged]
    if not searched:
        raise TooFewRows(
            f"{name} has {len(queries):,} queries and {len(grades):,} judgements, and no query with a relevant "
            "document. Add at least one judgement with a grade of 1 or more."
        )
    rows = [row for row, key in enumerate(queries) if key in judged]
    return RetrievalSet(
        name,
        split,
        queries=tuple(queries[key] for key in searched),
        documents=tuple(kept.values()),
        judgements=tuple(judged[key] for key in searched),
        attributes=tuple(one.taken(rows) for one in attributes),
        counted=(
            len(queries) - len(searched),
            sum(grade <= 0 for grade in grades.values()),
            len(documents) - len(kept),
            len(kept) - len(set(kept.values())),
        ),
    )


def of_pairs(
    name: str,
    queries: Sequence[str],
    passages: Sequence[str],
    others: Sequence[str] = (),
    split: str = "all",
    attributes: Sequence[Attribute] = (),
) -> RetrievalSet:
    """The set in which the passages of all pairs are the documents, and each is relevant to its own query.

    `others` are documents too. The attributes are of the pairs; a query has those of its first one.
    """
    first_at = {query: row for row, query in reversed(tuple(enumerate(queries)))}
    rows = [first_at[query] for query in dict.fromkeys(queries)]
    grades = dict.fromkeys(zip(queries, passages, strict=True), 1)
    documents = {text: text for text in (*passages, *others)}
    of_queries = [one.taken(rows) for one in attributes]
    return retrieval_set(name, split, {text: text for text in queries}, documents, grades, of_queries)


@dataclass(frozen=True)
class Passages:
    """A corpus: distinct passages, in the order of their source."""

    name: str
    texts: tuple[str, ...]


def among(given: RetrievalSet, corpus: Passages) -> RetrievalSet:
    """The set with the passages of a corpus as documents, too; its judgements stay as they are."""
    known = {" ".join(text.split()) for text in given.documents}  # the passages have single spaces, too
    others = tuple(text for text in corpus.texts if text not in known)
    return replace(given, name=f"{given.name} among {corpus.name}", documents=(*given.documents, *others))
