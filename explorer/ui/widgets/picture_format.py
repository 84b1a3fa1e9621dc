"""Choose the format in which figures are saved."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.ui.widgets import segments

FORMATS = ("SVG", "PNG")


def control() -> None:
    """Choose SVG or PNG for every figure of every page."""
    segments.chosen(
        "Figure format",
        FORMATS,
        default=FORMATS[0],
        key="pictures",
        help="What the camera button of a figure saves: SVG for print and editing, PNG for slides.",
    )


def config(name: str) -> dict[str, Any]:
    """The Plotly settings of a figure; `name` is part of the file name."""
    chosen: str = st.session_state["pictures"] or FORMATS[0]  # none in a link with an empty value
    options = {"format": chosen.lower(), "filename": f"strata-{name}"} | ({"scale": 2} if chosen == "PNG" else {})
    return {"displaylogo": False, "toImageButtonOptions": options}
