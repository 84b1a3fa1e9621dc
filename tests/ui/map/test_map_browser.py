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
from explorer.ui.access import selection
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
def asked(place):
    """A model and one of its other layers & poolings, in the address."""
    return {"model": place.model, "beside": place.model, "beside_reading": "max of layer 1"}


@pytest.fixture(scope="module")
def page(tabs, address, asked, place):
    """The maps side by side, as a link shows them."""
    page = live.tab(tabs, height=2000)
    page.goto(f"{address}/map?{urlencode(asked | {'sts': place.dev, 'projection': 'PCA', 'map_view': 'side by side'})}")
    drawn(page)
    return page


def follow_map(page, asked):
    """Follow another address of the page in the same tab, by way of a page that is drawn at once."""
    live.follow(page, "/plans")
    page.get_by_role("heading", name="Plans", exact=True).wait_for()
    settle(page)
    live.follow(page, f"/map?{urlencode(asked)}")
    page.get_by_role("heading", name="Map", exact=True, level=1).wait_for()


MOVING = ".moving-map[data-drawn]"
# what is drawn: points and labels in pixels of the canvas, and what is selected and chosen
SEEN = """root => {
    const map = root.movingMap, plain = (one) => [...one];
    return {at: map.at, x: plain(map.x), y: plain(map.y), radius: map.radius, selected: plain(map.selected),
        chosen: map.chosen, near: plain(map.near), labels: map.labels.map(({at, lines, left, top, wide, high}) =>
            ({at, text: lines.join(" "), left, top, right: left + wide, bottom: top + high}))};
}"""


@pytest.fixture(scope="module")
def moving(tabs, address, asked, place):
    """The map that moves from A to B, as the test before left it, and what the browser has sent."""
    page, sent = live.tab(tabs, width=1280, height=720), []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.goto(f"{address}/map?{urlencode(asked | {'sts': place.dev, 'projection': 'PCA'})}")
    page.locator(MOVING).wait_for()
    settle(page)
    return page, sent


def seen(page):
    page.wait_for_timeout(100)  # a frame is drawn
    return page.locator(MOVING).evaluate(SEEN)


def pressed(page, x, y, **how):
    box = page.locator(f"{MOVING} canvas").bounding_box()
    page.mouse.click(box["x"] + x, box["y"] + y, **how)


def test_play_moves_the_map_from_a_to_b_and_asks_nothing_of_the_server(moving):
    page, sent = moving
    before, asked = seen(page), len(sent)
    page.locator(".moving-map .play").click()
    page.locator(".moving-map[data-at='1.00'][data-playing='']").wait_for()
    after = seen(page)
    assert len(sent) == asked
    assert (before["at"], after["at"]) == (0, 1)
    assert np.hypot(np.subtract(before["x"], after["x"]), np.subtract(before["y"], after["y"])).max() > 5


def test_the_arrow_keys_go_from_frame_to_frame(moving):
    page, _ = moving
    for key, at in (("ArrowLeft", 0), ("ArrowRight", 1), ("ArrowLeft", 0)):
        page.locator(".moving-map .time").press(key)
        assert seen(page)["at"] == at


def test_a_click_answers_at_once_with_neighbours_kept_lost_and_gained(moving):
    page, sent = moving
    drawn_now = seen(page)
    at, asked = 3, len(sent)
    pressed(page, drawn_now["x"][at], drawn_now["y"][at])
    panel = page.locator(".moving-map .panel")
    panel.locator("h4", has_text="Kept").wait_for()
    assert len(sent) == asked
    one, other = (set(near) for near in np.array(drawn_now["near"]).reshape(2, len(drawn_now["x"]), -1)[:, at].tolist())
    kept, lost, gained = len(one & other), len(one - other), len(other - one)
    titles = [f"Kept ({kept})", f"Lost: only in A ({lost})", f"Gained: only in B ({gained})"]
    assert panel.locator("h4").all_text_contents() == [one for one in titles if "(0)" not in one]
    assert panel.locator("li").count() == kept + lost + gained
    panel.locator("li button").first.click()
    assert seen(page)["chosen"] in one & other, "a neighbour is chosen in its turn"


def test_sentences_that_are_drawn_round_with_shift_are_listed_and_stay_selected_when_a_point_is_clicked(moving):
    page, _ = moving
    box, now = page.locator(f"{MOVING} canvas").bounding_box(), seen(page)
    middle = float(np.median(now["x"]))
    expected = [at for at, x in enumerate(now["x"]) if x < middle]
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    page.mouse.down()
    for x, y in ((middle, 1), (middle, box["height"] - 1), (1, box["height"] - 1)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.get_by_role("heading", name=f"{len(expected)} selected").wait_for()
    settle(page)
    assert sorted(seen(page)["selected"]) == expected
    assert len(taken_along(page)) == len(expected)
    page.locator(MOVING).scroll_into_view_if_needed()
    pressed(page, now["x"][expected[0]], now["y"][expected[0]])
    found = seen(page)
    assert (found["chosen"], sorted(found["selected"])) == (expected[0], expected)


# wait until the map is drawn for the size of the window
AS_WIDE = """canvas => new Promise(done => {
    const look = () => canvas.width === canvas.parentElement.clientWidth * devicePixelRatio
        ? done() : setTimeout(look, 50);
    look();
})"""


@pytest.fixture(scope="module")
def few(moving, asked):
    """The map of few sentences, in the same tab."""
    page, _ = moving
    follow_map(page, asked | {"mapped": "my sentences"})
    page.locator(MOVING).wait_for()
    settle(page)
    return page


@pytest.mark.parametrize("size", [(1280, 720), (1100, 900)])
def test_of_few_sentences_every_label_is_whole_and_covers_neither_a_label_nor_a_point(few, size):
    page = few
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.locator(f"{MOVING} canvas").evaluate(AS_WIDE)
    for key in ("ArrowLeft", "ArrowRight"):
        page.locator(".moving-map .time").press(key)
        found = seen(page)
        assert sorted(one["text"] for one in found["labels"]) == sorted(selection.FIRST_SEEN)
        for number, one in enumerate(found["labels"]):
            for other in found["labels"][:number]:
                assert not crosses(one, other), (one["text"], other["text"])
            covered = [at for at, x in enumerate(found["x"]) if holds(one, x, found["y"][at], found["radius"])]
            assert not covered, (one["text"], covered)


def crosses(one, other):
    apart = one["left"] >= other["right"] or other["left"] >= one["right"]
    return not (apart or one["top"] >= other["bottom"] or other["top"] >= one["bottom"])


def holds(label, x, y, radius):
    return (
        label["left"] < x + radius
        and x - radius < label["right"]
        and label["top"] < y + radius
        and y - radius < label["bottom"]
    )


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
    page.get_by_role("radio", name="Layers").click()
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
    assert [told.split(", ")[-2] for told in over] == ["mean of layer 1", "max of layer 1"]


def test_a_clicked_point_of_vectors_on_disk_lists_its_neighbours(page, tmp_path):
    source = two_clouds(tmp_path)
    page.set_viewport_size({"width": 1280, "height": 1200})
    follow_map(page, {"mapped": "a file", "map_file": source, "projection": "PCA"})
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
