"""The map of a run that moves from step to step: positions, neighbours and shifts of its sentences, and its quality."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import errors, in_words, progress, run_folder
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import moving_map
from explorer.measuring.maps import frames, projection, trustworthiness
from explorer.measuring.neighbours import vector_index
from explorer.places import Stamps, stamps
from explorer.training.record import recorder, runs
from explorer.ui.access import cached_texts, jobs
from explorer.ui.widgets import controls
from explorer.ui.widgets import moving_map as moving

SETTINGS = projection.MapSettings("UMAP")
ALIGNED = "Aligned UMAP, one map per step, each aligned with the steps before and after:"
TRAILS = 500  # sentences up to which each has a line from its position at the first step


def show(
    row: DeltaGenerator,
    run: runs.Run,
    seed: int,
    evaluations: list[run_folder.Evaluation],
    *,
    of: str,
    at: int,
    jump: str,
    rested: Callable[[int], None],
) -> str:
    """Draw the map that moves through the steps; how it was made and how good it is at this step."""
    steps = tuple(one.step for one in evaluations)
    known, compared = travel_of(run, seed, steps), compared_of(run, seed, steps)
    assert known is not None
    assert compared is not None
    travel, sentences = known
    with row:
        kind = _projection(["PCA", "UMAP"] if len(sentences) >= projection.LEAST else ["PCA"])
    places = _by_umap(run, seed, steps, travel) if kind == "UMAP" else travel.places
    if places is None:
        return ""
    travel = replace(travel, places=places)
    subject = digest_of([repr(stamp(run, seed, steps))])
    moving.show(
        _content(f"{subject} {kind}", travel, sentences, compared, _names(run, evaluations), kind),
        subject=f"{subject} {kind}",
        name="replay",
        alt=f"{kind} of {len(sentences)} sentences of {of} at each step, each with a line from its "
        "position before training.",
        at=at,
        jump=f"{subject} {jump}",
        rested=rested,
    )
    quality = map_quality(run, seed, steps, at, kind, travel.places[at])
    return (
        f"{len(sentences)} sentences of {of} under the trained layer & pooling. {_how(kind, travel, len(sentences))} "
        f"At step {steps[at]}: {quality.text} Colour: 1 minus the cosine of a sentence's vector with its vector at the "
        f"first step; mean at this step {float(np.mean(travel.turned[at])):.3f} (0: unchanged)."
    )


def _how(kind: str, travel: projection.Travel, sentences: int) -> str:
    """How the maps were made."""
    if kind == "UMAP":
        return (
            f"{ALIGNED} {min(SETTINGS.neighbours, sentences)} neighbours by cosine, min_dist "
            f"{SETTINGS.min_dist:g}, {projection.rounds(sentences)} epochs, seed {SETTINGS.seed}."
        )
    share = in_words.percent(travel.shown)
    return f"PCA: the first two principal components of all steps together, with {share} of the variance."


def _projection(kinds: list[str]) -> str:
    kind: str = controls.menu(
        "Projection",
        kinds,
        default="PCA",
        key="replayed_projection",
        width=120,
        help="PCA is fast and preserves large distances. UMAP preserves neighbours and takes some seconds; its "
        f"large distances mean little, and it needs {projection.LEAST} sentences.",
    )
    return kind


def _names(run: runs.Run, evaluations: list[run_folder.Evaluation]) -> list[str]:
    """What each evaluation is called: its step, and its stage in a run with stages."""
    staged = run.status().facts.stages is not None
    return [
        f"step {one.step}" + (f", stage {one.stage}" if staged and one.stage is not None else "") for one in evaluations
    ]


@st.cache_resource(max_entries=4, show_spinner=False)
def _content(
    key: str, _travel: projection.Travel, _sentences: list[str], _compared: frames.Frames, _names: list[str], _kind: str
) -> dict[str, Any]:
    shades = moving_map.on_scale(
        _travel.turned, 0, max(1e-6, float(_travel.turned.max())), "moved since the first step (1 − cosine)"
    )
    return moving_map.content(
        key,
        _sentences,
        _names,
        _travel.places,
        _compared,
        shades,
        title=_kind,
        most=_compared.most_moved(),
        most_title=f"Moved most up to {_names[-1]}",
        trails=range(len(_sentences)) if len(_sentences) <= TRAILS else None,
        sides=False,
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
        near = yield from projection.neighbours_of_each(probes)
        return (yield from projection.travel_by_umap(near, plane, SETTINGS))

    key = digest_of((repr(stamp(run, seed, steps)), str(SETTINGS)))
    places: np.typing.NDArray[np.float64] | None = jobs.result(
        f"replayed UMAP {key}", f"UMAP of {len(steps)} steps", make
    )
    return places


def stamp(run: runs.Run, seed: int, steps: tuple[int, ...]) -> Stamps:
    """A value that changes with the sentences of a run's maps or with a vector of them, whatever run has its name."""
    vectors = (run_folder.probe_file(run.folder, seed, step) for step in steps)
    return stamps((run.folder / run_folder.PROBE / run_folder.PROBE_SENTENCES, *vectors))


@cached_texts.by_stamp(lambda run, seed, steps: (run.folder, seed, steps, stamp(run, seed, steps)), 16)
def travel_of(_run: runs.Run, _seed: int, _steps: tuple[int, ...]) -> tuple[projection.Travel, list[str]] | None:
    """The probe sentences and their paths over evaluation steps."""
    sentences = recorder.probe_sentences(_run)
    probes = recorder.probes(_run, _seed, _steps)
    if probes is None or not sentences or probes.shape[1] != len(sentences):
        return None
    return projection.travel(probes), sentences


@cached_texts.by_stamp(lambda run, seed, steps: (run.folder, seed, steps, stamp(run, seed, steps)), 8)
def compared_of(_run: runs.Run, _seed: int, _steps: tuple[int, ...]) -> frames.Frames | None:
    """The nearest neighbours of the probe sentences at every step, and how far each sentence moved."""
    probes = recorder.probes(_run, _seed, _steps)
    if probes is None:
        return None
    vectors = [one.astype(np.float32) for one in probes]
    near = [progress.finish(vector_index.neighbourhoods(one, most=vector_index.COMPARED)) for one in vectors]
    return progress.finish(frames.frames(vectors, near))


@cached_texts.by_stamp(
    lambda run, seed, steps, at, kind, _: (run.folder, seed, steps[at], kind, stamp(run, seed, steps)), 128
)
def map_quality(
    _run: runs.Run, _seed: int, _steps: tuple[int, ...], _at: int, _kind: str, _places: np.typing.NDArray[np.float64]
) -> trustworthiness.Faithfulness:
    """Trustworthiness and neighbours preserved of the map at one of the steps; `_kind` is the projection of all."""
    probes = recorder.probes(_run, _seed, (_steps[_at],))
    if probes is None:
        return trustworthiness.Faithfulness(float("nan"), float("nan"), 0, 0)
    return progress.finish(trustworthiness.believed(probes[0], _places))
