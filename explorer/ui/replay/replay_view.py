"""Replay a run: its sentence map, scores and layers at any evaluation step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import streamlit as st

from explorer import in_words, run_folder
from explorer.drawing.runs import metric_curves, step_pictures
from explorer.errors import StrataError
from explorer.metric_lines import Evaluation
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import second_encoder, sidebar
from explorer.ui.replay import step_grid, step_map
from explorer.ui.runs import run_curves, run_list, run_metrics
from explorer.ui.widgets import picture_format

NOTHING_TO_REPLAY = "No run to replay yet. Train one: its evaluation steps are saved."

# label, name in the metrics file, digits, whether lower is better, what is good
METRICS = (
    (
        "Dev score",
        "dev",
        2,
        False,
        "× 100, on the dev set: Spearman (good models: 75 to 90), or nDCG@10 or MRR@10 of queries. Higher is better.",
    ),
    (
        "Alignment",
        "alignment",
        3,
        True,
        "Mean squared distance of positive pairs, 0 to 4. Lower is better; typical: 0.2 to 1.",
    ),
    (
        "Uniformity",
        "uniformity",
        3,
        True,
        "How evenly vectors spread on the sphere, about −4 to 0 (log). Lower is better; typical: −3.8 to −1.",
    ),
    (
        "Mean cosine of random pairs",
        "strangers",
        3,
        True,
        "Anisotropy, −1 to 1. Near 0 is good; above 0.9 the embeddings have nearly collapsed.",
    ),
)
STEP = "replayed_step"  # the key of the slider
EVERY = 1.0  # seconds
PLAY, PAUSE = "Play", "Pause"
_SINCE, _NEXT = "_replay shows this step since", "_replay moves on"


def choose_run() -> Run | None:
    """Choose a run with at least two evaluations; a run that is A or B comes first."""
    found = {
        run.name: run
        for run in [*runs.every(), *runs.examples()]
        if len(run_metrics.numbers(run.folder).evaluations()) > 1
    }
    if not found:
        st.info(NOTHING_TO_REPLAY, icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train", icon=":material/model_training:")
        return None
    sides_of = [sidebar_choice.chosen(), second_encoder.beside()]
    named = [run_folder.run_and_checkpoint(side.source)[0] for side in sides_of if side]
    first = [name for name in reversed(named) if name in found]
    names = list(dict.fromkeys([*first, *found]))
    name: str = st.selectbox("Run", sidebar.with_current(names, "replayed"), key="replayed", bind="query-params")
    if name not in found:
        messages.trouble(f"Run '{name}' cannot be replayed or does not exist. Choose one of: {', '.join(names[:5])}.")
        return None
    return found[name]


def _replay(run: Run) -> None:
    st.session_state["replayed"] = run.name


def choose_seed(run: Run) -> int:
    """Choose one of the run's seeds; returns its number, counted from 1."""
    seeds = run.recipe().seeds
    evaluated = [
        number for number in range(1, len(seeds) + 1) if len(run_metrics.numbers(run.folder).evaluations(number)) > 1
    ]
    if len(evaluated) < 2:
        return evaluated[0]
    number: int = st.segmented_control(
        "Seed",
        evaluated,
        format_func=lambda number: str(seeds[number - 1]),
        default=evaluated[0],
        required=True,
        key=f"seed of {run.name}",
    )
    return number


def choose_step(evaluations: list[Evaluation], run: Run) -> int:
    """Choose an evaluation step; returns its index."""
    steps = [one.step for one in evaluations]
    turn_to_next(steps)
    best = next((one.step for one in reversed(evaluations) if one.best), steps[-1])
    if st.session_state.get(STEP) not in steps:
        st.session_state[STEP] = best  # of another run, or none yet
    line = st.container(horizontal=True, vertical_alignment="bottom")
    with line:
        play_button(steps)
    step: int = line.select_slider("Step", steps, key=STEP, bind="query-params", help="Move with the arrow keys.")
    return steps.index(step)


def numbers(evaluations: list[Evaluation], at: int) -> None:
    """The metrics at the step, next to those at the first step."""
    cards = st.container(horizontal=True)
    for label, name, digits, lower_is_better, help in METRICS:
        now, before = getattr(evaluations[at], name), getattr(evaluations[0], name)
        told = in_words.number(now, f".{digits}f")
        if now is None or before is None:
            messages.number(cards, label, told, border=True, help=help)
            continue
        change = round(now - before, digits)
        since = f"{change:+.{digits}f} since step {evaluations[0].step}"
        messages.changed(cards, label, told, change, since, lower_is_better=lower_is_better, help=help)


def figures(run: Run, evaluations: list[Evaluation], number: int, at: int) -> None:
    """The sentence map at the step, and the step on the run's curves."""
    left, right = st.columns([3, 2], gap="medium")
    with left:
        step_map.show(run, evaluations, run.recipe().seeds[number - 1], at)
    with right:
        st.subheader("Embedding geometry")
        picture_format.draw(
            step_pictures.alignment_and_uniformity(evaluations, at),
            key="alignment and uniformity",
            config=picture_format.config("replay"),
            alt="Alignment and uniformity at each evaluation step of the run, this step marked.",
        )
        st.caption(
            "On the dev set, unit vectors. Alignment: mean squared distance of pairs with a gold score in the top "
            "fifth of the scale, or of queries and their documents. Uniformity: log of the mean of exp(−2 d²) over "
            "pairs of sentences. Lower is better for both (Wang and Isola 2020)."
        )
    status = run.status()
    picture_format.draw(
        metric_curves.dev_scores(
            evaluations,
            status.base,
            at=evaluations[at].step,
            same_reading=run_curves.same_reading(status),
            measure=status.facts.measure_of("dev"),
        ),
        key="replayed scores",
        config=picture_format.config("replay"),
        alt="The dev score at each evaluation step, this step marked.",
    )


def show() -> None:
    """The list of runs, then the one that is replayed."""
    run_list.table("their replay", _replay, "replay its run")
    run: Any = choose_run()
    if run is None:
        return
    st.page_link(
        "pages/train.py",
        label="Settings, log and model of this run",
        icon=":material/model_training:",
        query_params={"run": run.name},
    )
    try:
        number = choose_seed(run)
    except StrataError as error:  # its recipe cannot be read
        messages.trouble(error)
        return
    evaluations = run_metrics.numbers(run.folder).evaluations(number)
    at = choose_step(evaluations, run)
    numbers(evaluations, at)
    figures(run, evaluations, number, at)
    step_grid.show(run, evaluations, number, at)


def play_button(steps: Sequence[int]) -> None:
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
