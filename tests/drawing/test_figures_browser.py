"""Test the canvas of very many sentences, the report and a gallery in a real browser. Skipped without a browser.

The canvas shows density from afar, and points when zoomed in; the report draws every figure and downloads nothing.
"""

import numpy as np
import pytest

from explorer.drawing.reports.report import report
from explorer.drawing.sentences import sentence_maps as drawing
from explorer.studies import gallery
from tests import live
from tests.drawing import made_up
from tests.drawing.sentences.test_sentence_maps import NASTY, positions

pytestmark = live.IN_A_BROWSER

PAGE = f"<html><body style='margin:0'><div id='root'>{drawing.CANVAS_HTML}</div></body></html>"
MANY, FEW = 25_000, 20_000


@pytest.fixture
def page():
    page = live.tab(live.tabs(), 800, 700)
    yield page
    page.close()


def draw(page, places, texts, names=()):
    """Draw the map in the page, as Streamlit mounts it; the rows that are clicked are in `picked`."""
    page.set_content(PAGE)
    page.add_style_tag(content=drawing.CANVAS_CSS)
    page.add_script_tag(content=drawing.canvas_script().replace("export default function", "window.drawMap = function"))
    page.evaluate(
        """data => { window.picked = [];
            window.drawMap({parentElement: document.getElementById("root"), data,
                            setTriggerValue: (name, value) => window.picked.push(value)}); }""",
        drawing.canvas_content(places, texts, names),
    )
    page.locator(".density-map[data-seen]").wait_for()


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


def test_many_in_view_are_a_density_and_few_are_points(page):
    draw(page, positions(MANY), ["a sentence"] * MANY, [("a name", (0.0, 0.0))])
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


def test_dragging_moves_the_points_out_of_view_and_back(page):
    draw(page, positions(500), ["a sentence"] * 500)
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


def test_a_point_shows_its_sentence_as_text_and_a_click_names_its_row(page):
    places = np.array([[-1, 0], [1, 0], [0, 1]], dtype=np.float32)
    draw(page, places, ["left", NASTY, "above"])
    content = drawing.canvas_content(places, ["", "", ""], [])
    box = page.locator("canvas").bounding_box()
    spread = [high - low for low, high in zip(content["low"], content["high"], strict=True)]
    scale = 0.94 * min(box["width"] / spread[0], box["height"] / spread[1])
    where = box["x"] + box["width"] / 2 + scale, box["y"] + box["height"] / 2 + scale * 0.5
    page.mouse.move(*where)
    assert page.locator(".tip").inner_text() == NASTY
    page.mouse.click(*where)
    assert (page.evaluate("window.picked"), page.locator("img").count()) == ([1], 0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_bytes(report(made_up.findings(made_up.geometry())))
    return file


def drawn(page, file):
    page.set_default_timeout(120_000)
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 13")


def test_it_draws_itself_alone_in_the_colours_of_the_reader(page, file):
    asked, wrong = [], []
    page.set_viewport_size({"width": 400, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    drawn(page, file)
    page.wait_for_function(
        "[...document.querySelectorAll('.js-plotly-plot')].every(one => one.layout.font?.color === '#fafafa')"
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 400, "nothing stands out of the page"
    assert page.locator("img").count() == 0
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    assert asked == [file.as_uri()]
    assert wrong == []


def test_pictures_that_share_a_row_are_as_wide_as_their_places(page, file):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.context.new_cdp_session(page).send("Page.setBypassCSP", {"enabled": True})  # a condition is evaluated
    drawn(page, file)
    page.wait_for_function(
        "[...document.querySelectorAll('.js-plotly-plot')].every("
        "one => one.querySelector('.main-svg').clientWidth <= one.closest('figure').clientWidth + 1)"
    )


def test_a_gallery_opens_from_the_disk_without_a_network(page, tmp_path):
    first = gallery.write(tmp_path / "gallery", gallery.GalleryOptions(run=("example",)))
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(first.as_uri())
    assert page.locator("svg polyline").bounding_box()["width"] > 100
    page.get_by_role("link", name="example").click()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert asked == [first.as_uri(), first.with_name("run-example.html").as_uri()]
    assert wrong == []
