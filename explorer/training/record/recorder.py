"""Write a run's folder while it trains: status, log, metrics and probe vectors."""

from __future__ import annotations

import json
import time
import tokenize
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from explorer import in_words, run_folder, typed_json
from explorer.encoding.load import hardware
from explorer.errors import RunGone
from explorer.places import write_whole, writing
from explorer.progress import Phase
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run

if TYPE_CHECKING:
    from explorer.measuring.geometry.vector_geometry import Checkup
    from explorer.training.loop.loop import Step

BEAT = 0.5  # seconds between two writes of the status, if only the step has changed
# errors of a file of numbers that is missing, or whose header is damaged
_DAMAGED = OSError, ValueError, EOFError, MemoryError, SyntaxError, tokenize.TokenError
_ROOM = "Make room on that disk, then resume the run: the last good state is in its folder."


class Recorder:
    """The writer of a run's folder during training."""

    def __init__(self, run: Run) -> None:
        self.run = run
        with writing(run.folder, _ROOM):
            for leftover in run.folder.rglob("tmp*.part"):  # of a process that was killed
                leftover.unlink(missing_ok=True)
        before, self._folder = run.status(), _identity(run.folder)
        self._seconds_before, self._started = before.seconds, time.monotonic()
        self.status = replace(
            before, state=statuses.RUNNING, phase=Phase.STARTING, about="", since=None, error="", details=""
        )
        self._written = 0.0
        self._best: run_folder.Evaluation | None = None  # of the best checkpoint of any seed
        self._can_be_best = not run.recipe().is_cross_fitted  # those of folds are scored on other rows each
        self.device = "cpu"  # that the training computes on
        self.put()

    @property
    def seconds(self) -> float:
        """Seconds of work on the run, in this process and in earlier ones."""
        return self._seconds_before + time.monotonic() - self._started

    def check_there(self) -> None:
        """Refuse to write into a folder that was moved or deleted: it would come back as the husk of a run."""
        if self._folder is None or _identity(self.run.folder) != self._folder:
            raise RunGone(
                f"The folder of run '{self.run.name}' was moved or deleted while it was trained, so the training was "
                "stopped. If it was moved, resume it under its new name."
            )

    def put(self, **changes: Any) -> None:
        """Update the status and write it; the memory of the device is that of this moment, or not stated."""
        self.check_there()
        now = {"seconds": self.seconds, "device_memory": None}
        self.status = statuses.write(self.run.folder, replace(self.status, **now | changes))
        self._written = time.monotonic()

    def log(self, line: str) -> None:
        """Add a line to the log."""
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        self._append(run_folder.LOG, f"{now}  {line}\n")

    def record(self, step: Step) -> None:
        """Record what is new at a step."""
        self.check_there()
        if step.progress.stage is Phase.RESUMING:
            self.trim(step.number, step.stage, step.step, step.evaluated_at)
        if step.progress.stage is Phase.STARTING:  # discard the lines of an interrupted try of this seed, stage or fold
            self.trim(step.number, step.stage, -1, -1)
        if step.updates:
            lines = (replace(one, number=step.number, time=_now()) for one in step.updates)
            self._append(run_folder.METRICS, "".join(map(run_folder.metric_text, lines)))
        if step.checkup is not None:
            self._evaluated(step, step.checkup)
        if step.message:
            self.log(step.message)
        if step.predicted:
            # the true and the predicted class of each test row, without its text
            rows = "".join(f"{true}\t{predicted}\n" for true, predicted in step.predicted)
            text = f"label\tpredicted\n{rows}".encode("utf-8", "surrogatepass")
            write_whole(run_folder.predictions_file(self.run.folder, step.seed), lambda file: file.write(text), _ROOM)
        if step.items is not None:
            items = step.items
            write_whole(run_folder.items_file(self.run.folder, step.seed), lambda file: np.save(file, items), _ROOM)
        if step.in_use:
            arrays: dict[str, Any] = dict(step.in_use)
            of_seed = run_folder.in_use_file(self.run.folder, step.seed)
            write_whole(of_seed, lambda file: np.savez_compressed(file, **arrays), _ROOM)
        if step.result is not None:
            known = ((name, one) for name, one in step.result.as_json().items() if isinstance(one, (int, float, str)))
            scores = (f"{name} {one:.2f}" if isinstance(one, float) else f"{name} {one}" for name, one in known)
            self.log(f"seed done: {', '.join(scores)}")
            if step.result.classes is not None:
                self.log(f"test rows: {step.result.classes.words}")
            if step.result.frozen is not None:
                self.log(f"test rows: {step.result.frozen.sentence.text}")
        changed = (step.progress.stage, step.progress.about) != (self.status.phase, self.status.about)
        if changed and step.progress.stage is not Phase.TRAINING:
            self.log(step.progress.text)
        if changed or step.checkup or step.result or time.monotonic() - self._written > BEAT:
            self._tell(step, changed)

    def trim(self, number: int, stage: int | None, step: int, evaluated_at: int) -> None:
        """Remove lines written after the state that is resumed: of later steps and evaluations."""

        def is_kept(line: run_folder.MetricLine) -> bool:
            last = evaluated_at if isinstance(line, run_folder.Evaluation) else step
            return (line.number, line.stage or 0, line.step) <= (number, stage or 0, last)

        kept = list(filter(is_kept, self.run.metrics()))
        text = "".join(map(run_folder.metric_text, kept))
        write_whole(self.run.folder / run_folder.METRICS, lambda file: file.write(text.encode()), _ROOM)
        self._best = None
        for line in kept:
            if isinstance(line, run_folder.Evaluation) and self._can_be_best and _is_better(line, self._best):
                self._best = line
        self.put(best=self._best and self._best.dev, best_step=self._best and self._best.step)

    def probe_sentences(self, sentences: list[str]) -> None:
        """Save the probe's sentences; they stay in this folder, and no card or export contains them."""
        text = json.dumps(sentences, ensure_ascii=False, indent=0)
        path = self.run.folder / run_folder.PROBE / run_folder.PROBE_SENTENCES
        write_whole(path, lambda file: file.write(text.encode("utf-8", "surrogatepass")), _ROOM)

    def _evaluated(self, step: Step, found: Checkup) -> None:
        if not step.of_fold:
            path = run_folder.probe_file(self.run.folder, step.seed, step.step)
            write_whole(path, lambda file: np.save(file, found.probe), _ROOM)
        if found.layers is not None and not step.of_fold:
            layers = found.layers
            write_whole(_layers_at(self.run, step.seed, step.step), lambda file: np.save(file, layers), _ROOM)
        line = run_folder.Evaluation(
            number=step.number,
            seed=step.seed,
            step=step.step,
            time=_now(),
            dev=found.score,
            alignment=found.alignment,
            uniformity=found.uniformity,
            alike=found.alike,
            random_pairs=found.random_pairs,
            best=step.best,
            held_out=step.held_out,
            criterion=None if step.held_out is None and found.every_layer is None else step.criterion,
            every_layer=found.every_layer,
            stage=step.stage,
            cosines=step.watched,
        )
        self._append(run_folder.METRICS, run_folder.metric_text(line))
        text = "" if found.every_layer is None else f", mean of every layer {in_words.number(found.every_layer)}"
        text += "" if step.held_out is None else f", held-out rows {step.held_out:.1f}"
        best = ", the best so far" * step.best
        self.log(f"seed {step.seed}, step {step.step}: dev {in_words.number(found.score)}{text}{best}")
        if self._can_be_best and _is_better(line, self._best):
            self._best = line
            self.status = replace(self.status, best=found.score, best_step=step.step)

    def _tell(self, step: Step, changed: bool) -> None:
        taken_over = changed and step.progress.stage is Phase.TRAINING and self.status.since is None
        self.put(
            phase=Phase(step.progress.stage),
            about=step.progress.about,
            done=step.progress.done,
            of=step.progress.total,
            step=step.step,
            total=step.total,
            stage=step.stage,
            seed=step.seed,
            seed_number=step.number,
            device_memory=hardware.memory_in_use(self.device),
            **({"since": self.seconds, "since_step": step.step} if taken_over else {}),
        )

    def _append(self, name: str, line: str) -> None:
        self.check_there()
        with writing(self.run.folder, _ROOM), (self.run.folder / name).open("a", encoding="utf-8") as file:
            file.write(line)


def _is_better(line: run_folder.Evaluation, best: run_folder.Evaluation | None) -> bool:
    """Whether an evaluation is of a better checkpoint than the best before it: a later stage is always better."""
    own, other = line.selection_score, best and best.selection_score
    if not line.best or own is None:
        return False
    if best is None or other is None or (line.stage, line.number) == (best.stage, best.number):
        return True
    return (line.stage or 0, own) > (best.stage or 0, other)


def _now() -> float:
    return round(time.time(), 3)


def probe(run: Run, seed: int, step: int) -> np.ndarray[Any, Any] | None:
    """The probe's vectors at an evaluation; None if there are none."""
    return _array(run_folder.probe_file(run.folder, seed, step))


def probes(run: Run, seed: int, steps: Sequence[int]) -> np.ndarray[Any, Any] | None:
    """The probe's vectors (step, sentence, width) at some evaluations; None if one is missing or not finite."""
    found = [one for step in steps if (one := probe(run, seed, step)) is not None]
    if len(found) < len(steps) or len({one.shape for one in found}) != 1:
        return None
    vectors = np.stack(found)
    return vectors if np.isfinite(vectors).all() else None


def probe_sentences(run: Run) -> list[str]:
    """The probe's sentences; empty if they were not saved, or are damaged."""
    path = run.folder / run_folder.PROBE / run_folder.PROBE_SENTENCES
    try:
        found = typed_json.parsed(path.read_text("utf-8", "surrogatepass"))
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else []


def layer_weights(run: Run, seed: int, step: int) -> np.ndarray[Any, Any] | None:
    """The mean attention weights (query layer, key layer) over the probe at an evaluation; None if there are none."""
    return _array(_layers_at(run, seed, step))


def items(run: Run, seed: int) -> np.ndarray[Any, Any] | None:
    """What each item of the test set gets from the best checkpoint of a seed; None if it is not there."""
    return _array(run_folder.items_file(run.folder, seed))


def in_use(run: Run, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """What the items of dev and test set get from the base and from the best checkpoint of a seed, by `in_use.name`."""
    try:
        with np.load(run_folder.in_use_file(run.folder, seed), allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (*_DAMAGED, BadZipFile, zlib.error):
        return {}


def _identity(folder: Path) -> tuple[int, int] | None:
    """Which folder it is, whatever its name; None if it is gone."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _layers_at(run: Run, seed: int, step: int) -> Path:
    return run_folder.probe_file(run.folder, seed, step, "layers")


def _array(path: Path) -> np.ndarray[Any, Any] | None:
    try:
        found: np.ndarray[Any, Any] = np.load(path, allow_pickle=False)
        return found
    except _DAMAGED:
        return None
