"""The facts of a run that its viewers show, declared once each: type, where a training finds it, how people read it.

The page of a run, its model card and the report of a comparison read them from here, so that a new fact is one more
field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explorer import typed_json
from explorer.data import shared_rows, sources
from explorer.data.graded.sets import CROSS_FITTED, UNNAMED, SetIdentity
from explorer.data.set_items import counted
from explorer.data.shared_rows import SharedRows
from explorer.data.watched_pairs import WatchedPair
from explorer.encoding.load import hardware
from explorer.encoding.read.head_facts import HeadFacts
from explorer.measuring.comparing import learned_facts
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.scores.metrics import SPEARMAN, item_by_main, no_score_in_words
from explorer.measuring.scores.verdict import ElsewhereVerdict, RunVerdict, Verdict, by_use
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.training.loop import measured_facts
from explorer.training.loop.computed import Busy, Computed, PeakMemory, Speed
from explorer.typed_json import READS

if TYPE_CHECKING:
    from explorer.training.loop.loop import Training

OF_SET = {READS: sources.identity}  # facts that name a set
PAGE, CARD, REPORT = "page", "card", "report"  # where facts are read
MEASURED = ("speed", "peak_memory", "busy")  # facts that change while a run trains


def fact(
    of: Callable[[Training], Any],
    title: str = "",
    *,
    page: str = "{title}: {words}",
    card: str = "{words}",
    default: Any = None,
) -> Any:
    """State a fact as a field: where a training finds it, and how people read it.

    `of` finds it in a training. A fact with a title is listed: in the first line of the run's page, and in a row of the
    card and of the report; `page` and `card` are how it is written there, "" for not at all. One without a title has a
    place of its own.
    """
    return field(default=default, metadata={"of": of, "title": title, PAGE: page, CARD: card, REPORT: "{words}"})


@dataclass(frozen=True)
class ChosenFacts:
    """What a run is of, and on what it is trained and computed."""

    method: str = ""
    model: str = ""
    data: tuple[SetIdentity, ...] = field(default=(), metadata={READS: sources.text})
    dev: SetIdentity = field(default=UNNAMED, metadata=OF_SET)
    test: SetIdentity | None = field(default=None, metadata=OF_SET)
    more_tests: tuple[SetIdentity, ...] = field(default=(), metadata=OF_SET)
    plan: str = ""  # the id of the plan that made the run
    elsewhere: tuple[SetIdentity, ...] = field(default=(), metadata=OF_SET)  # the chosen sets, or those at hand
    row: str = ""  # of the plan or of the paper's table that the run was made for
    model_digest: str = ""  # of the saved model, by which the run is known wherever its scores are shown
    # that are trained on
    rows: int | None = fact(lambda training: len(training.prepared.rows[training.recipe.seeds[0]]))
    precision: str | None = fact(lambda training: training.world.precision)
    device: str | None = fact(lambda training: str(training.world.device))

    def set_of(self, use: str) -> SetIdentity:
        """The evaluation set of a use: `dev`, `test`, `test 2` and so on; unnamed if there is none."""
        return by_use(self.dev, (self.test or UNNAMED, *self.more_tests)).get(use, UNNAMED)


@dataclass(frozen=True)
class EvaluationFacts(ChosenFacts):
    """What a run is evaluated on, and under which layer & pooling."""

    # the layer & pooling that is trained
    reading: HeadFacts | None = fact(lambda training: training.reading)
    # that of the base with which it is compared: without the parts that training adds
    base_reading: HeadFacts | None = fact(
        lambda training: training.learner and training.learner.method.base_head().facts()
    )
    # how many test sentences are in the training text
    seen: measured_facts.TextOverlap | None = fact(lambda training: training.prepared.seen)
    # how many rows of the test sets are in the dev set too
    shared: SharedRows | None = fact(
        lambda training: shared_rows.total(training.prepared.texts.shared) or None, "Dev and test set", page=""
    )
    # the base's model default
    default: HeadFacts | None = fact(lambda training: training.prepared.encoder.as_used.default_head.facts())
    # the size of each evaluation set, by `dev`, `test`, `test 2`, and the name of its score
    pairs: Mapping[str, int] | None = fact(
        lambda training: {use: len(one) for use, one in training.prepared.judged.items()}
    )
    measures: Mapping[str, str] | None = fact(
        lambda training: {use: one.measure for use, one in training.prepared.judged.items()}
    )
    # what the items of each are: `pair`, `query`; runs of version 0.1.0 have none
    items: Mapping[str, str] | None = fact(
        lambda training: {use: one.item for use, one in training.prepared.judged.items()}
    )
    # how many passages the queries of each are searched among; of other items, and of runs of version 0.1.0, none
    pools: Mapping[str, int] | None = fact(
        lambda training: {use: one.pool for use, one in training.prepared.judged.items() if one.pool} or None
    )
    # why an evaluation set has no score, as in `metrics.why_no_score`; only of those that have none
    unscored: Mapping[str, str] | None = fact(
        lambda training: (
            {use: one.why_no_score for use, one in training.prepared.judged.items() if one.why_no_score} or None
        )
    )

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

    def judged(self, use: str, found: Verdict) -> ElsewhereVerdict:
        """The verdict on an evaluation set, with what it is of."""
        size = self.size_of(use)
        about = self.measure_of(use), found, self.item_of(use), self.pool_of(use)
        return ElsewhereVerdict(str(self.set_of(use)), size, size, *about)

    def why_no_score(self, use: str) -> str:
        """Why an evaluation set has no score, in words; "" if it has one."""
        why = (self.unscored or {}).get(use, "")
        return no_score_in_words(why, self.size_of(use)) if why else ""


@dataclass(frozen=True)
class RunFacts(EvaluationFacts):
    """What viewers show of a run without opening its recipe, text or model."""

    # rows that choose the best checkpoint
    held_out: int | None = fact(lambda training: len(training.prepared.held_out or ()))
    # layers of whose dev scores the mean chooses it
    layers: int | None = fact(lambda training: training.layers)
    # the probe packs neither choose it nor are trained on
    packs_held_out: bool | None = fact(lambda training: training.prepared.packs is not None)
    # time and memory, as measured before the first step
    estimate: measured_facts.Estimate | None = fact(lambda training: training.estimate)
    # the trainings of the run, if there are several
    stages: measured_facts.StageFacts | None = fact(lambda training: training.stages, "Stages", page="{words}")
    # how many rows of the text are drawn; None if all are trained on
    drawn: measured_facts.DrawnRows | None = fact(
        lambda training: training.prepared.drawn, "Training rows", page="trains on {words}"
    )
    # training texts that are longer than is read of them
    texts_cut: CutTexts | None = fact(lambda training: training.texts_cut, "Training texts cut", page="cuts {words}")
    # settings of which another value is used than the recipe states
    overridden: measured_facts.OverriddenSettings | None = fact(
        lambda training: training.overridden or None, "Settings overridden"
    )
    # sets elsewhere that share too many texts with those of the run, or could not be read when it was resumed
    left_out: str = fact(
        lambda training: training.prepared.left_out(training.verdict.elsewhere), "Left out elsewhere", default=""
    )
    # what remains of the base if layers were removed; the card says it in its first sentence
    cut: measured_facts.Cut | None = fact(lambda training: training.cut, "Layers", page="trains {words}", card="")
    # threads and processor, which decide the last bits
    computed: Computed | None = fact(
        lambda training: Computed.by(training.recipe.made_with, training.world.device.type, training.world.precision),
        "Computed on",
        page="{words}",
    )
    # what the steps of the training took, over all processes of the run; of runs of version 0.1.0, none
    speed: Speed | None = fact(lambda training: training.meter.speed, "Speed", page="{words}")
    # of a GPU alone, and where its driver says it
    peak_memory: PeakMemory | None = fact(
        lambda training: training.meter.peak, "Peak memory", page="peak memory {words}"
    )
    busy: Busy | None = fact(lambda training: training.meter.busy, "GPU busy", page="GPU busy {words}")
    # how much of the tuned weights is in the saved model
    blend: float | None = fact(lambda training: training.blend, "Share of the tuned weights (α)", card="{words:g}")
    # how every row was judged, if all are
    folds: measured_facts.FoldFacts | None = fact(lambda training: training.fold_facts, "Cross-fitting", page="{words}")
    # why the saved model equals the base, if it does
    nothing: NothingLearned | None = fact(lambda training: training.nothing)
    # the pairs whose cosines are recorded at every evaluation
    watched: tuple[WatchedPair, ...] = fact(lambda training: training.prepared.watched, default=())
    # what decided between evaluations with the same score
    ties: measured_facts.Ties | None = fact(
        lambda training: training.kept and training.kept.ties, "Equal scores", page="{words}"
    )
    # what holds the trained weights; None for all weights
    adapters: measured_facts.Adapters | None = fact(
        lambda training: training.adapters,
        "Trained weights",
        page="{words}",
        card="{words}; added to the weights of the base",
    )

    @property
    def is_cross_fitted(self) -> bool:
        """Whether folds judge, in place of a dev set; known before the run begins, other than what they are."""
        return self.dev == CROSS_FITTED

    @property
    def step_measure(self) -> str:
        """The name of the score that each evaluation step has: on the dev set, or of folds on their rows."""
        return self.measure_of("test" if self.is_cross_fitted else "dev")

    @property
    def step_score(self) -> str:
        """What judges the evaluation steps: `Spearman on the dev set`."""
        judges = "the rows that each fold leaves out" if self.is_cross_fitted else "the dev set"
        return f"{self.step_measure} on {judges}"

    @property
    def methods(self) -> str:
        """The method, or those of all stages in order: `tsdae, then contrast`."""
        return ", then ".join(self.stages.methods) if self.stages else self.method

    @property
    def chosen_by(self) -> str:
        """The score whose highest value chooses checkpoint and seed."""
        if self.held_out:
            return "score on held-out rows"
        return f"mean of the dev scores after each of {self.layers} layers" if self.layers else "dev score"

    def found_by(self, training: Training, only: Collection[str] = ()) -> RunFacts:
        """These facts with what a training has found out; what a resumed one does not find again stays.

        `only` names those that are asked for, where not all of them are.
        """
        asked = (one for one in fields(self) if "of" in one.metadata and (not only or one.name in only))
        found = {one.name: one.metadata["of"](training) for one in asked}
        return replace(self, **{name: value for name, value in found.items() if value is not None})

    @property
    def ran(self) -> str:
        """Where it ran and what that took: `AMD EPYC 9R14, float32, 2 threads · 12.3 steps and 197 rows a second`."""
        listed, titles = self.listed(PAGE), {one.name: one.metadata.get("title", "") for one in fields(self)}
        kind = self.device and hardware.KINDS.get(self.device, self.device)  # of older runs no name is known
        where = self.computed.where if self.computed else ", ".join(filter(None, (kind, self.precision)))
        return " · ".join(filter(None, (where, *(listed.get(titles[name]) for name in MEASURED))))

    @property
    def ran_as_json(self) -> dict[str, Any]:
        """What `ran` says, as values that have units in their names; only those that are known."""
        every = (self.computed, *(getattr(self, name) for name in MEASURED))
        return {name: value for one in every if one is not None for name, value in one.as_json().items()}

    def listed(self, where: str) -> dict[str, str]:
        """The known facts that have a title as they are written on the PAGE, the CARD or the REPORT, by title."""
        known = {one: value for one in fields(self) if (value := getattr(self, one.name)) not in (None, "")}
        return {
            title: written.format(title=title, words=getattr(value, "words", value))
            for one, value in known.items()
            if (title := one.metadata.get("title")) and (written := one.metadata[where])
        }

    def as_json(self) -> Mapping[str, Any]:
        """The facts that are known; no test set is a fact too."""
        return self._as_json

    @cached_property  # a status is written twice a second, mostly with the same facts
    def _as_json(self) -> Mapping[str, Any]:
        stated = typed_json.written(self).items()
        return {name: value for name, value in stated if value not in (None, "", []) or name == "test"}


def learned(facts: RunFacts, verdict: RunVerdict) -> learned_facts.Learned:
    """What a run learned, by its held-out probe packs and its test set."""
    scored = {use: facts.judged(use, found) for use, found in verdict.by_use.items()}
    return learned_facts.of_run(verdict, scored, facts.poolings, facts.nothing)
