"""Read retrieval sets from folders in BEIR's layout, or in that of the hub.

    corpus.jsonl      or    corpus/train-00000-of-00001.parquet     {"_id": "d1", "title": "…", "text": "…"}
    queries.jsonl           queries/train-00000-of-00001.parquet    {"_id": "q1", "text": "…"}
    qrels/test.tsv          qrels/train-00000-of-00001.parquet      query-id  corpus-id  score

Each file may be in any format of tables, and a single file of judgements may be called qrels. Without a score, each
judgement has the grade 1. A title stands before the text of its document, as in BEIR. In a folder of several sets the
tables have their names, as in NanoBEIR's: corpus/NanoNQ-00000-of-00001.parquet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from explorer.data.retrieval_sets import Passages, RetrievalSet, retrieval_set
from explorer.data.tables import hub_files
from explorer.data.tables.columns import guess, named_column, plain
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.further_columns import further
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.tables.text_rows import squeezed
from explorer.data.text_sets import PAIRS, SENTENCES
from explorer.errors import BadScores, TooFewRows, UnreadableFile, WrongColumns

CORPUS, QUERIES, JUDGEMENTS = "corpus", "queries", "qrels"
SPLITS = ("test", "dev", "validation", "train")  # of files of judgements; the first that is there is read
# names of columns: BEIR's own, and others, normalised by `plain`
ID, TEXT, TITLE = "_id", "text", "title"
QUERY_ID, DOCUMENT_ID, GRADE = "query-id", "corpus-id", "score"
OTHERS = {QUERY_ID: ("qid",), DOCUMENT_ID: ("docid", "pid"), GRADE: ("relevance", "label", "grade")}
_GRADE = re.compile(r"\s*[0-9]{1,9}\s*")
SHOWN = 5  # values named in a message


def passages(path: Path) -> Passages:
    """The passages of a file, or of a folder: of its corpus in one of these layouts, else of all its files."""
    if is_retrieval_folder(path):
        file, several = _file(path, CORPUS), hub_files.tables_in(path / CORPUS).values()
        tables = map(hub_files.table_in, [file] if file else chain.from_iterable(several))
    else:
        tables = map(read_file, _files_of(path))
    texts = [squeezed(text) for table in tables for text in _passages_of(table)]
    found = tuple(filter(None, dict.fromkeys(texts)))
    if not found:
        raise TooFewRows(f"{path.name} has no passages. Name a file with one in each row, or a folder of such files.")
    return Passages(path.name, found)


def _files_of(path: Path) -> list[Path]:
    """A file itself, or all tables of a folder."""
    if not path.is_dir():
        return [path]
    files = sorted(one for one in path.iterdir() if one.is_file() and one.suffix.lower() in ENDINGS)
    if not files:
        raise UnreadableFile(
            f"The folder {path.name} has no files of passages. Files with these endings are read: {', '.join(ENDINGS)}."
        )
    return files


def _passages_of(table: Table) -> Iterable[str]:
    """The documents of a table in this layout, of pairs the second texts, of any other the sentences."""
    if {ID, TEXT} <= {*table.columns}:
        return _texts(table, CORPUS).values()
    roles = guess(table)
    column = roles.column("second") if roles.kind == PAIRS else guess(table, SENTENCES).column("sentence")
    return table.column(column or "")


def is_retrieval_folder(path: Path) -> bool:
    """Whether a folder has a file of documents in one of these layouts."""
    return CORPUS in hub_files.tables_in(path) or bool(hub_files.tables_in(path / CORPUS))


def read(folder: str | Path, split: str | None = None) -> RetrievalSet:
    """The set in a folder, with the judgements of a split: by default the first of test, dev, validation, train."""
    folder = Path(folder)
    known = hub_files.tables_in(folder / JUDGEMENTS)
    named = {one: _only(folder / JUDGEMENTS, one) for one in sorted(known, key=_place_of_split)}
    # a single file of judgements without a split is "all"
    there = {one: file for one, file in {**named, "all": _only(folder, JUDGEMENTS)}.items() if file}
    if not there:
        raise UnreadableFile(
            f"{folder.name} has no judgements. Add {JUDGEMENTS}/test.tsv, with the columns {QUERY_ID}, "
            f"{DOCUMENT_ID} and {GRADE}."
        )
    wanted = split or next((one for one in (*SPLITS, "all") if one in there), "")
    if wanted not in there:
        what = f"no split '{wanted}' of judgements" if wanted else f"judgements of no split {', '.join(SPLITS)}"
        advice = "" if wanted else " Copy the files of one of them to a folder of its own."
        raise UnreadableFile(f"{folder.name} has {what}. It has: {', '.join(there)}.{advice}")
    tables = (_table(folder, CORPUS, wanted), _table(folder, QUERIES, wanted), hub_files.table_in(there[wanted]))
    return of_tables(folder.name, wanted, *tables)


def of_tables(name: str, split: str, corpus: Table, of_queries: Table, judgements: Table) -> RetrievalSet:
    """The set of three tables."""
    documents, queries = _texts(corpus, CORPUS), _texts(of_queries, QUERIES)
    empty = [key for key, text in queries.items() if not text]
    if empty:
        raise TooFewRows(
            f"{name} has {len(empty):,} queries without text: {_named(empty)}. Write their text, or remove them."
        )
    roles = ColumnRoles(SENTENCES, tuple((one, _column(of_queries, one)) for one in (ID, TEXT)))
    attributes = further(of_queries, roles, ("",) * len(queries))
    return retrieval_set(name, split, queries, documents, _grades(judgements, queries, documents), attributes)


def _place_of_split(name: str) -> int:
    return SPLITS.index(name) if name in SPLITS else len(SPLITS)


def _only(folder: Path, name: str) -> Path | None:
    """The file of the table with this name; None if there is none, and an error if there are several."""
    found = hub_files.tables_in(folder).get(name, [])
    if len(found) > 1:
        names = " and ".join(one.name for one in found)
        raise UnreadableFile(f"{folder.name} has {names} for {name}. Remove all but one.")
    return found[0] if found else None


def _file(folder: Path, stem: str, split: str = "") -> Path | None:
    """The table with this name, or in a folder of this name that of a split, or the only one there."""
    within = folder / stem
    names = [*hub_files.tables_in(within)]
    return (
        _only(folder, stem)
        or (_only(within, split) if split else None)
        or (_only(within, names[0]) if len(names) == 1 else None)
    )


def _table(folder: Path, stem: str, split: str) -> Table:
    """The table of a folder with this name."""
    file = _file(folder, stem, split)
    if file is None:
        there = ", ".join(sorted(one.name for one in folder.iterdir())) or "nothing"
        raise UnreadableFile(
            f"{folder.name} has no file of {stem}. It has: {there}. Add {stem}.jsonl, one object per line with the "
            f"fields {ID} and {TEXT}."
        )
    return hub_files.table_in(file)


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
    columns = [table.column(_column(table, name)) for name in (QUERY_ID, DOCUMENT_ID)]
    graded = _column_named(table, GRADE)
    rows = tuple(zip(*columns, table.column(graded) if graded else ("1",) * len(table.rows), strict=True))

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
    found = _column_named(table, name)
    if found is None:
        raise WrongColumns(f"{table.name} has no column {name}. {table.inventory()} Rename one of them to {name}.")
    return found


def _column_named(table: Table, name: str) -> str | None:
    return named_column(table, (plain(name), *OTHERS.get(name, ())))


def _named(values: Sequence[str]) -> str:
    """The first few different values."""
    each = list(dict.fromkeys(values))
    return ", ".join(map(repr, each[:SHOWN])) + (", …" if len(each) > SHOWN else "")
