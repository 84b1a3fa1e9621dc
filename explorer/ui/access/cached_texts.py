"""Streamlit caches for what files, sets and tables hold, keyed by stamps that change with the content."""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from explorer import errors, places, run_folder
from explorer.data import corpora, map_sentences, sources, splitting
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import ItemSet
from explorer.data.tables.columns import guess, table_kind
from explorer.data.tables.files import read_bytes, read_file
from explorer.data.tables.table import Table
from explorer.data.tables.text_rows import Report
from explorer.data.text_sets import SENTENCES, GradedPairs, Kind, Sentences
from explorer.evaluating import kinds
from explorer.training.record import run_results, runs

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
TEXT = "Reading the text …"
SET = "Reading the evaluation set …"


def by_stamp(
    stamp_of: Callable[..., Hashable], entries: int, spinner: str | bool = False
) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Cache a function by its arguments and by the stamp of what they name.

    `stamp_of` makes the stamp of the same arguments. An argument whose name begins with an underscore is not part of
    the key, so its digest has to be part of the stamp.
    """

    def decorated(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        # Streamlit tells functions apart by name and source, and takes the names of arguments from the signature:
        # with `wraps` these are of the function, and not the same for all
        @st.cache_resource(max_entries=entries, show_spinner=spinner)
        @wraps(function)
        def cached(*args: Any, stamp: Hashable, **more: Any) -> Answer:
            return function(*args, **more)

        @wraps(function)
        def stamped(*args: Parameters.args, **more: Parameters.kwargs) -> Answer:
            return cached(*args, stamp=stamp_of(*args, **more), **more)

        return stamped

    return decorated


def stamp(given: SetIdentity, *_: object, **__: object) -> Hashable:
    """A value that changes when a text or set does: with its file, or one in its folder.

    That of the test rows of a run are the stamps of its recipe and of its texts.
    """
    if given.kind == sets.SetKind.TEST_ROWS:
        run = runs.find(given.name)
        return *places.stamps([run.folder / run_folder.RECIPE]), *_of_all(run.status().facts.data)
    return corpora.stamp(given)


def _of_file(file: str, *_: object) -> Hashable:
    return stamp(sources.text(file))


def _of_scored_set(given: SetIdentity, *_: object) -> Hashable:
    return sets.stamp(given)


def _of_pairs(pairs: GradedPairs) -> Hashable:
    return pairs.digest, pairs.name


def _of_all(text: tuple[SetIdentity, ...], *_: object, **__: object) -> tuple[Hashable, ...]:
    return tuple(map(stamp, text))


@by_stamp(_of_scored_set, entries=16)
def graded_pairs(given: SetIdentity) -> GradedPairs:
    """A set of scored pairs: the sample, an uploaded set, or a published set on this disk."""
    return sets.load(given)


@by_stamp(_of_scored_set, entries=256)
def why_not_split(given: SetIdentity, piece: str = splitting.TEST_HALF) -> str:
    """The reason why an uploaded set has no such half or part; "" if it has."""
    return sets.why_not_split(given, piece)


@by_stamp(_of_pairs, entries=16)
def split_summary(_pairs: GradedPairs) -> splitting.Summary:
    """A summary of the splits of a set."""
    return splitting.summary(_pairs)


@by_stamp(stamp, entries=16, spinner=SET)
def evaluated_on(given: SetIdentity, for_runs: bool = False) -> ItemSet:
    """An evaluation set of any kind: also labelled texts, and the test rows of a run, unless it is `for_runs`."""
    return kinds.run_set(given) if for_runs else run_results.load_set(given)


@by_stamp(lambda file: places.stamps([Path(file)]), entries=256)
def kind_of_file(file: str) -> Kind | None:
    """The kind of rows that a file on this disk holds; None if it cannot be read."""
    try:
        return table_kind(read_file(file))
    except errors.StrataError:
        return None  # what reads it says why


@by_stamp(lambda file: places.stamps([Path(file)]), entries=256)
def has_own_format(file: str) -> bool:
    """Whether a file on this disk holds a set of a kind that is no kind of rows."""
    with suppress(errors.StrataError):
        return any(kind.read(file, False) is not None for kind in kinds.every() if not kind.place)
    return False


@by_stamp(_of_pairs, entries=8)
def described_pairs(_pairs: GradedPairs) -> Sentences:
    """The sentences of scored pairs, with their attributes."""
    return map_sentences.of_pairs(_pairs)


@by_stamp(_of_file, entries=4, spinner=TEXT)
def described_file(file: str, column: str | None) -> Sentences:
    """The sentences in a column of a file, with the other columns as attributes."""
    return map_sentences.of_table(read_file(file), column)


@by_stamp(_of_file, entries=32)
def sentence_column(file: str) -> int:
    """The index of the recognised sentence column of a file."""
    table = read_file(file)
    return table.columns.index(guess(table, SENTENCES).column("sentence") or table.columns[0])


@st.cache_resource(max_entries=2, show_spinner=False)
def table(name: str, digest: str, _data: bytes) -> Table:
    """An uploaded file as a table; `digest` identifies its bytes."""
    return read_bytes(name, _data)


@by_stamp(stamp, entries=32, spinner=TEXT)
def serves(given: SetIdentity, columns: Mapping[str, str]) -> dict[Kind, str]:
    """For each kind of rows, the reason why a text lacks it; "" if it has it."""
    return corpora.serves(given, columns)


@by_stamp(_of_all, entries=32, spinner=TEXT)
def kind_of(text: tuple[SetIdentity, ...]) -> tuple[Kind, int, int]:
    """The richest kind of rows that all of a text has, how many sentences are in a row, and the rows of files."""
    return corpora.kind_of(text)


@by_stamp(_of_all, entries=32, spinner=TEXT)
def rows(
    text: tuple[SetIdentity, ...], method: str, columns: Mapping[str, str], keep_duplicates: bool = False
) -> tuple[int, int, tuple[Report, ...], str]:
    """The number of rows that a method has in a text and of duplicates, a report on each part, the division.

    The text itself is not cached.
    """
    from explorer.methods import load

    kind = load(method)
    found, reports = corpora.corpus(text, kind.rows, columns, keep_duplicates=keep_duplicates, divide=kind.predicts())
    kind.check_rows(found)
    return len(found), found.duplicates, reports, found.division


@by_stamp(_of_all, entries=32, spinner=TEXT)
def sentences_digest(text: tuple[SetIdentity, ...], columns: Mapping[str, str]) -> str:
    """The digest of the sentences in a text."""
    return corpora.corpus(text, SENTENCES, columns)[0].digest


@by_stamp(
    lambda text, _, __, evaluated, *___: (_of_all(text), evaluated.digest),
    entries=32,
    spinner="Comparing the text with dev and test set …",
)
def shared(
    text: tuple[SetIdentity, ...],
    kind: Kind,
    columns: Mapping[str, str],
    _evaluated: ItemSet,
    divide: bool = True,
) -> int:
    """The number of texts of an evaluation set that are in the rows of a text."""
    found, _ = corpora.corpus(text, kind, columns, divide=divide)
    return len(set(_evaluated.sentences) & set().union(*found.texts))


@by_stamp(lambda text, _, __, evaluated, ___: (_of_all(text), *_of_all(evaluated)), 32, TEXT)
def left(
    text: tuple[SetIdentity, ...],
    kind: Kind,
    columns: Mapping[str, str],
    evaluated: tuple[SetIdentity, ...],
    batch: int,
) -> tuple[int, str]:
    """The number of rows left for training without the evaluation sets' sentences, and a note on dropped rows."""
    found, _ = corpora.corpus(text, kind, columns)
    given = [evaluated_on(one, for_runs=True) for one in evaluated]
    kept, dropped = corpora.without_evaluated(found, [one.sentences for one in given], batch)
    return len(kept), dropped


@by_stamp(stamp, entries=4, spinner=TEXT)
def searched(given: SetIdentity) -> Sentences:
    """The distinct sentences of a text, for search."""
    return corpora.of_source(given)


@by_stamp(_of_file, entries=32, spinner=TEXT)
def columns_of(file: str) -> tuple[str, ...]:
    """The columns of a file of text."""
    return read_file(file).columns
