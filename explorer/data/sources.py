"""What a user names as a source of text: a file, or a set by its name.

Addresses, recipes, plans and flags name a set by a text. Here alone the text becomes an identity, and is made of one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from explorer.data import sample, uploads
from explorer.data.graded import nano_beir, question_pairs, sets, sts
from explorer.data.graded.sets import UNNAMED, SetIdentity, SetKind
from explorer.data.retrieval_sets import Passages, RetrievalSet, of_pairs
from explorer.data.tables import retrieval_folders, text_rows
from explorer.data.tables.columns import are_translations, are_unlabelled_pairs, guess
from explorer.data.tables.files import read_file
from explorer.data.tables.text_rows import Report
from explorer.data.text_sets import ANY_PAIRS, TRIPLETS, GradedPairs, Triplets
from explorer.errors import SetNotFound, StrataError
from explorer.places import given_path

QUORA = "Quora retrieval"  # the questions of the search task, each with its duplicates
RETRIEVAL_SETS: Mapping[str, Callable[[], RetrievalSet]] = {
    sample.SEARCH: sample.search,
    QUORA: lambda: question_pairs.load().collection,
}
# in place of the name of a set
HELD_OUT, CROSS_FITTED, AT_HAND = sets.HELD_OUT.name, sets.CROSS_FITTED.name, sets.AT_HAND.name
OWN_ROWS = HELD_OUT, CROSS_FITTED
# the sample's, and the first of the others that is in the folder of published sets
MAYBE_AT_HAND = (sample.PAIRS, sample.SEARCH, "SICK-R test", "STS-B test")
_PATH = re.compile(r"[/~.\\]|[A-Za-z]:[\\/]")  # the start of a path on this machine


def identity(source: str) -> SetIdentity:
    """The identity of the set or uploaded file that a source names; a recipe names the file by its path."""
    return uploaded(source) or sets.read(source)


def uploaded(path: str) -> SetIdentity:
    """The identity of an uploaded file; none of any other source."""
    found = uploads.name_and_mark(path)
    return SetIdentity(SetKind.UPLOADED_FILE, *found, named=path) if found else UNNAMED


def text(source: str) -> SetIdentity:
    """The identity of a text to train on or to search; 'sample' is triplets and sentences there, not its pairs."""
    return SetIdentity(SetKind.OTHER, source) if source == sample.TEXT else identity(source)


def texts(named: Iterable[str]) -> tuple[SetIdentity, ...]:
    """The identities of several texts."""
    return tuple(map(text, named))


OF_SETS: dict[str, Any] = {"item": SetIdentity, "reads": identity, "metavar": "FILE|NAME"}  # settings that name sets
OF_TEXTS: dict[str, Any] = {**OF_SETS, "reads": text, "repeated": True}


def with_texts(value: Any) -> Any:
    """A value as `asdict` gives it, with the text of every set in place of its identity."""
    if isinstance(value, SetIdentity):
        return str(value)
    if is_dataclass(value):
        return {one.name: with_texts(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: with_texts(one) for name, one in value.items()}
    return tuple(map(with_texts, value)) if isinstance(value, tuple) else value


def label(source: str) -> str:
    """What names an uploaded file in an address and in a menu, instead of its path; any other source unchanged."""
    return uploaded(source).written or source


def located(given: SetIdentity) -> str:
    """The name or path that a set is read by, other than scored pairs; an error for an uploaded file that is gone."""
    if given.kind != SetKind.UPLOADED_FILE:
        return given.written
    path = str(uploads.path(given.name, given.digest))
    if path in uploads.paths():
        return path
    with suppress(OSError, StrataError):
        if given_path(given.written).exists():  # a file that is called like an upload
            return given.written
    raise SetNotFound(
        f"The uploaded file '{given.title}' is no longer stored on this machine. Upload it again, or choose another "
        "one."
    )


def is_file(source: str) -> bool:
    """Whether a source is a file: not the name of a set, and with an ending, in a folder, or on this disk."""
    path = Path(source)
    with suppress(OSError, ValueError):  # too long for a file name, or with a null byte
        return not _is_scored(source) and (bool(path.suffix) or len(path.parts) > 1 or path.exists())
    return False


def is_folder(source: str) -> bool:
    """Whether a source is a folder on this disk; one that is called like a set of scored pairs is given by a path."""
    with suppress(StrataError):
        return not _is_scored(source) and given_path(source).is_dir()
    return False


def _is_scored(source: str) -> bool:
    """Whether a source names scored pairs, or nothing at all, and so no file; an uploaded file is a path."""
    return not source or sets.read(source).is_scored


def shown(source: str | SetIdentity) -> str:
    """The name of a source as shown: of an uploaded file its name, of a path on this machine its last part."""
    text = str(source)
    if given := uploaded(text):
        return given.name
    return re.split(r"[\\/]", text.rstrip("\\/"))[-1] if _PATH.match(text) else text


def at_hand() -> tuple[SetIdentity, ...]:
    """Sets of general similarity and search that need no download: those of the sample, and one published set."""
    there = {f"{name} {split}" for name, split in sts.available()}
    return tuple(map(identity, (*MAYBE_AT_HAND[:2], *[name for name in MAYBE_AT_HAND[2:] if name in there][:1])))


def retrieval_set(source: str, online: bool = False) -> RetrievalSet | None:
    """A retrieval set by its name, in a folder, or in a file of queries and passages; None for anything else.

    Pairs whose columns have the names of texts and translations are no queries.
    """
    if source in RETRIEVAL_SETS:
        return RETRIEVAL_SETS[source]()
    if source in nano_beir.names():
        return nano_beir.load(source, online=online)
    path = given_path(source) if is_file(source) or is_folder(source) else None
    if path is not None and path.is_dir():
        return retrieval_folders.read(path) if retrieval_folders.is_retrieval_folder(path) else None
    table = read_file(path) if path is not None else None
    if table is None or not are_unlabelled_pairs(table) or are_translations(table):
        return None
    (queries, passages), attributes, _ = text_rows.texts_with_attributes(table, guess(table))
    return of_pairs(table.name, queries, passages, attributes=attributes)


def passages(source: str) -> Passages:
    """The passages of a file or folder, among which queries are searched beside those of their set."""
    if not (is_file(source) or is_folder(source)):
        raise SetNotFound(f"There is no file or folder of passages '{source}'. Check its path.")
    return retrieval_folders.passages(given_path(source))


def triplets(source: str) -> Triplets | None:
    """The triplets in a file; None for anything else."""
    table = read_file(source) if is_file(source) and not is_folder(source) else None
    if table is None or guess(table).kind != TRIPLETS:
        return None
    return text_rows.triplets(table, guess(table))[0]


def sentence_pairs(source: str, online: bool = False) -> tuple[tuple[tuple[str, str], ...], Report | None]:
    """The pairs of sentences in a file, scored or not, with a report on its rows, or of a set of scored pairs."""
    if not is_file(source):
        pairs, _ = scored_pairs(source, online=online)
        return tuple(zip(pairs.first, pairs.second, strict=True)), None
    table = read_file(source)
    (first, second), report = text_rows.texts(table, guess(table, ANY_PAIRS))
    return tuple(zip(first, second, strict=True)), report


def scored_pairs(
    source: str, columns: Mapping[str, str | None] | None = None, online: bool = False
) -> tuple[GradedPairs, Report | None]:
    """The scored pairs of a file, with a report on its rows, or of a set, whose columns are known."""
    if is_file(source):
        return text_rows.read_graded_pairs(source, columns)
    return sets.load(identity(source), online=online), None
