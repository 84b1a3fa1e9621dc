"""What need not be done twice: every cache in the program, each keyed by value.

Digests stand for models and sets, never paths or objects: two folders with the same weights share their scores,
and an edited file never meets an old result. Scores themselves are kept on disk (measuring/shelf.py); what is
here only saves reading them again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data import sets
from explorer.data.files import read_bytes
from explorer.data.kinds import GradedPairs
from explorer.data.table import Table
from explorer.encoding import finding
from explorer.encoding.finding import Found
from explorer.measuring import shelf
from explorer.measuring.measure import Settings, load_encoder, shelf_key
from explorer.measuring.scores import LayerScores

if TYPE_CHECKING:
    from explorer.encoding.encoder import Encoder


# sentences by which the share of those that are cut is judged
JUDGED_BY = 4000


def found(source: str) -> Found:
    """Which folder on this disk a name means; the network is never asked. Its digest is remembered file by file."""
    return finding.find(source)


def graded_pairs(name: str) -> GradedPairs:
    """A set by its name in the menu: the sample, a file the user brought, or a published set of this disk."""
    return _graded_pairs(name, sets.stamp(name))


@st.cache_resource(max_entries=16, show_spinner=False)
def _graded_pairs(name: str, stamp: Hashable) -> GradedPairs:
    return sets.by_name(name)


@st.cache_resource(max_entries=2, show_spinner=False)
def table(name: str, digest: str, _data: bytes) -> Table:
    """An uploaded file as a table; `digest` stands for its bytes."""
    return read_bytes(name, _data)


def encoder(found: Found, settings: Settings) -> Encoder:
    """A loaded encoder; the two last used stay in memory."""
    # the length is a matter of reading, not of loading: one model in memory serves every length
    return _encoder(found.digest, Settings(settings.precision, settings.device), found)


@st.cache_resource(max_entries=2, show_spinner=False)
def _encoder(digest: str, settings: Settings, _found: Found) -> Encoder:
    return load_encoder(_found, settings)


def share_cut(found: Found, pairs: GradedPairs, settings: Settings) -> tuple[int, float]:
    """At how many tokens an encoder cuts a sentence, and what share of a set it cuts, judged by some thousands."""
    return _share_cut(found.digest, pairs.digest, settings, found, pairs)


@st.cache_data(max_entries=16, show_spinner="Counting tokens …")
def _share_cut(
    digest: str, pairs_digest: str, settings: Settings, _found: Found, _pairs: GradedPairs
) -> tuple[int, float]:
    reader = encoder(_found, settings)
    step = max(1, len(_pairs.sentences) // JUDGED_BY)  # from all over the file: it may be sorted by length
    some = _pairs.sentences[::step]
    cut = reader.tokens(some, settings.max_length).truncated
    return reader.limit(settings.max_length), cut / len(some)


def kept_scores(found: Found, pairs: GradedPairs, settings: Settings) -> LayerScores | None:
    """Scores that were measured before, today or in another year; None where they were not."""
    try:
        return _kept(shelf_key(found, pairs, settings))
    except _NotKeptError:
        return None


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept(key: str) -> LayerScores:
    scores = shelf.kept(key)
    if scores is None:
        raise _NotKeptError
    return scores


class _NotKeptError(Exception):
    """Raised instead of returning nothing, since an exception is not cached: the scores may come later."""
