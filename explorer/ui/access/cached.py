"""Streamlit caches for models, vectors and scores.

All are keyed by digests, never by paths or objects: two folders with the same weights share their scores, and an edited
file never gets an old result. Scores are kept on disk (measuring/scores/measure.py); this cache avoids reading them
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer import errors, progress
from explorer.data import sources
from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import digest_of
from explorer.data.vectors import opening, vector_corpus, vector_files
from explorer.encoding.locate import model_names, stored_vectors
from explorer.encoding.read.pooling import Reading
from explorer.evaluating import kinds
from explorer.measuring.neighbours import vector_search
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import layer_cosines as of_layers
from explorer.measuring.sentences import sentence_vectors
from explorer.ui.access import jobs, loaded_encoders
from explorer.ui.access.cached_texts import by_stamp, stamp

Vectors = NDArray[np.float32]
ONE_ENCODER = "Vectors on disk are those of one encoder: model B is not used here."

ALL = "every layer & pooling"


def found(source: str) -> model_names.Found:
    """Find the folder of a model on this disk, without a network. Digests are cached by file.

    Vectors that another program computed are read in the background first (`sidebar_choice.encoder`).
    """
    if stored_vectors.is_named(source) and not stored_vectors.are_read(source):
        raise errors.VectorsUnread(f"The vectors of '{source}' are being read. Wait until this is done.")
    return model_names.find(source)


def inputs_digest(models: Iterable[str], texts: Iterable[SetIdentity]) -> str:
    """A digest that changes with any file of models and texts, for keys of what is derived from them."""
    parts = [repr(stamp(given)) for given in texts]
    for model in models:
        parts.append(repr(stamp(sources.text(model))))  # of a file of word vectors, too
        with suppress(errors.StrataError):  # what reads it says so
            parts.append(found(model).digest)
    return digest_of(parts)


def vectors(model: model_names.Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> Vectors | None:
    """Vectors (sentence, width), in the order of the sentences; None, with progress shown, while they are computed."""

    def encode() -> progress.Work[Vectors]:
        yield progress.Progress(f"loading {model.name}", 0, 0)
        encoded = yield from sentence_vectors.of_reading(
            loaded_encoders.encoder(model, settings), sentences, reading, settings.max_length
        )
        encoded.setflags(write=False)  # every tab of every visitor shares them
        return encoded

    title = f"Encoding {len(sentences):,} sentences with {model.name}"
    return jobs.result(_vectors_key(model, sentences, reading.title, settings), title, encode)


def vectors_are_coming(
    model: model_names.Found, sentences: Sequence[str], reading: Reading, settings: Settings
) -> bool:
    """Whether vectors are being computed: False too if that failed or was stopped."""
    job = jobs.find(_vectors_key(model, sentences, reading.title, settings))
    return job is not None and job.live


def _vectors_key(model: model_names.Found, sentences: Sequence[str], title: str, settings: Settings) -> str:
    # windows are texts of their own: with or without them, a text has the same vector
    return f"vectors {model.digest} {digest_of(sentences)} {title} {replace(settings, windows=False)}"


def layer_cosines(
    model: model_names.Found, sentences: Sequence[str], also: tuple[Reading, ...], settings: Settings
) -> of_layers.LayerCosines | None:
    """Cosines of every two sentences under every layer & pooling; None, with progress shown, until they are known."""

    def encode() -> progress.Work[of_layers.LayerCosines]:
        yield progress.Progress(f"loading {model.name}", 0, 0)
        encoder = loaded_encoders.encoder(model, settings)
        return (yield from of_layers.layer_cosines(encoder, sentences, also, settings.max_length))

    key = f"layers of {_vectors_key(model, sentences, ALL, settings)} {[one.title for one in also]}"
    return jobs.result(key, f"Encoding {len(sentences):,} sentences with {model.name}", encode)


def random_cosines(
    model: model_names.Found, also: tuple[Reading, ...], settings: Settings
) -> of_layers.RandomCosines | None:
    """Where random pairs are under every layer & pooling; None while it is computed, and of vectors that lack them."""
    if stored_vectors.are_in(model.folder):
        return None

    def encode() -> progress.Work[of_layers.RandomCosines]:
        yield progress.Progress(f"loading {model.name}", 0, 0)
        encoder = loaded_encoders.encoder(model, settings)
        return (yield from of_layers.random_cosines(encoder, also, settings.max_length))

    key = f"random {_vectors_key(model, of_layers.random_sentences(), ALL, settings)} {[one.title for one in also]}"
    return jobs.result(key, f"Random pairs with {model.name}", encode)


def kept_scores(
    model: model_names.Found, given: ItemSet, settings: Settings, also: tuple[Reading, ...] = ()
) -> LayerScores | None:
    """Scores that were measured before, with those of layers & poolings outside of the grid; None if there are none."""
    of_kind = kinds.judged(given)
    key = of_kind.key(model, settings)
    try:
        return _kept(key, tuple(one.title for one in also), also, model, given, settings)
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
