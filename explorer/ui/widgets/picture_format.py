"""Choose the format in which figures are saved."""

from __future__ import annotations

from typing import Any

import streamlit as st

FORMATS = ("SVG", "PNG")


def control() -> None:
    """Choose SVG or PNG for every figure of every page."""
    st.segmented_control(
        "Figure format",
        FORMATS,
        default=FORMATS[0],
        required=True,
        key="pictures",
        bind="query-params",
        help="What the camera button of a figure saves: SVG for print and editing, PNG for slides.",
    )


def config(name: str) -> dict[str, Any]:
    """The Plotly settings of a figure; `name` is part of the file name."""
    chosen: str = st.session_state["pictures"]
    options = {"format": chosen.lower(), "filename": f"strata-{name}"} | ({"scale": 2} if chosen == "PNG" else {})
    return {"displaylogo": False, "toImageButtonOptions": options}
