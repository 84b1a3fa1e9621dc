"""Test that vectors that ship are shown only for the settings under which they were made."""

import pytest

from explorer.data.graded import probes
from explorer.encoding.locate import model_names
from explorer.encoding.read.readings import OWN
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences.probes import sentences_of
from explorer.ui.access import vectors


@pytest.mark.parametrize(
    ("settings", "shipped"),
    [(Settings(), True), (Settings("bfloat16"), False), (Settings(max_length=9), False)],
)
def test_shipped_vectors_are_those_of_float32_and_of_all_tokens(monkeypatch, settings, shipped):
    monkeypatch.setattr(vectors.remembered, "made", lambda key, title, make: None)
    found = vectors.of_reading(model_names.find("run:example"), sentences_of(probes.packs()), OWN, settings)
    assert (found is not None) is shipped
