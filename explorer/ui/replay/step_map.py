"""Map the sentences of a run at a step; the projection is the same for all steps."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.drawing.runs import step_pictures
from explorer.errors import RunError
from explorer.measuring.maps import projection, step_maps
from explorer.measuring.maps.faithfulness import Faithfulness
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.maps.step_maps import Travel, travel_by_umap
from explorer.metric_lines import Evaluation
from explorer.places import Stamps, stamps
from explorer.progress import Work, finish
from explorer.run_folder import PROBE, PROBE_SENTENCES, probe_file
from explorer.training.record import recorder
from explorer.training.record.runs import Run
from explorer.ui.access import job_results
from explorer.ui.widgets import picture_format, segments

SETTINGS = MapSettings("UMAP")
NO_MAP = "No map: this run kept no vectors that can be projected. Train it again to get a map."
ALIGNED = "Aligned UMAP, one map per step, each aligned with the steps before and after:"


def show(run: Run, evaluations: list[Evaluation], seed: int, at: int) -> None:
    """The map at the step."""
    st.subheader("Sentence map")
    steps = tuple(one.step for one in evaluations)
    found = travel_of(run, seed, steps)
    if found is None:
        st.caption(NO_MAP)
        return
    travel, sentences = found
    kind, told = "PCA", _told_of_plane(travel)
    if _projection() == "UMAP":
        if len(sentences) < projection.LEAST:
            told = f"PCA is shown: UMAP needs {projection.LEAST} sentences, and there are {len(sentences)}. {told}"
        else:
            places = _by_umap(run, seed, steps, travel)
            if places is None:
                return
            kind, told, travel = "UMAP", _told_of_umap(travel), replace(travel, places=places)
    picture_format.draw(
        step_pictures.places(travel, sentences, at),
        key="replayed map",
        config=picture_format.config("replay"),
        alt="Sentences of the dev set on a map, each with a line from its position before training.",
    )
    believed = faithfulness(run, seed, steps, at, kind, travel.places[at])
    st.caption(
        f"{len(sentences)} sentences of the dev set under the trained layer & pooling. {told} {believed.text} "
        f"Colour: 1 minus the cosine of a sentence's vector with its vector at the first step; mean at this step "
        f"{float(np.mean(travel.turned[at])):.3f} (0: unchanged)."
    )


def _projection() -> str:
    kind: str = segments.chosen(
        "Projection",
        ["PCA", "UMAP"],
        default="PCA",
        key="replayed_projection",
        help="PCA is fast and preserves large distances. UMAP preserves neighbours and takes some seconds; its large "
        "distances mean little.",
    )
    return kind


def _by_umap(run: Run, seed: int, steps: tuple[int, ...], plane: Travel) -> NDArray[np.float64] | None:
    """Coordinates at all steps; None while they are being computed."""

    def make() -> Work[NDArray[np.float64]]:
        probes = recorder.probes(run, seed, steps)  # in memory only while the map is computed
        if probes is None:
            raise RunError(f"The vectors of run '{run.name}' are missing in {run.folder}. Choose PCA or another run.")
        return (yield from travel_by_umap(probes, plane, SETTINGS))

    key = digest_of((repr(stamp(run, seed, steps)), str(SETTINGS)))
    places: Any = job_results.made(f"replayed UMAP {key}", f"UMAP of {len(steps)} steps", make)
    return None if places is None else np.asarray(places)


def _told_of_plane(travel: Travel) -> str:
    return f"PCA: the first two principal components of all steps together, with {travel.shown:.0%} of the variance."


def _told_of_umap(travel: Travel) -> str:
    sentences = travel.places.shape[1]
    return (
        f"{ALIGNED} "
        f"{min(SETTINGS.neighbours, sentences)} neighbours by cosine, min_dist {SETTINGS.min_dist:g}, "
        f"{projection.rounds(sentences)} epochs, seed {SETTINGS.seed}."
    )


def stamp(run: Run, seed: int, steps: tuple[int, ...]) -> Stamps:
    """A value that changes with the sentences of a run's maps or with a vector of them, whatever run has its name."""
    vectors = (probe_file(run.folder, seed, step) for step in steps)
    return stamps((run.folder / PROBE / PROBE_SENTENCES, *vectors))


def travel_of(run: Run, seed: int, steps: tuple[int, ...]) -> tuple[Travel, list[str]] | None:
    """The probe sentences and their paths over evaluation steps."""
    return _travel(run.folder, seed, steps, stamp(run, seed, steps))


@st.cache_resource(max_entries=16, show_spinner=False)
def _travel(folder: Path, seed: int, steps: tuple[int, ...], stamp: Hashable) -> tuple[Travel, list[str]] | None:
    sentences = recorder.probe_sentences(Run(folder))
    probes = recorder.probes(Run(folder), seed, steps)
    if probes is None or not sentences or probes.shape[1] != len(sentences):
        return None
    return step_maps.travel(probes), sentences


def faithfulness(
    run: Run, seed: int, steps: tuple[int, ...], at: int, kind: str, places: NDArray[np.float64]
) -> Faithfulness:
    """Trustworthiness and neighbours preserved of the map at one of the steps; `kind` is the projection of all."""
    return _believed(run.folder, seed, steps[at], stamp(run, seed, steps), kind, places)


@st.cache_resource(max_entries=128, show_spinner=False)
def _believed(
    folder: Path, seed: int, step: int, stamp: Hashable, kind: str, _places: NDArray[np.float64]
) -> Faithfulness:
    probes = recorder.probes(Run(folder), seed, (step,))
    if probes is None:
        return Faithfulness(float("nan"), float("nan"), 0, 0)
    return finish(step_maps.believed(probes[0], _places))
