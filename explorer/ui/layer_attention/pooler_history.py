"""Show a pooler's layer weights at every evaluation step of the run that trained it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from explorer.drawing.sentences import layer_weights
from explorer.encoding.locate.model_names import Found
from explorer.measuring.attention.pooler_weights import Floats, Listening, path_rows
from explorer.measuring.geometry.dev_check import PROBE
from explorer.training.record import recorder, runs
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.runs import run_metrics
from explorer.ui.widgets import downloads, picture_format

TITLE = "Over training"
FILE = "Path (CSV)"
OLD = "No history: run {} did not keep the weights, because an older version made it. Train it again."
PATH = (
    "Seed {} of the run {}: the mean weight of each layer at each evaluation step. It is averaged over query layers "
    "and at most {} sentences of the dev set. Equal weights would be {:.3f}."
)


@dataclass(frozen=True, eq=False)
class Path:
    """Mean weights (step, key layer) of a seed; `best` is the step of the saved model."""

    seed: int
    steps: tuple[int, ...]
    weights: Floats
    best: int | None


def show(found: Found, heard: Listening) -> None:
    """The curves of the weights, or the reason why there are none."""
    run = run_of(found)
    if run is None:
        st.caption("No history: this model's folder does not belong to a run. Models trained here keep it.")
        return
    path = path_of(run)
    if path is None:
        st.caption(OLD.format(messages.plain(run.name)))
        return
    picture_format.draw(
        layer_weights.path(path.steps, path.weights, heard.layers, path.best),
        key=f"path {run.name}",
        config=picture_format.config("listening-path"),
        alt="The mean weight of each layer at each evaluation step of the run. The file below has the numbers.",
    )
    st.caption(messages.plain(PATH.format(path.seed, run.name, PROBE, 1 / len(heard.layers))))
    downloads.rows(path_rows(path.steps, heard.layers, path.weights), f"{run.name} path", FILE)


def run_of(found: Found) -> Run | None:
    """The run that trained this model."""
    return runs.of_model(found.folder)


def path_of(run: Run) -> Path | None:
    """The weights of the seed that the model was saved from; None if no evaluation kept any."""
    status = run.status()
    number, seed = status.seed_number, status.seed
    scored = [
        (one.selection_score, -place, one.seed)
        for place, one in enumerate(status.results)
        if one.selection_score is not None
    ]
    if scored:
        _, place, seed = max(scored)  # the first of equals, like the trainer
        number = 1 - place
    known = [
        (one, weights)
        for one in run_metrics.numbers(run.folder).evaluations(number)
        if (weights := recorder.layer_weights(run, seed, one.step)) is not None
    ]
    if not known:
        return None
    best = next((one.step for one, _ in reversed(known) if one.best), None)
    steps = tuple(one.step for one, _ in known)
    return Path(seed, steps, np.stack([weights.mean(axis=0) for _, weights in known]).astype(np.float64), best)
