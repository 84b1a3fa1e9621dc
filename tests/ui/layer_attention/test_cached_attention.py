"""Test that what was measured for two sentences is never shown for two others."""

import pytest

from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import sentence_pairs
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import cached
from explorer.ui.layer_attention import pair_view, pooler_view

FOUND, SETTINGS = Found("tiny", None, "a digest of this test"), Settings("float32", "cpu")
# Streamlit joins the texts of a key, each after its type and name, so that a text can move across a border
PAIRS = [
    ("x", "ystr:secondstr:z"),
    ("xstr:secondstr:y", "z"),
    ("xstr:y", "z"),
    ("x", "ystr:z"),
    ("", "xstr:"),
    ("\ud800", ""),
]


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    """In place of each measurement, the sentences that it is of."""
    for name in ("encoder", "attending"):
        monkeypatch.setattr(cached, name, lambda *_: None)
    monkeypatch.setattr(pooler_view.attention_weights, "layer_weights", lambda _, sentences, most: tuple(sentences))
    monkeypatch.setattr(pair_view.sentence_pair, "pair_layers", lambda _, first, second, most: (first, second))
    monkeypatch.setattr(sentence_pairs, "self_attention", lambda _, first, second, way: (first, second))


@pytest.mark.parametrize(
    "measure",
    [
        lambda pair: pooler_view.layer_weights(FOUND, pair, SETTINGS),
        lambda pair: pair_view.pair_layers(FOUND, *pair, SETTINGS),
        lambda pair: pair_view.self_attention(FOUND, *pair, "one input"),
    ],
)
def test_no_sentences_have_the_measurement_of_others(measure):
    assert [measure(pair) for pair in PAIRS] == PAIRS
