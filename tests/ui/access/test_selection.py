"""Test in a browser that sentences which are typed once are on every page, after a reload and in a new tab too."""

from explorer.ui.access import selection
from tests import live
from tests.live import keyed, parameters, settle

pytestmark = live.IN_A_BROWSER

LOADED = 120_000  # milliseconds until a model and its map are there on a busy machine
MINE = ("The <b>cup</b> is on the table.", "Rain fell.", "She sings.", "He sleeps.", "Six cats ran.", "Doors close.")


def on_sentences(page):
    drawn = "document.querySelector('.st-key-figure .js-plotly-plot')?.layout?.xaxis?.ticktext"
    titles = page.wait_for_function(drawn, timeout=LOADED, polling=100).json_value()
    return [title.split(" · ", 1)[1].replace("&lt;", "<").replace("&gt;", ">").replace("<br>", " ") for title in titles]


def on_map(page):
    drawn = page.locator(".moving-map[data-drawn] canvas")
    drawn.wait_for(timeout=LOADED)
    assert f"of {len(MINE)} sentences in" in drawn.get_attribute("aria-label")
    page.get_by_role("button", name="Edit", exact=True).click()
    return page.get_by_label("One sentence a line").input_value().splitlines()


def on_layer_attention(page):
    page.get_by_test_id("stMain").get_by_text(f"“{MINE[0]}” / “{MINE[1]}”").wait_for(timeout=LOADED)
    return list(MINE)


def on_search(page):
    page.get_by_test_id("stMain").get_by_text(MINE[-1]).first.wait_for(timeout=LOADED)
    text = page.get_by_test_id("stMain").inner_text()
    return [one for one in MINE if one in text]


PAGES = {
    "Sentences": on_sentences,
    "Map": on_map,
    "Layer attention": on_layer_attention,
    "Search": on_search,
}


def test_sentences_typed_on_start_are_on_every_page_after_a_click_a_reload_and_in_a_second_tab(page, address):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(address)
    settle(page)
    page.get_by_role("button", name="Your sentences").click()
    page.get_by_role("textbox", name="Your sentences").fill("\n".join(MINE))
    keyed(page, "use own sentences").click()
    page.get_by_role("button", name="6 sentences").first.wait_for()
    settle(page)
    mark = parameters(page)[selection.SENTENCES]
    for name, shown in PAGES.items():
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("heading", name=name, exact=True).wait_for()
        settle(page)
        assert parameters(page)[selection.SENTENCES] == mark
        assert shown(page) == list(MINE)
    page.reload()
    settle(page)
    assert on_search(page) == list(MINE)
    second = live.tab(page.context, height=720)
    try:
        second.goto(page.url)
        settle(second)
        assert on_search(second) == list(MINE)
    finally:
        second.close()
