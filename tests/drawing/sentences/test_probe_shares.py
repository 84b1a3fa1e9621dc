import pytest

from explorer.drawing.sentences.probe_shares import shares_side_by_side


def test_every_bar_is_a_share_in_percent_and_chance_is_a_line():
    shares = {"A": {"negation": 0.125, "number": 1.0}, "B": {"negation": 0.77, "number": 0.0}}
    figure = shares_side_by_side(shares)
    assert {bar.name: dict(zip(bar.x, bar.y, strict=True)) for bar in figure.data} == {
        name: {pack: pytest.approx(100 * share) for pack, share in of_side.items()} for name, of_side in shares.items()
    }
    assert [shape.y0 for shape in figure.layout.shapes] == [50]
