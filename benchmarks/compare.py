"""Measure the time of a comparison: confidence intervals, the first Compare page, clicks on every page."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.timing import told
from explorer.data import sample, sources
from explorer.data.graded import sts
from explorer.encoding.locate import model_names
from explorer.measuring.scores.bootstrap import RESAMPLES, difference
from explorer.measuring.scores.measure import Settings, measure
from explorer.progress import finish

ROOT = Path(__file__).parent.parent
ROUNDS = 5
LAYERS, READINGS, PAIRS = 7, 5, 1379


def main() -> None:
    print("\nComparing")
    seconds = [_intervals(seed) for seed in range(ROUNDS)]
    print(f"  {LAYERS} layers × {READINGS} readings × {PAIRS:,} pairs × {RESAMPLES:,} resamples  {_told(seconds)}")
    pairs = "STS-B test" if ("STS-B", "test") in sts.available() else sample.PAIRS
    with tempfile.TemporaryDirectory() as folder, _runs_in(Path(folder) / "runs"):
        other = _another(Path(folder) / "another")
        _train()
        for source in ("all-MiniLM-L6-v2", other):
            finish(measure(model_names.find(source), sources.scored_pairs(pairs)[0], Settings()))
        print(f"  Compare page, {pairs}, from kept scores         {_told(_first_looks(other, pairs))}")
        for file, seconds in _reruns(other, pairs).items():
            print(f"  re-run of {file:40} {_told(seconds)}")


Seconds = tuple[float, float]  # by the clock, and of the processor: these say the same on a machine with others on it


def _timed(thing: Callable[[], object]) -> Seconds:
    clock, processor = time.perf_counter(), time.process_time()
    thing()
    return time.perf_counter() - clock, time.process_time() - processor


def _told(seconds: list[Seconds]) -> str:
    clock, processor = zip(*seconds, strict=True)
    return f"{told(list(clock))}, processor {statistics.median(processor):.3f} s"


def _intervals(seed: int) -> Seconds:
    random = np.random.default_rng(seed)
    gold = random.uniform(0, 5, PAIRS).round(1)
    one, other = (
        (random.normal(size=(LAYERS, READINGS, PAIRS)) + gold * slope).astype(np.float32) for slope in (0.5, 0.6)
    )
    one[..., :20], other[..., -20:] = 1, 1  # sentences beside themselves: as good as every set has some
    return _timed(lambda: difference(gold, one, other))


def _another(folder: Path) -> str:
    """The bundled encoder with its weights a little disturbed."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(model_names.find("all-MiniLM-L6-v2").folder, folder)
    torch.manual_seed(0)
    weights = load_file(folder / "model.safetensors")
    moved = {
        name: weight + 0.01 * torch.randn_like(weight) if weight.is_floating_point() else weight
        for name, weight in weights.items()
    }
    save_file(moved, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


@contextmanager
def _runs_in(folder: Path) -> Iterator[None]:
    """Runs are looked for there, and nowhere else."""
    with mock.patch.dict(os.environ, {"STRATA_RUNS": str(folder)}):
        yield


def _train() -> None:
    """A run of a few steps that keeps their models: the Replay page has something to replay."""
    from explorer.training import running
    from explorer.training.recipe import Recipe
    from explorer.training.record import runs

    settings = {"steps": 4, "batch_size": 16, "evaluate_every": 1, "keep_steps": True}
    finish(running.train(runs.new(Recipe("simcse", settings=settings), "replayed")))


def _opened(other: str, pairs: str):
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["beside"], app.query_params["sts"] = other, pairs
    return app


def _first_looks(other: str, pairs: str) -> list[Seconds]:
    """Seconds of the script on a page that nobody has opened since the server was started; libraries are loaded."""
    import streamlit as st

    times = []
    for _ in range(ROUNDS + 1):
        st.cache_resource.clear()
        st.cache_data.clear()
        app = _opened(other, pairs)
        app.switch_page("pages/compare.py")
        times.append(_timed(app.run))
        if len(app.metric) != 3:
            raise RuntimeError("the Compare page shows no difference, so it is not the one to time")
    return times[1:]


def _reruns(other: str, pairs: str) -> dict[str, list[Seconds]]:
    """Seconds of each page's script, run again with nothing new."""
    from explorer.ui.access import jobs
    from explorer.ui.frame import page_list

    times: dict[str, list[Seconds]] = {}
    for file in [page.file for page in page_list.PAGES]:
        app = _opened(other, pairs)
        app.switch_page(file)
        app.query_params["every_step"], app.query_params["replayed_projection"] = "true", "UMAP"  # all there is
        app.run()
        while any(job.live for job in jobs._jobs.values()):  # one piece of work leads to the next
            time.sleep(0.1)
            app.run()
        if file == "pages/replay.py" and len(app.get("plotly_chart")) != 6:
            raise RuntimeError("the Replay page does not show all steps of the run, so it is not the one to time")
        times[file] = []
        for _ in range(2 * ROUNDS):
            times[file].append(_timed(app.run))
    return times
