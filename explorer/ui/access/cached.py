"""What need not be done twice: every cache of models and of what they measured, each keyed by value.

Digests stand for models and sets, never paths or objects: two folders with the same weights share their scores,
and an edited file never meets an old result. Scores are kept on disk (measuring/scores/score_store.py); what is
here only saves reading them again.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import Found
from explorer.measuring.attention import pooler_weights as pooler
from explorer.measuring.attention.pooler_weights import Listening
from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.maps import step_maps
from explorer.measuring.maps.faithfulness import Faithfulness
from explorer.measuring.maps.step_maps import Travel
from explorer.measuring.scores import best_cell, score_store
from explorer.measuring.scores.best_cell import Chosen
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings, load_encoder, shelf_key
from explorer.measuring.sentences import pair_layers as pair
from explorer.measuring.sentences.pair_layers import PairLayers
from explorer.progress import finish
from explorer.training.record import recorder
from explorer.training.record.runs import Run
from explorer.ui.runs.run_metrics import RunNumbers
from explorer.ui.train import method_cards
from explorer.ui.train.method_cards import MethodCard

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.self_attention import SelfAttention


# sentences by which the share of those that are cut is judged
JUDGED_BY = 4000


def found(source: str) -> Found:
    """Which folder on this disk a name means; the network is never asked. Its digest is remembered file by file."""
    return model_names.find(source)


def encoder(found: Found, settings: Settings) -> Encoder:
    """A loaded encoder; the two last used stay in memory."""
    # the length is a matter of reading, not of loading: one model in memory serves every length
    return _encoder(found.digest, Settings(settings.precision, settings.device), found)


@st.cache_resource(max_entries=2, show_spinner=False)
def _encoder(digest: str, settings: Settings, _found: Found) -> Encoder:
    return load_encoder(_found, settings)


def attending(found: Found) -> Encoder:
    """The same model, loaded so that it shows its attention: in float32, so that rows of weights sum to 1."""
    return _attending(found.digest, found)


@st.cache_resource(max_entries=2, show_spinner=False)
def _attending(digest: str, _found: Found) -> Encoder:
    from explorer.encoding.load.loading import load

    return load(_found, precision="float32", attention="eager")


def listening(found: Found, sentences: tuple[str, ...], settings: Settings) -> Listening:
    """How the pooler of an encoder reads sentences."""
    return _listening(found.digest, sentences, settings, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _listening(digest: str, sentences: tuple[str, ...], settings: Settings, _found: Found) -> Listening:
    return pooler.listening(encoder(_found, settings), sentences, settings.max_length)


def pair_layers(found: Found, first: str, second: str, settings: Settings) -> PairLayers:
    """How alike each layer of an encoder finds two sentences."""
    return _pair_layers(found.digest, first, second, settings, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _pair_layers(digest: str, first: str, second: str, settings: Settings, _found: Found) -> PairLayers:
    return pair.pair_layers(encoder(_found, settings), first, second, settings.max_length)


def ways_to_attend(found: Found) -> tuple[str, ...]:
    """How two sentences can be read where attention is shown: as one input, or each alone."""
    return _ways_to_attend(found.digest, found)


@st.cache_resource(max_entries=32, show_spinner=False)
def _ways_to_attend(digest: str, _found: Found) -> tuple[str, ...]:
    from explorer.encoding.read import self_attention

    return self_attention.ways(attending(_found))


def self_attention(found: Found, first: str, second: str, way: str) -> SelfAttention:
    """Which token looks at which in two sentences, in every head of every layer."""
    return _self_attention(found.digest, first, second, way, found)


@st.cache_resource(max_entries=16, show_spinner=False)
def _self_attention(digest: str, first: str, second: str, way: str, _found: Found) -> SelfAttention:
    from explorer.encoding.read import self_attention

    return self_attention.self_attention(attending(_found), first, second, way)


def differences(measured: Hashable, comparison: Comparison, metric: str, aggregate: str) -> Differences:
    """B less A, with intervals; `measured` says what was scored on what, and how."""
    readings = (comparison.one_reading.title, comparison.other_reading.title)
    grid, own = _cell_differences(measured, metric, aggregate, comparison)
    chosen = comparison.among(grid, own)
    return Differences(chosen or _chosen_difference(measured, readings, metric, aggregate, comparison), grid, own)


@st.cache_resource(max_entries=64, show_spinner=False)
def _chosen_difference(
    measured: Hashable, readings: tuple[str, str], metric: str, aggregate: str, _comparison: Comparison
) -> Interval:
    return _comparison.chosen(metric, aggregate)


@st.cache_resource(max_entries=16, show_spinner="Drawing pairs anew …")
def _cell_differences(
    measured: Hashable, metric: str, aggregate: str, _comparison: Comparison
) -> tuple[Interval | None, Interval | None]:
    return _comparison.cells(metric, aggregate)


def best_layer(measured: Hashable, dev: LayerScores, test: LayerScores, metric: str, aggregate: str) -> Chosen | None:
    """The layer & pooling chosen on dev and compared on test; `measured` says what was scored on what, and how."""
    return _best_layer(measured, metric, aggregate, dev, test)


@st.cache_resource(max_entries=32, show_spinner=False)
def _best_layer(
    measured: Hashable, metric: str, aggregate: str, _dev: LayerScores, _test: LayerScores
) -> Chosen | None:
    return best_cell.choose(_dev, _test, metric, aggregate)


@st.cache_resource(max_entries=32, show_spinner=False)
def held(key: str) -> list[Any]:
    """The place of a value that is made in the background: empty, then it holds the value."""
    return []


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
    scores = score_store.kept(key)
    if scores is None:
        raise _NotKeptError
    return scores


@st.cache_resource(show_spinner="Reading the methods …")
def methods() -> dict[str, MethodCard]:
    """Every training method by name; the first look loads torch."""
    return method_cards.read_all()


@st.cache_resource(max_entries=64, show_spinner=False)
def numbers(folder: Path) -> RunNumbers:
    """What a run has measured; it reads on in the file by itself, and anew when there is another one in its place."""
    return RunNumbers(folder)


def travel(run: Run, seed: int, steps: tuple[int, ...], stamp: Hashable) -> tuple[Travel, list[str]] | None:
    """How the probe's sentences moved over some looks of a run, and the sentences; `stamp` changes with the looks."""
    return _travel(run.folder, seed, steps, stamp)


@st.cache_resource(max_entries=16, show_spinner=False)
def _travel(folder: Path, seed: int, steps: tuple[int, ...], stamp: Hashable) -> tuple[Travel, list[str]] | None:
    sentences = recorder.probe_sentences(Run(folder))
    probes = recorder.probes(Run(folder), seed, steps)
    if probes is None or not sentences or probes.shape[1] != len(sentences):
        return None
    return step_maps.travel(probes), sentences


def believed(run: Run, seed: int, step: int, stamp: Hashable, kind: str, places: NDArray[np.float64]) -> Faithfulness:
    """How far the map of one step is to be believed; its kind says how the places were found."""
    return _believed(run.folder, seed, step, stamp, kind, places)


@st.cache_resource(max_entries=128, show_spinner=False)
def _believed(
    folder: Path, seed: int, step: int, stamp: Hashable, kind: str, _places: NDArray[np.float64]
) -> Faithfulness:
    probes = recorder.probes(Run(folder), seed, (step,))
    if probes is None:
        return Faithfulness(float("nan"), float("nan"), 0, 0)
    return finish(step_maps.believed(probes[0], _places))


class _NotKeptError(Exception):
    """Raised instead of returning nothing, since an exception is not cached: the scores may come later."""
