"""Streamlit caches for models, vectors and scores, keyed by content digests; vectors on disk are opened once.

Keys use digests, never paths or objects: two folders with the same weights share their scores, and an edited file
never gets an old result. Scores are kept on disk (measuring/scores/measure.py); this cache avoids reading them
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer import places
from explorer.data.text_sets import digest_of
from explorer.data.vectors import embedding_folder, vector_corpus
from explorer.data.vectors.vector_files import VectorFiles
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import Reading
from explorer.errors import StrataError, WrongColumns
from explorer.evaluating.tasks.judges import Evaluated, judged
from explorer.measuring.neighbours import vector_search
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences import sentence_vectors
from explorer.progress import Progress, Work
from explorer.ui.access import cached_text, jobs

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Vectors = NDArray[np.float32]
ONE_ENCODER = "Vectors on disk are those of one encoder: model B is not used here."


def found(source: str) -> Found:
    """Find the folder of a model on this disk, without a network. Digests are cached by file."""
    return model_names.find(source)


def as_they_are(models: Iterable[str], sources: Iterable[str]) -> str:
    """A digest that changes with any file of models and texts given by name, for keys of what is derived from them."""
    parts = [repr(cached_text.stamp(source)) for source in sources]
    for model in models:
        parts.append(repr(cached_text.stamp(model)))  # of a file of word vectors, too
        with suppress(StrataError):  # what reads it says so
            parts.append(found(model).digest)
    return digest_of(parts)


@cached_text.by_stamp(lambda found, settings: (found.digest, settings.precision, settings.device), 2)
def encoder(_found: Found, _settings: Settings) -> Encoder:
    """A loaded encoder; the two most recently used stay in memory. One loaded model serves every maximum length."""
    return load_encoder(_found, replace(_settings, max_length=None))


@cached_text.by_stamp(lambda found: found.digest, 2)
def attending(_found: Found) -> Encoder:
    """The same model, loaded so that it returns attention weights; in float32, so that rows sum to 1."""
    from explorer.encoding.load.loading import load

    return load(_found, precision="float32", attention="eager")


def vectors(found: Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> Vectors | None:
    """Vectors (sentence, width), in the order of the sentences; None, with progress shown, while they are computed."""

    def encode() -> Work[Vectors]:
        yield Progress(f"loading {found.name}", 0, 0)
        encoded = yield from sentence_vectors.of_reading(
            encoder(found, settings), sentences, reading, settings.max_length
        )
        encoded.setflags(write=False)  # every tab of every visitor shares them
        return encoded

    title = f"Encoding {len(sentences):,} sentences with {found.name}"
    return jobs.result(_vectors_key(found, sentences, reading, settings), title, encode)


def vectors_are_coming(found: Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> bool:
    """Whether vectors are being computed: False too if that failed or was stopped."""
    job = jobs.find(_vectors_key(found, sentences, reading, settings))
    return job is not None and job.live


def _vectors_key(found: Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> str:
    return f"vectors {found.digest} {digest_of(sentences)} {reading.title} {settings}"


def kept_scores(
    found: Found, given: Evaluated, settings: Settings, also: tuple[Reading, ...] = ()
) -> LayerScores | None:
    """Scores that were measured before, with those of layers & poolings outside of the grid; None if there are none."""
    of_kind = judged(given)
    key = of_kind.key(found, of_kind.exact(settings))
    try:
        return _kept(key, tuple(one.title for one in also), also, found, given, settings)
    except _NotKeptError:
        return None


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept(
    key: str,
    titles: tuple[str, ...],
    _also: tuple[Reading, ...],
    _found: Found,
    _given: Evaluated,
    _settings: Settings,
) -> LayerScores:
    scores = judged(_given).stored(_found, _settings)
    if scores is None or scores.lacks(_also):
        raise _NotKeptError
    return scores.only(_also)


class _NotKeptError(Exception):
    """Raised instead of returning None: an exception is not cached, and the scores may be measured later."""


def corpus_on_disk(source: str, title: str) -> vector_corpus.VectorCorpus | None:
    """The vectors under a layer & pooling, or the only ones; None, with progress shown, until they are checked."""
    opened = _opened(source, title)
    key = f"vectors on disk {source} {opened.columns} {_stamp(source)}"
    return jobs.result(key, f"Vectors of {opened.name}", lambda: vector_corpus.prepared(opened))


def index_on_disk(corpus: vector_corpus.VectorCorpus, kind: str | None) -> vector_search.VectorSearch | None:
    """The vectors with an index; None, with progress and Stop shown, until it is built."""
    key = f"index of vectors {corpus.digest} {kind}"
    return jobs.result(key, f"Index of {corpus.name}", lambda: vector_search.searchable(corpus, kind))


def _stamp(source: str, *_: object) -> places.Stamps:
    """A value that differs once one of the files is another one, or is written to."""
    path = places.given_path(source)
    if path.is_dir():
        files = [path / embedding_folder.NAME, *sorted((path / embedding_folder.SHARDS).glob("*.parquet"))]
    else:
        files = [path, path.with_suffix(".txt")]
    return places.stamps(files)


@cached_text.by_stamp(_stamp, 16)
def _opened(source: str, title: str) -> VectorFiles:
    with suppress(WrongColumns):
        return vector_corpus.opened(source, title=title)
    return vector_corpus.opened(source)
