import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.drawing.scores import run_figures
from explorer.drawing.scores.run_figures import alignment_and_uniformity, score_by_step
from explorer.drawing.style import ACCENT
from explorer.measuring.scores.bootstrap import Interval
from explorer.run_folder import Evaluation, TrainingStep


def look(number, step, dev, best=False, **more):
    return Evaluation(number, number * 10, step, dev=dev, random_pairs=0.5, best=best, **more)


def update(number, step, loss, **more):
    return TrainingStep(number, number * 10, step, loss=loss, smooth=loss / 2, **more)


ONE = [look(1, 0, 60.0), look(1, 2, 63.5, best=True), look(1, 4, 62.0), update(1, 1, 3.0), update(1, 2, 2.0)]
TWO = [*ONE, look(2, 0, 60.0), look(2, 2, 61.0, best=True), update(2, 1, 4.0)]


def named(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def test_the_score_of_every_look_stands_at_its_step_and_one_without_a_score_is_a_gap():
    line = named(run_figures.dev_scores(ONE, 60.0), "tuned")
    assert list(zip(line.x, line.y, strict=True)) == [(0, 60.0), (2, 63.5), (4, 62.0)]
    line = named(run_figures.dev_scores([look(1, 0, 60.0), look(1, 2, None), look(1, 4, 61.0)], None), "tuned")
    assert list(line.y) == [60.0, None, 61.0]
    assert not line.connectgaps


def test_the_base_is_a_dashed_line_and_under_the_trained_layer_and_pooling_a_dotted_one():
    figure = run_figures.dev_scores(ONE, 60.04)
    (line,) = figure.layout.shapes
    assert (line.y0, line.y1, line.line.dash) == (60.04, 60.04, "dash")
    assert [note.text for note in figure.layout.annotations] == ["base, model default 60.0"]
    figure = run_figures.dev_scores(ONE, 60.04, same_reading=55.0)
    assert [(line.y0, line.line.dash) for line in figure.layout.shapes] == [(60.04, "dash"), (55.0, "dot")]
    assert len(run_figures.dev_scores(ONE, 60.04, same_reading=60.04).layout.shapes) == 1, "the same twice is one line"
    figure = run_figures.dev_scores(ONE, None)
    assert not figure.layout.shapes
    assert not figure.layout.annotations


def test_the_best_step_of_each_seed_is_marked_and_one_below_the_base_says_so():
    stars = named(run_figures.dev_scores(TWO, 60.0), "best checkpoint")
    assert list(zip(stars.x, stars.y, strict=True)) == [(2, 63.5), (2, 61.0)]
    assert stars.marker.color == ACCENT
    figure = run_figures.dev_scores(TWO, 62.0)
    assert list(named(figure, "best checkpoint").y) == [63.5]
    below = named(figure, "best checkpoint, below the base")
    assert (list(below.y), below.marker.symbol) == ([61.0], "star-open")


def test_stages_are_parted_by_a_gap_and_a_named_line_and_each_has_its_best_step():
    lines = [look(1, 0, 60.0, stage=1), look(1, 2, 63.0, best=True, stage=1), look(1, 4, 62.0, stage=1),
             look(1, 6, 64.0, best=True, stage=2), look(1, 8, 63.0, stage=2),
             update(1, 4, 9.0, stage=1), update(1, 5, 1.0, stage=2)]  # fmt: skip
    figure = run_figures.dev_scores(lines, None)
    line = named(figure, "tuned")
    assert list(zip(line.x, line.y, strict=True)) == [
        (0, 60.0), (2, 63.0), (4, 62.0), (None, None), (6, 64.0), (8, 63.0),
    ]  # fmt: skip
    assert not line.connectgaps
    assert list(named(figure, "best checkpoint").x) == [2, 6]
    for drawn in (figure, run_figures.losses(lines), run_figures.geometry(lines)):
        assert {(shape.x0, shape.x1) for shape in drawn.layout.shapes} == {(4.5, 4.5)}
        assert [note.text for note in drawn.layout.annotations][-1] == "stage 2"
    assert list(run_figures.losses(lines).data[0].y) == [9.0, None, 1.0]


def test_the_loss_is_drawn_faintly_as_it_is_and_held_out_accuracy_where_it_is_measured():
    raw, smooth = run_figures.losses(ONE).data
    assert list(raw.y) == [3.0, 2.0]
    assert list(smooth.y) == [1.5, 1.0]
    assert raw.opacity < 0.5
    assert smooth.opacity is None
    lines = [replace(line, held_out=75.0) if isinstance(line, Evaluation) else line for line in ONE]
    drawn = next(trace for trace in run_figures.dev_scores(lines, None).data if trace.line.dash == "dashdot")
    assert set(drawn.y) == {75.0}
    assert drawn.name.startswith("dash-dotted: score of held-out rows")


@pytest.mark.parametrize(
    ("chosen_by", "told"),
    [("both", "mean of dev score and held-out rows"), ("held-out rows", "score of held-out rows")],
)
def test_the_legend_says_what_the_star_was_chosen_by_if_held_out_rows_took_part(chosen_by, told):
    def criterion(line):
        return (line.dev + 75.0) / 2 if chosen_by == "both" else 75.0

    lines = [
        replace(line, held_out=75.0, criterion=criterion(line)) if isinstance(line, Evaluation) else line
        for line in ONE
    ]
    stars = named(run_figures.dev_scores(lines, None), f"best checkpoint: highest {told}")
    assert stars.marker.symbol == "star"


def test_the_mean_score_of_every_layer_is_drawn_dotted_where_it_chooses():
    lines = [replace(line, every_layer=70.0, criterion=70.0) if isinstance(line, Evaluation) else line for line in ONE]
    figure = run_figures.dev_scores(lines, None)
    assert set(named(figure, "dotted: mean of the dev scores after every layer").y) == {70.0}
    assert named(figure, "best checkpoint: highest mean of dev scores after every layer").marker.symbol == "star"


def test_each_seed_has_one_colour_in_every_figure_and_then_the_dashes_differ():
    dev, loss = run_figures.dev_scores(TWO, 60.0), run_figures.losses(TWO)
    for seed in (10, 20):
        assert named(dev, f"seed {seed}").line.color == named(loss, f"seed {seed}").line.color
    assert named(dev, "seed 10").line.color != named(dev, "seed 20").line.color
    count = len(run_figures.SEED_COLOURS) + 1
    figure = run_figures.dev_scores([look(number, 0, 1.0) for number in range(1, count + 1)], None)
    assert len({(trace.line.color, trace.line.dash) for trace in figure.data}) == count


@pytest.mark.parametrize(("total", "end"), [(0, 4), (4, 4), (6, 6), (100_000, 8)])
def test_the_axis_of_steps_goes_on_towards_the_end_of_the_run_without_squeezing_what_is_there(total, end):
    others = [draw(ONE, total) for draw in (run_figures.losses, run_figures.geometry)]
    for figure in (run_figures.dev_scores(ONE, 60.0, total), *others):
        assert figure.layout.xaxis.range == pytest.approx((-0.02 * end, 1.02 * end))


def test_the_geometry_shows_what_was_measured_and_leaves_out_the_rest():
    lines = [update(1, 1, 3.0, positive=0.9, negative=0.1), look(1, 2, 60.0, alignment=0.2, uniformity=-1.5)]
    drawn = {trace.name: list(trace.y) for trace in run_figures.geometry(lines).data}
    assert drawn == {"positive pairs": [0.9], "random pairs": [0.1], "alignment": [0.2], "uniformity": [-1.5]}
    assert all(not trace.x for trace in run_figures.geometry([update(1, 1, 3.0), look(1, 2, 60.0)]).data)


def test_a_redrawing_keeps_the_zoom_and_nothing_measured_yet_is_an_empty_figure():
    for draw in (run_figures.losses, run_figures.geometry):
        assert draw(ONE).layout.uirevision == draw(TWO).layout.uirevision == "kept"
    for figure in (run_figures.dev_scores([], None), run_figures.losses([]), run_figures.geometry([])):
        assert json.loads(figure.to_json())["layout"]["height"]


LOOKS = [
    Evaluation(1, 1, 0, alignment=0.5, uniformity=-1.0),
    Evaluation(1, 1, 4, uniformity=-1.5),  # no pair was alike there
    Evaluation(1, 1, 8, alignment=0.3, uniformity=-2.0),
]


def test_the_way_has_the_looks_that_are_known():
    figure = alignment_and_uniformity(LOOKS, 2)
    assert list(figure.data[0].customdata) == [0, 8]
    assert (figure.data[1].x, figure.data[1].y) == ((-2.0,), (0.3,))
    assert len(alignment_and_uniformity(LOOKS, 1).data) == 1


def interval(*numbers):
    return Interval(*(np.asarray(number, dtype=np.float64) for number in numbers))


def test_a_reading_over_the_steps_has_a_band_from_its_first_score_and_a_gap_where_it_has_none():
    nan = float("nan")
    since = [interval(0, 0, 0), interval(nan, nan, nan), interval(3, 1, 4)]
    high, low, line, star = score_by_step((0, 4, 8), [50.0, nan, 53.0], since, 2, "Spearman", 300).data
    assert list(high.y) == [50, None, 54]
    assert list(low.y) == [50, None, 51]
    assert list(line.y) == [50, None, 53]
    assert "+3.00 since step 0<br>95 % CI: +1.00 to +4.00" in line.customdata[2]
    assert (star.x, star.y) == ((8,), (53.0,))
    figure = score_by_step((0, 4, 8), [50.0, nan, 53.0], since, 1, "Spearman", 300)
    assert len(figure.data) == 3
    assert "no correlation" in figure.layout.annotations[0].text
