"""Distillation: the whole encoder, or another one, teaches first layers of it, by vectors or by scores of triplets."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer import losses
from explorer.data.text_sets import SCORED_TRIPLETS, SENTENCES, TRIPLETS, Kind
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import LAST_NORM
from explorer.encoding.tune import editing
from explorer.errors import BadChoice
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import (
    MODEL_DEFAULT,
    THE_BASE,
    TRAINED_POOLINGS,
    ChosenPrompts,
    FrozenGuide,
    Pooled,
    Schedule,
    cited,
    guide_knob,
    knob,
)

VECTORS, SIMILARITIES = "vectors", "similarities"
COSINE, DOT_PRODUCT = "cosine", "dot product"
COLUMN = "column"  # in place of a teacher


def _layers_knob(usual: str) -> int:
    """The setting of how many layers remain; `usual` says what 0 stands for."""
    return knob(
        0,
        low=0,
        high=1000,
        front=True,
        help=f"Layers of the encoder that remain, the lowest ones; the layers above are removed. 0: {usual}",
    )


class Student(Pooled):
    """An encoder that is cut after a layer: what is trained and exported."""

    family = "distillation"
    as_published = False
    makes_smaller = True

    keep_layers: int = _layers_knob("half of them, rounded up.")
    pooling: str = knob(
        "mean",
        choices=(MODEL_DEFAULT, *TRAINED_POOLINGS),
        help="Pooling of the cut encoder, of its last layer; vectors are normalised if those of the whole encoder are. "
        "model default: the pooling of the whole encoder, with its dense layers unchanged.",
    )
    dropout: bool = knob(True, help="Use dropout in the encoder that is trained; the one that teaches has none.")

    @classmethod
    def check_layers(cls, values: Values, model: str, layers: int) -> None:
        """Refuse to remove none of the layers, or more than there are."""
        super().check_layers(values, model, layers)
        kept = int(values.get("keep_layers", cls.knobs["keep_layers"].default))
        if layers < 2:
            few = "one layer" if layers else "no layers"
            raise BadChoice(f"'{model}' has {few}, and none can be removed. Choose a model with more layers.")
        if kept >= layers:
            fewer = "1" if layers == 2 else f"1 to {layers - 1}"
            raise BadChoice(
                f"keep_layers cannot be {kept}: '{model}' has {layers} layers, and none would be removed. Choose "
                f"{fewer}, or 0 for half of them."
            )

    def cut_base(self, kept: int) -> None:
        """Train a copy of the first layers in place of the base; 0 keeps all."""
        self._whole, self._normed = self.base.encoder, False
        if kept:
            where = editing.stack(self._whole)
            self.base, self._normed = self.base.cut(kept, where), where.norm is not None

    @property
    def whole_head(self) -> Head:
        """The model default of the whole encoder; its tokenizer adds the prompt already."""
        return self.on_device("whole_head", lambda: replace(self._whole.default_head, prompt="", remark=""))

    def base_head(self) -> Head:
        """The base under the same pooling of the last layer that remains, as an encoder that is cut there has it."""
        if self.base.encoder is self._whole:
            return self.pooled
        poolings = tuple(f"{pooling} of layer {self.base.layers}" for pooling in self.pooled.poolings)
        return replace(self.pooled, poolings=poolings, remark=LAST_NORM if self._normed else "")

    def _chosen(self) -> Head:
        whole = self.whole_head
        if self.pooling != MODEL_DEFAULT:
            return Head((self.pooling,), normalize=whole.normalize)
        if not whole.of_last_layer:
            raise BadChoice(
                f"pooling cannot be 'model default' here: '{self._whole.name}' pools other layers than the "
                "last. Set pooling to mean or cls."
            )
        return whole


class Distil(Student):
    """Distillation: train an encoder that is cut after a layer towards the vectors of the whole encoder.

    Reimers and Gurevych 2020, section 2: the mean squared error between the vectors of a student and of a frozen
    teacher, here on the same sentence. The teacher is the whole encoder under its model default; the student is its
    first layers, which become an encoder of their own. Vectors are compared as they are used, so that those of both
    encoders can be compared with each other: at unit length if the model default normalises them. Settings are those of
    the released code, model_distillation.py of sentence-transformers, but learning rate, warmup and epsilon: it trains
    on many more sentences. It keeps layers at equal distances; Strata keeps the lowest, so that the cut encoder has the
    vectors of one layer before training. The target similarities is Strata's. The teacher encodes each batch anew:
    vectors that were kept would differ by rounding after a run is resumed.
    """

    # the whole encoder, frozen, teaches its own first layers
    name = "distil"
    paper = cited("reimers-gurevych-2020-making")
    when_to_use = "To make an encoder smaller: training gives back a part of what the removed layers cost."
    rows = SENTENCES
    compares_rows = False
    training_only = ("teacher",)
    schedule = Schedule(
        batch_size=64, learning_rate=4e-4, max_length=128, warmup=0.1, weight_decay=0.01, keep_duplicates=False
    )

    target: str = knob(
        VECTORS,
        choices=(VECTORS, SIMILARITIES),
        front=True,
        help="What is compared with the whole encoder, by the mean squared error. vectors: the vector of each sentence "
        "(the paper), so that vectors of both encoders can be compared with each other. similarities: the cosines of "
        "all pairs of a batch; vectors may then have another width.",
    )

    def build(self) -> None:
        """Freeze the whole encoder, and train a cut one in its place."""
        whole = self.base
        self.check_layers(self.by_name(), whole.encoder.name, whole.layers)
        self.teacher = whole.frozen()
        self.cut_base(self.keep_layers or -(-whole.layers // 2))
        own, taught = (head.width(self.width) for head in (self.pooled, self.whole_head))
        if self.target == VECTORS and own != taught:
            raise BadChoice(
                f"target cannot be '{VECTORS}' here: vectors of '{self.teacher.encoder.name}' have {taught} "
                f"dimensions, those of its cut encoder under {self.pooling} {own}. Set pooling to model default, or "
                f"target to {SIMILARITIES}."
            )

    def constant(self) -> tuple[nn.Module, ...]:
        """The whole encoder."""
        return (self.teacher,)

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The whole encoder, and the cut one unless it is set."""
        return (self.teacher, *super().without_dropout())

    def loss(self, *columns: list[str]) -> Tensor:
        """The mean squared error of vectors, or of cosines between vectors, over the rows of all processes."""
        (sentences,) = columns
        with torch.no_grad():
            teacher = gathered(self.encode(sentences, self.whole_head, copy=self.teacher))
        student = gathered(self.encode(sentences))
        if student.shape == teacher.shape:
            self.record_similarities(student, teacher)
        if self.target == SIMILARITIES:
            return losses.similarity_regression(student, teacher)
        return losses.vector_regression(student, teacher)


class ScoreStudent(Student, FrozenGuide, ChosenPrompts):
    """Scores of a row's candidates, taught by a frozen encoder (the whole one, or any other) or by the text."""

    rows = TRIPLETS
    compares_rows = False
    schedule = Schedule(batch_size=64, learning_rate=4e-4, max_length=128, warmup=0.1, weight_decay=0.01)

    teacher: str = guide_knob(
        "The encoder whose scores are learned.",
        others={
            COLUMN: "no encoder teaches, but scores of the training text, such as those of a reranker: its columns "
            "score_positive and score_negative, or margin, their difference. They are learned as they are, so their "
            "scale has to be one that the similarity can have."
        },
    )
    keep_layers: int = _layers_knob("half of them, rounded up, if the base teaches, and all of them otherwise.")
    similarity: str = knob(
        COSINE,
        choices=(COSINE, DOT_PRODUCT),
        paper=DOT_PRODUCT,
        help="The score of an anchor and another text, by the teacher and by the encoder that is trained. dot product: "
        "of vectors as they are used, which is the cosine if the model default normalises them.",
    )

    @classmethod
    def check_layers(cls, values: Values, model: str, layers: int) -> None:
        """Refuse to remove none of the layers where the whole encoder teaches, or more than there are."""
        if values.get("teacher", THE_BASE) == THE_BASE or values.get("keep_layers"):
            super().check_layers(values, model, layers)

    @property
    def guide_name(self) -> str:
        """The teacher, if it is an encoder."""
        return "" if self.teacher == COLUMN else self.teacher

    @classmethod
    def rows_under(cls, values: Values) -> Kind:
        """Triplets, with a teacher's scores if these teach."""
        return SCORED_TRIPLETS if values.get("teacher") == COLUMN else cls.rows

    def remark(self) -> str:
        """Where the scores are from, if no encoder gives them."""
        return "the teacher's scores are columns of the text" if self.teacher == COLUMN else ""

    def build(self) -> None:
        """Freeze the teacher, and cut the encoder that is trained, unless another one teaches all of its layers."""
        super().build()
        self.check_layers(self.by_name(), self.base.encoder.name, self.base.layers)
        half = -(-self.base.layers // 2) if self.teacher == THE_BASE else 0
        self.cut_base(self.keep_layers or half)

    def scores(self, sides: list[Tensor]) -> Tensor:
        """The scores (row, candidate) of each anchor with the other texts of its row."""
        return losses.candidate_scores(sides, self.similarity == DOT_PRODUCT)

    def of_scores(self, student: Tensor, teacher: Tensor) -> Tensor:
        """The loss of both scores (row, candidate), of which the first is that of the positive."""
        raise NotImplementedError

    def scores_in_text(self, margins: Sequence[float]) -> Tensor:
        """The scores (row, candidate) of all processes with these margins: no more of them counts in either loss."""
        given = gathered(torch.tensor(margins).to(self.base.model.device, non_blocking=True))
        return torch.stack([given, torch.zeros_like(given)], dim=1)

    def loss(self, *columns: Any) -> Tensor:
        """The loss of all columns, which each encoder encodes in one pass, over the rows of all processes."""
        if self.teacher == COLUMN:
            *texts, margins = columns
            teacher = self.scores_in_text(margins)
        else:
            texts = list(columns)
            teacher = self.scores(self.sides_of_guide(texts))
        together = self.encode([text for column in self.prompted(texts) for text in column])
        sides = [gathered(side) for side in together.chunk(len(texts))]
        self.record_similarities(sides[0], sides[1])
        return self.of_scores(self.scores(sides), teacher)


class MarginMSE(ScoreStudent):
    """Margin-MSE: train differences of scores to be those of a teacher, on triplets.

    Hofstätter and others 2020, section 3: the mean squared error of score(anchor, positive) - score(anchor, negative)
    by the student and by the teacher. The loss is that of sentence-transformers' MarginMSELoss with the similarity that
    is set. The paper's teachers are rerankers and its scores dot products; here the teacher is an encoder, by default
    the whole one, which teaches its own first layers, or scores that the text has, as of a reranker. The learning rate
    is that of `distil`; for another teacher of all layers, 2e-5 is usual.
    """

    name = "margin-mse"
    paper = cited("hofstaetter-etal-2020-improving")
    when_to_use = "To make an encoder smaller with triplets: 3 points more than distil on sentences (three seeds)."

    def of_scores(self, student: Tensor, teacher: Tensor) -> Tensor:
        """The mean squared error of the margins."""
        return losses.margin_regression(student, teacher)


class ScoreDistribution(ScoreStudent):
    """KL distillation: train the distribution over the candidates of a row to be a teacher's, on triplets.

    Lin, Yang and Lin 2020 (tightly-coupled teachers): the Kullback-Leibler divergence of the softmax of both scores,
    over a temperature, multiplied by its square. The loss is that of sentence-transformers' DistillKLDivLoss with the
    similarity that is set. The teacher is as in `margin-mse`, with whose other settings it is compared.
    """

    name = "distil-kl"
    paper = cited("lin-etal-2020-distilling")
    when_to_use = "To make an encoder smaller with triplets: as large a gain as by margin-mse (three seeds)."

    temperature: float = knob(
        1.0,
        low=0.001,
        high=100.0,
        front=True,
        help="Scores of both are divided by it; lower makes the distributions sharper (sentence-transformers: 1).",
    )

    def of_scores(self, student: Tensor, teacher: Tensor) -> Tensor:
        """The divergence."""
        return losses.score_divergence(student, teacher, self.temperature)
