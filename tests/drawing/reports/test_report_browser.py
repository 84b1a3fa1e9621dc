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


@pytest.fixture(scope="module")
def browser():
    live.close()  # one browser at a time
    with live.browser() as browser:
        yield browser


def drawn(page, file):
    page.set_default_timeout(120_000)
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 13")


def test_it_draws_itself_alone_in_the_colours_of_the_reader(browser, file):
    asked, wrong = [], []
    page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
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


def test_pictures_that_share_a_row_are_as_wide_as_their_places(browser, file):
    page = browser.new_page(viewport={"width": 1280, "height": 800}, bypass_csp=True)  # a condition is evaluated
    drawn(page, file)
    page.wait_for_function(
        "[...document.querySelectorAll('.js-plotly-plot')].every("
        "one => one.querySelector('.main-svg').clientWidth <= one.closest('figure').clientWidth + 1)"
    )
