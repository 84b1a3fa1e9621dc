"""Replay a run: its map moves from step to step, with what changed up to the best one; the rest is in tabs."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from explorer import errors, in_words, run_folder
from explorer.drawing.scores import run_figures
from explorer.knobs import Knobs, knob
from explorer.measuring.comparing.verdict_sentence import gap_with_ci
from explorer.measuring.maps import frames
from explorer.measuring.scores.verdict import WORDS
from explorer.training.record import runs
from explorer.typed_numbers import whole_in
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.replay import step_grid, step_map
from explorer.ui.runs import run_curves, run_status, training_form
from explorer.ui.widgets import controls, downloads, first_screen

NOTHING_TO_REPLAY = "No run to replay yet. Train one: its evaluation steps are saved."


@dataclass(frozen=True)
class ReplayOptions(Knobs):
    """Which training of a run is replayed."""

    seed: int = knob(1, low=1, title="Seed", help="")  # its number, counted from 1


# label, name in the metrics file, digits, whether lower is better, what is good
METRICS = (
    (
        "Dev score",
        "dev",
        2,
        False,
        "× 100, on the dev set: Spearman (good models: 75 to 90), of two labels average precision, or nDCG@10 or "
        "MRR@10 of queries. Higher is better.",
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
        "random_pairs",
        3,
        True,
        "Anisotropy, −1 to 1. Near 0 is good; above 0.9 the embeddings have nearly collapsed.",
    ),
)
FITS = 36  # characters of a name that the field shows whole
RUN, STEP = "replayed", "replayed_step"  # in the address
_AT, _JUMPS = "_replay is at", "_replay was sent elsewhere"
NO_MAP = "No map: this run kept no vectors that can be projected. Train it again to get a map."
SCORES, GEOMETRY, LAYERS, MAP, RUNS, RECIPE, LOG = (
    "Scores", "Geometry", "Layers", "Quality of the map", "All runs", "Settings", "Log"
)  # fmt: skip
HOW_CHOSEN = (
    "The dev set chose the step, so its score is optimistic: the test set says what was gained, against the base as "
    "people use it. "
)
HOW_NEAR = "Neighbours are by cosine of the full vectors of the sentences on the map."


def show() -> None:
    """The answer and the map of the run that is replayed, then the open tab."""
    answer, row = first_screen.answer(), first_screen.controls_row()
    run = _run(row)
    if run is None:
        _all_runs()
        return
    try:
        number = _seed(row, run)
    except errors.StrataError as error:  # its recipe cannot be read
        messages.trouble(error)
        return
    evaluations = _evaluations(run, number)
    seed, steps = run.recipe().seeds[number - 1], tuple(one.step for one in evaluations)
    at = _at(run, number, steps)
    known = step_map.travel_of(run, seed, steps)
    with first_screen.figure():
        how = ""
        if known is None:
            st.caption(NO_MAP)
        else:
            how = _map(row, run, number, evaluations, at)
    with answer:
        _answer(run, evaluations, step_map.compared_of(run, seed, steps) if known else None)
    tab = first_screen.tabs([SCORES, GEOMETRY, LAYERS, *([MAP] if known else []), RUNS, RECIPE, LOG])
    if tab == SCORES:
        _scores(run, evaluations, at)
    elif tab == GEOMETRY:
        _geometry(evaluations, at)
    elif tab == LAYERS:
        _choose_step(run, number, steps, at)
        step_grid.show(run, evaluations, number, at)
    elif tab == MAP:
        st.caption(how)
    elif tab == RUNS:
        _all_runs()
    elif tab == RECIPE:
        _recipe(run)
    else:
        st.code(run.log_tail(40) or "The log is empty.", language=None, wrap_lines=True)


def _all_runs() -> None:
    run_status.table("their replay", lambda run: st.session_state.update({RUN: run.name}), "replay its run")


def _recipe(run: runs.Run) -> None:
    st.code((run.folder / run_folder.RECIPE).read_text(encoding="utf-8"), language="yaml", height=480)
    st.page_link(
        "pages/train.py",
        label="Model, scores and actions of this run",
        icon=":material/model_training:",
        query_params={"run": run.name},
    )


def _answer(run: runs.Run, evaluations: list[run_folder.Evaluation], compared: frames.Frames | None) -> None:
    """What changed from the first step to the best one, and what the test set says of it.

    Where nothing judged the steps, such as in the last training of cross-fitted rows, the last one is the model.
    """
    status, at = run.status(), len(evaluations) - 1
    judged = any(one.selection_score is not None for one in evaluations)
    if judged:
        at = next((at for at in reversed(range(len(evaluations))) if evaluations[at].best), at)
    first, best = evaluations[0], evaluations[at]
    parts = []
    if at and first.dev is not None and best.dev is not None:
        gap = in_words.signed(in_words.gap(first.dev, best.dev))
        measure = messages.plain(status.facts.measure_of("dev"))
        parts.append(
            f"From step {first.step} to step {best.step}, the best of {len(evaluations)} evaluations, **{measure} on "
            f"the dev set × 100: {in_words.arrow(first.dev, best.dev)} ({gap})**"
        )
    elif not at:
        parts.append(f"Of {len(evaluations)} evaluations none was better than step {first.step}")
    else:
        parts.append(f"From step {first.step} to step {best.step}, the {'best' if judged else 'last'}")
    if compared is not None and at:
        parts.append(
            f"{compared.keep_most(at):,} of {compared.near.shape[1]:,} sentences keep most of their "
            f"{compared.nearest} nearest"
        )
    tested = status.verdict and status.verdict.test if status.facts.nothing is None else None
    if tested and tested.known:
        parts.append(f"on the test set {gap_with_ci(tested)}: {WORDS[tested.kind].lower()}")
    st.markdown(f"{'; '.join(parts)}.", help=HOW_CHOSEN * judged + HOW_NEAR)


def _evaluations(run: runs.Run, number: int = 1) -> list[run_folder.Evaluation]:
    """Those of a seed, counted from 1; of cross-fitted rows those of the model that is saved, not of the folds."""
    every = run_curves.numbers(run.folder).evaluations(number)
    folds = run.status().facts.folds
    return every if folds is None else [one for one in every if one.stage == len(folds.parts)]


def _run(row: DeltaGenerator) -> runs.Run | None:
    """Choose a run with at least two evaluations; a run that is A or B comes first."""
    found = {run.name: run for run in [*runs.every(), *runs.examples()] if len(_evaluations(run)) > 1}
    if not found:
        st.info(NOTHING_TO_REPLAY, icon=":material/model_training:")
        st.page_link("pages/train.py", label="Train", icon=":material/model_training:")
        return None
    sides_of = [sidebar_choice.chosen(), sidebar_choice.model_b()]
    named = [run_folder.run_and_checkpoint(side.source)[0] for side in sides_of if side]
    first = [name for name in reversed(named) if name in found]
    names = list(dict.fromkeys([*first, *found]))
    if linked := st.query_params.pop(training_form.RUN, ""):  # as Train calls it
        st.session_state[RUN] = linked
        with suppress(StreamlitAPIException):  # already bound to the menu: Streamlit does the same itself
            st.query_params[RUN] = linked
    with row:
        name: str = controls.menu("Run", controls.with_current(names, RUN), default=names[0], key=RUN, width=320)
    if name not in found:
        messages.trouble(f"Run '{name}' cannot be replayed or does not exist. Choose one of: {', '.join(names[:5])}.")
        return None
    if called := found[name].row or name * (len(name) > FITS):
        st.caption(messages.plain(called))
    return found[name]


def _has_dev_set(evaluations: list[run_folder.Evaluation]) -> bool:
    """Whether a dev set judged the steps; cross-fitted rows judge, too, but each only the model of its fold."""
    return any(one.dev is not None for one in evaluations)


def _judged_on(evaluations: list[run_folder.Evaluation]) -> str:
    """What the vectors of the steps are of."""
    return "the dev set" if _has_dev_set(evaluations) else "the rows that are trained on"


def _seed(row: DeltaGenerator, run: runs.Run) -> int:
    """Choose one of the run's seeds; returns its number, counted from 1."""
    seeds = run.recipe().seeds
    evaluated = [number for number in range(1, len(seeds) + 1) if len(_evaluations(run, number)) > 1]
    if len(evaluated) < 2:
        return evaluated[0]
    of_run = replace(ReplayOptions.knobs["seed"], default=evaluated[0])
    titles = {number: str(seeds[number - 1]) for number in evaluated}
    with row:
        # not in the address: the seeds of the next run are others
        number: int = controls.segments_of(
            of_run, f"seed of {run.name}", evaluated, format_func=titles.__getitem__, bind=None, wrap=None
        )
    return number


def _at(run: runs.Run, number: int, steps: tuple[int, ...]) -> int:
    """The place of the step at which the map rests: that of the address when it is opened, else the first."""
    kept = st.session_state.get(_AT)
    asked = kept[-1] if kept and kept[:2] == (run.name, number) else None
    if kept is None:
        asked = whole_in(st.query_params.get(STEP, ""))
    at = steps.index(asked) if asked in steps else 0
    st.session_state[_AT] = run.name, number, steps[at]
    if at:
        st.query_params[STEP] = str(steps[at])
    else:
        st.query_params.pop(STEP, None)
    return at


def _choose_step(run: runs.Run, number: int, steps: tuple[int, ...], at: int) -> None:
    """Choose the step whose layers are shown; the map goes there too."""
    key = "step of layers"
    st.session_state[key] = steps[at]

    def go() -> None:
        st.session_state[_AT] = run.name, number, st.session_state[key]
        st.session_state[_JUMPS] = st.session_state.get(_JUMPS, 0) + 1

    st.select_slider("Step", steps, key=key, on_change=go, help="Move with the arrow keys; the map follows.")


def _scores(run: runs.Run, evaluations: list[run_folder.Evaluation], at: int) -> None:
    """The dev score at every step."""
    if not _has_dev_set(evaluations):
        st.caption("No dev set judged the steps of this run.")
        return
    _cards(evaluations, at, METRICS[:1])
    status = run.status()
    downloads.draw(
        run_figures.dev_scores(
            evaluations,
            status.base,
            at=evaluations[at].step,
            same_reading=run_curves.same_reading(status),
            measure=status.facts.measure_of("dev"),
        ),
        key="replayed scores",
        config=downloads.config("replay"),
        alt="The dev score at each evaluation step, this step marked.",
    )


def _geometry(evaluations: list[run_folder.Evaluation], at: int) -> None:
    _cards(evaluations, at, METRICS[1:])
    downloads.draw(
        run_figures.alignment_and_uniformity(evaluations, at),
        key="alignment and uniformity",
        config=downloads.config("replay"),
        alt="Alignment and uniformity at each evaluation step of the run, this step marked.",
    )
    st.caption(
        f"On {_judged_on(evaluations)}, unit vectors. Alignment: mean squared distance of pairs with a gold score "
        "in the top fifth of the scale, or of queries and their documents. Uniformity: log of the mean of "
        "exp(−2 d²) over pairs of sentences. Lower is better for both (Wang and Isola 2020)."
    )


def _cards(evaluations: list[run_folder.Evaluation], at: int, metrics: tuple[Any, ...]) -> None:
    """The metrics at the step where the map rests, next to those at the first step."""
    st.caption(f"At step {evaluations[at].step}, where the map is.")
    cards = st.container(horizontal=True)
    for label, name, digits, lower_is_better, help in metrics:
        now, before = getattr(evaluations[at], name), getattr(evaluations[0], name)
        value = in_words.number(now, digits)
        if now is None or before is None or not at:
            messages.number(cards, label, value, border=True, help=help)
            continue
        change = in_words.gap(before, now, digits=digits)
        since = f"{in_words.signed(change, digits)} since step {evaluations[0].step}"
        messages.changed(cards, label, value, change, since, lower_is_better=lower_is_better, help=help)


def _map(row: DeltaGenerator, run: runs.Run, number: int, evaluations: list[run_folder.Evaluation], at: int) -> str:
    """Draw the map that moves through the steps; how it was made and how good it is at this step."""
    steps = tuple(one.step for one in evaluations)

    def rested(frame: int) -> None:
        if frame < len(steps):
            st.session_state[_AT] = run.name, number, steps[frame]

    return step_map.show(
        row,
        run,
        run.recipe().seeds[number - 1],
        evaluations,
        of=_judged_on(evaluations),
        at=at,
        jump=str(st.session_state.get(_JUMPS, 0)),
        rested=rested,
    )
