"""Test a talk in a real browser: its views as they were kept, with keys, after wandering off, and after a reload."""

from urllib.parse import urlencode, urlparse

import pytest

from explorer.ui.frame import page_frame, talk_steps, talks
from tests import live
from tests.live import keyed, parameters, settle

pytestmark = live.IN_A_BROWSER

LINE = ".st-key-presentation-line"
OF_TALK = {talk_steps.TALK: talks.SHIPPED, "present": "1"}


def at(page, number):
    """Wait for a view, and return its page and the address without what the talk adds."""
    page.locator(LINE).get_by_text(f"{number} / 6", exact=True).wait_for()
    settle(page)
    said = parameters(page)
    assert said | OF_TALK | {talk_steps.VIEW: str(number)} == said
    return urlparse(page.url).path, {key: said[key] for key in said.keys() - OF_TALK.keys() - {talk_steps.VIEW}}


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
        assert page.locator(LINE).get_by_text(talk.views[number - 1].text).is_visible()
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
    for number, key in zip(range(5, 0, -1), ("b", "ArrowLeft", "PageUp", "b", "b"), strict=True):
        page.keyboard.press(key)
        assert at(page, number) == seen[number - 1]
    page.keyboard.press("n")
    page.wait_for_function("() => location.search.includes('talk_view=2')", polling=20)
    page.keyboard.press("n")  # while the page is still drawn
    at(page, 3)
    page.reload()
    assert at(page, 3) == seen[2]


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
    """A page with the texts of someone else in its answer and its figure."""
    import plotly.graph_objects as go
    import streamlit as st

    from explorer.drawing import sections_page
    from explorer.ui import messages
    from explorer.ui.frame import talk_export, talks
    from explorer.ui.widgets import downloads, first_screen

    hostile = "</script><script>window.hurt = 1</script> 5 * 3"
    with talk_export.noting():
        with first_screen.answer():
            st.markdown(f"#### **B** is better on {messages.plain(hostile)}.")
        st.markdown("Not the answer.")
        with first_screen.figure():
            drawn = go.Figure(go.Bar(x=[hostile, "b"], y=[1, 2]), {"title": {"text": "Drawn"}})
            downloads.draw(drawn, config={})
        st.plotly_chart(go.Figure(), key="another")
    talk = talks.Talk("<i>Talk</i>", (talks.View("map", "My <b>line"), talks.View("train")))
    sections = talk_export.sections(talk)
    st.session_state["exported"] = sections_page.page(talk.name, sections), talk_export.not_shown(talk)


def test_an_exported_talk_has_the_answer_and_figure_of_what_was_shown_and_needs_nothing_else(page, monkeypatch):
    from streamlit.testing.v1 import AppTest

    view = talks.View("map", "My <b>line")
    monkeypatch.setattr(talk_steps, "view", lambda: view)
    monkeypatch.setattr(talk_steps, "is_at", lambda view: True)
    app = AppTest.from_function(shown_page, default_timeout=60).run()
    exported, missing = app.session_state["exported"]
    assert missing == ["2. Train"]
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(exported)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert page.locator(".js-plotly-plot").count() == 1
    assert page.get_by_role("heading").all_inner_texts() == ["<i>Talk</i>", "1. Map", "2. Train"]
    answer = page.locator(".answer")
    assert answer.inner_text() == "B is better on </script><script>window.hurt = 1</script> 5 * 3."
    assert answer.locator("b").all_inner_texts() == ["B"]
    assert page.get_by_text("My <b>line", exact=True).is_visible()
    assert page.get_by_text("was not opened before the talk was exported").count() == 1
    assert page.evaluate("window.hurt") is None
    assert (asked, errors) == ([], [])
