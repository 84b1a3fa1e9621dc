"""Where do the sentences of a run lie at a step, on a map that is the same for all steps?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.drawing.runs import step_pictures
from explorer.errors import RunError
from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import Way
from explorer.measuring.maps.step_maps import Travel, travel_by_umap
from explorer.progress import Work
from explorer.training.record import recorder
from explorer.training.record.runs import Run
from explorer.ui.access import remembered
from explorer.ui.replay import cached_maps
from explorer.ui.runs.run_metrics import Line
from explorer.ui.widgets import picture_format

WAY = Way("UMAP")


def show(run: Run, looks: list[Line], seed: int, at: int) -> None:
    """The map at the step."""
    st.subheader("Where the sentences lie")
    steps = tuple(look["step"] for look in looks)
    found = cached_maps.travel(run, seed, steps, looks[-1]["time"])
    if found is None:
        st.caption("This run kept no vectors at its looks that can be put on a map.")
        return
    travel, sentences = found
    kind, told = "PCA", _told_of_plane(travel)
    if _projection() == "UMAP":
        if len(sentences) < projection.LEAST:
            told = f"{len(sentences)} sentences are too few for UMAP, which needs {projection.LEAST}. {told}"
        else:
            places = _by_umap(run, seed, steps, looks[-1]["time"], travel)
            if places is None:
                return
            kind, told, travel = "UMAP", _told_of_umap(travel), replace(travel, places=places)
    st.plotly_chart(
        step_pictures.places(travel, sentences, at),
        key="replayed map",
        config=picture_format.config("replay"),
        alt="Sentences of the development pairs on a map, each with a line from where it was before training.",
    )
    believed = cached_maps.believed(run, seed, steps[at], looks[-1]["time"], kind, travel.places[at])
    st.caption(
        f"{len(sentences)} of the development sentences in the reading that is trained. {told} This step's map: "
        f"{believed.told} The colour is how far a vector has turned: 1 less its cosine with that of the first step. "
        f"Here {float(np.mean(travel.turned[at])):.3f} on average."
    )


def _projection() -> str:
    kind: str = st.segmented_control(
        "Projection",
        ["PCA", "UMAP"],
        default="PCA",
        required=True,
        key="replayed_projection",
        bind="query-params",
        help="PCA is there at once and keeps large distances. UMAP keeps neighbours together and takes some seconds; "
        "what is far apart on it says little.",
    )
    return kind


def _by_umap(run: Run, seed: int, steps: tuple[int, ...], stamp: float, plane: Travel) -> NDArray[np.float64] | None:
    """Places of all steps; None while they are being made."""

    def make() -> Work[NDArray[np.float64]]:
        probes = recorder.probes(run, seed, steps)  # held only while the map is made
        if probes is None:
            raise RunError(f"The vectors of run '{run.name}' are gone from {run.folder}. Choose PCA or another run.")
        return (yield from travel_by_umap(probes, plane, WAY))

    key = digest_of([str(run.folder), str(seed), *map(str, steps), str(stamp), str(WAY)])
    places: Any = remembered.made(f"replayed UMAP {key}", f"UMAP of {len(steps)} looks", make)
    return None if places is None else np.asarray(places)


def _told_of_plane(travel: Travel) -> str:
    return (
        f"PCA: the plane of the widest two directions of all steps together, which holds {travel.shown:.0%} of the "
        "variance."
    )


def _told_of_umap(travel: Travel) -> str:
    sentences = travel.places.shape[1]
    return (
        "UMAP of every look, drawn towards the looks before and after and turned onto the one before: "
        f"{min(WAY.neighbours, sentences)} neighbours by cosine, least distance {WAY.min_dist:g}, "
        f"{projection.rounds(sentences)} rounds, seed {WAY.seed}."
    )
