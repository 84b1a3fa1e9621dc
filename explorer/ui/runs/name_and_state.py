"""The heading of a run or a plan: its name, and its state as a badge."""

from __future__ import annotations

from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.training.record import status as statuses
from explorer.ui import messages

Colour = Literal["gray", "blue", "green", "orange", "red"]
BADGES: dict[str, tuple[Colour, str]] = {  # a colour of Streamlit and an icon for each state
    statuses.WAITING: ("gray", ":material/hourglass_empty:"),
    statuses.RUNNING: ("blue", ":material/play_circle:"),
    statuses.FINISHED: ("green", ":material/check_circle:"),
    statuses.STOPPED: ("orange", ":material/stop_circle:"),
    statuses.INTERRUPTED: ("orange", ":material/power_off:"),
    statuses.FAILED: ("red", ":material/error:"),
}
UNKNOWN: tuple[Colour, str] = ("gray", ":material/help:")  # a folder may say anything


def show(name: str, state: str) -> DeltaGenerator:
    """Draw both; gives their line, for further badges."""
    line = st.container(horizontal=True, vertical_alignment="center")
    line.subheader(messages.plain(name), width="content")
    colour, icon = BADGES.get(state, UNKNOWN)
    line.badge(messages.plain(state), icon=icon, color=colour)
    return line
