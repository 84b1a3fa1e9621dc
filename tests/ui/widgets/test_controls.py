"""Test clicks on buttons that act on what the fields say by then or are refused, and choices in the address."""

from contextlib import nullcontext

import pytest
from streamlit.testing.v1 import AppTest

from tests.visits import words


def _page():
    import streamlit as st

    from explorer.errors import BadChoice
    from explorer.ui.widgets import controls

    with controls.page_run():  # as in the frame
        controls.refused()
        typed = st.text_input("Name", "first", key="name")

        def act():
            if typed == "wrong":
                raise BadChoice("Type another name.")
            st.session_state["done"] = [*st.session_state.get("done", ()), typed]

        controls.button(st.container(), "Do it", act if typed else None, key="do")


@pytest.fixture
def app():
    return AppTest.from_function(_page).run()


def done(app):
    return app.session_state.get("done", [])


def test_a_field_that_is_left_by_the_click_itself_counts(app):
    app.text_input(key="name").set_value("second")
    app.button(key="do").click().run()
    assert done(app) == ["second"]
    assert done(app.run()) == ["second"], "one click acts once"


def test_an_error_is_shown_once(app):
    app.text_input(key="name").set_value("wrong")
    app.button(key="do").click().run()
    assert words(app.error) == ["Type another name."]
    assert done(app) == words(app.run().error) == []


def test_a_click_whose_button_is_gone_by_then_is_forgotten_however_the_run_ends():
    def page():
        import streamlit as st

        from explorer.ui.widgets import controls

        with controls.page_run():
            end = st.radio("End", ["drawn", "gone", "stopped", "failed"], key="end")
            if end == "stopped":
                st.stop()
            if end == "failed":
                raise RuntimeError("the page is broken")
            if end == "drawn":
                controls.button(st.container(), "Do it", lambda: st.session_state.update(done=["it"]), key="do")

    app = AppTest.from_function(page).run()
    for end in ("gone", "stopped", "failed"):
        app.radio(key="end").set_value(end)
        with pytest.raises(AssertionError, match="encountered an error") if end == "failed" else nullcontext():
            app.button(key="do").click().run()
        assert done(app.radio(key="end").set_value("drawn").run()) == [], end
    assert done(app.button(key="do").click().run()) == ["it"]


def test_a_click_waits_for_a_run_that_starts_over_before_its_button():
    def page():
        import streamlit as st

        from explorer.ui.widgets import controls

        with controls.page_run():
            if st.toggle("Over", key="over") and not st.session_state.get("once"):
                st.session_state["once"] = True
                st.rerun()
            controls.button(st.container(), "Do it", lambda: st.session_state.update(done=["it"]), key="do")

    app = AppTest.from_function(page).run()
    app.toggle(key="over").set_value(True)
    assert done(app.button(key="do").click().run()) == ["it"]


def test_nothing_is_done_if_the_field_was_made_empty_by_then(app):
    app.text_input(key="name").set_value("")
    app.button(key="do").click().run()
    assert app.button(key="do").disabled
    assert done(app) == []
    assert done(app.text_input(key="name").set_value("later").run()) == []


def page() -> None:
    import streamlit as st

    from explorer.ui.widgets import controls

    st.write(repr(controls.segments("Results", [5, 10, 20], default=10, key="k")))


@pytest.mark.parametrize(("said", "chosen"), [(None, "10"), ("20", "20"), ("", "10"), ("7", "10"), ("x", "10")])
def test_an_empty_or_unknown_value_in_the_address_is_the_default(said, chosen):
    app = AppTest.from_function(page)
    if said is not None:
        app.query_params["k"] = said
    app.run()
    assert [one.value for one in app.markdown] == [chosen]


def of_tables() -> None:
    import streamlit as st

    from explorer.ui.widgets import controls

    column = controls.UploadedTable.knobs["column"]
    columns = [controls.of_table(column, ("(none)", "a", "(none)", "b"), "b", f"column {name}") for name in "xy"]
    st.write(repr(columns))


def test_a_menu_of_columns_has_each_once_opens_with_what_was_recognised_and_belongs_to_its_table():
    app = AppTest.from_function(of_tables).run()
    assert [one.options for one in app.selectbox] == [["(none)", "a", "b"]] * 2
    app.selectbox(key="column x").set_value("a").run()
    assert [one.value for one in app.markdown] == ["['a', 'b']"]
