"""Test that a bar is a mean or a share, and every point a pair."""

import numpy as np
import pytest

from explorer.data import sample
from explorer.drawing.sentences.pair_figures import packs_side_by_side, shares_side_by_side
from explorer.measuring.sentences.probe_cosines import probed, sentences_of


def test_bars_are_means_and_points_are_all_pairs_of_both_sides():
    packs = sample.probe_packs()
    chance = np.random.default_rng(0)
    sides = {name: probed(packs, chance.normal(size=(len(sentences_of(packs)), 4))) for name in "AB"}
    figure = packs_side_by_side(sides)
    for name, (bars, points) in zip("AB", (figure.data[:2], figure.data[2:]), strict=True):
        assert bars.name == name
        assert list(bars.y) == pytest.approx([sides[name].mean(pack.name) for pack in packs])
        assert list(points.y) == pytest.approx(np.concatenate(sides[name].cosines).tolist())
        assert not any("<b>" in told for told in points.hovertext)


def test_every_bar_is_a_share_in_percent_and_chance_is_a_line():
    shares = {"A": {"negation": 0.125, "number": 1.0}, "B": {"negation": 0.77, "number": 0.0}}
    figure = shares_side_by_side(shares)
    assert {bar.name: dict(zip(bar.x, bar.y, strict=True)) for bar in figure.data} == {
        name: {pack: pytest.approx(100 * share) for pack, share in of_side.items()} for name, of_side in shares.items()
    }
    assert [shape.y0 for shape in figure.layout.shapes] == [50]
