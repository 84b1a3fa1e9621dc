"""Streamlit caches of a run's maps and their quality, keyed by run, seed and steps."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.measuring.maps import step_maps
from explorer.measuring.maps.faithfulness import Faithfulness
from explorer.measuring.maps.step_maps import Travel
from explorer.progress import finish
from explorer.training.record import recorder
from explorer.training.record.runs import Run


def travel(run: Run, seed: int, steps: tuple[int, ...], stamp: Hashable) -> tuple[Travel, list[str]] | None:
    """The probe sentences and their paths over evaluation steps; `stamp` changes with the evaluations."""
    return _travel(run.folder, seed, steps, stamp)


@st.cache_resource(max_entries=16, show_spinner=False)
def _travel(folder: Path, seed: int, steps: tuple[int, ...], stamp: Hashable) -> tuple[Travel, list[str]] | None:
    sentences = recorder.probe_sentences(Run(folder))
    probes = recorder.probes(Run(folder), seed, steps)
    if probes is None or not sentences or probes.shape[1] != len(sentences):
        return None
    return step_maps.travel(probes), sentences


def believed(run: Run, seed: int, step: int, stamp: Hashable, kind: str, places: NDArray[np.float64]) -> Faithfulness:
    """Trustworthiness and neighbours preserved of one step's map; `kind` is the projection."""
    return _believed(run.folder, seed, step, stamp, kind, places)


@st.cache_resource(max_entries=128, show_spinner=False)
def _believed(
    folder: Path, seed: int, step: int, stamp: Hashable, kind: str, _places: NDArray[np.float64]
) -> Faithfulness:
    probes = recorder.probes(Run(folder), seed, (step,))
    if probes is None:
        return Faithfulness(float("nan"), float("nan"), 0, 0)
    return finish(step_maps.believed(probes[0], _places))
