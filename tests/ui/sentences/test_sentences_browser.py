"""Test the Sentences page in a real browser: clicking a cell, markup as text. Skipped without a browser."""

import pytest

from tests import live
from tests.live import settle

pytestmark = live.IN_A_BROWSER


@pytest.fixture(scope="module")
def page(address):
    with live.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 2600})
        page.set_default_timeout(60_000)
        page.goto(f"{address}/sentences")
        drawn(page)
        yield page


def drawn(page):
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 4")
    settle(page)


def test_a_clicked_cell_is_the_pair_under_the_microscope(page):
    x, y = (
        page.locator(".js-plotly-plot")
        .nth(0)
        .evaluate(
            """plot => {
            const box = plot.getBoundingClientRect(), layout = plot._fullLayout;
            return [box.x + layout._size.l + layout.xaxis.d2p(9), box.y + layout._size.t + layout.yaxis.d2p(4)];
        }"""
        )
    )
    page.mouse.move(x, y)
    page.wait_for_timeout(200)  # a click counts for what is hovered
    page.mouse.click(x, y)
    page.locator("blockquote", has_text="The bank raised its interest rates again.").wait_for()
    page.locator("blockquote", has_text="The concert starts at nine.").wait_for()
    drawn(page)


def test_what_is_typed_is_never_run_and_never_in_the_address(page):
    typed = "<img src=x onerror=alert(1)> **bold**"
    box = page.get_by_role("textbox", name="Sentences, one a line")
    box.fill(f"{typed}\n{typed} twice\n\n")
    box.press("Control+Enter")
    page.locator("blockquote", has_text=typed).first.wait_for()
    drawn(page)
    assert page.locator(".js-plotly-plot").nth(0).locator("text", has_text="<img").count() > 0
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("blockquote strong").count() == 0
    assert "img" not in page.url
