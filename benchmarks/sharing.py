"""Measure grid, training steps and a dev evaluation alone and beside 1, 3 and 6 busy programs.

Each busy program computes with as many threads as there are processors; the fair share beside k of them is 1 / (k + 1).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

BESIDE = (0, 1, 3, 6)
ROUNDS = 3  # alone, the settings in turn; the median counts
STEPS = 6
LONGEST = 240  # seconds, for what starves
BUSY = "import torch; one = torch.rand(600, 600)\nwhile True: one @ one"


def main() -> None:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(
        f"\nBeside busy programs of {processors} threads each, on {processors} processors; seconds (times fair share)"
    )
    print("                          " + "".join(f"{what:>22}" for what in ("grid", f"{STEPS} steps", "evaluation")))
    settings: dict[str, dict[str, str]] = {"fixed threads": {"OMP_NUM_THREADS": str(processors)}, "adapted": {}}
    rounds = [{name: _measured(settings[name]) for name in settings} for _ in range(ROUNDS)]
    for name, environment in settings.items():
        alone = {what: statistics.median(one[name][what] for one in rounds) for what in rounds[0][name]}
        for count in BESIDE:
            with _busy(count, processors):
                found = _measured(environment) if count else alone
            cells = (_cell(found.get(what), alone[what], count) for what in ("grid", "steps", "evaluation"))
            print(f"  {name:14} beside {count}   " + "".join(f"{cell:>22}" for cell in cells), flush=True)


def _cell(seconds: float | None, alone: float, count: int) -> str:
    if seconds is None:
        return f"not in {LONGEST} s"
    return f"{seconds:.1f} ({seconds / alone / (count + 1):.2f})"


@contextmanager
def _busy(count: int, threads: int) -> Iterator[None]:
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    programs = [subprocess.Popen([sys.executable, "-c", BUSY], env=environment) for _ in range(count)]
    if programs:
        time.sleep(5)  # until each has imported torch and computes
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _measured(environment: dict[str, str]) -> dict[str, float]:
    """What a process of its own measures; empty if it takes too long."""
    free = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-m", "benchmarks.sharing"]
    try:
        done = subprocess.run(
            command, env=free | environment, capture_output=True, text=True, timeout=LONGEST, check=True
        )
    except subprocess.TimeoutExpired as late:
        told = late.stdout or b""
        return _read(told.decode() if isinstance(told, bytes) else told)
    return _read(done.stdout)


def _read(told: str) -> dict[str, float]:
    return {name: seconds for line in told.splitlines() for name, seconds in json.loads(line).items()}


def _measure() -> None:
    """Print each time as soon as it is known."""
    from explorer.data import sample
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.scores.judge import PairJudge
    from explorer.measuring.scores.layer_scores import score_layers
    from explorer.progress import Progress, Work, finish
    from explorer.training.loop.learner import Learner
    from explorer.training.loop.preparing import prepare
    from explorer.training.loop.processes import World
    from explorer.training.recipe import Recipe

    encoder = load(find("all-MiniLM-L6-v2"), precision="float32", device="cpu")
    recipe = Recipe("sg-opt", data=("sample",), precision="float32", device="cpu", settings={"steps": 100}).checked()
    learner = Learner(finish(prepare(recipe)), 1, World("float32", "cpu"))

    def steps() -> Work[None]:
        for number in range(STEPS):
            learner.update()
            learner.fetch()
            yield Progress("training", number, STEPS)

    for name, work in (
        ("grid", lambda: score_layers(encoder, sample.pairs())),
        ("steps", steps),
        ("evaluation", lambda: learner.evaluate(PairJudge(sample.pairs()))),
    ):
        started = time.monotonic()
        finish(work())
        print(json.dumps({name: time.monotonic() - started}), flush=True)


if __name__ == "__main__":
    _measure()
