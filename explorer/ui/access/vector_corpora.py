"""Vectors on disk for the pages: opened, checked and indexed in the background, once for every visitor."""

from collections.abc import Hashable
from contextlib import suppress

import streamlit as st

from explorer import places
from explorer.data.vectors import embedding_folder, vector_corpus
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.data.vectors.vector_files import VectorFiles
from explorer.errors import WrongColumns
from explorer.measuring.neighbours import vector_search
from explorer.measuring.neighbours.vector_search import VectorSearch
from explorer.ui.access import jobs

ONE_ENCODER = "Vectors on disk are those of one encoder: model B is not used here."


def corpus(source: str, title: str) -> VectorCorpus | None:
    """The vectors under a layer & pooling, or the only ones; None, with progress shown, until they are checked."""
    stamp = _stamp(source)
    opened = _opened(source, title, stamp)
    key = f"vectors on disk {source} {opened.columns} {stamp}"
    found: VectorCorpus | None = jobs.result(key, f"Vectors of {opened.name}", lambda: vector_corpus.prepared(opened))
    return found


def searchable(corpus: VectorCorpus, kind: str | None) -> VectorSearch | None:
    """The vectors with an index; None, with progress and Stop shown, until it is built."""
    search: VectorSearch | None = jobs.result(
        f"index of vectors {corpus.digest} {kind}",
        f"Index of {corpus.name}",
        lambda: vector_search.searchable(corpus, kind),
    )
    return search


@st.cache_resource(max_entries=16, show_spinner=False)
def _opened(source: str, title: str, stamp: Hashable) -> VectorFiles:
    with suppress(WrongColumns):
        return vector_corpus.opened(source, title=title)
    return vector_corpus.opened(source)


def _stamp(source: str) -> places.Stamps:
    """A value that differs once one of the files is another one, or is written to."""
    path = places.given_path(source)
    if path.is_dir():
        files = [path / embedding_folder.NAME, *sorted((path / embedding_folder.SHARDS).glob("*.parquet"))]
    else:
        files = [path, path.with_suffix(".txt")]
    return places.stamps(files)
