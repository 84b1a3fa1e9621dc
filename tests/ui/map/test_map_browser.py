"""Test the Map page in a real browser: lasso selections in both maps, clicks. Skipped without a browser."""

import csv
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from explorer.data.vectors.opening import opened
from explorer.data.vectors.vector_corpus import prepared
from explorer.measuring.maps.map_tables import large_map
from explorer.measuring.maps.projection import MapSettings
from explorer.progress import finish
from tests import live
from tests.live import settle
from tests.vectors import TEXTS, two_clouds

pytestmark = live.IN_A_BROWSER

# [number of the sentence, x, y] of every point of a map, in pixels of the window
POINTS = """plot => {
    const box = plot.getBoundingClientRect(), layout = plot._fullLayout;
    const left = box.x + layout.xaxis._offset, top = box.y + layout.yaxis._offset;
    const point = (trace, row) => [left + layout.xaxis.d2p(trace.x[row]), top + layout.yaxis.d2p(trace.y[row])];
    return plot._fullData.filter(trace => trace.customdata).flatMap(trace =>
        Array.from(trace.customdata, (place, row) => [place, ...point(trace, row)]));
}"""
LIT = """plot => plot._fullData.filter(trace => trace.customdata).flatMap(trace =>
    Array.from(trace.selectedpoints || [], row => trace.customdata[row]))"""


@pytest.fixture(scope="module")
def page(tabs, address, place):
    asked = {"model": place.model, "beside": place.model, "beside_reading": "max of layer 1", "sts": place.dev}
    page = live.tab(tabs, height=2000)
    page.goto(f"{address}/map?{urlencode(asked | {'projection': 'PCA'})}")
    drawn(page)
    return page


def drawn(page):
    page.wait_for_function(
        "(plots => plots.length === 2 && plots.every(plot => plot._fullData))"
        "([...document.querySelectorAll('.js-plotly-plot')])",
        polling=100,
    )
    settle(page)


def lit(page):
    return [sorted(page.locator(".js-plotly-plot").nth(at).evaluate(LIT)) for at in (0, 1)]


def draw_round(page, at, count):
    """A lasso round the points farthest out in a map, on the side that is easiest to cut off; gives their numbers."""
    drawn(page)
    points = page.locator(".js-plotly-plot").nth(at).evaluate(POINTS)
    sides = [(axis, sign, sorted(points, key=lambda p: sign * p[axis])) for axis in (1, 2) for sign in (1, -1)]
    axis, sign, points = max(sides, key=lambda side: side[1] * (side[2][count][side[0]] - side[2][count - 1][side[0]]))
    assert sign * (points[count][axis] - points[count - 1][axis]) > 2, "there is room for a line between them"
    low, high = ([end(point[one] for point in points) for one in (1, 2)] for end in (min, max))
    low, high = [one - 8 for one in low], [one + 8 for one in high]
    (high if sign > 0 else low)[axis - 1] = (points[count][axis] + points[count - 1][axis]) / 2
    page.mouse.move(low[0], high[1])  # from below: the mode bar is above
    page.mouse.down()
    for x, y in (low, (high[0], low[1]), high, (low[0], high[1])):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    page.get_by_role("heading", name=f"{count} selected").wait_for()
    drawn(page)
    return sorted(place for place, _, _ in points[:count])


def taken_along(page):
    with page.expect_download() as download:
        page.get_by_role("button", name="Selection (CSV)").click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        return [row["sentence"] for row in csv.DictReader(file)]


def test_five_sentences_drawn_round_in_one_map_are_the_same_five_in_the_other_and_in_the_table(page):
    five = draw_round(page, 0, 5)
    assert lit(page) == [five, five]
    rows = taken_along(page)
    assert len(rows) == 5
    cells = page.get_by_test_id("stDataFrame").first.locator("td")  # of the table that a screen reader has
    cells.first.wait_for(state="attached")
    assert [cell for cell in cells.all_text_contents() if cell in rows] == rows


def test_the_address_shows_the_same_five_in_another_tab(page):
    five = lit(page)[0]
    assert len(five) == 5
    other = live.tab(page.context, height=2000)
    other.goto(page.url)
    other.get_by_role("heading", name="5 selected").wait_for()
    drawn(other)
    assert lit(other) == [five, five]
    other.close()


def test_then_three_in_the_other_map_take_their_place_and_clearing_leaves_none(page):
    three = draw_round(page, 1, 3)
    assert lit(page) == [three, three]
    assert len(taken_along(page)) == 3
    cleared(page)
    assert lit(page) == [[], []]


def test_what_was_drawn_round_in_a_map_that_nothing_had_told_is_cleared_there_too(page):
    four = draw_round(page, 0, 4)
    assert lit(page) == [four, four]
    cleared(page)
    assert lit(page) == [[], []]


def cleared(page):
    live.keyed(page, "clear selection").click()
    page.get_by_role("heading", name="selected").wait_for(state="detached")
    drawn(page)


def test_a_cell_that_is_clicked_on_the_compare_page_is_what_the_map_is_of(page):
    page.get_by_role("link", name="Compare", exact=True).click()
    figures = ".st-key-grid-of-A .js-plotly-plot"
    page.locator(figures).wait_for()
    settle(page)
    page.locator(figures).scroll_into_view_if_needed()
    live.click_cell(page, column=1, row=1, figures=figures)
    page.wait_for_url("**reading=mean+of+layer+1**")
    settle(page)
    page.get_by_role("link", name="Map", exact=True).click()
    drawn(page)
    over = [told for told in page.get_by_test_id("stMarkdown").all_text_contents() if told.startswith(("A ", "B "))]
    assert [told.rpartition(", ")[2] for told in over] == ["mean of layer 1", "max of layer 1"]


def test_a_clicked_point_of_vectors_on_disk_lists_its_neighbours(tabs, address, tmp_path):
    source = two_clouds(tmp_path)
    page = live.tab(tabs, width=1280, height=1200)
    page.goto(f"{address}/map?mapped=a+file&map_file={source}&projection=PCA")
    page.locator(".density-map[data-seen]").wait_for()
    live.settle(page)
    assert page.locator(".density-map").get_attribute("data-mode") == "points"
    found = finish(large_map(finish(prepared(opened(source))), MapSettings("PCA"))).places
    low, high = found.min(0), found.max(0)
    alone = int(np.argmax(np.sort(((found[:, None] - found) ** 2).sum(2), axis=1)[:, 1]))
    box = page.locator(".density-map canvas").bounding_box()
    scale = 0.94 * min(box["width"] / (high - low)[0], box["height"] / (high - low)[1])
    x, y = ((found[alone] - (low + high) / 2) * scale).tolist()
    page.mouse.click(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y)
    page.get_by_text(f"Of “{TEXTS[alone]}”").wait_for()
