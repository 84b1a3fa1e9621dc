"""Test that a segmented control in the address always has a selected option."""

import pytest
from streamlit.testing.v1 import AppTest


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
    assert not app.exception
