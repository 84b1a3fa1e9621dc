"""Streamlit caches for the contents of files, sets and tables, keyed by a stamp that changes with the content."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path

import streamlit as st

from explorer import places
from explorer.data import corpora, held_out, map_sentences, splitting
from explorer.data import sources as evaluation_sets
from explorer.data.graded import question_pairs, sets
from explorer.data.graded.set_identity import SetIdentity, SetKind
from explorer.data.kinds import GradedPairs, Sentences
from explorer.data.labelled import published_sets
from explorer.data.row_kinds import SENTENCES, Kind
from explorer.data.search_corpus import of_source
from explorer.data.sources import EvaluationSet, texts_of
from explorer.data.splitting import Summary
from explorer.data.tables import recognition
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_bytes, read_file
from explorer.data.tables.row_reports import Report
from explorer.data.tables.table import Table
from explorer.errors import SetNotFound, StrataError
from explorer.evaluating.tasks import judges
from explorer.evaluating.tasks.judges import Evaluated
from explorer.run_folder import RECIPE
from explorer.training.record import run_sets, runs


def graded_pairs(given: SetIdentity) -> GradedPairs:
    """A set of scored pairs: the sample, an uploaded set, or a published set on this disk."""
    return _graded_pairs(given, sets.stamp(given))


@st.cache_resource(max_entries=16, show_spinner=False)
def _graded_pairs(given: SetIdentity, stamp: Hashable) -> GradedPairs:
    return sets.load(given)


def why_not_split(given: SetIdentity, piece: str = splitting.TEST_HALF) -> str:
    """The reason why an uploaded set has no such half or part; "" if it has."""
    return _why_not_split(given, piece, sets.stamp(given))


@st.cache_resource(max_entries=256, show_spinner=False)
def _why_not_split(given: SetIdentity, piece: str, stamp: Hashable) -> str:
    return sets.why_not_split(given, piece)


def split_summary(pairs: GradedPairs) -> Summary:
    """A summary of the splits of a set."""
    return _split_summary(pairs.digest, pairs.name, pairs)


@st.cache_resource(max_entries=16, show_spinner=False)
def _split_summary(digest: str, name: str, _pairs: GradedPairs) -> Summary:
    return splitting.summary(_pairs)


def evaluation_set(given: SetIdentity) -> EvaluationSet:
    """An evaluation set of a kind that training reads."""
    return _evaluation_set(given, _stamp_of(given))


@st.cache_resource(max_entries=8, show_spinner="Reading the evaluation set …")
def _evaluation_set(given: SetIdentity, stamp: Hashable) -> EvaluationSet:
    return evaluation_sets.evaluation_set(given)


def evaluated_on(given: SetIdentity) -> Evaluated:
    """An evaluation set of any kind: also labelled texts, and the test rows of a run."""
    return _evaluated_on(given, _stamp_of(given))


@st.cache_resource(max_entries=8, show_spinner="Reading the evaluation set …")
def _evaluated_on(given: SetIdentity, stamp: Hashable) -> Evaluated:
    return run_sets.load(given) if given.kind == SetKind.TEST_ROWS else judges.evaluated_on(given)


def kind_of_file(file: str) -> Kind | None:
    """The kind of rows that a file on this disk holds; None if it cannot be read."""
    return _kind_of_file(file, places.stamps([Path(file)]))


@st.cache_resource(max_entries=256, show_spinner=False)
def _kind_of_file(file: str, stamp: Hashable) -> Kind | None:
    try:
        return recognition.kind_of(read_file(file))
    except StrataError:
        return None  # what reads it says why


def described_pairs(pairs: GradedPairs) -> Sentences:
    """The sentences of scored pairs, with their attributes."""
    return _described_pairs(pairs.digest, pairs.name, pairs)


@st.cache_resource(max_entries=8, show_spinner=False)
def _described_pairs(digest: str, name: str, _pairs: GradedPairs) -> Sentences:
    return map_sentences.of_pairs(_pairs)


def described_file(file: str, column: str | None) -> Sentences:
    """The sentences in a column of a file, with the other columns as attributes."""
    return _described_file(file, column, stamp(file))


@st.cache_resource(max_entries=4, show_spinner="Reading the text …")
def _described_file(file: str, column: str | None, stamp: Hashable) -> Sentences:
    return map_sentences.of_table(read_file(file), column)


def sentence_column(file: str) -> int:
    """The index of the recognised sentence column of a file."""
    return _sentence_column(file, stamp(file))


@st.cache_resource(max_entries=32, show_spinner=False)
def _sentence_column(file: str, stamp: Hashable) -> int:
    table = read_file(file)
    return table.columns.index(guess(table, SENTENCES).column("sentence") or table.columns[0])


@st.cache_resource(max_entries=2, show_spinner=False)
def table(name: str, digest: str, _data: bytes) -> Table:
    """An uploaded file as a table; `digest` identifies its bytes."""
    return read_bytes(name, _data)


def serves(source: str, columns: Mapping[str, str]) -> dict[Kind, str]:
    """For each kind of rows, the reason why a source lacks it; "" if it has it."""
    return _serves(source, tuple(columns.items()), stamp(source))


@st.cache_resource(max_entries=32, show_spinner="Reading the text …")
def _serves(source: str, columns: tuple[tuple[str, str], ...], stamp: Hashable) -> dict[Kind, str]:
    return corpora.serves(source, dict(columns))


def kind_of(sources: tuple[str, ...]) -> tuple[Kind, int]:
    """The richest kind of rows that all sources have, and how many sentences are in a row."""
    return _kind_of(sources, tuple(map(stamp, sources)))


@st.cache_resource(max_entries=32, show_spinner="Reading the text …")
def _kind_of(sources: tuple[str, ...], stamps: Hashable) -> tuple[Kind, int]:
    return corpora.kind_of(sources)


def rows(
    sources: tuple[str, ...], method: str, columns: Mapping[str, str], keep_duplicates: bool = False
) -> tuple[int, int, tuple[Report, ...], str]:
    """The number of rows that a method has in the sources and of duplicates, a report on each source, the division.

    The text itself is not cached.
    """
    return _rows(sources, method, tuple(columns.items()), keep_duplicates, tuple(map(stamp, sources)))


@st.cache_resource(max_entries=32, show_spinner="Reading the text …")
def _rows(
    sources: tuple[str, ...],
    method: str,
    columns: tuple[tuple[str, str], ...],
    keep_duplicates: bool,
    stamps: Hashable,
) -> tuple[int, int, tuple[Report, ...], str]:
    from explorer.methods import load

    kind = load(method)
    found, reports = corpora.corpus(
        sources, kind.eats, dict(columns), keep_duplicates=keep_duplicates, divide=kind.predicts()
    )
    kind.check_rows(found)
    return len(found), found.duplicates, reports, found.told


def sentences_digest(sources: tuple[str, ...], columns: Mapping[str, str]) -> str:
    """The digest of the sentences in the sources."""
    return _sentences_digest(sources, tuple(columns.items()), tuple(map(stamp, sources)))


@st.cache_resource(max_entries=32, show_spinner="Reading the text …")
def _sentences_digest(sources: tuple[str, ...], columns: tuple[tuple[str, str], ...], stamps: Hashable) -> str:
    return corpora.corpus(sources, SENTENCES, dict(columns))[0].digest


def shared(
    sources: tuple[str, ...], eats: Kind, columns: Mapping[str, str], evaluated: EvaluationSet, divide: bool = True
) -> int:
    """The number of texts of an evaluation set that are in the rows of the sources."""
    stamps = tuple(map(stamp, sources))
    return _shared(sources, eats, tuple(columns.items()), divide, stamps, evaluated.digest, evaluated)


@st.cache_resource(max_entries=32, show_spinner="Comparing the text with dev and test set …")
def _shared(
    sources: tuple[str, ...],
    eats: Kind,
    columns: tuple[tuple[str, str], ...],
    divide: bool,
    stamps: Hashable,
    digest: str,
    _evaluated: EvaluationSet,
) -> int:
    found, _ = corpora.corpus(sources, eats, dict(columns), divide=divide)
    return len(set(texts_of(_evaluated)) & set().union(*found.texts))


def left(
    sources: tuple[str, ...], eats: Kind, columns: Mapping[str, str], evaluated: tuple[str, ...], batch: int
) -> tuple[int, str]:
    """The number of rows left for training without the evaluation sets' sentences, and a note on dropped rows."""
    stamps = tuple(map(stamp, (*sources, *evaluated)))
    return _left(sources, eats, tuple(columns.items()), evaluated, batch, stamps)


@st.cache_resource(max_entries=32, show_spinner="Reading the text …")
def _left(
    sources: tuple[str, ...],
    eats: Kind,
    columns: tuple[tuple[str, str], ...],
    evaluated: tuple[str, ...],
    batch: int,
    stamps: Hashable,
) -> tuple[int, str]:
    found, _ = corpora.corpus(sources, eats, dict(columns))
    given = [evaluation_set(evaluation_sets.identity(name)) for name in evaluated]
    kept, dropped = held_out.without(found, list(map(texts_of, given)), batch)
    return len(kept), dropped


def searched(source: str) -> Sentences:
    """The distinct sentences of a source, for search."""
    return _searched(source, stamp(source))


@st.cache_resource(max_entries=4, show_spinner="Reading the text …")
def _searched(source: str, stamp: Hashable) -> Sentences:
    return of_source(source)


def columns_of(file: str) -> tuple[str, ...]:
    """The columns of a file of text."""
    return _columns_of(file, stamp(file))


@st.cache_resource(max_entries=32, show_spinner="Reading the text …")
def _columns_of(file: str, stamp: Hashable) -> tuple[str, ...]:
    return read_file(file).columns


def stamp(source: str) -> Hashable:
    """A value that changes when the text of a source does: with a file, one in a folder, or one of a set."""
    return _stamp_of(evaluation_sets.identity(source))


def _stamp_of(given: SetIdentity) -> Hashable:
    """The stamp of a set; of the test rows of a run, those of its recipe and of its texts."""
    if given.is_scored:
        return sets.stamp(given)
    if given.kind == SetKind.TEST_ROWS:
        run = runs.find(given.name)
        return *places.stamps([run.folder / RECIPE]), *map(stamp, run.status().facts.data)
    try:
        source = evaluation_sets.located(given)
    except SetNotFound:
        return ()  # what loads the set says so
    return *places.stamps(_at_path(source)), *places.stamps(_of_name(source))


def _at_path(source: str) -> list[Path]:
    """A file, or a folder with all that is read of it, such as the judgements of a retrieval set."""
    try:
        path = Path(source).expanduser()
        return [path, *sorted((*path.glob("*"), *path.glob("qrels/*")))] if source else []
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null byte
        return []


def _of_name(source: str) -> tuple[Path, ...]:
    """The files of a labelled set, or of the questions."""
    if source == evaluation_sets.QUORA:
        return tuple(filter(None, [question_pairs.path()]))
    return published_sets.files(source) if published_sets.is_known(source) else ()
