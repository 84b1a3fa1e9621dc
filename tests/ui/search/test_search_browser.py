"""Test the Search page in a real browser: how a query is given, kept and shown. Skipped without a browser."""

from urllib.parse import quote

import pytest

from explorer.ui.search import query_view
from tests import live
from tests.live import parameters, settle

pytestmark = live.IN_A_BROWSER

NASTY = "<img src=x onerror=alert(1)> **bold** $x^2$ :red[red]"
ODD = "\"] {} </style><script>alert(1)</script> 'é' \\22 \U0001f469\u200d\U0001f680 */ \\"


@pytest.fixture(scope="module")
def page(tabs, address, tmp_path_factory):
    corpus = tmp_path_factory.mktemp("corpus") / "nasty.txt"
    corpus.write_text(f"{NASTY}\nA parrot is for sale.\nThe rain has stopped.\n", encoding="utf-8")
    page = live.tab(tabs, width=400, height=1200)
    page.goto(f"{address}/search?corpus={corpus}&query={quote(query_view.DEFAULT)}")
    return page


def test_a_clicked_result_is_the_next_query_shown_as_it_was_typed_and_kept_in_the_address(page):
    from playwright.sync_api import expect

    expect.set_options(timeout=60_000)
    query = page.get_by_role("textbox", name="Query")
    page.get_by_text(NASTY).wait_for()
    expect(query).to_have_value(query_view.DEFAULT)
    settle(page)
    row = page.locator("[data-testid=stHorizontalBlock]", has=page.get_by_text(NASTY)).last
    row.get_by_role("button").first.click()
    page.get_by_text(query_view.LEFT_OUT).wait_for()
    settle(page)
    expect(query).to_have_value(NASTY)
    assert parameters(page)["query"] == NASTY
    page.reload()
    page.get_by_text(query_view.LEFT_OUT).wait_for()
    settle(page)
    expect(query).to_have_value(NASTY)
    assert page.locator("img[src=x], .katex").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off at 400 px"


def test_enter_and_the_button_search_and_what_is_typed_greys_the_results_of_another_query(page):
    from playwright.sync_api import expect

    box, hint = page.get_by_role("textbox", name="Query"), page.get_by_text(query_view.TYPED)
    button, results = page.get_by_role("button", name="Search", exact=True), page.locator(".st-key-results")

    def is_of(query):
        expect(page.get_by_text(query_view.NAMED.format(query), exact=True)).to_be_visible()
        expect(box).to_have_value(query)
        expect(results).to_have_css("opacity", "1")
        expect(hint).to_be_hidden()
        settle(page)
        assert parameters(page)["query"] == query

    settle(page)
    assert is_beside(box, button), "at 400 px too"
    for query, search in (("a  bird", lambda: box.press("Enter")), (ODD, button.click)):
        before = page.url
        box.fill(query)
        expect(hint).to_be_visible()
        expect(results).to_have_css("filter", "grayscale(1)")
        assert page.url == before, "it is not searched yet"
        search()
        is_of(" ".join(query.split()))
    page.reload()
    is_of(ODD)
    box.press("End")
    box.press("x")
    expect(hint).to_be_visible()
    box.press("Backspace")
    expect(hint).to_be_hidden()
    box.blur()  # Streamlit replaces no text that is being typed
    page.go_back()
    is_of("a bird")


def is_beside(one, other):
    """Whether both stand on one line, the other on the right."""
    left, right = one.bounding_box(), other.bounding_box()
    return right["x"] > left["x"] + left["width"] and abs(right["y"] - left["y"]) < 20
