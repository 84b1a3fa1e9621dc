"""Train eight short runs of a plan one after the other and at once, in turn, and compare times and scores.

It runs on a GPU if there is one, with as many at once as Strata chooses there, and on a processor with two, each with
half of the threads. The text and the scored pairs are parts of the sample; the encoder is the included one.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from unittest import mock

from benchmarks.timing import ratio
from explorer.data import sample
from explorer.data.graded.sets import SetIdentity
from explorer.data.sources import identity
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import hardware
from explorer.progress import finish
from explorer.studies.plans import execution, plan_folder
from explorer.studies.plans.plan import Plan
from explorer.studies.plans.plan_estimate import number_at_once
from explorer.training.record import runs
from explorer.training.workers.trainers import ExecutionOptions, Trainers

RUNS, PAIRS = 8, 60
STEPS, ROUNDS = {"cpu": 20, "cuda": 200}, {"cpu": 2, "cuda": 1}
HERE = 2  # at once on a processor
ONE_BY_ONE, AT_ONCE = "one after the other", "at once"


def main() -> None:
    device = hardware.best_device()
    with tempfile.TemporaryDirectory() as folder:
        found = in_turn(Path(folder), device, ROUNDS.get(device, 1))
    print(f"{RUNS} trainings on {device}: {found.words}")


@dataclass
class InTurn:
    """The seconds of a plan by the way that it was worked off, in turn, and the test scores × 100 of its runs."""

    took: dict[str, list[float]]
    scores: dict[str, list[float]]
    most: int = 1  # trainings at once

    @property
    def share(self) -> float:
        """The median time of all at once, as a share of one after the other."""
        return ratio(self.took[AT_ONCE], self.took[ONE_BY_ONE])

    @property
    def apart(self) -> float:
        """The largest difference of two scores of a run."""
        return max(abs(one - other) for one, other in zip(*self.scores.values(), strict=True))

    @property
    def words(self) -> str:
        """Times, their ratio, and how far scores are apart."""
        times = ", ".join(f"{name} {median(seconds):.1f} s" for name, seconds in self.took.items())
        return (
            f"{times} with {self.most} at a time, which is {self.share:.2f} of the time; test scores × 100 differ by "
            f"at most {self.apart:.4f}"
        )


def in_turn(folder: Path, device: str, rounds: int, model: str = "", runs_of_plan: int = RUNS) -> InTurn:
    """Work off a plan one run after the other, then several at once, and so on."""
    found = InTurn({ONE_BY_ONE: [], AT_ONCE: []}, {})
    plan = _plan(folder, device, model, runs_of_plan)
    for number in range(rounds):
        for name, stated in ((ONE_BY_ONE, 1), (AT_ONCE, None if device == "cuda" else HERE)):
            with mock.patch.dict(os.environ, STRATA_RUNS=str(folder / f"{name} {number}")):
                seconds, most = _worked_off(plan, ExecutionOptions(at_once=stated))
                scored = [run.status().verdict.test.after for run in sorted(runs.every(), key=lambda run: run.name)]
            found.took[name].append(seconds)
            found.scores[name], found.most = scored, max(most, found.most)
            print(f"  {name}: {most} at a time, {seconds:.1f} s", flush=True)
    return found


def _worked_off(plan: Plan, options: ExecutionOptions) -> tuple[float, int]:
    """The seconds of a plan, and how many of its trainings were under way at once."""
    folder = plan_folder.new(plan)
    trainers = Trainers(options, folder.folder / plan_folder.JOBS, number_at_once)
    started = time.monotonic()
    status = finish(execution.execute(folder, trainers.train, trainers.at_once))
    if status.failures:
        raise SystemExit(f"Trainings failed: {dict(status.failures)}")
    return time.monotonic() - started, status.at_once


def _plan(folder: Path, device: str, model: str, number: int) -> Plan:
    """So many seeds of SimCSE on the included encoder, or on a model."""
    pairs = sample.pairs()
    dev, test = (_written(pairs, start, folder / name) for start, name in ((0, "dev.tsv"), (PAIRS, "test.tsv")))
    texts = dict.fromkeys((*pairs.first[: 2 * PAIRS], *pairs.second[: 2 * PAIRS]))
    (folder / "text.tsv").write_text("\n".join(["sentence", *texts, ""]), encoding="utf-8")
    settings = {"steps": STEPS.get(device, STEPS["cpu"]), "batch_size": 8, "max_length": 16, "keep_base": False}
    return Plan(
        "short",
        ("simcse",),
        data=((identity(str(folder / "text.tsv")),),),
        settings=settings,
        seeds=tuple(range(1, number + 1)),
        dev=dev,
        test=test,
        elsewhere=(),
        **({"models": (model,)} if model else {}),
        precision="float32",
        device=device,
    )


def _written(pairs: GradedPairs, start: int, path: Path) -> SetIdentity:
    """A part of the pairs in a file."""
    part = slice(start, start + PAIRS)
    rows = zip(pairs.gold[part], pairs.first[part], pairs.second[part], strict=True)
    lines = ["score\tsentence1\tsentence2", *("\t".join(map(str, row)) for row in rows), ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return identity(str(path))
