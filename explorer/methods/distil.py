"""Distillation (Reimers and Gurevych 2020): the whole encoder teaches its own first layers."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from explorer import losses
from explorer.data.text_sets import SENTENCES
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import LAST_NORM
from explorer.encoding.tune import editing
from explorer.errors import BadChoice
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import MODEL_DEFAULT, TRAINED_POOLINGS, Pooled, Schedule, cited, knob

VECTORS, SIMILARITIES = "vectors", "similarities"


class Distil(Pooled):
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
    family = "distillation"
    paper = cited("reimers-gurevych-2020-making")
    when_to_use = "To make an encoder smaller: training gives back a part of what the removed layers cost."
    rows = SENTENCES
    as_published = False
    compares_rows = False
    training_only = ("teacher",)
    schedule = Schedule(
        batch_size=64, learning_rate=4e-4, max_length=128, warmup=0.1, weight_decay=0.01, keep_duplicates=False
    )

    keep_layers: int = knob(
        0,
        low=0,
        high=1000,
        front=True,
        help="Layers of the encoder that remain, the lowest ones; the layers above are removed. 0: half of them, "
        "rounded up.",
    )
    target: str = knob(
        VECTORS,
        choices=(VECTORS, SIMILARITIES),
        front=True,
        help="What is compared with the whole encoder, by the mean squared error. vectors: the vector of each sentence "
        "(the paper), so that vectors of both encoders can be compared with each other. similarities: the cosines of "
        "all pairs of a batch; vectors may then have another width.",
    )
    pooling: str = knob(
        "mean",
        choices=(MODEL_DEFAULT, *TRAINED_POOLINGS),
        help="Pooling of the cut encoder, of its last layer; vectors are normalised if those of the whole encoder are. "
        "model default: the pooling of the whole encoder, with its dense layers unchanged.",
    )
    dropout: bool = knob(True, help="Use dropout in the cut encoder; the whole encoder has none.")

    @classmethod
    def check_layers(cls, values: Values, model: str, layers: int) -> None:
        """Refuse to remove none of the layers, or more than there are."""
        super().check_layers(values, model, layers)
        kept = int(values.get("keep_layers", cls.knobs["keep_layers"].default))
        if layers == 1:
            raise BadChoice(f"'{model}' has one layer, and none can be removed. Choose a model with more layers.")
        if kept >= layers:
            fewer = "1" if layers == 2 else f"1 to {layers - 1}"
            raise BadChoice(
                f"keep_layers cannot be {kept}: '{model}' has {layers} layers, and none would be removed. Choose "
                f"{fewer}, or 0 for half of them."
            )

    def build(self) -> None:
        """Freeze the whole encoder, and train a cut one in its place."""
        whole = self.base
        self.check_layers(self.by_name(), whole.encoder.name, whole.layers)
        where = editing.stack(whole.encoder)
        self.teacher = whole.frozen()
        self.base = whole.cut(self.keep_layers or -(-whole.layers // 2), where)
        self._normed = where.norm is not None
        own, taught = (head.width(self.width) for head in (self.pooled, self.taught))
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
            teacher = gathered(self.encode(sentences, self.taught, copy=self.teacher))
        student = gathered(self.encode(sentences))
        if student.shape == teacher.shape:
            self.record_similarities(student, teacher)
        if self.target == SIMILARITIES:
            return losses.similarity_regression(student, teacher)
        return losses.vector_regression(student, teacher)

    @property
    def taught(self) -> Head:
        """The model default of the whole encoder; its tokenizer adds the prompt already."""
        return self.on_device("taught", lambda: replace(self.teacher.encoder.default_head, prompt="", remark=""))

    def base_head(self) -> Head:
        """The base under the same pooling of the last layer that remains, as an encoder that is cut there has it."""
        poolings = tuple(f"{pooling} of layer {self.base.layers}" for pooling in self.pooled.poolings)
        return replace(self.pooled, poolings=poolings, remark=LAST_NORM if self._normed else "")

    def _chosen(self) -> Head:
        whole = self.taught
        if self.pooling != MODEL_DEFAULT:
            return Head((self.pooling,), normalize=whole.normalize)
        if not whole.of_last_layer:
            raise BadChoice(
                f"pooling cannot be 'model default' here: '{self.teacher.encoder.name}' pools other layers than the "
                "last. Set pooling to mean or cls."
            )
        return whole
