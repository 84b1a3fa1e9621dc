"""Test what is done inside of Streamlit, without a browser: a version in which it is another fails here."""

from streamlit.testing.v1 import AppTest

from explorer.ui.frame import inside_streamlit


def two_pages():
    import streamlit as st

    from explorer.ui.frame import inside_streamlit

    def first():
        st.segmented_control("Tab", ["a", "b"], default="a", key="tab", bind="query-params")
        if st.button("go"):
            inside_streamlit.open_address("second", {"tab": "y", "frame": "of the link", "free": "1"})

    def second():
        st.segmented_control("Tab", ["x", "y"], default="x", key="tab", bind="query-params")

    opened = st.navigation([st.Page(first, default=True), st.Page(second)])
    st.text_input("Frame", key="frame", bind="query-params")
    st.text_input("Other", key="other", bind="query-params")
    opened.run()


def test_an_address_is_opened_as_a_whole_with_the_fields_of_another_page_and_of_the_frame():
    app = AppTest.from_function(two_pages, default_timeout=30)
    app.query_params |= {"tab": "b", "frame": "before", "other": "before"}
    app.run()
    assert [one.value for one in app.text_input] == ["before", "before"]
    app.button[0].click().run()
    assert not app.exception
    assert [one.value for one in app.text_input] == ["of the link", ""]
    assert app.session_state["tab"] == "y"
    assert {key: app.query_params.get(key) for key in ("tab", "frame", "other", "free")} == {
        "tab": "y",
        "frame": "of the link",
        "other": None,
        "free": "1",
    }


def sends():
    import streamlit as st

    from explorer.ui.frame import inside_streamlit

    known = st.session_state.setdefault("known", [])
    with inside_streamlit.sent(known.append), st.container(key="my place"):
        st.markdown("Text")
    st.markdown("After")


def test_what_a_page_sends_is_noted_whole_in_every_run_with_the_keys_of_its_containers():
    app = AppTest.from_function(sends, default_timeout=30).run()
    app.run()
    deltas = [message.delta for message in app.session_state["known"]]
    blocks = [one.add_block for one in deltas if one.HasField("add_block")]
    texts = [one.new_element.markdown.body for one in deltas if one.HasField("new_element")]
    assert [inside_streamlit.key_of(one.id) for one in blocks] == ["my place"] * 2
    assert texts == ["Text"] * 2
    assert [one.value for one in app.markdown] == ["Text", "After"]


def test_the_font_of_the_pages_is_there():
    font = inside_streamlit.font()
    assert font is not None
    assert font[:4] == b"wOF2"
