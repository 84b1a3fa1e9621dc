"""Streamlit caches for what files, sets and tables hold, and for models, vectors and scores.

What is read from files is keyed by stamps that change with the content. All else is keyed by digests, never by paths or
objects: two folders with the same weights share their scores, and an edited file never gets an old result. Scores are
kept on disk (measuring/scores/measure.py); this cache avoids reading them again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer import errors, places, progress, run_folder
from explorer.data import corpora, map_sentences, splitting
from explorer.data import sources as evaluation_sets
from explorer.data.graded import sets
from explorer.data.set_items import ItemSet
from explorer.data.tables.columns import guess, table_kind
from explorer.data.tables.files import read_bytes, read_file
from explorer.data.tables.table import Table
from explorer.data.tables.text_rows import Report
from explorer.data.text_sets import SENTENCES, GradedPairs, Kind, Sentences, digest_of
from explorer.data.vectors import opening, vector_corpus, vector_files
from explorer.encoding.locate import model_names, stored_vectors
from explorer.encoding.read.pooling import Reading
from explorer.evaluating import kinds
from explorer.measuring.neighbours import vector_search
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import layer_cosines as of_layers
from explorer.measuring.sentences import sentence_vectors
from explorer.training.record import run_results, runs
from explorer.ui.access import jobs, loaded_encoders

if TYPE_CHECKING:
    pass

Vectors = NDArray[np.float32]
ONE_ENCODER = "Vectors on disk are those of one encoder: model B is not used here."
Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

TEXT = "Reading the text …"
ALL = "every layer & pooling"
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


def stamp(source: str, *_: object) -> Hashable:
    """A value that changes when the text of a source does: with a file, one in a folder, or one of a set."""
    return _of_set(evaluation_sets.identity(source))


def _of_set(given: sets.SetIdentity) -> Hashable:
    """The stamp of a set; of the test rows of a run, those of its recipe and of its texts."""
    if given.kind == sets.SetKind.TEST_ROWS:
        run = runs.find(given.name)
        return *places.stamps([run.folder / run_folder.RECIPE]), *map(stamp, run.status().facts.data)
    return corpora.stamp(given)


def _of_scored_set(given: sets.SetIdentity, *_: object) -> Hashable:
    return sets.stamp(given)


def _of_pairs(pairs: GradedPairs) -> Hashable:
    return pairs.digest, pairs.name


def _of_all(sources: tuple[str, ...], *_: object, **__: object) -> Hashable:
    return tuple(map(stamp, sources))


@by_stamp(_of_scored_set, entries=16)
def graded_pairs(given: sets.SetIdentity) -> GradedPairs:
    """A set of scored pairs: the sample, an uploaded set, or a published set on this disk."""
    return sets.load(given)


@by_stamp(_of_scored_set, entries=256)
def why_not_split(given: sets.SetIdentity, piece: str = splitting.TEST_HALF) -> str:
    """The reason why an uploaded set has no such half or part; "" if it has."""
    return sets.why_not_split(given, piece)


@by_stamp(_of_pairs, entries=16)
def split_summary(_pairs: GradedPairs) -> splitting.Summary:
    """A summary of the splits of a set."""
    return splitting.summary(_pairs)


@by_stamp(lambda given, *_: _of_set(given), entries=16, spinner=SET)
def evaluated_on(given: sets.SetIdentity, for_runs: bool = False) -> ItemSet:
    """An evaluation set of any kind: also labelled texts, and the test rows of a run, unless it is `for_runs`."""
    return kinds.load(given, for_runs=True) if for_runs else run_results.load_set(given)


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


@by_stamp(stamp, entries=4, spinner=TEXT)
def described_file(file: str, column: str | None) -> Sentences:
    """The sentences in a column of a file, with the other columns as attributes."""
    return map_sentences.of_table(read_file(file), column)


@by_stamp(stamp, entries=32)
def sentence_column(file: str) -> int:
    """The index of the recognised sentence column of a file."""
    table = read_file(file)
    return table.columns.index(guess(table, SENTENCES).column("sentence") or table.columns[0])


@st.cache_resource(max_entries=2, show_spinner=False)
def table(name: str, digest: str, _data: bytes) -> Table:
    """An uploaded file as a table; `digest` identifies its bytes."""
    return read_bytes(name, _data)


@by_stamp(stamp, entries=32, spinner=TEXT)
def serves(source: str, columns: Mapping[str, str]) -> dict[Kind, str]:
    """For each kind of rows, the reason why a source lacks it; "" if it has it."""
    return corpora.serves(source, columns)


@by_stamp(_of_all, entries=32, spinner=TEXT)
def kind_of(sources: tuple[str, ...]) -> tuple[Kind, int, int]:
    """The richest kind of rows that all sources have, how many sentences are in a row, and the rows of files."""
    return corpora.kind_of(sources)


@by_stamp(_of_all, entries=32, spinner=TEXT)
def rows(
    sources: tuple[str, ...], method: str, columns: Mapping[str, str], keep_duplicates: bool = False
) -> tuple[int, int, tuple[Report, ...], str]:
    """The number of rows that a method has in the sources and of duplicates, a report on each source, the division.

    The text itself is not cached.
    """
    from explorer.methods import load

    kind = load(method)
    found, reports = corpora.corpus(
        sources, kind.rows, columns, keep_duplicates=keep_duplicates, divide=kind.predicts()
    )
    kind.check_rows(found)
    return len(found), found.duplicates, reports, found.division


@by_stamp(_of_all, entries=32, spinner=TEXT)
def sentences_digest(sources: tuple[str, ...], columns: Mapping[str, str]) -> str:
    """The digest of the sentences in the sources."""
    return corpora.corpus(sources, SENTENCES, columns)[0].digest


@by_stamp(
    lambda sources, _, __, evaluated, *___: (_of_all(sources), evaluated.digest),
    entries=32,
    spinner="Comparing the text with dev and test set …",
)
def shared(
    sources: tuple[str, ...],
    kind: Kind,
    columns: Mapping[str, str],
    _evaluated: ItemSet,
    divide: bool = True,
) -> int:
    """The number of texts of an evaluation set that are in the rows of the sources."""
    found, _ = corpora.corpus(sources, kind, columns, divide=divide)
    return len(set(_evaluated.sentences) & set().union(*found.texts))


@by_stamp(lambda sources, _, __, evaluated, ___: (_of_all(sources), *map(_of_set, evaluated)), 32, TEXT)
def left(
    sources: tuple[str, ...],
    kind: Kind,
    columns: Mapping[str, str],
    evaluated: tuple[sets.SetIdentity, ...],
    batch: int,
) -> tuple[int, str]:
    """The number of rows left for training without the evaluation sets' sentences, and a note on dropped rows."""
    found, _ = corpora.corpus(sources, kind, columns)
    given = [evaluated_on(one, for_runs=True) for one in evaluated]
    kept, dropped = corpora.without_evaluated(found, [one.sentences for one in given], batch)
    return len(kept), dropped


@by_stamp(stamp, entries=4, spinner=TEXT)
def searched(source: str) -> Sentences:
    """The distinct sentences of a source, for search."""
    return corpora.of_source(source)


@by_stamp(stamp, entries=32, spinner=TEXT)
def columns_of(file: str) -> tuple[str, ...]:
    """The columns of a file of text."""
    return read_file(file).columns


def found(source: str) -> model_names.Found:
    """Find the folder of a model on this disk, without a network. Digests are cached by file.

    Vectors that another program computed are read in the background first (`sidebar_choice.encoder`).
    """
    if stored_vectors.is_named(source) and not stored_vectors.are_read(source):
        raise errors.VectorsUnread(f"The vectors of '{source}' are being read. Wait until this is done.")
    return model_names.find(source)


def inputs_digest(models: Iterable[str], sources: Iterable[str]) -> str:
    """A digest that changes with any file of models and texts given by name, for keys of what is derived from them."""
    parts = [repr(stamp(source)) for source in sources]
    for model in models:
        parts.append(repr(stamp(model)))  # of a file of word vectors, too
        with suppress(errors.StrataError):  # what reads it says so
            parts.append(found(model).digest)
    return digest_of(parts)


def vectors(found: model_names.Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> Vectors | None:
    """Vectors (sentence, width), in the order of the sentences; None, with progress shown, while they are computed."""

    def encode() -> progress.Work[Vectors]:
        yield progress.Progress(f"loading {found.name}", 0, 0)
        encoded = yield from sentence_vectors.of_reading(
            loaded_encoders.encoder(found, settings), sentences, reading, settings.max_length
        )
        encoded.setflags(write=False)  # every tab of every visitor shares them
        return encoded

    title = f"Encoding {len(sentences):,} sentences with {found.name}"
    return jobs.result(_vectors_key(found, sentences, reading.title, settings), title, encode)


def vectors_are_coming(
    found: model_names.Found, sentences: Sequence[str], reading: Reading, settings: Settings
) -> bool:
    """Whether vectors are being computed: False too if that failed or was stopped."""
    job = jobs.find(_vectors_key(found, sentences, reading.title, settings))
    return job is not None and job.live


def _vectors_key(found: model_names.Found, sentences: Sequence[str], title: str, settings: Settings) -> str:
    # windows are texts of their own: with or without them, a text has the same vector
    return f"vectors {found.digest} {digest_of(sentences)} {title} {replace(settings, windows=False)}"


def layer_cosines(
    found: model_names.Found, sentences: Sequence[str], also: tuple[Reading, ...], settings: Settings
) -> of_layers.LayerCosines | None:
    """Cosines of every two sentences under every layer & pooling; None, with progress shown, until they are known."""

    def encode() -> progress.Work[of_layers.LayerCosines]:
        yield progress.Progress(f"loading {found.name}", 0, 0)
        encoder = loaded_encoders.encoder(found, settings)
        return (yield from of_layers.layer_cosines(encoder, sentences, also, settings.max_length))

    key = f"layers of {_vectors_key(found, sentences, ALL, settings)} {[one.title for one in also]}"
    return jobs.result(key, f"Encoding {len(sentences):,} sentences with {found.name}", encode)


def random_cosines(
    found: model_names.Found, also: tuple[Reading, ...], settings: Settings
) -> of_layers.RandomCosines | None:
    """Where random pairs are under every layer & pooling; None while it is computed, and of vectors that lack them."""
    if stored_vectors.are_in(found.folder):
        return None

    def encode() -> progress.Work[of_layers.RandomCosines]:
        yield progress.Progress(f"loading {found.name}", 0, 0)
        encoder = loaded_encoders.encoder(found, settings)
        return (yield from of_layers.random_cosines(encoder, also, settings.max_length))

    key = f"random {_vectors_key(found, of_layers.random_sentences(), ALL, settings)} {[one.title for one in also]}"
    return jobs.result(key, f"Random pairs with {found.name}", encode)


def kept_scores(
    found: model_names.Found, given: ItemSet, settings: Settings, also: tuple[Reading, ...] = ()
) -> LayerScores | None:
    """Scores that were measured before, with those of layers & poolings outside of the grid; None if there are none."""
    of_kind = kinds.judged(given)
    key = of_kind.key(found, settings)
    try:
        return _kept(key, tuple(one.title for one in also), also, found, given, settings)
    except _NotKeptError:
        return None


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept(
    key: str,
    titles: tuple[str, ...],
    _also: tuple[Reading, ...],
    _found: model_names.Found,
    _given: ItemSet,
    _settings: Settings,
) -> LayerScores:
    scores = kinds.judged(_given).stored(_found, _settings)
    if scores is None or scores.lacks(_also):
        raise _NotKeptError
    return scores.only(_also)


class _NotKeptError(Exception):
    """Raised instead of returning None: an exception is not cached, and the scores may be measured later."""


def corpus_on_disk(source: str, title: str) -> vector_corpus.VectorCorpus | None:
    """The vectors under a layer & pooling, or the only ones; None, with progress shown, until they are checked."""
    opened = _opened(source, title)
    key = f"vectors on disk {source} {opened.columns} {opening.stamps(source)}"
    return jobs.result(key, f"Vectors of {opened.name}", lambda: vector_corpus.prepared(opened))


def index_on_disk(corpus: vector_corpus.VectorCorpus, kind: str | None) -> vector_search.VectorSearch | None:
    """The vectors with an index; None, with progress and Stop shown, until it is built."""
    key = f"index of vectors {corpus.digest} {kind}"
    return jobs.result(key, f"Index of {corpus.name}", lambda: vector_search.searchable(corpus, kind))


@by_stamp(lambda source, *_: opening.stamps(source), 16)
def _opened(source: str, title: str) -> vector_files.VectorFiles:
    with suppress(errors.WrongColumns):
        return opening.opened(source, title=title)
    return opening.opened(source)
