"""Streamlit caches of a run's maps and their quality, keyed by the files of its vectors."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.measuring.maps import step_maps
from explorer.measuring.maps.faithfulness import Faithfulness
from explorer.measuring.maps.step_maps import Travel
from explorer.places import Stamps, stamps
from explorer.progress import finish
from explorer.run_folder import PROBE, PROBE_SENTENCES, probe_file
from explorer.training.record import recorder
from explorer.training.record.runs import Run


def stamp(run: Run, seed: int, steps: tuple[int, ...]) -> Stamps:
    """A value that changes with the sentences of a run's maps or with a vector of them, whatever run has its name."""
    vectors = (probe_file(run.folder, seed, step) for step in steps)
    return stamps((run.folder / PROBE / PROBE_SENTENCES, *vectors))


def travel(run: Run, seed: int, steps: tuple[int, ...]) -> tuple[Travel, list[str]] | None:
    """The probe sentences and their paths over evaluation steps."""
    return _travel(run.folder, seed, steps, stamp(run, seed, steps))


@st.cache_resource(max_entries=16, show_spinner=False)
def _travel(folder: Path, seed: int, steps: tuple[int, ...], stamp: Hashable) -> tuple[Travel, list[str]] | None:
    sentences = recorder.probe_sentences(Run(folder))
    probes = recorder.probes(Run(folder), seed, steps)
    if probes is None or not sentences or probes.shape[1] != len(sentences):
        return None
    return step_maps.travel(probes), sentences


def believed(
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
