"""What a training measures, as values that a run stores: facts of text, model and cost, and the scores of each seed.

Their words are made where they are shown.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer import in_words, typed_json
from explorer.data import sources
from explorer.evaluating.probes.class_scores import ClassScores
from explorer.knobs import Knob
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.comparing.verdict_sentence import Sentence, sentence
from explorer.measuring.scores.verdict import RunVerdict, Verdict
from explorer.measuring.sentences.cut_texts import CutTexts

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.tune.tunable import Tunable
    from explorer.methods import Schedule

LORA = "LoRA"  # the kind of adapters
SAME = 1e-9  # scores × 100 that differ by less are equal
MOST_FITTED = 10_000  # training rows of a logistic layer on the frozen base; more would take as long as a training
EVALUATIONS, WARMUP, LENGTH = "evaluations", "warmup", "length"  # reasons
_WHY = {
    EVALUATIONS: "at least ten evaluations",
    WARMUP: "less than one update",
    LENGTH: "the model reads no more tokens",
}


@dataclass(frozen=True)
class Cut:
    """What remains of a base whose upper layers were removed: of its layers, and of its weights."""

    layers: int
    all_layers: int
    weights: int
    all_weights: int

    @classmethod
    def of(cls, whole: Encoder, part: Encoder) -> Cut | None:
        """What is left of the whole encoder; None if nothing was removed."""
        kept, layers = part.model.config.num_hidden_layers, whole.model.config.num_hidden_layers
        return None if kept == layers else cls(kept, layers, _size(part), _size(whole))

    @property
    def words(self) -> str:
        """`the first 3 of 6 layers (17,241,984 of 22,565,376 weights)`."""
        return f"the first {self.layers} of {self.all_layers} layers ({self.weights:,} of {self.all_weights:,} weights)"


@dataclass(frozen=True)
class DrawnRows:
    """How many rows of the text are trained on, and of how many each seed draws them."""

    rows: int
    of: int

    @property
    def words(self) -> str:
        """`250 of 1,000 rows, drawn with the seed`."""
        return f"{self.rows:,} of {self.of:,} rows, drawn with the seed"


@dataclass(frozen=True)
class Adapters:
    """The adapters that hold what was trained, and how many weights they have.

    `alpha` and `frozen`, the number of weights that do not change, are None if all weights were trained and their
    change was cut to adapters afterwards.
    """

    kind: str
    rank: int
    targets: str
    weights: int
    alpha: float | None = None
    frozen: int | None = None

    @classmethod
    def of(cls, exported: Tunable) -> Adapters | None:
        """The adapters of an encoder; None if it has none."""
        lora = exported.adapters
        return None if lora is None else cls(LORA, lora.rank, lora.targets, exported.trained, lora.alpha, exported.size)

    @property
    def words(self) -> str:
        """`LoRA (rank 8, alpha 16, targets attention): 512 weights, beside 22,565,376 that do not change`."""
        weights = f"{self.weights:,} weights"
        if self.alpha is None or self.frozen is None:
            change = f"{self.kind} (rank {self.rank}, {self.targets})"
            return f"all weights; their change is cut to {change}: {weights}"
        adapters = f"{self.kind} (rank {self.rank}, alpha {self.alpha:g}, targets {self.targets})"
        return f"{adapters}: {weights}, beside {self.frozen:,} that do not change"


@dataclass(frozen=True)
class Overridden:
    """A setting of which a training uses another value than its recipe states."""

    name: str
    stated: float
    used: float
    why: str

    @property
    def values(self) -> str:
        """`100 → 10`."""
        return f"{Knob.text(self.stated)} → {Knob.text(self.used)}"


@dataclass(frozen=True)
class OverriddenSettings:
    """All of them; false if every setting is used as it is stated."""

    settings: tuple[Overridden, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.settings)

    @property
    def words(self) -> str:
        """`evaluate_every 100 → 10 (at least ten evaluations), warmup 0.1 → 0 (less than one update)`."""
        return ", ".join(f"{one.name} {one.values} ({_WHY[one.why]})" for one in self.settings)


def overridden(schedule: Schedule, updates: int, reads: int | None = None) -> OverriddenSettings:
    """What a training of so many updates does not use as stated; the model `reads` so many tokens, if it is known."""
    every, length = schedule.evaluation_interval(updates), min(schedule.max_length, reads or schedule.max_length)
    found = [
        Overridden("evaluate_every", schedule.evaluate_every, every, EVALUATIONS),
        Overridden("max_length", schedule.max_length, length, LENGTH),
    ]
    if not schedule.warmup_updates(updates):
        found.append(Overridden("warmup", schedule.warmup, 0, WARMUP))
    return OverriddenSettings(tuple(one for one in found if one.used != one.stated))


@dataclass(frozen=True)
class StageFacts:
    """The trainings of a run in order: method, text and number of rows of each."""

    methods: tuple[str, ...]
    data: tuple[tuple[str, ...], ...]
    rows: tuple[int, ...]

    @property
    def words(self) -> str:
        """`1. tsdae on wiki.txt (2,000 rows), 2. contrast on nli.tsv (500 rows)`."""
        every = enumerate(zip(self.methods, self.data, self.rows, strict=False), start=1)
        shown = ((number, method, " + ".join(map(sources.shown, data)), rows) for number, (method, data, rows) in every)
        return ", ".join(f"{number}. {method} on {text} ({rows:,} rows)" for number, method, text, rows in shown)


@dataclass(frozen=True)
class TextOverlap:
    """How many sentences of the test sets are in the training text, without their scores; true if any are."""

    found: int
    sentences: int  # of the test sets
    uses: tuple[str, ...] = ()  # the test sets with such sentences: `test`, `test 2`

    def __bool__(self) -> bool:
        return self.found > 0

    @property
    def words(self) -> str:
        """`12 of the 240 test sentences are in the training text (without their scores): this score is optimistic.`"""
        if not self:
            return ""
        of = "All" if self.found == self.sentences else f"{self.found:,} of the {self.sentences:,}"
        which = f"scores on {' and '.join(self.uses)} are" if {*self.uses} - {"test"} else "this score is"
        return f"{of} test sentences are in the training text (without their scores): {which} optimistic."


@dataclass(frozen=True)
class Estimate:
    """What a run needs, measured on the longest rows."""

    step_seconds: float
    seconds: float  # of all steps and evaluations; of a recipe that was tried, of the trial as well
    memory: int  # bytes: weights, gradients, the optimiser's two moments, and the activations of a step
    free: int
    disk: int
    steps: int = 0  # of all seeds
    kept: int = 0  # bytes on disk that stay when the run is finished
    trained: int = 0  # weights that are trained, those of the method's own parts too
    weights: int = 0  # of the encoder
    added: int = 0  # of the trained weights, those in parts that the method adds
    elsewhere: float = 0.0  # of the seconds, those of sets that it is not trained for
    folds: int = 0  # that are trained for each seed before all rows are
    cut: CutTexts | None = None  # training texts that are longer than is read of them; of a training in stages the last

    @property
    def evaluating(self) -> float:
        """Of the seconds, those of evaluations: all that the steps do not take."""
        return max(0.0, self.seconds - self.step_seconds * self.steps)

    @property
    def words(self) -> str:
        """`0.21 s per step, about 3 min in all; 1.2 GB of memory (18.3 GB free), 412 MB on disk`.

        Then the number of weights that are trained.
        """
        folds = f" for {self.folds} folds and all rows" * bool(self.folds)
        elsewhere = f" ({in_words.duration(self.elsewhere)} of it elsewhere)" if self.elsewhere else ""
        found = (
            f"{self.step_seconds:.2g} s per step, about {in_words.duration(self.seconds)} in all{folds}{elsewhere}; "
            f"{in_words.size(self.memory)} of memory ({in_words.size(self.free)} free), "
            f"{in_words.size(self.disk)} on disk"
        )
        of = f"the encoder has {self.weights:,}"
        if self.added:
            own = f"{self.trained - self.added:,} of the encoder's {self.weights:,}"
            of = f"{own}, and {self.added:,} in the method's head"
        return f"{found}; {self.trained:,} weights are trained ({of})" if self.trained else found


def _size(encoder: Encoder) -> int:
    return sum(weight.numel() for weight in encoder.model.parameters())


@dataclass(frozen=True)
class Blend:
    """The best checkpoint blended with the base: its share, its scores, and the trained copy that is saved."""

    alpha: float
    dev: float  # score × 100 on the dev set
    score: float  # the one that chooses the share and the best seed
    candidate: str = ""


@dataclass(frozen=True)
class FoldFacts:
    """How every row is judged: into how many folds they are divided, and what was best in each of them."""

    folds: int
    rows: int
    by_share: bool = False  # the folds choose the share of the tuned weights, and not the number of updates
    best: tuple[float, ...] = ()  # in each fold, once all are done
    chosen: float | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """What is trained, one after the other."""
        return (*(f"fold {number}" for number in range(1, self.folds + 1)), "all rows")

    def part(self, number: int) -> str:
        """`fold 2 of 5`, or `all rows`."""
        name = self.parts[min(number, len(self.parts)) - 1]
        return name if number > self.folds else f"{name} of {self.folds}"

    @property
    def words(self) -> str:
        """`5 folds: each of the 60 rows is judged by a model that was not trained on it; …`."""
        text = f"{self.folds} folds: each of the {self.rows:,} rows is judged by a model that was not trained on it"
        if self.chosen is None:
            return f"{text}; then all rows are trained on"
        text += "; the saved model is trained on all rows"
        if self.by_share:
            return (
                f"{text}, with the share of the tuned weights that is best on average over the folds ({self.chosen:g})"
            )
        best = ", ".join(f"{one:g}" for one in sorted(self.best))
        return f"{text} for {self.chosen:g} updates, the median of the best in the folds ({best})"


@dataclass(frozen=True)
class Ties:
    """How many evaluations have the best score, and whether the loss on held-out rows chose one of them."""

    evaluations: int
    by_loss: bool = False

    @property
    def words(self) -> str:
        """`7 evaluations have the best score; of these the last was kept`."""
        chose = "the loss on held-out rows decided between equal scores"
        if self.evaluations < 2:  # of shares of the tuned weights
            return chose
        last = "of these the last was kept"
        return f"{self.evaluations:,} evaluations have the best score; {chose if self.by_loss else last}"


@dataclass(frozen=True)
class FoldScores:
    """A fold of a seed that is done: what was tried on its rows, which are not trained on, and what was best.

    Tried were numbers of updates, or shares of the tuned weights.
    """

    steps: int  # counted from the start of the first fold
    rows: int  # that are judged
    tried: tuple[float, ...]
    scores: tuple[float | None, ...]  # × 100
    best: float


@dataclass(frozen=True)
class StageScores:
    """A stage of a seed that is done, before the last one; its steps are counted from the start of the run."""

    method: str
    steps: int
    best_step: int | None = None
    dev_at_best_step: float | None = None  # score × 100
    criterion: float | None = None  # the score that chose the best step, if not the dev score alone
    digest: str = ""  # of the model that the next stage starts from


@dataclass(frozen=True)
class FrozenClasses:
    """The classes of test rows by a logistic layer on the vectors of the frozen base, and those of the model after it.

    `rows` is how many training rows the layer is fitted to, and `verdict` compares the accuracies.
    """

    rows: int
    classes: ClassScores
    verdict: Verdict

    @property
    def sentence(self) -> Sentence:
        """`Better: this model scores 78.40, the frozen encoder with a logistic layer 71.20: +7.20 (95 % CI …) on …`."""
        of = f" of {self.rows:,} rows" * (self.rows == MOST_FITTED)
        before = f"the frozen encoder with a logistic layer{of}"
        return sentence(self.verdict, before, "this model", f"{self.classes.rows:,} test rows (accuracy)")


@dataclass(frozen=True)
class SeedScores:
    """One training of a run: its best step, and scores × 100.

    `dev` and `test` are those of the tuned model, in float32 and as it is saved. What the dev score was when the best
    step was evaluated is another number: in the precision of the training, before a blend with the base.
    """

    seed: int
    steps: int | None = None
    best_step: int | None = None
    dev: float | None = None
    test: float | None = None
    verdict: RunVerdict | None = None  # compared with the base
    criterion: float | None = None  # the score that chose its model; in runs of version 0.1.0 None for the dev score
    dev_at_best_step: float | None = None
    candidate: str = ""  # the trained copy that was best, if the method trains several
    blend: float | None = None  # the share of the tuned weights, if the rest is the base's
    remark: str = ""  # what the method reports about its rows
    classes: ClassScores | None = None  # of the test rows of labelled texts
    frozen: FrozenClasses | None = None  # those of the base with a logistic layer
    stages: tuple[StageScores, ...] = ()  # before the last
    nothing: NothingLearned | None = None  # why the weights equal the base's, if they do
    ties: Ties | None = None  # of the scores that chose the best step
    folds: tuple[FoldScores, ...] = ()  # whose models judge every row, before the training on all rows

    @property
    def selection_score(self) -> float | None:
        """The score by which the best seed is chosen."""
        return self.dev if self.criterion is None else self.criterion

    def score(self, use: str) -> float | None:
        """The score on an evaluation set by use: dev, test, test 2 and so on."""
        if use in ("dev", "test"):
            return self.dev if use == "dev" else self.test
        if self.verdict is None:
            return None
        found = self.verdict.by_use.get(use)
        return found.after if found else None

    def as_json(self) -> dict[str, Any]:
        """The scores for status.json and the output of `train`; without fields that only some methods have."""
        rare = {"criterion", "dev_at_best_step", "candidate", "blend", "remark", "classes", "frozen", "stages",
                "nothing", "ties", "folds"}  # fmt: skip
        stated = typed_json.written(self)
        return {name: value for name, value in stated.items() if name not in rare or value not in (None, "", [])}


def spread(scores: Sequence[float | None]) -> tuple[float, float] | None:
    """Mean and sample standard deviation over seeds; None if a seed has no score: a mean of some would mislead."""
    known = [score for score in scores if score is not None]
    if not known or len(known) < len(scores):
        return None
    return statistics.mean(known), statistics.stdev(known) if len(known) > 1 else 0.0
