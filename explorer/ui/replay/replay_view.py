"""Replay a run: choose or play its evaluation steps, and show scores, geometry and the map of sentences at each."""

import time
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer import errors, in_words, progress, run_folder
from explorer.data.text_sets import digest_of
from explorer.drawing.scores import run_figures
from explorer.measuring.maps import projection
from explorer.places import Stamps, stamps
from explorer.training.record import recorder, runs
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.replay import step_grid
from explorer.ui.runs import run_status
from explorer.ui.widgets import controls, downloads

NOTHING_TO_REPLAY = "No run to replay yet. Train one: its evaluation steps are saved."

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
STEP = "replayed_step"  # the key of the slider
EVERY = 1.0  # seconds
PLAY, PAUSE = "Play", "Pause"
_SINCE, _NEXT = "_replay shows this step since", "_replay moves on"
SETTINGS = projection.MapSettings("UMAP")
NO_MAP = "No map: this run kept no vectors that can be projected. Train it again to get a map."
ALIGNED = "Aligned UMAP, one map per step, each aligned with the steps before and after:"


def show() -> None:
    """The list of runs, then the one that is replayed."""
    run_status.table("their replay", lambda run: st.session_state.update(replayed=run.name), "replay its run")
    run = _run()
    if run is None:
        return
    st.page_link(
        "pages/train.py",
        label="Settings, log and model of this run",
        icon=":material/model_training:",
        query_params={"run": run.name},
    )
    try:
        number = _seed(run)
    except errors.StrataError as error:  # its recipe cannot be read
        messages.trouble(error)
        return
    evaluations = _evaluations(run, number)
    at = _step(evaluations, run)
    stages, stage = run.status().facts.stages, evaluations[at].stage
    if stages is not None and stage is not None:
        st.caption(f"Stage {stage} of {len(stages.methods)}: {messages.plain(stages.methods[stage - 1])}.")
    cards = st.container(horizontal=True)  # the metrics at the step, next to those at the first step
    for label, name, digits, lower_is_better, help in METRICS if _has_dev_set(evaluations) else METRICS[1:]:
        now, before = getattr(evaluations[at], name), getattr(evaluations[0], name)
        value = in_words.number(now, digits)
        if now is None or before is None:
            messages.number(cards, label, value, border=True, help=help)
            continue
        change = in_words.gap(before, now, digits=digits)
        since = f"{in_words.signed(change, digits)} since step {evaluations[0].step}"
        messages.changed(cards, label, value, change, since, lower_is_better=lower_is_better, help=help)
    _figures(run, evaluations, number, at)
    step_grid.show(run, evaluations, number, at)


def _evaluations(run: runs.Run, number: int = 1) -> list[run_folder.Evaluation]:
    """Those of a seed, counted from 1; of cross-fitted rows those of the model that is saved, not of the folds."""
    every = run_status.numbers(run.folder).evaluations(number)
    folds = run.status().facts.folds
    return every if folds is None else [one for one in every if one.stage == len(folds.parts)]


def _run() -> runs.Run | None:
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
    name: str = st.selectbox("Run", sidebar.with_current(names, "replayed"), key="replayed", bind="query-params")
    if name not in found:
        messages.trouble(f"Run '{name}' cannot be replayed or does not exist. Choose one of: {', '.join(names[:5])}.")
        return None
    if row := found[name].row:
        st.caption(messages.plain(row))
    return found[name]


def _has_dev_set(evaluations: list[run_folder.Evaluation]) -> bool:
    """Whether a dev set judged the steps; cross-fitted rows judge, too, but each only the model of its fold."""
    return any(one.dev is not None for one in evaluations)


def _judged_on(evaluations: list[run_folder.Evaluation]) -> str:
    """What the vectors of the steps are of."""
    return "the dev set" if _has_dev_set(evaluations) else "the rows that are trained on"


def _seed(run: runs.Run) -> int:
    """Choose one of the run's seeds; returns its number, counted from 1."""
    seeds = run.recipe().seeds
    evaluated = [number for number in range(1, len(seeds) + 1) if len(_evaluations(run, number)) > 1]
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


def _step(evaluations: list[run_folder.Evaluation], run: runs.Run) -> int:
    steps = [one.step for one in evaluations]
    if st.session_state.pop(_NEXT, False) and st.session_state.get(STEP) in steps:  # it plays, and it is time
        after = steps.index(st.session_state[STEP]) + 1
        if after < len(steps):
            st.session_state[STEP] = steps[after]
            st.session_state[_SINCE] = time.monotonic()
        if after >= len(steps) - 1:
            _pause()
    best = next((one.step for one in reversed(evaluations) if one.best), steps[-1])
    if st.session_state.get(STEP) not in steps:
        st.session_state[STEP] = best  # of another run, or none yet
    line = st.container(horizontal=True, vertical_alignment="bottom")
    plays = _SINCE in st.session_state
    line.button(
        PAUSE if plays else PLAY,
        icon=":material/pause:" if plays else ":material/play_arrow:",
        key="play",
        on_click=_pause if plays else _play,
        args=() if plays else (tuple(steps),),
    )
    if plays:
        with line:
            st.fragment(_wait, run_every=EVERY / 2)()
    step: int = line.select_slider("Step", steps, key=STEP, bind="query-params", help="Move with the arrow keys.")
    return steps.index(step)


def _figures(run: runs.Run, evaluations: list[run_folder.Evaluation], number: int, at: int) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _map(run, evaluations, run.recipe().seeds[number - 1], at)
    with right:
        st.subheader("Embedding geometry")
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
    if not _has_dev_set(evaluations):
        return
    status = run.status()
    downloads.draw(
        run_figures.dev_scores(
            evaluations,
            status.base,
            at=evaluations[at].step,
            same_reading=run_status.same_reading(status),
            measure=status.facts.measure_of("dev"),
        ),
        key="replayed scores",
        config=downloads.config("replay"),
        alt="The dev score at each evaluation step, this step marked.",
    )


def _play(steps: tuple[int, ...]) -> None:
    """Play; from the last step it starts again."""
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


def _map(run: runs.Run, evaluations: list[run_folder.Evaluation], seed: int, at: int) -> None:
    st.subheader("Sentence map")
    steps = tuple(one.step for one in evaluations)
    found = travel_of(run, seed, steps)
    if found is None:
        st.caption(NO_MAP)
        return
    travel, sentences = found
    kind = "PCA"
    how = f"PCA: the first two principal components of all steps together, with {travel.shown:.0%} of the variance."
    wanted = controls.segments(
        "Projection",
        ["PCA", "UMAP"],
        default="PCA",
        key="replayed_projection",
        help="PCA is fast and preserves large distances. UMAP preserves neighbours and takes some seconds; its large "
        "distances mean little.",
    )
    if wanted == "UMAP" and len(sentences) < projection.LEAST:
        how = f"PCA is shown: UMAP needs {projection.LEAST} sentences, and there are {len(sentences)}. {how}"
    elif wanted == "UMAP":
        places = _by_umap(run, seed, steps, travel)
        if places is None:
            return
        kind, travel = "UMAP", replace(travel, places=places)
        how = (
            f"{ALIGNED} {min(SETTINGS.neighbours, len(sentences))} neighbours by cosine, min_dist "
            f"{SETTINGS.min_dist:g}, {projection.rounds(len(sentences))} epochs, seed {SETTINGS.seed}."
        )
    downloads.draw(
        run_figures.places(travel, sentences, at),
        key="replayed map",
        config=downloads.config("replay"),
        alt="Sentences of the dev set on a map, each with a line from its position before training.",
    )
    quality = map_quality(run, seed, steps, at, kind, travel.places[at])
    st.caption(
        f"{len(sentences)} sentences of {_judged_on(evaluations)} under the trained layer & pooling. {how} "
        f"{quality.text} Colour: 1 minus the cosine of a sentence's vector with its vector at the first step; mean at "
        f"this step {float(np.mean(travel.turned[at])):.3f} (0: unchanged)."
    )


def _by_umap(
    run: runs.Run, seed: int, steps: tuple[int, ...], plane: projection.Travel
) -> np.typing.NDArray[np.float64] | None:
    def make() -> progress.Work[np.typing.NDArray[np.float64]]:
        probes = recorder.probes(run, seed, steps)  # in memory only while the map is computed
        if probes is None:
            raise errors.RunError(
                f"The vectors of run '{run.name}' are missing in {run.folder}. Choose PCA or another run."
            )
        return (yield from projection.travel_by_umap(probes, plane, SETTINGS))

    key = digest_of((repr(stamp(run, seed, steps)), str(SETTINGS)))
    places: np.typing.NDArray[np.float64] | None = jobs.result(
        f"replayed UMAP {key}", f"UMAP of {len(steps)} steps", make
    )
    return places


def stamp(run: runs.Run, seed: int, steps: tuple[int, ...]) -> Stamps:
    """A value that changes with the sentences of a run's maps or with a vector of them, whatever run has its name."""
    vectors = (run_folder.probe_file(run.folder, seed, step) for step in steps)
    return stamps((run.folder / run_folder.PROBE / run_folder.PROBE_SENTENCES, *vectors))


@cached.by_stamp(lambda run, seed, steps: (run.folder, seed, steps, stamp(run, seed, steps)), 16)
def travel_of(_run: runs.Run, _seed: int, _steps: tuple[int, ...]) -> tuple[projection.Travel, list[str]] | None:
    """The probe sentences and their paths over evaluation steps."""
    sentences = recorder.probe_sentences(_run)
    probes = recorder.probes(_run, _seed, _steps)
    if probes is None or not sentences or probes.shape[1] != len(sentences):
        return None
    return projection.travel(probes), sentences


@cached.by_stamp(
    lambda run, seed, steps, at, kind, _: (run.folder, seed, steps[at], kind, stamp(run, seed, steps)), 128
)
def map_quality(
    _run: runs.Run, _seed: int, _steps: tuple[int, ...], _at: int, _kind: str, _places: np.typing.NDArray[np.float64]
) -> projection.Faithfulness:
    """Trustworthiness and neighbours preserved of the map at one of the steps; `_kind` is the projection of all."""
    probes = recorder.probes(_run, _seed, (_steps[_at],))
    if probes is None:
        return projection.Faithfulness(float("nan"), float("nan"), 0, 0)
    return progress.finish(projection.believed(probes[0], _places))
