"""Streamlit caches of what the Layer attention page measured, keyed by content digests.

Sentences are in a key by their digest: Streamlit joins texts without borders, so that one could be a part of another.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data.kinds import digest_of
from explorer.encoding.locate.model_names import Found
from explorer.measuring.attention import pooler_weights as pooler
from explorer.measuring.attention.pooler_weights import Listening
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import pair_layers as pair
from explorer.measuring.sentences.pair_layers import PairLayers

if TYPE_CHECKING:
    from explorer.encoding.read.self_attention import SelfAttention

from explorer.ui.access.cached import attending, encoder


def listening(found: Found, sentences: tuple[str, ...], settings: Settings) -> Listening:
    """The weights of an encoder's attention pooler for sentences."""
    return _listening(found.digest, digest_of(sentences), settings, found, sentences)


@st.cache_resource(max_entries=32, show_spinner=False)
def _listening(digest: str, texts: str, settings: Settings, _found: Found, _sentences: tuple[str, ...]) -> Listening:
    return pooler.listening(encoder(_found, settings), _sentences, settings.max_length)


def pair_layers(found: Found, first: str, second: str, settings: Settings) -> PairLayers:
    """Cosine of two sentences in each layer of an encoder."""
    return _pair_layers(found.digest, digest_of((first, second)), settings, found, (first, second))


@st.cache_resource(max_entries=32, show_spinner=False)
def _pair_layers(digest: str, texts: str, settings: Settings, _found: Found, _pair: tuple[str, str]) -> PairLayers:
    return pair.pair_layers(encoder(_found, settings), *_pair, settings.max_length)


def ways_to_attend(found: Found) -> tuple[str, ...]:
    """The ways to encode two sentences for self-attention: as one input, or each alone."""
    return _ways_to_attend(found.digest, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _ways_to_attend(digest: str, _found: Found) -> tuple[str, ...]:
    from explorer.encoding.read import self_attention

    return self_attention.inputs(attending(_found))


def self_attention(found: Found, first: str, second: str, way: str) -> SelfAttention:
    """Attention weights between the tokens of two sentences, for every head of every layer."""
    return _self_attention(found.digest, digest_of((first, second)), way, found, (first, second))


@st.cache_resource(max_entries=16, show_spinner=False)
def _self_attention(digest: str, texts: str, way: str, _found: Found, _pair: tuple[str, str]) -> SelfAttention:
    from explorer.encoding.read import self_attention

    return self_attention.self_attention(attending(_found), *_pair, way)


def difference(measured: Hashable, comparison: Comparison) -> Interval:
    """B minus A under the chosen layer & pooling of each; `measured` identifies models, pairs and settings."""
    return _difference(measured, comparison.one_reading.title, comparison.other_reading.title, comparison)


@st.cache_resource(max_entries=32, show_spinner=False)
def _difference(measured: Hashable, one: str, other: str, _comparison: Comparison) -> Interval:
    return _comparison.chosen(_comparison.one.metrics[0])
