"""Test that the figure of a ranking has a panel for each claim, with a bar through the models that do not differ."""

from itertools import pairwise

import numpy as np
import pytest

from explorer.drawing import style
from explorer.drawing.scores.ranks import ranked
from explorer.evaluating.results.rank_groups import Groups, Ranking
from tests.drawing.made_up import NASTY


def figure(on_these, on_like):
    scores = np.array([80.0, 79.0, 70.0])
    return ranked(Ranking(("A", "B", NASTY[0]), scores, scores - 1, scores + 2, 5, on_these, on_like), "accuracy", 380)


def bars(drawn, panel):
    return [list(trace.y) for trace in drawn.data if trace.xaxis == panel]


BEST_DIFFERS = Groups(np.array([[1, 0.01, 0.01], [0.01, 1, 0.5], [0.01, 0.5, 1]]))
LAST_DIFFERS = Groups(np.array([[1, 0.5, 0.01], [0.5, 1, 0.01], [0.01, 0.01, 1]]))


@pytest.mark.parametrize(
    ("on_these", "colour"), [(BEST_DIFFERS, style.GAIN), (LAST_DIFFERS, style.QUIET)], ids=["clear", "not clear"]
)
def test_groups_of_both_claims_are_drawn_and_only_a_best_model_that_is_clear_is_green(on_these, colour):
    drawn = figure(on_these, LAST_DIFFERS)
    assert bars(drawn, "x3") == [[0, 1], [2]]
    assert bars(drawn, "x2") == ([[0], [1, 2]] if on_these is BEST_DIFFERS else [[0, 1], [2]])
    assert drawn.data[0].marker.color == colour
    titles = [drawn.layout[f"xaxis{number}"].title.text for number in (2, 3)]
    assert titles == ["groups:<br>these<br>tasks", "groups:<br>tasks like<br>these"]
    domains = [drawn.layout[name].domain for name in ("xaxis", "xaxis2", "xaxis3")]
    assert all(one[1] < other[0] for one, other in pairwise(domains))
    assert "<script>" not in "".join(drawn.layout.yaxis.ticktext)


def test_without_the_claim_on_tasks_like_these_scores_have_more_room():
    both, one = figure(BEST_DIFFERS, LAST_DIFFERS), figure(BEST_DIFFERS, None)
    assert {trace.xaxis for trace in one.data} == {"x", "x2"}
    assert one.layout.xaxis.domain[1] > both.layout.xaxis.domain[1]
    assert one.layout.xaxis2.domain[1] == pytest.approx(1)
