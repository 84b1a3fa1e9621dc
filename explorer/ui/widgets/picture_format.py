"""As what does the camera in a figure's corner keep it?"""

from __future__ import annotations

from typing import Any

import streamlit as st

FORMATS = ("SVG", "PNG")


def control() -> None:
    """Choose for every figure of every page: a camera knows one format."""
    st.segmented_control(
        "Pictures as",
        FORMATS,
        default=FORMATS[0],
        required=True,
        key="pictures",
        bind="query-params",
        help="What the camera in the corner of a figure saves: SVG to be printed and edited, PNG for slides.",
    )


def config(name: str) -> dict[str, Any]:
    """A figure's settings; `name` is that of the file."""
    chosen: str = st.session_state["pictures"]
    options = {"format": chosen.lower(), "filename": f"strata-{name}"} | ({"scale": 2} if chosen == "PNG" else {})
    return {"displaylogo": False, "toImageButtonOptions": options}
