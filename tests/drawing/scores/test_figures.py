"""Test figures of scores: grids, lines, geometry by layer, score against cost, and histograms of cosines."""

from dataclasses import replace

import numpy as np
import pytest
from plotly.colors import sample_colorscale

from explorer.data import sample
from explorer.drawing.scores.costs import MethodMark, RowMark, score_by_cost, score_by_rows
from explorer.drawing.scores.curves import (
    alignment_by_uniformity,
    compared_by_layer,
    drift_by_layer,
    measure_by_layer,
    score_by_layer,
)
from explorer.drawing.scores.distributions import cosine_by_gold, cosines_by_gold, item_gains, neighbours_kept
from explorer.drawing.scores.grid import difference_grid, layer_by_pooling
from explorer.drawing.style import (
    ACCENT,
    COSINE_SCALE,
    DIFFERENCE_SCALE,
    GRID_SCALE,
    MODEL_COLOURS,
    SIDES,
    cosine_bar,
    hover_text,
    text_colours,
)
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, POOLINGS, parse, readings
from explorer.measuring.comparing.comparison import Comparison, not_measured
from explorer.measuring.comparing.gold_bins import gold_bins
from explorer.measuring.geometry.layer_geometry import MEASURES
from explorer.measuring.neighbours.vector_index import Overlap
from explorer.measuring.scores.bootstrap import Interval
from tests.colours import contrast, parts_of
from tests.drawing import made_up
from tests.shown_numbers import difference


@pytest.fixture
def chosen():
    return parse("mean of layer 3", 6)


def chosen_frame(figure):
    (frame,) = (shape for shape in figure.layout.shapes if shape.line.color == ACCENT)
    return frame


def points(figure):
    """The traces that answer clicks: cells with a number, cells without, and last the model default."""
    return [trace for trace in figure.data if trace.type == "scatter"]


def test_every_cell_of_the_grid_holds_its_score_and_its_place_and_the_chosen_one_is_marked(bundled_scores, chosen):
    figure = layer_by_pooling(bundled_scores, "Spearman", "all", chosen)
    *grid, own = (np.array(trace.z, dtype=float) for trace in figure.data if trace.type == "heatmap")
    assert own.tolist() == [[bundled_scores.own_score()]]
    assert np.array_equal(np.concatenate(grid), bundled_scores.table(), equal_nan=True)
    *cells, of_own = points(figure)
    assert set(of_own.customdata) == {len(readings(6))}, "it answers clicks as the cell behind the last"
    answers = [one for trace in cells for one in zip(trace.customdata, trace.x, trace.y, trace.hovertext, strict=True)]
    assert sorted(place for place, *_ in answers) == list(range(len(readings(6))))
    for place, x, y, text in answers:
        reading = readings(6)[place]
        row, column = bundled_scores.place(reading)
        assert (x, round(y - 0.01)) == (column, row)
        assert reading.title in text
    frame = chosen_frame(layer_by_pooling(bundled_scores, "Spearman", "all", chosen))
    assert frame.x0 < 1 < frame.x1
    assert frame.y0 < 3 < frame.y1
    ring = score_by_layer(bundled_scores, "Spearman", "all", chosen).data[-1]
    assert (ring.x[0], ring.y[0]) == (3, bundled_scores.score(chosen))


def test_the_models_own_reading_is_a_row_of_its_own_on_top(bundled_scores, chosen):
    figure = layer_by_pooling(bundled_scores, "Spearman", "all", chosen)
    assert figure.layout.yaxis.ticktext[-1] == "default"
    *_, number = points(figure)
    assert [text for text in number.text if text] == [f"{bundled_scores.own_score():.2f}"]
    assert {figure.layout.yaxis.tickvals[-1]} == set(number.y) == {max(figure.layout.yaxis.tickvals)}
    frame = chosen_frame(layer_by_pooling(bundled_scores, "Spearman", "all", OWN))
    assert frame.y0 < number.y[0] < frame.y1
    assert score_by_layer(bundled_scores, "Spearman", "all", OWN).data
    without = layer_by_pooling(replace(bundled_scores, own=None), "Spearman", "all", chosen)
    assert len(points(without)) == len(points(figure)) - 1
    assert max(without.layout.yaxis.tickvals) < number.y[0]


def test_hovering_tells_every_metric_joined_in_every_way(bundled_scores, chosen):
    cells, *_ = points(layer_by_pooling(bundled_scores, "Spearman", "all", chosen))
    last = cells.hovertext[list(cells.customdata).index(readings(6).index(parse("mean of layer 6", 6)))]
    for metric in ("Spearman", "Pearson"):
        for way in ("all", "mean", "wmean"):
            score = bundled_scores.score(parse("mean of layer 6", 6), metric, way)
            assert f"{metric} ({way}): {score:.2f}" in last


def test_a_cell_without_a_score_says_so_in_the_colour_of_the_page_and_why_on_hover(bundled_scores, chosen):
    lost = bundled_scores.cosines.copy()
    lost[3, 0] = np.nan
    scores = replace(bundled_scores, cosines=lost, precision="bfloat16", own=np.full_like(bundled_scores.own, np.nan))
    figure = layer_by_pooling(scores, "Spearman", "all", chosen)
    scored, unscored, own = points(figure)
    missing = {readings(6).index(parse(title, 6)) for title in ("cls of layer 0", "cls of layer 3")}
    assert (set(unscored.customdata), set(unscored.text)) == (missing, {"n/a"})
    assert unscored.textfont.color is None
    assert "n/a" not in scored.text
    assert set(scored.customdata) | missing == set(range(len(readings(6)))), "every cell can be clicked"
    first, third = unscored.hovertext
    assert "every [CLS] of layer 0 is the same vector" in first
    assert "not measurable in bfloat16" in third
    assert "n/a" in own.text
    assert "not measurable in bfloat16" in own.hovertext[0].replace("<br>", " ")
    frames = [shape for shape in figure.layout.shapes if shape.line.dash == "dot"]
    heights = figure.layout.yaxis.tickvals
    assert [round((one.y0 + one.y1) / 2, 6) for one in frames] == [heights[0], heights[3], heights[-1]]


@pytest.mark.parametrize("scale", [GRID_SCALE, COSINE_SCALE, DIFFERENCE_SCALE], ids=["scores", "cosines", "changes"])
def test_numbers_stand_out_from_every_colour_of_the_scale(scale):
    shares = np.linspace(0, 1, 200)
    stops = scale if isinstance(scale, str) else [list(stop) for stop in scale]
    backgrounds = sample_colorscale(stops, shares.tolist(), colortype="tuple")
    for text, background in zip(text_colours(shares, 0.0, 1.0, scale), backgrounds, strict=True):
        assert contrast(background, parts_of(text)) >= 4.5  # WCAG 2.2, level AA


def test_cosines_are_the_brighter_the_more_similar_and_nothing_else_has_the_colours_of_a_and_b():
    black = (0.0, 0.0, 0.0)
    light = [contrast(parts_of(colour), black) for _, colour in COSINE_SCALE]
    assert light == sorted(light)
    others = {
        *MODEL_COLOURS,
        *(one.colour for one in POOLINGS.values() if one.colour),
        ACCENT,
        *(shade for _, shade in COSINE_SCALE),
    }
    assert not {*SIDES} & others
    for side in SIDES:
        assert all(np.abs(np.subtract(parts_of(side), parts_of(other))).max() > 0.12 for other in others), side


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"], ids=["light", "dark"])
def test_lines_stand_out_from_both_backgrounds(background):
    for colour in (*MODEL_COLOURS, *SIDES, ACCENT):
        assert contrast(parts_of(colour), parts_of(background)) >= 2.9, colour


def test_the_legend_of_cosines_marks_random_pairs_without_covering_another_label():
    bar = cosine_bar({"A": 0.06, "B": 0.52})
    assert dict(zip(bar["tickvals"], bar["ticktext"], strict=True)) == {
        -0.2: "−0.2", 1.0: "1.0", 0.06: "0.06 random A", 0.52: "0.52 random B",
    }  # fmt: skip
    assert cosine_bar()["tickvals"] == [-0.2, 0.0, 0.5, 1.0]
    assert cosine_bar({"A": float("nan")})["tickvals"] == [-0.2, 0.0, 0.5, 1.0], "missing is not marked"


def test_a_line_goes_through_the_layers_and_not_on_to_the_pairs(bundled_scores, chosen):
    figure = score_by_layer(bundled_scores, "Pearson", "mean", chosen)
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines] == ["cls", "mean", "max"]
    for column, line in enumerate(lines):
        assert list(line.x) == list(range(7))
        wanted = bundled_scores.table("Pearson", "mean")[:7, column]
        assert np.array_equal(np.array(line.y, dtype=float), wanted, equal_nan=True)


def test_every_pair_is_a_point_whose_sentences_are_text_and_every_box_holds_its_fifth(bundled_scores, chosen):
    points, *boxes = cosine_by_gold(bundled_scores, sample.pairs(), chosen).data
    assert len(points.x) == len(points.text) == 240
    assert np.allclose(points.y, bundled_scores.cosines[bundled_scores.place(chosen)])
    assert sum(len(box.y) for box in boxes) == 240
    assert sorted(boxes[0].y) == pytest.approx(sorted(points.y[points.x < 1]))
    assert hover_text("<b>bold</b> & <script>") == "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;script&gt;"
    assert hover_text("word " * 100).count("<br>") >= 2
    assert len(hover_text("x" * 10_000)) < 400
    assert hover_text("she said \"no\" and 'yes'") == "she said \"no\" and 'yes'", "plotly knows no &quot;"


LAST = parse("mean of layer 6", 6)


@pytest.fixture
def comparison(bundled_scores):
    noise = np.random.default_rng(0).normal(size=bundled_scores.cosines.shape).astype(np.float32) * 0.1
    return Comparison(
        bundled_scores, replace(bundled_scores, cosines=bundled_scores.cosines + noise), LAST, LAST, resamples=50
    )


def test_every_cell_holds_its_difference_and_only_sure_ones_are_filled(comparison):
    grid = comparison.grid()
    assert 0 < grid.sure.sum() < grid.sure.size
    figure = difference_grid(comparison, "Spearman", "all", grid)
    filled = np.concatenate([np.array(trace.z, dtype=float) for trace in figure.data if trace.type == "heatmap"])
    assert np.array_equal(np.isfinite(filled), grid.sure)
    cells = {}
    for trace in figure.data:
        if trace.type == "scatter":
            cells |= dict(zip(trace.customdata, zip(trace.text, trace.hovertext, strict=True), strict=True))
    assert len(cells) == grid.difference.size
    for place, reading in enumerate(readings(6)):
        row, column = comparison.one.place(reading)
        scores = [side.table()[row, column] for side in (comparison.one, comparison.other)]
        assert cells[place][0] == ("n/a" if np.isnan(scores).any() else difference(*scores))
        assert reading.title in cells[place][1]
    hollow = [shape for shape in figure.layout.shapes if shape.line.width == 1 and not shape.line.dash]
    assert len(hollow) == (np.isfinite(grid.difference) & ~grid.sure).sum()


def test_a_cell_that_a_side_cannot_measure_has_no_number_and_says_why(comparison):
    cosines = comparison.other.cosines.copy()
    cosines[3, 0] = np.nan
    lost = replace(comparison, other=replace(comparison.other, cosines=cosines, precision="bfloat16"))
    grid = lost.grid()
    assert np.isnan([side[3, 0] for side in (grid.difference, grid.low, grid.high)]).all()
    place = readings(6).index(parse("cls of layer 3", 6))
    for figure in (
        difference_grid(lost, "Spearman", "all", grid),
        layer_by_pooling(lost.other, "Spearman", "all", LAST),
    ):
        cells = [trace for trace in figure.data if trace.type == "scatter" and place in trace.customdata]
        at = list(cells[0].customdata).index(place)
        assert cells[0].text[at] == "n/a"
        assert "not measurable in bfloat16" in cells[0].hovertext[at]
    assert not_measured(lost) == ("B: Not measurable in bfloat16: cls of layer 3. Switch precision to float32.",)


@pytest.mark.parametrize("far", [0.0, 0.6])
def test_their_own_readings_stand_above_and_answer_as_the_last_cell(comparison, far):
    noise = np.random.default_rng(1).normal(size=len(comparison.one.gold)).astype(np.float32) * far
    moved = replace(comparison, other=replace(comparison.other, own=comparison.one.own + noise))
    differences = moved.differences()
    assert bool(differences.own.sure) == (far > 0), "the premise"
    about = "Spearman", "all", differences.grid
    plain, figure = (difference_grid(moved, *about, own) for own in (None, differences.own))
    assert figure.layout.yaxis.ticktext == (*plain.layout.yaxis.ticktext, "default")
    own = figure.data[-1]
    assert set(own.customdata) == {differences.grid.difference.size}
    assert difference(moved.one.own_score(), moved.other.own_score()) in own.text
    assert "model default" in own.hovertext[0]
    heat = [sum(trace.type == "heatmap" for trace in one.data) for one in (plain, figure)]
    assert heat[1] - heat[0] == (far > 0), "filled only where it is sure"
    chosen = replace(moved, one_reading=OWN, other_reading=OWN)
    framed = difference_grid(chosen, *about, differences.own).layout.shapes
    assert [shape.y1 for shape in framed if shape.line.width == 4] == [own.y[0] + 0.48]


def test_lines_are_the_scores_and_bars_the_intervals(comparison):
    grid = comparison.grid()
    one, other, between = compared_by_layer(comparison, "max", "Spearman", "all", grid).data
    column = GRID_POOLINGS.index("max")
    assert np.allclose(one.y, comparison.one.table()[:7, column], equal_nan=True)
    assert np.allclose(other.y, comparison.other.table()[:7, column], equal_nan=True)
    assert np.allclose(between.y + np.array(between.error_y.array), grid.high[:7, column], equal_nan=True)
    for text, *scores in zip(between.customdata, one.y, other.y, strict=True):
        assert text == ("none" if np.isnan(scores).any() else difference(*scores))
    assert len(compared_by_layer(comparison, "max", "Spearman", "all", None).data) == 2


BARS = Interval(np.array([0.0, 1, -2]), np.array([-1.0, 0.5, -3]), np.array([1.0, 1.5, -1]))


@pytest.fixture
def looked():
    return made_up.geometry()


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_lines_are_the_measure_of_both(looked, measure):
    one, other = measure_by_layer(looked, measure).data
    assert list(one.y) == [measure.of(cloud) for cloud in looked.layers[0]]
    assert np.array_equal(other.y, [measure.of(cloud) for cloud in looked.layers[1]], equal_nan=True)
    assert list(one.x) == [0, 1, 2]
    (alone,) = measure_by_layer(replace(looked, layers=looked.layers[:1]), measure).data
    assert (alone.y, alone.name) == (one.y, "A")


def test_the_arrow_leads_from_the_reading_of_a_to_that_of_b_and_never_to_nowhere(looked):
    figure = alignment_by_uniformity(looked)
    (arrow,) = figure.layout.annotations
    assert (arrow.ax, arrow.ay) == (looked.chosen[0].uniformity, looked.chosen[0].alignment)
    assert (arrow.x, arrow.y) == (looked.chosen[1].uniformity, looked.chosen[1].alignment)
    assert [trace.name for trace in figure.data] == ["A", "A: mean of layer 2", "B", f"B: {OWN.title}"]
    assert list(figure.data[0].text) == ["0", "1", "2"]
    one, other = looked.chosen
    stays = replace(looked, chosen=(one, one))
    unknown = replace(looked, chosen=(one, replace(other, alignment=float("nan"))))
    for which in (stays, unknown, replace(looked, layers=looked.layers[:1], chosen=(one,), alike=(), shift=())):
        assert not alignment_by_uniformity(which).layout.annotations


def test_drift_has_a_panel_for_all_that_is_known(looked):
    alike, shift, between = drift_by_layer(looked, BARS).data
    assert list(alike.y) == list(looked.alike)
    assert list(shift.y) == list(looked.shift)
    assert list(between.y + np.array(between.error_y.array)) == list(BARS.high)
    assert len(drift_by_layer(looked, None).data) == 2
    wide = replace(looked, shift=(float("nan"),) * 3)
    assert len(drift_by_layer(wide, BARS).data) == 2, "no shift between other widths"


DEAR = MethodMark("<b>dear</b>", 90.0, 3.0, 2.0, 4.5, "73.00", "+3.00 (+2.00 to +4.50)")
MARKS = [MethodMark("cheap", 10.0, 1.0, -0.5, 2.0, "71.00 ± 0.10", "+1.00 (−0.50 to +2.00)"), DEAR]


def test_each_row_is_a_marker_with_its_interval_and_label_and_the_base_a_line_at_0():
    figure = score_by_cost(MARKS, "Spearman")
    assert [(trace.x[0], trace.y[0]) for trace in figure.data] == [(10.0, 1.0), (90.0, 3.0)]
    assert [(trace.error_y.arrayminus[0], trace.error_y.array[0]) for trace in figure.data] == [(1.5, 1.0), (1.0, 1.5)]
    assert len({trace.marker.symbol for trace in figure.data}) == 2, "rows differ by more than colour"
    (line,) = score_by_cost(MARKS, "Spearman").layout.shapes
    assert (line.y0, line.y1) == (0, 0)
    trace = score_by_cost(MARKS, "Spearman").data[1]
    assert "<b>" not in trace.name
    assert "&lt;b&gt;dear" in trace.hovertemplate
    assert "+3.00 (+2.00 to +4.50)" in trace.hovertemplate


@pytest.mark.parametrize(("seconds", "kind"), [(90.0, "linear"), (900.0, "log")])
def test_times_that_are_far_from_one_another_are_on_a_logarithmic_axis(seconds, kind):
    figure = score_by_cost([MARKS[0], replace(DEAR, seconds=seconds)], "Spearman")
    assert figure.layout.xaxis.type == kind


def test_numbers_of_rows_are_on_a_logarithmic_axis_whose_labels_do_not_overlap():
    one, other = (
        [RowMark(rows, share, 80 + at, 79.5 + at, 81 + at, "<b>") for at, (rows, share) in enumerate(points)]
        for points in ([(700, "25 %"), (2800, "100 %")], [(1300, "50 %"), (2600, "100 %")])
    )
    figure = score_by_rows({"a": one, "b": other}, {"base": 79.0}, "Spearman")
    assert [list(trace.x) for trace in figure.data] == [[700, 2800], [1300, 2600]]
    assert list(figure.data[0].error_y.array) == [1, 1]
    assert list(figure.data[0].error_y.arrayminus) == [0.5, 0.5]
    assert list(figure.data[0].text) == ["&lt;b&gt;"] * 2
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["2,800", "1,300", "700"], "2,600 is too near to 2,800"
    assert [line.y0 for line in figure.layout.shapes] == [79]
    alone = score_by_rows({"a": one}, {}, "Spearman").layout.xaxis
    assert list(alone.ticktext) == ["2,800<br>100 %", "700<br>25 %"]


@pytest.fixture
def found():
    made = made_up.findings()
    return made.comparison.gold_bins(made.pairs)


def test_a_row_for_every_fifth_with_the_lowest_at_the_bottom(found):
    figure = cosines_by_gold(found)
    told = [label.text for label in figure.layout.annotations]
    labels = [f"gold score {label}: {pairs} pairs" for label, pairs in zip(found.labels, found.pairs, strict=True)]
    assert told == labels[::-1]
    assert told[-1].startswith("gold score 0 to below 1")
    outlines = [trace for trace in figure.data if trace.line.shape == "hvh"]
    assert [trace.name for trace in outlines] == ["B", "A"] * 5, "A's line is drawn over B's filled steps"
    assert [trace.legendrank for trace in outlines[:2]] == [1, 0]
    assert sum(trace.showlegend for trace in outlines) == 2
    for place, trace in enumerate(outlines):
        at = 4 - place // 2, 1 - place % 2  # band, side
        assert trace.yaxis == ("y" if place < 2 else f"y{place // 2 + 1}")
        assert list(trace.y) == [0, *found.shares[at], 0]
        assert np.array(trace.x[1:-1]) == pytest.approx((found.edges[1:] + found.edges[:-1]) / 2)
        fullest = int(found.counts[at].argmax())
        assert f"{found.counts[at][fullest]} of {found.pairs[at[0]]} pairs" in trace.hovertext[fullest + 1]
        assert trace.hoverinfo[0] == trace.hoverinfo[-1] == "skip"


def test_a_tick_stands_at_every_median(found):
    ticks = [trace for trace in cosines_by_gold(found).data if trace.line.dash == "dot"]
    medians = found.medians[::-1, ::-1].ravel().tolist()
    assert [trace.x for trace in ticks] == [(median, median) for median in medians]


def test_grades_without_pairs_say_so_and_one_side_stands_alone():
    found = gold_bins(np.array([0.0, 1, 1]), [np.array([0.1, 0.5, 0.7])])
    figure = cosines_by_gold(found)
    told = [label.text for label in figure.layout.annotations]
    empty = [f"gold score {label}: no pairs" for label in found.labels[3:0:-1]]
    assert told == ["gold score 0.8 to 1: 2 pairs", *empty, told[-1]]
    assert told[-1] == "gold score 0 to below 0.2: 1 pair"
    assert {trace.name for trace in figure.data if trace.showlegend} == {"A"}
    assert len(figure.data) == 4


def test_every_number_of_kept_neighbours_has_its_bar_and_the_line_stands_at_the_mean():
    kept = [0, 2, 2, 3, 4, 4, 4]
    bars = neighbours_kept(Overlap(np.array(kept), 4)).data[0]
    assert list(bars.x) == [0, 1, 2, 3, 4]
    assert list(bars.y) == [kept.count(number) for number in range(5)]
    for number, (share, jaccard) in zip(range(5), bars.customdata, strict=True):
        assert share == pytest.approx(100 * kept.count(number) / 7)
        assert jaccard == pytest.approx(number / (8 - number))
    figure = neighbours_kept(Overlap(np.array([1, 2, 3, 3]), 5))
    assert figure.layout.shapes[0].x0 == pytest.approx(2.25)
    assert figure.layout.annotations[0].text == "mean 2.2"


def test_bars_of_gains_count_losses_left_and_gains_right_and_leave_out_what_did_not_change():
    gains = np.array([-50.0, -50, -3, 0, 0, 0, 1e-12, 7, 12.5, np.nan, 100])
    (bars,) = item_gains(gains, "nDCG@10 × 100, after − before", "query").data
    x, y = np.array(bars.x), np.array(bars.y)
    assert y.sum() == 6
    assert y[x < 0].sum() == 3
    assert y[x > 0].sum() == 3
    assert len(set(bars.marker.color[: len(x) // 2])) == len(set(bars.marker.color[len(x) // 2 :])) == 1
    half = 50.0  # of the bins, 10 wide, from -100 to 100
    for gain in (-50.0, 7.0, 12.5, 100.0):
        inside = (x - 5 <= gain) & ((gain < x + 5) | (gain == 2 * half))
        assert y[inside].sum() >= 1


def test_gains_of_no_item_make_no_bars():
    (bars,) = item_gains(np.zeros(4), "accuracy", "row").data
    assert sum(bars.y) == 0
