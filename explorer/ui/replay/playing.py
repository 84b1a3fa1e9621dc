"""Play a replay: a button that moves to the next step every second, until the last one."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

STEP = "replayed_step"  # the key of the slider
EVERY = 1.0  # seconds
PLAY, PAUSE = "Play", "Pause"
_SINCE, _NEXT = "_replay shows this step since", "_replay moves on"


def button(steps: Sequence[int]) -> None:
    """Play or pause; from the last step it starts again."""
    plays = _SINCE in st.session_state
    st.button(
        PAUSE if plays else PLAY,
        icon=":material/pause:" if plays else ":material/play_arrow:",
        key="play",
        on_click=_pause if plays else _play,
        args=() if plays else (tuple(steps),),
    )
    if plays:
        st.fragment(_wait, run_every=EVERY / 2)()


def turn_to_next(steps: Sequence[int]) -> None:
    """Move the slider, if it is time; call it before the slider is drawn."""
    if not st.session_state.pop(_NEXT, False) or st.session_state.get(STEP) not in steps:
        return
    at = steps.index(st.session_state[STEP]) + 1
    if at < len(steps):
        st.session_state[STEP] = steps[at]
        st.session_state[_SINCE] = time.monotonic()
    if at >= len(steps) - 1:
        _pause()


def _play(steps: tuple[int, ...]) -> None:
    if st.session_state.get(STEP) == steps[-1]:
        st.session_state[STEP] = steps[0]
    st.session_state[_SINCE] = time.monotonic()


def _pause() -> None:
    st.session_state.pop(_SINCE, None)


def _wait() -> None:
    """Ask for the next step once this one was seen for a second."""
    if time.monotonic() - st.session_state.get(_SINCE, time.monotonic()) >= EVERY:
        st.session_state[_NEXT] = True
        st.rerun()
