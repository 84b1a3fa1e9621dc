"""Streamlit caches of what the Layer attention page measured, keyed by content digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from explorer.encoding.locate.model_names import Found
from explorer.measuring.attention import pooler_weights as pooler
from explorer.measuring.attention.pooler_weights import Listening
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import pair_layers as pair
from explorer.measuring.sentences.pair_layers import PairLayers

if TYPE_CHECKING:
    from explorer.encoding.read.self_attention import SelfAttention

from explorer.ui.access.cached import attending, encoder


def listening(found: Found, sentences: tuple[str, ...], settings: Settings) -> Listening:
    """The weights of an encoder's attention pooler for sentences."""
    return _listening(found.digest, sentences, settings, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _listening(digest: str, sentences: tuple[str, ...], settings: Settings, _found: Found) -> Listening:
    return pooler.listening(encoder(_found, settings), sentences, settings.max_length)


def pair_layers(found: Found, first: str, second: str, settings: Settings) -> PairLayers:
    """Cosine of two sentences in each layer of an encoder."""
    return _pair_layers(found.digest, first, second, settings, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _pair_layers(digest: str, first: str, second: str, settings: Settings, _found: Found) -> PairLayers:
    return pair.pair_layers(encoder(_found, settings), first, second, settings.max_length)


def ways_to_attend(found: Found) -> tuple[str, ...]:
    """The ways to encode two sentences for self-attention: as one input, or each alone."""
    return _ways_to_attend(found.digest, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _ways_to_attend(digest: str, _found: Found) -> tuple[str, ...]:
    from explorer.encoding.read import self_attention

    return self_attention.ways(attending(_found))


def self_attention(found: Found, first: str, second: str, way: str) -> SelfAttention:
    """Attention weights between the tokens of two sentences, for every head of every layer."""
    return _self_attention(found.digest, first, second, way, found)


@st.cache_resource(max_entries=16, show_spinner=False)
def _self_attention(digest: str, first: str, second: str, way: str, _found: Found) -> SelfAttention:
    from explorer.encoding.read import self_attention

    return self_attention.self_attention(attending(_found), first, second, way)
