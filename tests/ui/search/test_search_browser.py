"""Test the Search page in a real browser: a clicked result is kept in the address. Skipped without a browser."""

import pytest

from explorer.ui.search import query_form
from tests import live
from tests.live import parameters, settle

pytestmark = live.IN_A_BROWSER

NASTY = "<img src=x onerror=alert(1)> **bold** $x^2$ :red[red]"


@pytest.fixture(scope="module")
def page(tabs, address, tmp_path_factory):
    corpus = tmp_path_factory.mktemp("corpus") / "nasty.txt"
    corpus.write_text(f"{NASTY}\nA parrot is for sale.\nThe rain has stopped.\n", encoding="utf-8")
    page = live.tab(tabs, width=400, height=1200)
    page.goto(f"{address}/search?corpus={corpus}")
    return page


def test_a_clicked_result_is_the_next_query_shown_as_it_was_typed_and_kept_in_the_address(page):
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)
    query = page.get_by_role("textbox", name="Query")
    page.get_by_text(NASTY).wait_for()
    expect(query).to_have_value(query_form.DEFAULT)
    settle(page)
    row = page.locator("[data-testid=stHorizontalBlock]", has=page.get_by_text(NASTY)).last
    row.get_by_role("button").first.click()
    page.get_by_text(query_form.LEFT_OUT).wait_for()
    settle(page)
    expect(query).to_have_value(NASTY)
    assert parameters(page)["query"] == NASTY
    page.reload()
    page.get_by_text(query_form.LEFT_OUT).wait_for()
    settle(page)
    expect(query).to_have_value(NASTY)
    assert page.locator("img[src=x], .katex").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off at 400 px"
