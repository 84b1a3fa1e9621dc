"""Test the map of very many points: what it is given, and in a browser density from afar, points when zoomed in."""

import base64
import json

import numpy as np
import pytest

from explorer.drawing.sentences import density_map
from tests import live

PAGE = f"<html><body style='margin:0'><div id='root'>{density_map.HTML}</div></body></html>"
MANY, FEW = 25_000, 20_000
NASTY = "<img src=x onerror=alert(1)> & more"


def positions(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 2)).astype(np.float32)


def test_the_content_holds_every_position_exactly_and_the_beginning_of_each_sentence():
    places, texts = positions(3), ["short", "word " * 40, NASTY]
    content = json.loads(json.dumps(density_map.content(places, texts, [("a name", (1.0, 2.0))])))
    found = np.frombuffer(base64.b64decode(content["places"]), dtype="<f4").reshape(-1, 2)
    np.testing.assert_array_equal(found, places)
    assert content["texts"][::2] == ["short", NASTY]
    assert len(content["texts"][1]) <= density_map.LONGEST
    assert content["texts"][1].endswith("…")
    assert content["names"] == [["a name", 1.0, 2.0]]
    np.testing.assert_allclose(content["low"], places.min(0), atol=1e-6)


def test_equal_positions_have_room_around_them():
    content = density_map.content(np.ones((4, 2), dtype=np.float32), ["a"] * 4, [])
    assert all(low < 1 < high for low, high in zip(content["low"], content["high"], strict=True))


@pytest.fixture(scope="module")
def opened():
    if live.executable() is None:
        pytest.skip("no browser")
    with live.browser() as browser:
        yield browser


def drawn(opened, places, texts, names=()):
    """A page with the map, as Streamlit mounts it; the rows that are clicked are in `picked`."""
    page = opened.new_page(viewport={"width": 800, "height": 700})
    page.set_content(PAGE)
    page.add_style_tag(content=density_map.CSS)
    page.add_script_tag(content=density_map.script().replace("export default function", "window.drawMap = function"))
    page.evaluate(
        """data => { window.picked = [];
            window.drawMap({parentElement: document.getElementById("root"), data,
                            setTriggerValue: (name, value) => window.picked.push(value)}); }""",
        density_map.content(places, texts, names),
    )
    page.locator(".density-map[data-seen]").wait_for()
    return page


def seen(page):
    page.evaluate("() => new Promise(requestAnimationFrame)")
    about = page.locator(".density-map")
    return about.get_attribute("data-mode"), int(about.get_attribute("data-seen"))


def ink(page):
    """How many pixels are drawn."""
    return page.evaluate(
        """() => { const canvas = document.querySelector("canvas");
            const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            let found = 0; for (let at = 3; at < all.length; at += 4) found += all[at] > 0; return found; }"""
    )


@pytest.mark.browser
def test_many_in_view_are_a_density_and_few_are_points(opened):
    page = drawn(opened, positions(MANY), ["a sentence"] * MANY, [("a name", (0.0, 0.0))])
    assert seen(page) == ("density", MANY)
    assert ink(page) > 1000
    modes = []
    for _ in range(6):
        page.locator(".in").click()
        modes.append(seen(page))
    assert all(mode == ("points" if count <= FEW else "density") for mode, count in modes)
    assert modes[-1][0] == "points"
    page.locator(".all").click()
    assert seen(page) == ("density", MANY)


@pytest.mark.browser
def test_dragging_moves_the_points_out_of_view_and_back(opened):
    page = drawn(opened, positions(500), ["a sentence"] * 500)
    assert seen(page) == ("points", 500)
    box = page.locator("canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for way, there in ((1, 0), (-1, 500)):
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + way * 900, middle[1])
        page.mouse.up()
        assert seen(page)[1] == there
    assert page.evaluate("window.picked") == [], "a drag is no click"


@pytest.mark.browser
def test_a_point_shows_its_sentence_as_text_and_a_click_names_its_row(opened):
    places = np.array([[-1, 0], [1, 0], [0, 1]], dtype=np.float32)
    page = drawn(opened, places, ["left", NASTY, "above"])
    content = density_map.content(places, ["", "", ""], [])
    box = page.locator("canvas").bounding_box()
    spread = [high - low for low, high in zip(content["low"], content["high"], strict=True)]
    scale = 0.94 * min(box["width"] / spread[0], box["height"] / spread[1])
    where = box["x"] + box["width"] / 2 + scale, box["y"] + box["height"] / 2 + scale * 0.5
    page.mouse.move(*where)
    assert page.locator(".tip").inner_text() == NASTY
    page.mouse.click(*where)
    assert page.evaluate("window.picked") == [1]
    assert page.locator("img").count() == 0
