"""Train eight short runs of a plan one after the other and at once, in turn, and compare times and scores.

It runs on a GPU if there is one, with as many at once as Strata chooses there, and on a processor with two, each with
half of the threads. The text and the scored pairs are parts of the sample; the encoder is the included one.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

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
STEPS, ROUNDS = {"cpu": 20, "cuda": 300}, {"cpu": 2, "cuda": 1}
HERE = 2  # at once on a processor
ONE_BY_ONE, AT_ONCE = "one after the other", "at once"


def main() -> None:
    device = hardware.best_device()
    chosen = None if device == "cuda" else HERE
    took: dict[str, list[float]] = {ONE_BY_ONE: [], AT_ONCE: []}
    scores: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        plan = _plan(Path(folder), device)
        for number in range(ROUNDS.get(device, 1)):
            for name, stated in ((ONE_BY_ONE, 1), (AT_ONCE, chosen)):
                os.environ["STRATA_RUNS"] = str(Path(folder) / f"{name} {number}")
                seconds, most = _worked_off(plan, ExecutionOptions(at_once=stated))
                took[name].append(seconds)
                scores[name] = [
                    run.status().verdict.test.after for run in sorted(runs.every(), key=lambda run: run.name)
                ]
                print(f"  {name}: {most} at a time, {seconds:.1f} s", flush=True)
    ratios = [one / other for one, other in zip(took[AT_ONCE], took[ONE_BY_ONE], strict=True)]
    differ = max(abs(one - other) for one, other in zip(*scores.values(), strict=True))
    print(
        f"{RUNS} trainings on {device}: at once {min(ratios):.2f} to {max(ratios):.2f} of the time one after the other"
    )
    print(f"Test scores × 100 differ by at most {differ:.4f}")


def _worked_off(plan: Plan, options: ExecutionOptions) -> tuple[float, int]:
    """The seconds of a plan, and how many of its trainings were under way at once."""
    folder = plan_folder.new(plan)
    trainers = Trainers(options, folder.folder / plan_folder.JOBS, number_at_once)
    started = time.monotonic()
    status = finish(execution.execute(folder, trainers.train, trainers.at_once))
    if status.failures:
        raise SystemExit(f"Trainings failed: {dict(status.failures)}")
    return time.monotonic() - started, status.at_once


def _plan(folder: Path, device: str) -> Plan:
    """Eight seeds of SimCSE."""
    pairs = sample.pairs()
    dev, test = (_written(pairs, start, folder / name) for start, name in ((0, "dev.tsv"), (PAIRS, "test.tsv")))
    texts = dict.fromkeys((*pairs.first[: 2 * PAIRS], *pairs.second[: 2 * PAIRS]))
    (folder / "text.tsv").write_text("\n".join(["sentence", *texts, ""]), encoding="utf-8")
    settings = {"steps": STEPS.get(device, STEPS["cpu"]), "batch_size": 8, "max_length": 16, "keep_base": False}
    return Plan(
        "eight",
        ("simcse",),
        data=((identity(str(folder / "text.tsv")),),),
        settings=settings,
        seeds=tuple(range(1, RUNS + 1)),
        dev=dev,
        test=test,
        elsewhere=(),
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
