"""Retrieval sets: queries, documents, and judgements of how relevant a document is to a query; read in BEIR's layout.

    corpus.jsonl      {"_id": "d1", "title": "…", "text": "…"}
    queries.jsonl     {"_id": "q1", "text": "…"}
    qrels/test.tsv    query-id  corpus-id  score

Each file may be in any format of tables, and a single file of judgements may be called qrels. A title stands before the
text of its document, as in BEIR.

A corpus that is named beside a set has more passages to search among: those of a file, or of all files in a folder. A
passage that equals a document of the set is that document, and equal passages are one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from explorer.data.set_items import LENGTH, QUERY, Attribute, ItemSet
from explorer.data.tables.columns import guess, named_column, plain
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.further_columns import further
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.text_sets import PAIRS, SENTENCES, digest_of
from explorer.errors import BadScores, TooFewRows, UnreadableFile, WrongColumns

CORPUS, QUERIES, JUDGEMENTS = "corpus", "queries", "qrels"
SPLITS = ("test", "dev", "validation", "train")  # of files of judgements; the first that is there is read
# names of columns: BEIR's own, and others, normalised by `plain`
ID, TEXT, TITLE = "_id", "text", "title"
QUERY_ID, DOCUMENT_ID, GRADE = "query-id", "corpus-id", "score"
OTHERS = {QUERY_ID: ("qid",), DOCUMENT_ID: ("docid", "pid"), GRADE: ("relevance", "label", "grade")}
_GRADE = re.compile(r"\s*[0-9]{1,9}\s*")
PASSAGE_LENGTH = "passage length"  # in words
SHOWN = 5  # values named in a message

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


def passages(path: Path) -> Passages:
    """The passages of a file, or of a folder: of its corpus in this layout, else of all its files."""
    files = [path]
    if is_retrieval_folder(path):
        files = [file for file in [_file(path, CORPUS)] if file]
    elif path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file() and one.suffix.lower() in ENDINGS)
        if not files:
            raise UnreadableFile(
                f"The folder {path.name} has no files of passages. Files with these endings are read: "
                f"{', '.join(ENDINGS)}."
            )
    texts = [_squeezed(text) for file in files for text in _passages_of(read_file(file))]
    found = tuple(filter(None, dict.fromkeys(texts)))
    if not found:
        raise TooFewRows(f"{path.name} has no passages. Name a file with one in each row, or a folder of such files.")
    return Passages(path.name, found)


def _passages_of(table: Table) -> Iterable[str]:
    """The documents of a table in this layout, of pairs the second texts, of any other the sentences."""
    if {ID, TEXT} <= {*table.columns}:
        return _texts(table, CORPUS).values()
    roles = guess(table)
    column = roles.column("second") if roles.kind == PAIRS else guess(table, SENTENCES).column("sentence")
    return table.column(column or "")


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def among(given: RetrievalSet, corpus: Passages) -> RetrievalSet:
    """The set with the passages of a corpus as documents, too; its judgements stay as they are."""
    known = set(map(_squeezed, given.documents))
    others = tuple(text for text in corpus.texts if text not in known)
    return replace(given, name=f"{given.name} among {corpus.name}", documents=(*given.documents, *others))


def is_retrieval_folder(path: Path) -> bool:
    """Whether a folder has a file of documents in this layout."""
    return path.is_dir() and _file(path, CORPUS) is not None


def read(folder: str | Path, split: str | None = None) -> RetrievalSet:
    """The set in a folder, with the judgements of a split: by default the first of test, dev, validation, train."""
    folder = Path(folder)
    documents, of_queries = _texts(_table(folder, CORPUS), CORPUS), _table(folder, QUERIES)
    queries = _texts(of_queries, QUERIES)
    empty = [key for key, text in queries.items() if not text]
    if empty:
        raise TooFewRows(
            f"{folder.name} has {len(empty):,} queries without text: {_named(empty)}. Write their text, or remove them."
        )
    # a single file of judgements without a split is "all"
    named = {one: _file(folder / JUDGEMENTS, one) for one in SPLITS} | {"all": _file(folder, JUDGEMENTS)}
    there = {one: file for one, file in named.items() if file}
    if not there:
        raise UnreadableFile(
            f"{folder.name} has no judgements. Add {JUDGEMENTS}/test.tsv, with the columns {QUERY_ID}, "
            f"{DOCUMENT_ID} and {GRADE}."
        )
    wanted = split or next(iter(there))
    if wanted not in there:
        raise UnreadableFile(f"{folder.name} has no split '{wanted}' of judgements. It has: {', '.join(there)}.")
    roles = ColumnRoles(SENTENCES, tuple((name, _column(of_queries, name)) for name in (ID, TEXT)))
    attributes = further(of_queries, roles, ("",) * len(queries))
    grades = _grades(read_file(there[wanted]), queries, documents)
    return retrieval_set(folder.name, wanted, queries, documents, grades, attributes)


def _file(folder: Path, stem: str) -> Path | None:
    """The file with this name and an ending of a table; None if there is none, and an error if there are several."""
    if not folder.is_dir():
        return None
    found = sorted(one for one in folder.iterdir() if one.stem == stem and one.suffix.lower() in ENDINGS)
    if len(found) > 1:
        names = " and ".join(one.name for one in found)
        raise UnreadableFile(f"{folder.name} has {names} for {stem}. Remove all but one.")
    return found[0] if found else None


def _table(folder: Path, stem: str) -> Table:
    """The file of a folder with this name."""
    file = _file(folder, stem)
    if file is None:
        there = ", ".join(sorted(one.name for one in folder.iterdir())) or "nothing"
        raise UnreadableFile(
            f"{folder.name} has no file of {stem}. It has: {there}. Add {stem}.jsonl, one object per line with the "
            f"fields {ID} and {TEXT}."
        )
    return read_file(file)


def _texts(table: Table, stem: str) -> dict[str, str]:
    """The texts in a file of documents or queries by id; a document's title is put before its text."""
    keys, texts = (table.column(_column(table, name)) for name in (ID, TEXT))
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        raise UnreadableFile(
            f"{table.name}: {len(twice):,} ids occur more than once: {_named(twice)}. Give each row an id of its own."
        )
    titles = table.column(TITLE) if stem == CORPUS and TITLE in table.columns else ("",) * len(keys)
    return {
        key: f"{before.strip()} {text.strip()}".strip() for key, before, text in zip(keys, titles, texts, strict=True)
    }


def _grades(table: Table, queries: Mapping[str, str], documents: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """The grade of each judgement, by the ids of its query and its document."""
    columns = (table.column(_column(table, name)) for name in (QUERY_ID, DOCUMENT_ID, GRADE))
    rows = tuple(zip(*columns, strict=True))

    def refuse(those: list[str], what: str, advice: str) -> None:
        if those:
            raise BadScores(f"{table.name}: {len(those):,} judgements {what}: {_named(those)}. {advice}")

    advice = "Remove these rows, or add what they name."
    refuse([query for query, _, _ in rows if query not in queries], "name queries that are not there", advice)
    refuse([key for _, key, _ in rows if key not in documents], "name documents that are not there", advice)
    refuse([key for _, key, _ in rows if not documents[key]], "name documents without text", advice)
    refuse(
        [grade for _, _, grade in rows if not _GRADE.fullmatch(grade)],
        "have no whole number of 0 or more for a grade",
        "Write 0 for a document that is not relevant, 1 or more for a relevant one.",
    )
    found = {(query, document): int(grade) for query, document, grade in rows}
    refuse(
        [f"{query} with {document}" for query, document, grade in rows if found[query, document] != int(grade)],
        "have another grade than a later one of the same query and document",
        "Keep one of them.",
    )
    return found


def _column(table: Table, name: str) -> str:
    """The column with a name of BEIR, however it is spelled, or with another name for the same."""
    found = named_column(table, (plain(name), *OTHERS.get(name, ())))
    if found is None:
        raise WrongColumns(f"{table.name} has no column {name}. {table.inventory()} Rename one of them to {name}.")
    return found


def _named(values: Sequence[str]) -> str:
    """The first few different values."""
    each = list(dict.fromkeys(values))
    return ", ".join(map(repr, each[:SHOWN])) + (", …" if len(each) > SHOWN else "")
