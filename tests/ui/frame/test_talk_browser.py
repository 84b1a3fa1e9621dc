"""Test a talk in a real browser: its views as they were kept, with keys, after wandering off, and after a reload."""

from urllib.parse import urlencode, urlparse

import pytest

from explorer.ui.frame import page_frame, talk_steps, talks
from tests import live
from tests.live import keyed, parameters, settle

pytestmark = live.IN_A_BROWSER

LINE = ".st-key-presentation-line"
FIRST_TAB = "Layers"  # of Sentences, the page with a tab in the talk
OF_TALK = {talk_steps.TALK: talks.SHIPPED, "present": "1"}


def at(page, number):
    """Wait for a view, and return its page and the address without what the talk adds."""
    page.locator(LINE).get_by_text(f"{number} / 6", exact=True).wait_for()
    settle(page)
    said = parameters(page)
    assert said | OF_TALK | {talk_steps.VIEW: str(number)} == said
    kept = {key: said[key] for key in said.keys() - OF_TALK.keys() - {talk_steps.VIEW}}
    if kept.get("tab") == FIRST_TAB:  # an address may leave it out
        del kept["tab"]
    return urlparse(page.url).path, kept


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_TALKS", str(tmp_path_factory.mktemp("none")))
        return talks.read(talks.SHIPPED)


def test_a_talk_is_stepped_through_by_keys_with_its_views_as_kept_whatever_was_clicked_in_between(page, address, talk):
    page.goto(f"{address}/?{urlencode(OF_TALK | {talk_steps.VIEW: '1'})}")
    seen = [at(page, 1)]
    for number, key in zip(range(2, 7), ("n", "ArrowRight", "PageDown", "n", "n"), strict=True):
        page.keyboard.press(key)
        seen.append(at(page, number))
        page.locator(LINE).get_by_text(talk.views[number - 1].text).wait_for()
    assert [path for path, _ in seen] == [f"/{view.page.removeprefix('start')}" for view in talk.views]
    for (_, query), view in zip(seen, talk.views, strict=True):
        assert query.items() >= view.address.items() - {("tab", view.address.get("tab"))}
        assert ("pair" in query) == bool(view.pair)
        assert query.keys() <= {*view.address, "pair", "sentences"}
    page.keyboard.press(page_frame.KEY)  # wander off: other models, another page
    page.get_by_test_id("stSidebar").wait_for()
    page.get_by_role("link", name="Results", exact=True).click()
    page.get_by_role("heading", name="Results", exact=True).wait_for()
    settle(page)
    before = page.url
    for key in ("n", "b", "ArrowRight", "PageUp"):
        page.keyboard.press(key)
    settle(page)
    assert page.url == before, "outside of Present, letters and arrows turn no page"
    page.keyboard.press(page_frame.KEY)
    page.get_by_test_id("stSidebar").wait_for(state="hidden")
    settle(page)
    for number, key in zip((5, 4, 3), ("b", "ArrowLeft", "PageUp"), strict=True):
        page.keyboard.press(key)
        assert at(page, number) == seen[number - 1]
    for number in (2, 1):
        page.wait_for_function("number => location.search.includes(`talk_view=${number + 1}`)", arg=number, polling=20)
        page.keyboard.press("b")  # the second one while the page is still drawn
    assert at(page, 1) == seen[0]
    page.reload()
    assert at(page, 1) == seen[0]


def test_a_view_is_added_where_the_visitor_is_and_opened_again_from_the_drawer(page, address):
    page.goto(f"{address}/results?beside=run:example")
    settle(page)
    keyed(page, "talk drawer").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_label("A line of text for this view").fill("All scores <b>")
    keyed(page, "add to talk").click()
    drawer.get_by_role("button", name="1. Results").wait_for()
    settle(page)
    page.keyboard.press("Escape")
    drawer.wait_for(state="hidden")
    page.get_by_role("link", name="Plans", exact=True).click()
    page.get_by_role("heading", name="Plans", exact=True).wait_for()
    settle(page)
    keyed(page, "talk drawer").click()
    keyed(page, "present talk").click()
    page.get_by_role("heading", name="Results", exact=True).wait_for()
    page.locator(LINE).get_by_text("All scores <b>").wait_for()
    settle(page)
    assert parameters(page) == {"beside": "run:example", "present": "1", "talk": "My talk", "talk_view": "1"}


def shown_page():
    """A page with the texts of someone else in its answer, its words, its figure and its map."""
    import numpy as np
    import plotly.graph_objects as go
    import streamlit as st

    from explorer.drawing.sentences import moving_map
    from explorer.measuring.maps.frames import frames
    from explorer.measuring.neighbours.vector_index import neighbourhoods
    from explorer.progress import finish
    from explorer.ui import messages
    from explorer.ui.frame import talk_export, talks
    from explorer.ui.widgets import downloads, first_screen
    from explorer.ui.widgets import moving_map as moving

    hostile = "</script><script>window.hurt = 1</script> 5 * 3"
    st.session_state["pictures"] = "SVG"
    vectors = [np.random.default_rng(seed).normal(size=(12, 4)).astype(np.float32) for seed in range(2)]
    found = finish(frames(vectors, [finish(neighbourhoods(one)) for one in vectors]))
    shades, places = moving_map.on_scale(np.arange(12.0), 0, 11), np.stack(vectors)[:, :, :2]
    with talk_export.noting():
        with first_screen.answer():
            st.markdown(f"#### **B** is better on {messages.plain(hostile)}.")
        st.markdown("Not the answer.")
        with first_screen.figure():
            left, right = st.columns([3, 2])
            with left, st.container(key="words"):
                word = f":gray-background[{messages.plain(hostile)}:small[ +0.12]]"
                st.markdown(f"{word} :gray-background[safe:small[ −0.03]]")
            st.html(
                "<style>.st-key-words :nth-child(2 of .stMarkdownColoredBackground) { color: rgb(1, 2, 3); }</style>"
            )
            with right:
                drawn = go.Figure(go.Bar(x=[hostile, "b"], y=[1, 2]), {"title": {"text": "Drawn"}})
                downloads.draw(drawn, config={})
            given = moving_map.content(
                "k", [hostile] * 12, ["A", "B"], places, found, shades, title="PCA", most=[1], most_title="Moved most"
            )
            moving.show(given, subject="s", name="map", alt=hostile)
            gone = st.empty()
            gone.markdown("While it is computed.")
            gone.empty()
        st.plotly_chart(go.Figure(), key="another")
    talk = talks.Talk("<i>Talk</i>", (talks.View("map", "My <b>line"), talks.View("train"), talks.View("search")))
    st.session_state["exported"] = talk_export.page(talk)(), talk_export.not_shown(talk)


def test_an_exported_talk_has_the_answer_and_figures_of_what_was_shown_and_needs_nothing_else(
    page, monkeypatch, tmp_path
):
    from streamlit.testing.v1 import AppTest

    view = talks.View("map", "My <b>line")
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "none"))
    monkeypatch.setattr(talk_steps, "view", lambda: view)
    monkeypatch.setattr(talk_steps, "is_at", lambda view: True)
    app = AppTest.from_function(shown_page, default_timeout=60).run()
    assert not app.exception
    exported, missing = app.session_state["exported"]
    assert missing == ["3. Search"]
    (tmp_path / "talk.html").write_text(exported, encoding="utf-8")
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto((tmp_path / "talk.html").as_uri())
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 720})
        page.locator(".moving-map[data-drawn]").wait_for()
        page.wait_for_function(f"() => document.documentElement.scrollWidth === {width}")
    of_map, of_train, of_search = page.locator("section").all()
    assert page.get_by_role("heading", level=1).inner_text() == "<i>Talk</i>"
    assert page.get_by_role("heading", level=2).all_inner_texts() == ["1. Map", "2. Train", "3. Search"]
    answer = of_map.locator(".answer")
    assert answer.inner_text() == "B is better on </script><script>window.hurt = 1</script> 5 * 3."
    assert answer.locator("b").all_inner_texts() == ["B"]
    assert page.get_by_text("My <b>line", exact=True).is_visible()
    words = of_map.locator(".stMarkdownColoredBackground")
    assert words.all_inner_texts() == ["</script><script>window.hurt = 1</script> 5 * 3 +0.12", "safe −0.03"]
    colours = [one.evaluate("one => getComputedStyle(one).color") for one in words.all()]
    assert [colour == "rgb(1, 2, 3)" for colour in colours] == [False, True]
    assert of_map.locator(".js-plotly-plot").count() == 1
    assert of_map.get_by_text("While it is computed.").count() == 0
    moving = of_map.locator(".moving-map")
    assert moving.get_by_role("list").inner_text().startswith("</script>")
    moving.get_by_role("slider").press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.moving-map').dataset.at === '1.00'")
    assert "The run example, which ships as an example." in of_train.locator(".answer").inner_text()
    assert of_train.locator(".js-plotly-plot").first.is_visible()
    assert of_search.get_by_text("was not opened before the talk was exported").count() == 1
    assert page.evaluate("window.hurt") is None
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert errors == []
