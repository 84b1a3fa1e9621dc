import string

import pytest
from streamlit.testing.v1 import AppTest

NASTY = [
    "<script>alert(1)</script>",
    "![picture](http://example.invalid/x.png)",
    "[link](http://example.invalid)",
    ":red[colour] :material/home: $x^2$ `code`",
    "# heading\n- list\n1. one",
    "größer → “quoted” …",
    "back\\slash *star* _under_ ~~gone~~",
]


def page(text):
    import streamlit as st

    from explorer.ui import notices

    notices.trouble(text)
    st.markdown(notices.plain(text))


@pytest.mark.parametrize("text", NASTY)
def test_every_mark_of_markup_is_escaped(text):
    shown = AppTest.from_function(page, args=(text,)).run().error[0].value
    unescaped = shown.replace("  \n", "\n")
    restored, place = "", 0
    while place < len(unescaped):
        if unescaped[place] == "\\":
            place += 1
        elif unescaped[place] in string.punctuation:
            pytest.fail(f"{unescaped[place]!r} stands unescaped in {shown!r}")
        restored += unescaped[place]
        place += 1
    assert restored == text
