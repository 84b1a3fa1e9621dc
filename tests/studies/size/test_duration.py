"""Test the estimate of a size-quality picture against the picture itself, both by a clock that counts their work."""

from types import SimpleNamespace

import pytest

from explorer.data import sample
from explorer.data.text_sets import Sentences
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.progress import finish
from explorer.studies.size import duration, picture, weight_formats
from explorer.studies.size.points import SizeOptions
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

EACH = SizeOptions(poolings=("model default", "mean"), dimensions=(32, 16, 8), stored=("float32", "int8"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return encoder_of(save_tiny("bert", tmp_path_factory.mktemp("tiny") / "bert"))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return encoder_of(save_tiny("bert", tmp_path_factory.mktemp("tiny") / "other", seed=1))


@pytest.fixture(autouse=True)
def few_are_tried(monkeypatch):
    """Two fifths of the texts, as of the sample with a text of 400 sentences."""
    monkeypatch.setattr(duration, "TRIED", 64)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a text that is encoded, a map that is fitted, and a size that is scored or compared."""
    now = [0.0]

    def costs(owner, name, seconds):
        whole = getattr(owner, name)

        def slowly(*given, **how):
            now[0] += seconds(*given)
            return whole(*given, **how)

        monkeypatch.setattr(owner, name, slowly)

    monkeypatch.setattr(duration, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(picture, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    costs(weight_formats.InTorch, "cells", lambda form, texts: 0.05 * len({*texts}))
    costs(weight_formats, "batched_vectors", lambda encoder, texts: 0.004 * len(texts) * (1 + picture.depth(encoder)))
    costs(picture, "fitted", lambda *_: 0.7)
    costs(PairJudge, "items", lambda *_: 0.11)
    costs(PairJudge, "difference", lambda *_: 0.3)
    return now


@pytest.mark.product(1)
@pytest.mark.parametrize("options", [EACH, SizeOptions(layers=(1,), poolings=("mean",), stored=("bits",))])
@pytest.mark.parametrize("several", [False, True])
def test_the_estimate_is_the_time_of_the_picture_after_some_of_the_work(encoder, other, clock, options, several):
    pairs, text = sample.dev().taken(range(30), "few"), Sentences("text", tuple(sample.sentences().texts[:100]))
    about, words = (pairs, text, options, [other] * several), text if several else None
    estimated = finish(duration.seconds_of(encoder, *about, words=words))
    tried, took = clock[0], finish(picture.picture(encoder, *about, words=words)).seconds
    assert tried < took
    assert estimated == pytest.approx(took, rel=0.15)
