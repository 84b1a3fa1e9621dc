"""Test the Layer attention page in a real browser: clicking a head, markup as text. Skipped without a browser."""

import pytest

from explorer.ui.layer_attention import pair_view
from tests import live
from tests.live import parameters, settle

pytestmark = live.IN_A_BROWSER


@pytest.fixture(scope="module")
def page(tabs, address):
    page = live.tab(tabs, height=2000)
    page.goto(f"{address}/layer_attention")
    live.plots(page, 3)
    return page


def test_a_clicked_head_is_the_one_that_is_shown_and_the_address_remembers_it(page):
    live.click_cell(page, column=9, row=4, plot=1)
    page.get_by_text(pair_view.SHOWN.format(4, 9)).wait_for()
    settle(page)
    assert parameters(page) == {"layer": "4", "head": "9"}
    page.reload()
    live.plots(page, 3)
    page.get_by_text(pair_view.SHOWN.format(4, 9)).wait_for()


def test_what_is_typed_is_never_run_and_never_in_the_address(page):
    typed = "<img src=x onerror=alert(1)> **bold**"
    for label in ("One sentence", "Another sentence"):
        box = page.get_by_role("textbox", name=label, exact=True)
        box.fill(typed)
        box.press("Control+Enter")
        settle(page)
    live.plots(page, 3)
    page.locator(".js-plotly-plot").nth(2).locator("text", has_text="bold").first.wait_for()
    assert page.locator(".js-plotly-plot").nth(2).locator("text", has_text="<").count() > 0
    assert page.locator("img[src=x]").count() == 0
    assert "img" not in page.url
