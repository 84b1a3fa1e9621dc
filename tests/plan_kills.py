"""Kill the app's process at random moments of a plan, start it again each time, and compare the table.

`python -m tests.kill_points plan` (`make kill ARGS=plan`) does so 20 times, in about ten minutes. The plan is started
by its folder, as if a server had been killed right after the click; no browser and no visit is needed for it to go on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from explorer.progress import finish
from explorer.studies.plans import execution, plan_folder, plan_table
from explorer.studies.plans.plan import Plan, cells
from explorer.studies.plans.plan_folder import PlanFolder
from explorer.training.record import runs
from tests.forked_app import free_port, serve_without_maps, served
from tests.processes import process
from tests.trainings import Place, furnish, in_no_time

KILLS, SEED = 20, 1
LONGEST = 1.5  # seconds between a random amount of progress and the kill
PATIENCE = 180.0  # seconds without progress


def plan_of(place: Place, seeds: int, steps: int) -> Plan:
    """Two methods × two temperatures × seeds, of steps of milliseconds."""
    every = max(1, steps // 4)
    return Plan(
        "killed",
        ("simcse", "sg-opt"),
        (str(place.model),),
        ((str(place.text),),),
        {"batch_size": 4, "steps": steps, "max_length": 16, "learning_rate": 1e-3, "evaluate_every": every},
        {"temperature": (0.05, 0.1)},
        seeds=tuple(range(1, seeds + 1)),
        dev=str(place.dev),
        test=str(place.test),
        precision="float32",
        device="cpu",
    )


def numbers(plan: Plan) -> dict[str, Any]:
    """The table without times and memory, which differ, and without the names of runs."""
    found: dict[str, Any] = json.loads(json.dumps(plan_table.as_json(plan_table.table(plan))))
    for row in found["rows"]:
        del row["seconds"], row["seconds_per_point"], row["memory"]
    return found


def unbroken(folder: Path, plan: Plan, told: Path) -> None:
    """Work off the plan in this process, which nobody kills, and write its table."""
    os.environ["STRATA_RUNS"] = str(folder)
    with in_no_time():
        finish(execution.execute(plan_folder.new(plan)))
    told.write_text(json.dumps(numbers(plan)), encoding="utf-8")


def begun(folder: Path, plan: Plan) -> None:
    """Make the folder of the plan in a process that ends, as a server that is killed right after the click."""
    os.environ["STRATA_RUNS"] = str(folder)
    plan_folder.new(plan, of_app=True)


class Trial:
    """A plan in a folder of runs of its own, whose server is killed again and again."""

    def __init__(self, folder: Path, plan: Plan, seed: int) -> None:
        self.folder, self.plan, self.port, self.random = folder, plan, free_port(), random.Random(seed)
        self.environment = {"STRATA_RUNS": str(folder), "STRATA_CACHE": str(folder.parent / "cache"), "STRATA_DATA": ""}
        self.moments: list[str] = []  # what the plan was doing at each kill
        os.environ["STRATA_RUNS"] = str(folder)
        process(begun, folder, plan).join()

    @property
    def begun(self) -> PlanFolder:
        """The folder of the plan."""
        return plan_folder.find(self.plan.name)

    def fault(self, kills: int, expected: dict[str, Any]) -> str:
        """Kill the server so many times and wait for the end; what is wrong then, if anything is."""
        total = sum(cell.recipe.schedule().steps for cell in cells(self.plan))
        for moment in sorted(self.random.uniform(0, 0.95 * total) for _ in range(kills)):
            with served(self.port, serve_without_maps, self.port, self.environment) as server:
                self._wait(moment)
                time.sleep(self.random.uniform(0, LONGEST))
                self.moments.append(self._doing())
                server.kill()
                server.join(10)
                if server.exitcode != -signal.SIGKILL:
                    return f"it was not killed: {server.exitcode}"
        with served(self.port, serve_without_maps, self.port, self.environment):
            self._wait(float("inf"))
        return self._different(expected)

    def _doing(self) -> str:
        """The state of the plan and of the run that was begun last."""
        if self.begun.status().state == plan_folder.FINISHED:
            return "the plan is finished"
        last = runs.every()[:1]
        status = last[0].status() if last else None
        return "no run yet" if status is None else f"{status.state}, {status.phase or 'waiting'}"

    def _steps(self) -> int:
        return sum(run.status().step for run in runs.every())

    def _wait(self, steps: float) -> None:
        """Wait until so many steps are trained, or until the plan has ended."""
        last, known = time.monotonic(), -1
        while True:
            state, now = self.begun.status().state, self._steps()
            if now >= steps or state == plan_folder.FINISHED:
                return
            if now != known:
                last, known = time.monotonic(), now
            if time.monotonic() - last > PATIENCE:
                raise TimeoutError(f"the plan is {state} and does not go on")
            time.sleep(0.05)

    def _different(self, expected: dict[str, Any]) -> str:
        status, found = self.begun.status(), numbers(self.plan)
        if status.state != plan_folder.FINISHED or status.failures or status.left_out:
            return f"the plan is {status.state}: {dict(status.failures)} {status.left_out}"
        if found != expected:
            return f"another table: {found} in place of {expected}"
        made = Counter(replace(run.recipe(), made_with={}).as_yaml() for run in runs.every())
        if len(made) != found["trainings"] or set(made.values()) != {1}:
            return f"{sum(made.values())} run folders for {found['trainings']} trainings"
        return ""


def trial(folder: Path, kills: int, *, seeds: int, steps: int, seed: int = SEED) -> tuple[str, list[str]]:
    """Kill the server of a new plan so many times; what is wrong, and what the plan was doing at each kill."""
    plan = plan_of(furnish(folder), seeds, steps)
    told = folder / "unbroken.json"
    process(unbroken, folder / "unbroken", plan, told).join()
    one = Trial(folder / "killed", plan, seed)
    return one.fault(kills, json.loads(told.read_text(encoding="utf-8"))), one.moments


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kill_points plan", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, metavar="N", help=f"how often (default: {KILLS})")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the moments (default: {SEED})")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        started = time.monotonic()
        fault, moments = trial(Path(place), options.kills, seeds=5, steps=60, seed=options.seed)
    for doing, count in Counter(moments).most_common():
        print(f"{count:>4} × killed while: {doing}")
    print(f"{len(moments)} kills in {time.monotonic() - started:.0f} s. {fault or 'The table is the unbroken one.'}")
    return 1 if fault else 0
