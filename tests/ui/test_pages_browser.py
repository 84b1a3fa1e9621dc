"""Test Sentences, Layer attention and Search in a real browser: clicks, markup as text, the query in the address.

Skipped without a browser.
"""

import re
from urllib.parse import quote

import pytest

from explorer.ui.layer_attention import pair_view, shown_sides
from explorer.ui.search import query_view, searched_corpus
from explorer.ui.sentences import pair_tab
from tests import live
from tests.live import parameters, settle

pytestmark = live.IN_A_BROWSER


@pytest.fixture(scope="module")
def sentences(tabs, address):
    page = live.tab(tabs, height=2600)
    page.goto(f"{address}/sentences?tab=Pair")
    live.plots(page, 3)
    return page


@pytest.fixture(scope="module")
def attention(sentences):
    """Another page in the same tab: to open another one takes seconds."""
    page = sentences
    page.set_viewport_size({"width": 1280, "height": 2000})
    live.follow(page, f"/layer_attention?pooler={quote(shown_sides.NO_B)}")
    page.get_by_role("heading", name="Layer attention", exact=True, level=1).wait_for()
    live.plots(page, 3)
    return page


def never_run(page, plot, markup):
    """What was typed is text in a figure; nothing of it is markup or stands in the address."""
    assert page.locator(".js-plotly-plot").nth(plot).locator("text", has_text=markup).count() > 0
    assert page.locator("img[src=x]").count() == 0
    assert "img" not in page.url


def is_the_pair(page, *texts):
    """Wait until the boxes of the pair have these texts."""
    from playwright.sync_api import expect

    for label, text in zip(pair_tab.BOXES, texts, strict=True):
        expect(page.get_by_role("combobox", name=label)).to_have_value(re.compile(re.escape(text)), timeout=30_000)


def test_a_clicked_cell_is_the_pair_under_the_microscope(sentences):
    live.click_cell(sentences, column=9, row=4)
    is_the_pair(sentences, "The bank raised its interest rates again.", "The concert starts at nine.")
    live.plots(sentences, 3)


def test_layers_are_drawn_without_a_request_and_the_layer_stays_after_a_click(sentences):
    shown = """() => { const plot = document.querySelector('.js-plotly-plot');
        return [plot._fullLayout.sliders[0].active, plot._fullData[0].z[0][1]]; }"""
    last, before = sentences.evaluate(shown)
    live.count_requests(sentences)
    move_slider(sentences, 1)
    sentences.wait_for_function(f"before => ({shown})()[1] !== before", arg=before)  # the slider moves before the frame
    layer, now = sentences.evaluate(shown)
    assert (last, layer) == (6, 1)
    assert live.requests(sentences) == 0
    live.click_cell(sentences, column=3, row=0)
    is_the_pair(sentences, "A dog chases a cat through the garden.", "No dog chases a cat through the garden.")
    live.plots(sentences, 3)
    assert sentences.evaluate(shown) == [1, now]


def move_slider(page, step):
    """Click the slider of the first figure at one of its steps."""
    label = page.locator(".js-plotly-plot").first.locator(".slider-label", has_text=str(step)).first
    label.click(force=True)
    page.wait_for_function(
        "step => document.querySelector('.js-plotly-plot')._fullLayout.sliders[0].active === step", arg=step
    )


def test_sentences_that_are_typed_are_never_run_and_never_in_the_address(sentences):
    typed = "<img src=x onerror=alert(1)> **bold** http://x.example www.x.example me@x.example :streamlit: 1 -> 2"
    sentences.get_by_role("button", name="10 sentences").click()
    box = sentences.get_by_role("textbox", name="Sentences of all pages, one a line")
    box.fill(f"{typed}\nIt rains.\n\n")
    box.press("Control+Enter")
    sentences.locator(".st-key-answer p", has_text=typed[:40]).wait_for()
    live.plots(sentences, 3)
    live.click_cell(sentences, column=1, row=0)
    is_the_pair(sentences, typed[:60], "It rains.")
    live.plots(sentences, 3)
    main = sentences.get_by_test_id("stMain")
    assert main.get_by_text("www.x.example").count() > 0, "as text"
    assert main.locator("img, a[href*=example]").or_(main.locator("strong", has_text="bold")).count() == 0
    never_run(sentences, 0, "<img")


def test_a_clicked_head_is_the_one_that_is_shown_and_the_address_remembers_it(attention):
    live.click_cell(attention, column=9, row=4, plot=1)
    attention.get_by_text(pair_view.SHOWN.format(4, 9)).wait_for()
    settle(attention)
    assert parameters(attention) == {"layer": "4", "head": "9", "pooler": shown_sides.NO_B}


def test_a_pair_that_is_typed_on_start_is_never_run_and_never_in_the_address(attention):
    attention.get_by_role("link", name="Start", exact=True).click()
    for label in ("One sentence", "Another sentence"):
        box = attention.get_by_role("textbox", name=label, exact=True)
        box.fill(f"{label} <img src=x onerror=alert(1)> **bold**")
        box.press("Enter")
        settle(attention)
    figure = attention.locator(".st-key-figure")
    figure.locator("p", has_text="onerror").first.wait_for()  # whole, or in words with a colour each
    assert figure.locator("img, p strong", has_text="bold").count() == 0
    assert "img" not in attention.url
    attention.get_by_role("link", name="Layer attention").click()
    attention.get_by_text("One sentence <img src=x").first.wait_for()
    assert attention.locator(".st-key-controls img").count() == 0


NASTY = "<img src=x onerror=alert(1)> **bold** $x^2$ :red[red]"
ODD = "\"] {} </style><script>alert(1)</script> 'é' \\22 \U0001f469\u200d\U0001f680 */ \\"


@pytest.fixture(scope="module")
def search(sentences, tmp_path_factory):
    corpus = tmp_path_factory.mktemp("corpus") / "nasty.txt"
    corpus.write_text(f"{NASTY}\nA parrot is for sale.\nThe rain has stopped.\n", encoding="utf-8")
    page = sentences
    page.set_viewport_size({"width": 400, "height": 1200})
    live.follow(page, f"/search?corpus={corpus}&query={quote(searched_corpus.DEFAULT)}")
    return page


def test_a_clicked_result_is_the_next_query_shown_as_it_was_typed_and_kept_in_the_address(search):
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    query = search.get_by_role("textbox", name="Query")
    search.get_by_text(NASTY).wait_for()
    expect(query).to_have_value(searched_corpus.DEFAULT)
    settle(search)
    row = search.locator("[data-testid=stHorizontalBlock]", has=search.get_by_text(NASTY)).last
    row.get_by_role("button").first.click()
    search.get_by_text(query_view.LEFT_OUT).wait_for()
    settle(search)
    expect(query).to_have_value(NASTY)
    assert parameters(search)["query"] == NASTY
    assert search.locator("img[src=x], .katex").count() == 0
    assert search.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off at 400 px"


def test_enter_and_the_button_search_and_what_is_typed_greys_the_results_of_another_query(search):
    from playwright.sync_api import expect

    box, hint = search.get_by_role("textbox", name="Query"), search.get_by_text(query_view.TYPED)
    button, results = search.get_by_role("button", name="Search", exact=True), search.locator(".st-key-results")

    def is_of(query):
        expect(search.get_by_text(query_view.NAMED.format(query), exact=True)).to_be_visible()
        expect(box).to_have_value(query)
        expect(results).to_have_css("opacity", "1")
        expect(hint).to_be_hidden()
        settle(search)
        assert parameters(search)["query"] == query

    settle(search)
    left, right = box.bounding_box(), button.bounding_box()
    assert right["x"] > left["x"] + left["width"], "beside it at 400 px too"
    assert abs(right["y"] - left["y"]) < 20, "on one line"
    for query, send in (("a  bird", lambda: box.press("Enter")), (ODD, button.click)):
        before = search.url
        box.fill(query)
        expect(hint).to_be_visible()
        expect(results).to_have_css("filter", "grayscale(1)")
        assert search.url == before, "it is not searched yet"
        send()
        is_of(" ".join(query.split()))
    search.reload()
    is_of(ODD)
    box.press("End")
    box.press("x")
    expect(hint).to_be_visible()
    box.press("Backspace")
    expect(hint).to_be_hidden()
    box.blur()  # Streamlit replaces no text that is being typed
    search.go_back()
    is_of("a bird")
