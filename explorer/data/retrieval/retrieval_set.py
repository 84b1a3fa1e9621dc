"""A retrieval set: queries, documents, and judgements of how relevant a document is to a query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from explorer.data.text_sets import digest_of
from explorer.errors import TooFewRows

Judged = Mapping[int, int]  # the grade, 1 or more, of each relevant document, by its position


@dataclass(frozen=True)
class RetrievalReport:
    """What was found in the files of a set besides the queries that are searched."""

    unjudged: int  # queries without a relevant document
    irrelevant: int  # judgements with grade 0
    empty: int  # documents without text
    repeated: int  # documents with the text of an earlier one

    @property
    def counts(self) -> dict[str, int]:
        """The counts by what they count, in words."""
        return {
            "queries without a relevant document (excluded)": self.unjudged,
            "judgements with grade 0 (not relevant)": self.irrelevant,
            "documents without text (left out)": self.empty,
            "documents with the text of an earlier one": self.repeated,
        }


@dataclass(frozen=True)
class RetrievalSet:
    """The judged queries, all documents, and for each query its relevant documents."""

    name: str
    split: str
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    judgements: tuple[Judged, ...]  # (query)
    report: RetrievalReport = field(compare=False)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All distinct texts."""
        return tuple(dict.fromkeys((*self.documents, *self.queries)))

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
) -> RetrievalSet:
    """The set of queries and documents by id, and of grades by both ids; all ids of the grades are known."""
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
    return RetrievalSet(
        name,
        split,
        queries=tuple(queries[key] for key in searched),
        documents=tuple(kept.values()),
        judgements=tuple(judged[key] for key in searched),
        report=RetrievalReport(
            unjudged=len(queries) - len(searched),
            irrelevant=sum(grade <= 0 for grade in grades.values()),
            empty=len(documents) - len(kept),
            repeated=len(kept) - len(set(kept.values())),
        ),
    )


def of_pairs(
    name: str, queries: Sequence[str], passages: Sequence[str], others: Sequence[str] = (), split: str = "all"
) -> RetrievalSet:
    """The set in which the passages of all pairs are the documents, and each is relevant to its own query.

    `others` are documents too.
    """
    asked, answers = dict.fromkeys(queries), dict.fromkeys((*passages, *others))
    grades = dict.fromkeys(zip(queries, passages, strict=True), 1)
    return retrieval_set(name, split, {text: text for text in asked}, {text: text for text in answers}, grades)
