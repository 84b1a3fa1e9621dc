"""Measure grid, training steps and a dev evaluation alone and beside busy programs, as torch waits and as Strata does.

A training keeps its number of threads; those that wait spin, as it comes, or sleep while others compute. The grid
adapts its number. Programs in other sessions than Strata's share its processors by session on some systems: here all
are in one.
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

BESIDE = ((1, 1), (3, 1), (1, 2), (3, 2), (6, 2))  # programs, and the threads of each
ROUNDS = 3  # alone, the settings in turn; the median counts
STEPS = 6
LONGEST = 240  # seconds, for what starves
BUSY = "import torch; one = torch.rand(600, 600)\nwhile True: one @ one"
SPINNING, SHARING = "spinning", "as Strata"
PARTS = ("grid", "steps", "evaluation")


def main() -> None:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    print(f"\nBeside busy programs, on {processors} processors; seconds, and times as long as spinning alone")
    print(" " * 46 + "".join(f"{what:>22}" for what in ("grid", f"{STEPS} steps", "evaluation")))
    rounds = [{name: _measured(name) for name in (SPINNING, SHARING)} for _ in range(ROUNDS)]
    alone = {name: {what: statistics.median(one[name][what] for one in rounds) for what in PARTS} for name in rounds[0]}
    for name, found in alone.items():
        print(f"  {name:10} {'alone':33}" + "".join(_cell(found[what], alone[SPINNING][what]) for what in PARTS))
    for count, threads in BESIDE:
        for name in alone:
            with _busy(count, threads):
                found = _measured(name)
            about = f"beside {count} of {threads} thread{'s' * (threads > 1)} each"
            cells = (_cell(found.get(what), alone[SPINNING][what]) for what in PARTS)
            print(f"  {name:10} {about:33}" + "".join(cells), flush=True)


def _cell(seconds: float | None, alone: float) -> str:
    text = f"not in {LONGEST} s" if seconds is None else f"{seconds:.1f} ({seconds / alone:.1f})"
    return f"{text:>22}"


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


def _measured(name: str) -> dict[str, float]:
    """What a process of its own measures; what takes too long is left out."""
    free = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    command = [sys.executable, "-m", "benchmarks.sharing", name]
    try:
        done = subprocess.run(command, env=free, capture_output=True, text=True, timeout=LONGEST, check=True)
    except subprocess.TimeoutExpired as late:
        told = late.stdout or b""
        return _read(told.decode() if isinstance(told, bytes) else told)
    return _read(done.stdout)


def _read(told: str) -> dict[str, float]:
    return {name: seconds for line in told.splitlines() for name, seconds in json.loads(line).items()}


def _measure(sharing: bool) -> None:
    """Print each time as soon as it is known."""
    from explorer import fair_share
    from explorer.data import sample
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate.model_names import find
    from explorer.evaluating.kinds.scored_pairs import PairJudge
    from explorer.measuring.scores.layer_scores import score_layers
    from explorer.progress import Progress, Work, finish
    from explorer.training.loop.learner import Learner
    from explorer.training.loop.preparing import prepare
    from explorer.training.loop.processes import World
    from explorer.training.recipe import Recipe

    if not sharing:
        fair_share.BUSY = float("inf")  # no other program is noticed
    encoder = load(find("all-MiniLM-L6-v2"), precision="float32", device="cpu")
    recipe = Recipe("sg-opt", data=("sample",), precision="float32", device="cpu", settings={"steps": 100})
    learner = Learner(finish(prepare(recipe)), 1, World("float32", "cpu"))
    threads = fair_share.at_start()

    def steps() -> Work[None]:
        for number in range(STEPS):
            learner.update()
            learner.fetch()
            yield Progress("training", number, STEPS)

    finish(fair_share.with_threads(threads, steps()))  # not measured: torch prepares itself
    for name, work in (
        ("grid", score_layers(encoder, sample.pairs())),
        ("steps", fair_share.with_threads(threads, steps())),
        ("evaluation", fair_share.with_threads(threads, learner.evaluate(PairJudge(sample.pairs())))),
    ):
        started = time.monotonic()
        finish(work)
        print(json.dumps({name: time.monotonic() - started}), flush=True)


if __name__ == "__main__":
    _measure(sys.argv[1] == SHARING)
