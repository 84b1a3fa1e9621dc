"""Test figures in the making: plotly's own calls, one by one, give the same figure."""

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from explorer.drawing.scores.costs import TICKS, cost_axis
from explorer.drawing.sentences.sentence_maps import segments
from explorer.drawing.style import ABOVE, MARGIN, Draft

LINE = {"color": "#123456", "width": 2}


def parts(figure: go.Figure) -> dict:
    """The figure without the template that plotly adds."""
    told = figure.to_plotly_json()
    told["layout"].pop("template", None)
    return told


def laid_out(figure: go.Figure, **layout) -> dict:
    return parts(figure.update_layout(height=300, margin=MARGIN, hovermode="closest", legend=ABOVE, **layout))


def assert_same(one, other):
    """Equal, with numbers to a rounding error."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one == (pytest.approx(other) if isinstance(one, float) else other)


def test_one_panel_is_the_figure_of_plotlys_own_calls():
    draft = Draft()
    draft.add("scatter", x=[0, 1], y=[2, 3], mode="lines", line=LINE)
    draft.add("bar", x=[0, 1], y=[2, 3])
    draft.line(y=2, **LINE)
    draft.line(x=1, **LINE)
    draft.shape(type="rect", x0=0, x1=1, y0=2, y1=3)
    draft.note("middle", x=0.5, y=2.5)
    draft.note("there", x=1, y=3, showarrow=True)
    draft.x_axes(title="layer", zeroline=False)
    draft.y_axes(range=[0, 5])

    figure = go.Figure()
    figure.add_scatter(x=[0, 1], y=[2, 3], mode="lines", line=LINE)
    figure.add_bar(x=[0, 1], y=[2, 3])
    figure.add_hline(y=2, line=LINE)
    figure.add_vline(x=1, line=LINE)
    figure.add_shape(type="rect", x0=0, x1=1, y0=2, y1=3)
    figure.add_annotation(text="middle", x=0.5, y=2.5, showarrow=False)
    figure.add_annotation(text="there", x=1, y=3, showarrow=True)
    figure.update_xaxes(title="layer", zeroline=False)
    figure.update_yaxes(range=[0, 5])
    assert_same(parts(draft.figure(300)), laid_out(figure))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("rows", "cols"), [(3, 1), (1, 2), (2, 3)])
def test_panels_are_where_plotly_puts_them(rows, cols, shared):
    titles = [f"panel {place}" for place in range(rows * cols - 1)]
    draft = Draft(rows, cols, down=0.12, across=0.07, shared=shared, titles=titles)
    figure = make_subplots(
        rows=rows, cols=cols, vertical_spacing=0.12, horizontal_spacing=0.07, shared_xaxes=shared, subplot_titles=titles
    )
    for row in range(1, rows + 1):
        for col in range(1, cols + 1):
            draft.add("scatter", x=[0, 1], y=[row, col], row=row, col=col)
            figure.add_scatter(x=[0, 1], y=[row, col], row=row, col=col)
    draft.line(y=1, row=rows, col=cols, **LINE)
    figure.add_hline(y=1, line=LINE, row=rows, col=cols)
    draft.x_axes(zeroline=False)
    figure.update_xaxes(zeroline=False)
    draft.y_axes(title="last row", row=rows)
    figure.update_yaxes(title="last row", row=rows)
    draft.y_axes(nticks=3, col=1)
    figure.update_yaxes(nticks=3, col=1)
    assert_same(parts(draft.figure(300)), laid_out(figure))


def test_two_figures_of_one_draft_share_nothing_and_margins_are_changed_one_by_one():
    layout = Draft().figure(300, margin={"t": 52}, legend={"y": 1.08}, barmode="overlay").layout
    assert layout.margin.to_plotly_json() == MARGIN | {"t": 52}
    assert layout.legend.to_plotly_json() == ABOVE | {"y": 1.08}
    assert (layout.height, layout.barmode) == (300, "overlay")
    draft = Draft()
    draft.figure(300).update_layout(margin={"t": 99}, legend={"y": 5})
    assert (draft.figure(300).layout.margin.t, draft.figure(300).layout.legend.y) == (MARGIN["t"], ABOVE["y"])


def test_each_line_is_its_two_ends_and_a_gap_and_what_plotly_does_not_know_is_refused():
    draft = Draft()
    draft.add("scatter", colour="red")
    with pytest.raises(ValueError, match="colour"):
        draft.figure(300)
    starts, ends = np.array([[0.0, 1, 2], [3, 4, 5]]), np.array([[6.0, 7, 8], [9, 10, 11]])
    found = segments(starts, ends).tolist()
    assert [found[0], found[1], found[3], found[4]] == [[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]
    assert all(np.isnan(found[gap]).all() for gap in (2, 5))
    assert segments(starts[:0], ends[:0]).shape == (0, 3)


@pytest.mark.parametrize("low", [0.013, 1.0, 7.5, 380.0])
@pytest.mark.parametrize("times", [25, 180, 4_000, 3e7, 2e12])
def test_a_logarithmic_axis_has_few_ticks_inside_its_range(low, times):
    axis = cost_axis("seconds", [low, low * times])
    assert axis["type"] == "log"
    assert 2 <= len(axis["tickvals"]) <= TICKS
    assert all(low <= tick <= low * times for tick in axis["tickvals"])
    assert [float(told.replace(",", "")) for told in axis["ticktext"]] == axis["tickvals"]


@pytest.mark.parametrize("costs", [[], [0.0, 5.0], [1.0, 20.0]])
def test_costs_that_are_close_or_zero_are_on_a_linear_axis(costs):
    assert cost_axis("seconds", costs)["type"] == "linear"
