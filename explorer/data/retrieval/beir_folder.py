"""Read a retrieval set in BEIR's layout: a folder with corpus, queries and judgements.

    corpus.jsonl      {"_id": "d1", "title": "…", "text": "…"}
    queries.jsonl     {"_id": "q1", "text": "…"}
    qrels/test.tsv    query-id  corpus-id  score

Each file may be in any format of tables, and a single file of judgements may be called qrels. A title stands before the
text of its document, as in BEIR.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from explorer.data.retrieval.retrieval_set import RetrievalSet, retrieval_set
from explorer.data.tables.columns import named_column, plain
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.table import Table
from explorer.errors import BadScores, TooFewRows, UnreadableFile, WrongColumns

CORPUS, QUERIES, JUDGEMENTS = "corpus", "queries", "qrels"
SPLITS = ("test", "dev", "validation", "train")  # of files of judgements; the first that is there is read
# names of columns: BEIR's own, and others, normalised by `plain`
ID, TEXT, TITLE = "_id", "text", "title"
QUERY_ID, DOCUMENT_ID, GRADE = "query-id", "corpus-id", "score"
OTHERS = {QUERY_ID: ("qid",), DOCUMENT_ID: ("docid", "pid"), GRADE: ("relevance", "label", "grade")}
_GRADE = re.compile(r"\s*[0-9]{1,9}\s*")
SHOWN = 5  # values named in a message


def is_retrieval_folder(path: Path) -> bool:
    """Whether a folder has a file of documents in this layout."""
    return path.is_dir() and _file(path, CORPUS) is not None


def read(folder: str | Path, split: str | None = None) -> RetrievalSet:
    """The set in a folder, with the judgements of a split: by default the first of test, dev, validation, train."""
    folder = Path(folder)
    documents = _texts(_needed(folder, CORPUS), title=True)
    queries = _texts(_needed(folder, QUERIES))
    empty = [key for key, text in queries.items() if not text]
    if empty:
        raise TooFewRows(
            f"{folder.name} has {len(empty):,} queries without text: {_named(empty)}. Write their text, or remove them."
        )
    found, file = _judgements(folder, split)
    grades = _grades(read_file(file), queries, documents)
    return retrieval_set(folder.name, found, queries, documents, grades)


def _splits(folder: Path) -> dict[str, Path]:
    """The files of judgements by split; a single file without a split is "all"."""
    named = {split: _file(folder / JUDGEMENTS, split) for split in SPLITS} | {"all": _file(folder, JUDGEMENTS)}
    return {split: file for split, file in named.items() if file}


def _judgements(folder: Path, split: str | None) -> tuple[str, Path]:
    there = _splits(folder)
    if not there:
        raise UnreadableFile(
            f"{folder.name} has no judgements. Add {JUDGEMENTS}/test.tsv, with the columns {QUERY_ID}, "
            f"{DOCUMENT_ID} and {GRADE}."
        )
    wanted = split or next(iter(there))
    if wanted not in there:
        raise UnreadableFile(f"{folder.name} has no split '{wanted}' of judgements. It has: {', '.join(there)}.")
    return wanted, there[wanted]


def _needed(folder: Path, stem: str) -> Table:
    file = _file(folder, stem)
    if file is None:
        there = ", ".join(sorted(one.name for one in folder.iterdir())) or "nothing"
        raise UnreadableFile(
            f"{folder.name} has no file of {stem}. It has: {there}. Add {stem}.jsonl, one object per line with the "
            f"fields {ID} and {TEXT}."
        )
    return read_file(file)


def _file(folder: Path, stem: str) -> Path | None:
    """The file with this name and an ending of a table; None if there is none, and an error if there are several."""
    if not folder.is_dir():
        return None
    found = sorted(one for one in folder.iterdir() if one.stem == stem and one.suffix.lower() in ENDINGS)
    if len(found) > 1:
        names = " and ".join(one.name for one in found)
        raise UnreadableFile(f"{folder.name} has {names} for {stem}. Remove all but one.")
    return found[0] if found else None


def _texts(table: Table, title: bool = False) -> dict[str, str]:
    """The texts of a table by id; with `title`, a title is put before its text."""
    keys, texts = (table.column(_column(table, name)) for name in (ID, TEXT))
    twice = _repeated(keys)
    if twice:
        raise UnreadableFile(
            f"{table.name}: {len(twice):,} ids occur more than once: {_named(twice)}. Give each row an id of its own."
        )
    titles = table.column(TITLE) if title and TITLE in table.columns else ("",) * len(keys)
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


def _repeated(keys: Sequence[str]) -> list[str]:
    return [key for key, count in Counter(keys).items() if count > 1]


def _named(values: Sequence[str]) -> str:
    """The first few different values."""
    each = list(dict.fromkeys(values))
    return ", ".join(map(repr, each[:SHOWN])) + (", …" if len(each) > SHOWN else "")
