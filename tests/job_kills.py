"""Kill workers of a plan whose runs are trained as jobs of this machine, and compare with a plan that nobody disturbs.

`python -m tests.kill_points jobs` (`make kill ARGS=jobs`) trains six runs, two at a time, through submitit, and kills
two workers in the middle. It takes two minutes: every job begins with a process of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from explorer.progress import Progress, finish
from explorer.studies.plans import execution, plan_folder
from explorer.studies.plans.plan import Plan, cells
from explorer.studies.plans.plan_estimate import number_at_once
from explorer.training.record import runs
from explorer.training.workers.trainers import ExecutionOptions, Trainers
from tests.plan_kills import numbers, plan_of
from tests.processes import process
from tests.trainings import Place, furnish

AT_ONCE, KILLS, SEED = 2, 2, 1
STEPS = 80


def six(place: Place) -> Plan:
    """One method with two temperatures and three seeds."""
    return replace(plan_of(place, 3, STEPS), name="six", methods=("simcse",))


class Killer:
    """Kills the worker of a run that has trained a random number of steps, so many times."""

    def __init__(self, kills: int, seed: int) -> None:
        self.random = random.Random(seed)
        self.left, self.killed = kills, dict[str, int]()
        self.moment = self.random.randint(STEPS // 4, STEPS // 2)

    def __call__(self, progress: Progress) -> None:
        for run in runs.every() if self.left else ():
            status = run.status()
            if run.name not in self.killed and status.state == "running" and status.step >= self.moment:
                os.kill(status.pid, signal.SIGKILL)
                self.killed[run.name] = status.step
                self.left, self.moment = self.left - 1, self.random.randint(STEPS // 4, STEPS // 2)
                return


def worked_off(folder: Path, plan: Plan, options: ExecutionOptions, kills: int, seed: int, told: Path) -> None:
    """Work off the plan in a folder of runs of its own, and write its table, its weights and who was killed."""
    os.environ["STRATA_RUNS"] = str(folder)
    begun, killer = plan_folder.new(plan), Killer(kills, seed)
    trainers = Trainers(options, begun.folder / plan_folder.JOBS, number_at_once)
    status = finish(execution.execute(begun, trainers.train, trainers.at_once), killer)
    weights = {run.name: (run.model / "model.safetensors").read_bytes() for run in runs.every()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in weights.items()}
    found = {"failures": dict(status.failures), "table": numbers(plan), "weights": digests}
    told.write_text(json.dumps({"found": found, "killed": killer.killed}), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kill_points jobs", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, metavar="N", help=f"how many (default: {KILLS})")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the moments (default: {SEED})")
    options = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"  # of the plan that trains in one process too
    with tempfile.TemporaryDirectory() as place:
        plan = six(furnish(Path(place)))
        ways = {
            "alone": (ExecutionOptions(), 0),
            "jobs": (ExecutionOptions(on="local", at_once=AT_ONCE), options.kills),
        }
        found: dict[str, Any] = {}
        for name, (how, kills) in ways.items():
            started, told = time.monotonic(), Path(place) / f"{name}.json"
            process(worked_off, Path(place) / name, plan, how, kills, options.seed, told).join()
            found[name] = json.loads(told.read_text(encoding="utf-8"))
            print(f"{name}: {len(cells(plan))} trainings in {time.monotonic() - started:.0f} s", flush=True)
    same = found["alone"]["found"] == found["jobs"]["found"]
    for run, step in found["jobs"]["killed"].items():
        print(f"killed: {run} at step {step} of {STEPS}")
    print("Table and weights are those of the unbroken plan." if same else f"They differ: {found}")
    return 0 if same and len(found["jobs"]["killed"]) == options.kills else 1
