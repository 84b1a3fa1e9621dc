"""Draw a figure with text that can be read, and choose the format in which figures are saved."""

from typing import Any

import streamlit as st

from explorer.drawing.parts import style
from explorer.ui.widgets import segments

FORMATS = ("SVG", "PNG")
PRESENTING, TEXT = "_presenting", 1.5  # whether presentation mode is on, and how many times larger its text is
_INK = {"light": "#0c1619", "dark": "#e4eced"}  # of figures, as of other text (.streamlit/config.toml)
# the rules by which a figure that was drawn in one theme can be read in the other
_FOLLOWS = "\n".join(
    f'.js-plotly-plot text[style*="fill: rgb({red}, {green}, {blue})"] {{ fill: currentColor !important; }}'
    for red, green, blue in (bytes.fromhex(ink.removeprefix("#")) for ink in _INK.values())
)
# the buttons of a figure are below it, where they cover no title, legend or note; on the full screen, where there is no
# room below and the body of the page does not scroll, they are above it
_BUTTONS = """
.js-plotly-plot { overflow: visible !important; }
.js-plotly-plot .modebar-container { top: 100% !important; }
.js-plotly-plot .modebar { top: 0 !important; }
body[style*="overflow: hidden"] .js-plotly-plot .modebar-container { top: -2.25rem !important; }
[data-testid="stElementContainer"]:has(> * > [data-testid="stPlotlyChart"]) { overflow: visible; margin-bottom: 10px; }
"""
LOOK = _FOLLOWS + _BUTTONS


def presenting() -> bool:
    """Whether presentation mode is on."""
    return bool(st.session_state.get(PRESENTING))


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


def draw(figure: Any, *, height: int | None = None, least: int = 0, **arguments: Any) -> None:
    """`st.plotly_chart` with text in the colour of the page, and larger in presentation mode.

    Streamlit writes axes and notes in a grey of 3.6:1. A saved figure has this colour too; where the theme of a page
    changes later, `LOOK` corrects it. The height in pixels is `height` if it is given, else the figure's own, or
    `least` if that is more.
    """
    style.set_text(figure, _INK["dark" if st.context.theme.type == "dark" else "light"], TEXT if presenting() else 1.0)
    if height is not None or least:
        figure.update_layout(height=height or max(least, figure.layout.height))
    st.plotly_chart(figure, **arguments)
