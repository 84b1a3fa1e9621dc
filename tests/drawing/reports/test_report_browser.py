"""Test the report in a real browser: every figure is drawn, nothing is downloaded. Skipped without a browser."""

import pytest

from explorer.drawing.reports.report import report
from tests import live
from tests.drawing import made_up

pytestmark = live.IN_A_BROWSER


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_bytes(report(made_up.findings(made_up.geometry())))
    return file


@pytest.fixture
def page():
    page = live.tab(live.tabs())
    yield page
    page.close()


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
