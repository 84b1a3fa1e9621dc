"""Read and write the status of a run: a small file that the trainer rewrites and every viewer reads.

The facts in it are declared once each: type, where a training finds it, and how people read it. The page of a run, its
model card and the report of a comparison read them from here, so that a new fact is one more field.
"""

from __future__ import annotations

import json
import math
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import places, run_folder, typed_json, work_folder
from explorer.data.set_items import counted
from explorer.data.shared_rows import SharedRows
from explorer.data.watched_pairs import WatchedPair
from explorer.encoding.read.head_facts import HeadFacts
from explorer.measuring.comparing import learned_facts as learning
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.scores.metrics import SPEARMAN, item_by_main, no_score_in_words
from explorer.measuring.scores.verdict import RunVerdict, by_use
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.progress import Phase
from explorer.training.loop import measured_facts
from explorer.training.loop.computed import Computed

if TYPE_CHECKING:
    from explorer.training.loop.loop import Training

WAITING, RUNNING, FINISHED, STOPPED, FAILED = work_folder.STATES
INTERRUPTED, LIVE = work_folder.INTERRUPTED, work_folder.LIVE
# a process on another machine counts as ended after this silence; one that trains writes more often
SILENCE = 120.0  # seconds
RUN = "run"
PAGE, CARD, REPORT = "page", "card", "report"  # where facts are read
# the last beat of a run elsewhere, and our monotonic time when it was new
_last_beats: dict[Path, tuple[float, float]] = {}


def fact(
    of: Callable[[Training], Any], title: str = "", *, page: str = "{title}: {words}", card: str = "{words}"
) -> dict[str, Any]:
    """State as a field's metadata where a fact is found, and how people read it.

    `of` finds it in a training. A fact with a title is listed: in the first line of the run's page, and in a row of the
    card and of the report; `page` and `card` are how it is written there, "" for not at all. One without a title has a
    place of its own.
    """
    return {"of": of, "title": title, PAGE: page, CARD: card, REPORT: "{words}"}


@dataclass(frozen=True)
class RunFacts:
    """What viewers show of a run without opening its recipe, text or model."""

    method: str = ""
    model: str = ""
    data: tuple[str, ...] = ()
    dev: str = ""
    test: str | None = None
    more_tests: tuple[str, ...] = ()
    plan: str = ""  # the id of the plan that made the run
    elsewhere: tuple[str, ...] = ()  # the chosen sets that it is not trained for, by name or 'at hand'
    row: str = ""  # of the plan or of the paper's table that the run was made for
    model_digest: str = ""  # of the saved model, by which the run is known wherever its scores are shown
    # that are trained on
    rows: int | None = field(
        default=None, metadata=fact(lambda training: len(training.prepared.rows[training.recipe.seeds[0]]))
    )
    precision: str | None = field(default=None, metadata=fact(lambda training: training.world.precision))
    device: str | None = field(default=None, metadata=fact(lambda training: str(training.world.device)))
    # the layer & pooling that is trained
    reading: HeadFacts | None = field(default=None, metadata=fact(lambda training: training.reading))
    # that of the base with which it is compared: without the parts that training adds
    base_reading: HeadFacts | None = field(
        default=None, metadata=fact(lambda training: training.learner and training.learner.method.base_head().facts())
    )
    # how many test sentences are in the training text
    seen: measured_facts.TextOverlap | None = field(
        default=None, metadata=fact(lambda training: training.prepared.seen)
    )
    # how many rows of the test sets are in the dev set too
    shared: SharedRows | None = field(
        default=None, metadata=fact(lambda training: training.prepared.shared, "Dev and test set", page="")
    )
    # the base's model default
    default: HeadFacts | None = field(
        default=None, metadata=fact(lambda training: training.prepared.encoder.default_head.facts())
    )
    # the size of each evaluation set, by `dev`, `test`, `test 2`, and the name of its score
    pairs: Mapping[str, int] | None = field(
        default=None, metadata=fact(lambda training: {use: len(one) for use, one in training.prepared.judged.items()})
    )
    measures: Mapping[str, str] | None = field(
        default=None,
        metadata=fact(lambda training: {use: one.measure for use, one in training.prepared.judged.items()}),
    )
    # what the items of each are: `pair`, `query`; runs of version 0.1.0 have none
    items: Mapping[str, str] | None = field(
        default=None, metadata=fact(lambda training: {use: one.item for use, one in training.prepared.judged.items()})
    )
    # how many passages the queries of each are searched among; of other items, and of runs of version 0.1.0, none
    pools: Mapping[str, int] | None = field(default=None, metadata=fact(lambda training: training.prepared.pools))
    # why an evaluation set has no score, as in `metrics.why_no_score`; only of those that have none
    unscored: Mapping[str, str] | None = field(default=None, metadata=fact(lambda training: training.unscored))
    # rows that choose the best checkpoint
    held_out: int | None = field(default=None, metadata=fact(lambda training: len(training.prepared.held_out or ())))
    # the probe packs neither choose it nor are trained on
    packs_held_out: bool | None = field(
        default=None, metadata=fact(lambda training: training.prepared.packs is not None)
    )
    # time and memory, as measured before the first step
    estimate: measured_facts.Estimate | None = field(default=None, metadata=fact(lambda training: training.estimate))
    # the trainings of the run, if there are several
    stages: measured_facts.StageFacts | None = field(
        default=None, metadata=fact(lambda training: training.stages, "Stages", page="{words}")
    )
    # how many rows of the text are drawn; None if all are trained on
    drawn: measured_facts.DrawnRows | None = field(
        default=None, metadata=fact(lambda training: training.prepared.drawn, "Training rows", page="trains on {words}")
    )
    texts_cut: CutTexts | None = field(  # training texts that are longer than is read of them
        default=None, metadata=fact(lambda training: training.texts_cut, "Training texts cut", page="cuts {words}")
    )
    # settings of which another value is used than the recipe states
    overridden: measured_facts.OverriddenSettings | None = field(
        default=None, metadata=fact(lambda training: training.overridden or None, "Settings overridden")
    )
    # sets elsewhere that share too many texts with those of the run, or could not be read when it was resumed
    left_out: str = field(
        default="",
        metadata=fact(lambda training: training.prepared.left_out(training.verdict.elsewhere), "Left out elsewhere"),
    )
    # what remains of the base if layers were removed; the card says it in its first sentence
    cut: measured_facts.Cut | None = field(
        default=None, metadata=fact(lambda training: training.cut, "Layers", page="trains {words}", card="")
    )
    # threads and processor, which decide the last bits
    computed: Computed | None = field(
        default=None, metadata=fact(lambda training: training.computed, "Computed with", page="{words}")
    )
    # how much of the tuned weights is in the saved model
    blend: float | None = field(
        default=None, metadata=fact(lambda training: training.blend, "Share of the tuned weights (α)", card="{words:g}")
    )
    # how every row was judged, if all are
    folds: measured_facts.FoldFacts | None = field(
        default=None, metadata=fact(lambda training: training.fold_facts, "Cross-fitting", page="{words}")
    )
    # why the saved model equals the base, if it does
    nothing: NothingLearned | None = field(default=None, metadata=fact(lambda training: training.nothing))
    # the pairs whose cosines are recorded at every evaluation
    watched: tuple[WatchedPair, ...] = field(default=(), metadata=fact(lambda training: training.prepared.watched))
    # what decided between evaluations with the same score
    ties: measured_facts.Ties | None = field(
        default=None, metadata=fact(lambda training: training.ties, "Equal scores", page="{words}")
    )
    # what holds the trained weights; None for all weights
    adapters: measured_facts.Adapters | None = field(
        default=None,
        metadata=fact(
            lambda training: training.adapters,
            "Trained weights",
            page="{words}",
            card="{words}; added to the weights of the base",
        ),
    )

    @property
    def methods(self) -> str:
        """The method, or those of all stages in order: `tsdae, then contrast`."""
        return ", then ".join(self.stages.methods) if self.stages else self.method

    def found_by(self, training: Training) -> RunFacts:
        """These facts with what a training has found out; what a resumed one does not find again stays."""
        found = {one.name: one.metadata["of"](training) for one in fields(self) if "of" in one.metadata}
        return replace(self, **{name: value for name, value in found.items() if value is not None})

    def listed(self, where: str) -> dict[str, str]:
        """The known facts that have a title as they are written on the PAGE, the CARD or the REPORT, by title."""
        known = {one: value for one in fields(self) if (value := getattr(self, one.name)) not in (None, "")}
        return {
            title: written.format(title=title, words=getattr(value, "words", value))
            for one, value in known.items()
            if (title := one.metadata.get("title")) and (written := one.metadata[where])
        }

    def as_json(self) -> dict[str, Any]:
        """The facts that are known; no test set is a fact too."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "", ()) or name == "test"}

    def set_of(self, use: str) -> str:
        """The evaluation set of a use: `dev`, `test`, `test 2` and so on; "" if there is none."""
        return by_use(self.dev, (self.test or "", *self.more_tests)).get(use, "")

    def size_of(self, use: str) -> int:
        """The number of items of an evaluation set, such as pairs or queries; 0 if it is not known."""
        return (self.pairs or {}).get(use, 0)

    def measure_of(self, use: str) -> str:
        """The name of the score on an evaluation set."""
        return (self.measures or {}).get(use, SPEARMAN)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the test scores are optimistic: sentences of the training text, or rows of the dev set, are in them."""
        return tuple(one.words for one in (self.seen, self.shared) if one)

    @property
    def poolings(self) -> str:
        """`cls of the last layer in place of mean of the last layer`; "" if the model default was trained."""
        trained, default = self.base_reading, self.default
        if trained is None or default is None or trained.poolings == default.poolings:
            return ""
        return f"{trained.words} in place of {default.words}"

    def item_of(self, use: str) -> str:
        """What the items of an evaluation set are."""
        return (self.items or {}).get(use) or item_by_main(self.measure_of(use))

    def pool_of(self, use: str) -> int:
        """How many passages the queries of an evaluation set are searched among; 0 if it has none, or if not known."""
        return (self.pools or {}).get(use, 0)

    def counted(self, use: str) -> str:
        """How many items of what an evaluation set has: `1,379 pairs`, `197 queries among 1,953 passages`."""
        return counted(self.size_of(use), self.item_of(use), self.pool_of(use))

    def why_no_score(self, use: str) -> str:
        """Why an evaluation set has no score, in words; "" if it has one."""
        why = (self.unscored or {}).get(use, "")
        return no_score_in_words(why, self.size_of(use)) if why else ""

    def learned(self, verdict: RunVerdict) -> learning.Learned:
        """What the run learned, by its held-out probe packs and its test set."""

        def of(use: str) -> dict[str, Any]:
            about = self.measure_of(use), self.set_of(use), self.size_of(use), self.item_of(use), self.pool_of(use)
            return dict(zip(("measure", "on", "size", "item", "pool"), about, strict=True))

        return learning.of_run(verdict, {use: of(use) for use in verdict.by_use}, self.poolings, self.nothing)


@dataclass(frozen=True)
class Status(work_folder.WorkStatus):
    """The status of a run."""

    phase: Phase | None = None  # what it does now, and the name of what that is about
    about: str = ""
    done: int = 0  # of that phase
    of: int = 0
    step: int = 0
    total: int = 0
    stage: int | None = None  # the one that is trained now, from 1; None in a run without stages
    seed: int = 0  # the one that is trained now
    seed_number: int = 1  # the position of that seed, from 1
    seeds: int = 1
    since_step: int = 0  # the step and the seconds at which this process began to train: its pace counts from there
    since: float | None = None
    base: float | None = None  # dev score of the base under its model default
    best: float | None = None  # the dev score when the best step was evaluated, and that step
    best_step: int | None = None
    seconds: float = 0.0  # of work, over all processes of the run
    results: tuple[measured_facts.SeedScores, ...] = ()  # of each seed that is done
    verdict: RunVerdict | None = None  # the tuned model compared with its base; the base's scores alone until the end
    facts: RunFacts = field(default_factory=RunFacts)
    beat: float = 0.0  # when it was written, by the clock of its host

    @property
    def scored_elsewhere(self) -> set[str]:
        """The names of the sets that it was scored on, but not trained for."""
        return {one.name for one in self.verdict.elsewhere} if self.verdict else set()

    @property
    def frozen(self) -> measured_facts.FrozenClasses | None:
        """The test rows of the saved model beside those of its base; None if it has none, or is not finished."""
        scored = [(score, one) for one in self.results if (score := one.selection_score) is not None]
        if self.state != FINISHED or not scored:
            return None
        return max(scored, key=lambda one: one[0])[1].frozen

    @property
    def steps_a_second(self) -> float | None:
        """Steps per second of this process."""
        if self.since is None:
            return None
        steps, seconds = self.step - self.since_step, self.seconds - self.since
        return steps / seconds if steps > 0 and seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """The seconds left at that pace, for all seeds."""
        pace = self.steps_a_second
        if pace is None or not self.total:
            return None
        return (self.total - self.step + (self.seeds - self.seed_number) * self.total) / pace

    @property
    def learned(self) -> learning.Learned:
        """What the run learned, by its held-out probe packs and its test set."""
        return self.facts.learned(self.verdict or RunVerdict())

    def as_json(self) -> dict[str, Any]:
        """The status as the file holds it."""
        parts = {
            "results": [one.as_json() for one in self.results],
            "verdict": typed_json.written(self.verdict),
            "facts": self.facts.as_json(),
        }
        stated = {one.name: getattr(self, one.name) for one in fields(self)} | parts  # `asdict` would copy them first
        return stated if self.stage else {name: value for name, value in stated.items() if name != "stage"}


def read(folder: Path) -> Status | None:
    """Read the status of a run: interrupted if its process has ended; None if there is none."""
    try:
        status = parsed((folder / run_folder.STATUS).read_bytes())
    except OSError:
        return None
    if status is not None and status.live and not _alive(folder, status):
        return replace(status, state=INTERRUPTED)
    return status


@lru_cache(maxsize=256)  # every rerun of a page reads the status of every run
def parsed(content: bytes) -> Status | None:
    """The status in a file's content; None if it is damaged."""
    try:
        return typed_json.read(Status, typed_json.parsed(content.decode("utf-8")))
    except ValueError:
        return None


def write(folder: Path, status: Status) -> Status:
    """Write a status in the run's folder, with the id of this process."""
    work_folder.check_there(folder, RUN)
    signed = work_folder.signed(status, beat=time.time())
    text = json.dumps(signed.as_json(), ensure_ascii=False, indent=1)
    places.write_whole(
        folder / run_folder.STATUS,
        lambda file: file.write(text.encode()),
        "Make room on that disk, then resume the run.",
        durable=False,  # it is written twice a second, and the next one replaces it
    )
    return signed


def _alive(folder: Path, status: Status) -> bool:
    if status.host != socket.gethostname():
        return _beat_lately(folder, status.beat)
    if status.state == RUNNING:
        return work_folder.is_held(folder)
    return work_folder.is_same_process(status.pid, status.born)


def _beat_lately(folder: Path, beat: float) -> bool:
    """Whether a process on another machine has written lately, by the changes that this process has seen.

    Two clocks are compared only where nothing was seen before: either may be wrong, or be set meanwhile.
    """
    now = time.monotonic()
    last, seen = _last_beats.get(folder, (beat, now if abs(time.time() - beat) < SILENCE else -math.inf))
    _last_beats[folder] = beat, seen if beat == last else now
    return now - _last_beats[folder][1] < SILENCE
