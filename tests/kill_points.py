"""Stop a run at every call that changes a file, resume it by the command line, and compare it with an unbroken run.

`python -m tests.kill_points` (`make kill`) does so at every call of five methods and of two stages; the tests take
some of the calls. The process is killed, or the disk is full from this call on, or read-only.
`python -m tests.kill_points app` kills the app instead, with a browser open (`tests.app_kills`),
`python -m tests.kill_points plan` while it works on a plan (`tests.plan_kills`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import explorer.__main__  # noqa: F401 (so that no fork has to import it)
from explorer import work_folder
from explorer.encoding.locate import lookup
from explorer.errors import LONGEST
from explorer.progress import finish
from explorer.training.loop import preparing
from explorer.training.loop import resume_state as states
from explorer.training.recipe import Recipe, Stage
from explorer.training.record import recorder, runs
from explorer.training.record.run_facts import MEASURED
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED, STOPPED
from tests.disk_calls import NEVER, FullDisk, Killed, ReadOnlyDisk, Watch, watched
from tests.kill_outcomes import Outcome, heading, show, spread, verdict
from tests.methods.hub import save_generator
from tests.processes import process
from tests.trainings import SETTINGS, Place, command, furnish, in_no_time, recipe, train, words_of

STAGES = "tsdae+contrast"  # a run of two stages
METHODS = ("sg-opt", "simcse", "conisi-o1", "diffcse", "flow", STAGES)
STEPS = 4
NAME = "run"
BROKEN = 70  # the exit code of a traceback
TIMED = ("README.md", "status.json", "train.log")  # files that hold times


@dataclass(frozen=True)
class Way:
    """What happens at a point, to a run that is new or to one that was stopped and is resumed."""

    name: str
    watch: type[Watch]
    resumed: bool = False


WAYS = {
    way.name: way
    for way in (
        Way("killed", Killed),
        Way("killed, resumed", Killed, resumed=True),
        Way("disk full", FullDisk),
        Way("disk full, resumed", FullDisk, resumed=True),
        Way("read-only", ReadOnlyDisk),
        Way("read-only, resumed", ReadOnlyDisk, resumed=True),
    )
}


def forked(watch: Watch, do: Callable[[], object]) -> tuple[int, list[list[str]]]:
    """Do something in a fork of this process under a watch; its exit code, and the calls unless it was killed."""
    folder = Path(watch.folder)
    calls = folder.with_suffix(".calls")
    pid = os.fork()
    if not pid:
        code = BROKEN
        try:
            with watched(watch):
                do()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:  # noqa: BLE001 (a fork must never go on as its parent)
            folder.with_suffix(".txt").write_text(traceback.format_exc())
        finally:
            calls.write_text(json.dumps(watch.calls))
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, [] if code < 0 else json.loads(calls.read_text())


class Trial:
    """A run in a folder of runs of its own, which is stopped at one point and resumed."""

    def __init__(self, folder: Path, words: Sequence[str], way: Way, stopped: Run) -> None:
        self.folder, self.words, self.way = folder, words, way
        self.run, self.stopped = Run(folder / NAME), stopped if way.resumed else None
        folder.mkdir()
        if self.stopped:
            shutil.copytree(self.stopped.folder, self.run.folder)

    def train(self, at: int = NEVER) -> tuple[int, list[list[str]]]:
        """Train or resume by the command line."""
        os.environ["STRATA_RUNS"] = str(self.folder)
        known = (self.run.folder / "recipe.yaml").exists()
        words = ["train", "--resume", NAME] if known else [*self.words, "--name", NAME]
        told = self.folder.with_suffix(".txt")
        return forked(self.way.watch(self.folder, at), lambda: command(words, told, save_every=0.0))

    @property
    def told(self) -> str:
        """What the command said on standard output and standard error, but for the folder of the run."""
        lines = self.folder.with_suffix(".txt").read_text().splitlines()
        return "\n".join(line for line in lines if line != str(self.run.folder))

    def fault(self, at: int, unbroken: Run) -> str:
        """Stop the run at a point and resume it; what is wrong then, if anything is."""
        code, _ = self.train(at)
        if self.way.watch is Killed and code != -signal.SIGKILL:
            return f"it was not killed, but ended with {code}"
        if self.way.watch is not Killed and not (code == 0 or (code == 1 and one_line(self.told))):
            return f"it ended with {code} and said: {self.told}"
        state = self.run.status().state
        half_written = self._half_written(unbroken, state)
        if half_written:
            return f"half-written: {half_written}"
        if state != FINISHED:
            code, _ = self.train()
            if code:
                return f"it cannot be resumed: {self.told}"
        runs.collect()
        left = sorted(path.name for path in self.folder.iterdir())
        if left != [NAME]:
            return f"left in the folder of runs: {left}"
        return different(self.run, unbroken)

    def _half_written(self, unbroken: Run, state: str) -> str:
        """What looks whole and is not."""
        if [one.name for one in runs.every()] not in ([], [NAME]):
            return f"the runs are {[one.name for one in runs.every()]}"
        allowed = {INTERRUPTED, FINISHED} | ({STOPPED} if self.stopped else set())
        if state not in (allowed if self.way.watch is Killed else allowed | {FAILED}):
            return f"the run is {state}"
        whole = [unbroken, *([self.stopped] if self.stopped else [])]
        if self.run.model.exists() and contents(self.run.model) not in [contents(one.model) for one in whole]:
            return "the model"
        if state == FINISHED:
            return different(self.run, unbroken, but=("state",))
        if states.there(self.run.state):
            states.load(self.run.state)
        return ""


def one_line(told: str) -> bool:
    """Whether this is one error, without a traceback."""
    return told.count("\n") == 0 and 0 < len(told) <= LONGEST


def contents(folder: Path, but: Sequence[str] = ()) -> dict[str, bytes]:
    """Every file by its place in a folder; those that hold times are empty."""
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        str(place): b"" if path.name in TIMED else path.read_bytes()
        for place, path in found.items()
        if place.parts[0] not in ("metrics.jsonl", *but)
    }


def different(run: Run, unbroken: Run, but: Sequence[str] = ()) -> str:
    """How two runs differ, apart from times; "" if they do not."""
    files, expected = contents(run.folder, but), contents(unbroken.folder)
    if files.keys() != expected.keys():
        return f"other files: {sorted(files.keys() ^ expected.keys())}"
    changed = [name for name in files if files[name] != expected[name]]
    if [replace(line, time=0.0) for line in run.metrics()] != [replace(line, time=0.0) for line in unbroken.metrics()]:
        changed.append("metrics.jsonl")
    timed = {"estimate": "", **dict.fromkeys(MEASURED)}
    one, other = (replace(of.status(), facts=replace(of.status().facts, **timed)) for of in (run, unbroken))
    named = ("state", "results", "verdict", "best", "best_step", "base", "step", "error", "facts")
    changed += [f"{name} of the status" for name in named if getattr(one, name) != getattr(other, name)]
    return f"other bytes: {changed}" if changed else ""


def try_points(place: Place, method: str, folder: Path, told: Path, most: dict[str, int], steps: int = STEPS) -> None:
    """Try points of a method in several ways, at most so many at equal distances (0: all); write the outcomes."""
    os.fsync = lambda handle: None  # a killed process loses nothing that it has written
    recorder.BEAT = 1e9  # a status is written at the same calls each time
    work_folder.UNTOUCHED = 0.0
    chosen = short(place, method, folder, steps)
    with in_no_time():
        finish(preparing.prepare(chosen))  # so that every fork finds done what the first one has to do
        tries = Tries(folder, chosen, steps // 2)
        told.write_text(json.dumps([asdict(tries.outcome(method, WAYS[way], count)) for way, count in most.items()]))


def short(place: Place, method: str, folder: Path, steps: int = STEPS) -> Recipe:
    """The recipe of a run of a few steps."""
    settings = {"steps": steps, "evaluate_every": steps // 2} if method != "flow" else {}
    if method == "diffcse":
        settings["generator"] = str(save_generator(folder / "generator"))
    stages: tuple[Stage, ...] = ()
    if method == STAGES:
        first, method = method.split("+")
        stages = (Stage(first, (str(place.text),), settings={**SETTINGS, **settings}),)
    return recipe(place, method, settings=settings, seeds=(1, 2) if method == "sg-opt" else (1,), stages=stages)


class Tries:
    """The unbroken run of a recipe, and trials that are compared with it."""

    def __init__(self, folder: Path, chosen: Recipe, stopped_at: int) -> None:
        self.folder, self.words = folder, words_of(chosen)
        self.stopped = stopped_run(folder / "stopped", chosen, stopped_at)
        self.unbroken = self.trial("unbroken", WAYS["killed"])
        self.calls: dict[bool, list[list[str]]] = {False: self._calls(self.unbroken)}

    def trial(self, name: str, way: Way) -> Trial:
        """A trial in a folder of this name."""
        return Trial(self.folder / name, self.words, way, self.stopped)

    def outcome(self, method: str, way: Way, most: int) -> Outcome:
        """Try points in one way."""
        started = _cpu()
        if way.resumed not in self.calls:
            whole = self.trial("resumed", way)
            self.calls[way.resumed] = self._calls(whole)
            assert not different(whole.run, self.unbroken.run), different(whole.run, self.unbroken.run)
        points = way.watch.points(self.calls[way.resumed])
        chosen, faults = spread(len(points), most), []
        for at in chosen:
            trial = self.trial(f"{way.name}-{at}", way)
            fault = trial.fault(at, self.unbroken.run)
            faults += [f"at {at}, {points[at]}: {fault}"] if fault else []
            shutil.rmtree(trial.folder)
        return Outcome(method, way.name, len(points), len(chosen), faults, _cpu() - started)

    def _calls(self, trial: Trial) -> list[list[str]]:
        code, calls = trial.train()
        assert code == 0, trial.told
        return calls


def stopped_run(folder: Path, chosen: Recipe, step: int) -> Run:
    """A run that was stopped after a step, with its model."""

    def stop() -> None:
        run = runs.new(chosen, NAME, folder)
        train(
            run,
            lambda progress: run.request_stop(KEEP) if (progress.stage, progress.done) == ("training", step) else None,
        )

    code, _ = forked(Watch(folder), stop)
    assert code == 0, folder.with_suffix(".txt").read_text()
    return Run(folder / NAME)


def outcomes(told: Path) -> list[Outcome]:
    """What `try_points` wrote."""
    return [Outcome(**one) for one in json.loads(told.read_text())]


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["app"]:
        from tests import app_kills

        return app_kills.main(arguments[1:])
    if arguments[:1] == ["plan"]:
        from tests import plan_kills

        return plan_kills.main(arguments[1:])
    if arguments[:1] == ["jobs"]:
        from tests import job_kills

        return job_kills.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m tests.kill_points", description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"default: {', '.join(METHODS)}; app: the app's")
    parser.add_argument("--way", action="append", choices=WAYS, metavar="WAY", help=f"default: {', '.join(WAYS)}")
    parser.add_argument("--included", action="store_true", help="train the included encoder, not a tiny one")
    parser.add_argument("--most", type=int, default=0, metavar="N", help="so many points of each, not all")
    options = parser.parse_args(arguments)
    found = []
    heading()
    for method in options.methods or METHODS:
        for way in options.way or WAYS:
            with tempfile.TemporaryDirectory() as place:
                folder, most = Path(place), {way: options.most}
                furnished = furnish(folder)
                if options.included:
                    shutil.rmtree(furnished.model)
                    shutil.copytree(lookup.bundled_folder(), furnished.model)
                process(try_points, furnished, method, folder, folder / "told", most).join()
                found += outcomes(folder / "told")
            show(found[-1])
    return verdict(found)


def _cpu() -> float:
    return sum(os.times()[:4])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
