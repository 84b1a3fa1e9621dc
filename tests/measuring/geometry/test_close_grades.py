"""Test the gold score from which pairs count as similar: 4 of 5, on any scale."""

import pytest

from explorer.data import sample
from explorer.measuring.geometry.close_grades import close_from, scale


@pytest.mark.parametrize(
    ("gold", "ends", "least"),
    [
        ([0, 5, 2.5], (0, 5), 4),
        ([1, 5], (0, 5), 4),  # SICK's grades start at 1; papers take its 4s all the same
        ([0.2, 1], (0, 1), 0.8),
        ([3, 8.5], (0, 10), 8),
        ([0, 100], (0, 100), 80),
        ([0, 250], (0, 250), 200),
        ([-1, 1], (-1, 1), 0.6),
        ([-0.2, 0.9], (-1, 1), 0.6),
    ],
)
def test_it_is_four_fifths_of_the_scale(gold, ends, least):
    assert scale(gold) == ends
    assert close_from(gold) == least, "exactly, or grades that are just as high would be missed"


def test_the_sample_has_close_pairs():
    gold = sample.pairs().gold
    assert close_from(gold) == 4
    assert 0 < sum(grade >= 4 for grade in gold) < len(gold)
