"""Test the Sentences page in a real browser: clicking a cell, markup as text. Skipped without a browser."""

import pytest

from tests import live

pytestmark = live.IN_A_BROWSER


@pytest.fixture(scope="module")
def page(tabs, address):
    page = live.tab(tabs, height=2600)
    page.goto(f"{address}/sentences")
    live.plots(page, 5)
    return page


def test_a_clicked_cell_is_the_pair_under_the_microscope(page):
    live.click_cell(page, column=9, row=4)
    page.locator("blockquote", has_text="The bank raised its interest rates again.").wait_for()
    page.locator("blockquote", has_text="The concert starts at nine.").wait_for()
    live.plots(page, 5)


def test_what_is_typed_is_never_run_and_never_in_the_address(page):
    typed = "<img src=x onerror=alert(1)> **bold** http://x.example www.x.example me@x.example :streamlit: 1 -> 2"
    box = page.get_by_role("textbox", name="Sentences, one a line")
    box.fill(f"{typed}\n{typed} twice\n\n")
    box.press("Control+Enter")
    page.locator("blockquote", has_text=typed).first.wait_for()
    live.plots(page, 5)
    assert page.locator(".js-plotly-plot").nth(0).locator("text", has_text="<img").count() > 0
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("blockquote strong, blockquote img").count() == 0
    assert page.locator("a[href*=example]").count() == 0
    assert "img" not in page.url
