"""Distillation across languages: a text and its translation get the vector that a teacher gives to the text."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer import losses
from explorer.data.text_sets import PAIRS
from explorer.errors import BadChoice
from explorer.gathering import gathered
from explorer.methods import (
    MODEL_DEFAULT,
    THE_BASE,
    FrozenEncoder,
    Schedule,
    cited,
    guide_knob,
    knob,
    pooling_knob,
)


class DistilTranslations(FrozenEncoder):
    """Multilingual distillation: a text and its translation learn the vector of the text by a teacher.

    Reimers and Gurevych 2020, section 2: the first text of a row is in a language that the teacher knows, the second
    one is its translation. The mean squared error between the teacher's vector of the first and the trained encoder's
    vectors of both, over rows and dimensions, is the loss of sentence-transformers' MSELoss with two columns. So a
    search finds texts of one language by queries of another. A teacher that is the base keeps its vectors of the first
    language; the paper's teacher is an English encoder, and XLM-R is trained. Both have the same number of dimensions.
    Texts are read without the prompts of queries and documents, and the teacher encodes each batch anew. Settings are
    those of the released code, make_multilingual.py of sentence-transformers.
    """

    name = "distil-translations"
    family = "distillation"
    paper = cited("reimers-gurevych-2020-making")
    as_published = False
    when_to_use = "Texts with translations, to search or compare across languages (measured on an invented one)."
    rows = PAIRS
    compares_rows = False
    schedule = Schedule(batch_size=64, learning_rate=2e-5, epochs=5, max_length=128, warmup=0.1)

    teacher: str = guide_knob("The encoder whose vectors of first texts are learned.", width=False)
    pooling: str = pooling_knob("mean")
    dropout: bool = knob(True, help="Use dropout in the encoder that is trained; the teacher has none.")

    @property
    def guide_name(self) -> str:
        """The teacher."""
        return self.teacher

    def build(self) -> None:
        """Freeze the teacher, whose vectors must have as many dimensions as those that are trained."""
        super().build()
        teacher, own = self.frozen_guide, self.pooled.width(self.width)
        taught = self.guide_head.width(teacher.width)
        if own == taught:
            return
        if self.teacher == THE_BASE:
            remedy = f"Set pooling to {MODEL_DEFAULT}"
        else:
            remedy = f"Name a teacher with {own} dimensions"
            if taught > own:
                remedy += f", such as a run of the method whitening on '{self.teacher}' with dimensions {own}"
        raise BadChoice(
            f"teacher cannot be '{self.teacher}' here: its vectors have {taught} dimensions, those of "
            f"'{self.base.encoder.name}' under {self.pooling} {own}. {remedy}."
        )

    def loss(self, *columns: list[str]) -> Tensor:
        """The mean squared error of the vectors of both columns, over the rows of all processes."""
        first, second = columns
        taught = gathered(self.encode_by_guide(first))
        one, other = (gathered(side) for side in self.encode(first + second).chunk(2))
        self.record_similarities(one, other)
        return losses.vector_regression(torch.cat([one, other]), torch.cat([taught, taught]))
