"""Test the figure of a pair by layer: cosines, and bars that sum to the last one."""

import numpy as np
import pytest

from explorer.drawing.sentences.pair_curves import cosines_and_contributions
from explorer.measuring.sentences.pair_layers import pair_layers
from tests.tiny_models import LAYERS, SENTENCES


def test_lines_are_cosines_and_bars_sum_to_their_last(tiny_encoder):
    pair = pair_layers(tiny_encoder, *SENTENCES[:2])
    figure = cosines_and_contributions(pair, ("cls", "mean"))
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert [trace.name for trace in lines] == [trace.name for trace in bars] == ["cls", "mean"]
    for column, (line, bar) in enumerate(zip(lines, bars, strict=True)):
        assert list(line.x) == list(bar.x) == list(range(LAYERS + 1))
        assert np.array(line.y) == pytest.approx(pair.cosines[:, column])
        assert sum(bar.y) == pytest.approx(line.y[-1])
        assert bar.marker.color == line.line.color
