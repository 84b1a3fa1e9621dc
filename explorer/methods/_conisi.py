"""Base of the ConIsI methods: contrast a sentence paired with itself with the sentence paired with another one.

Sun and Huang 2022, section 3. One encoder encodes the sentence alone (x), with itself (Y) and with another one (Z). The
three methods differ only in the other sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.row_kinds import SENTENCES
from explorer.encoding.read.batches import in_order
from explorer.encoding.read.sentence_pairs import Composed, Composer
from explorer.gathering import gathered, of_all
from explorer.knobs import Values
from explorer.losses import info_nce, interaction, interaction_by_class
from explorer.methods import Schedule, _papers, knob
from explorer.methods._pooled import Pooled

SCORINGS = ("scalar", "two classes", "element-wise")


class ConIsI(Pooled):
    """L = (1 - λ) L_C + λ L_I."""

    paper = _papers.CONISI
    eats = SENTENCES
    training_only: ClassVar[tuple[str, ...]] = ("hidden", "score")
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"share": 0.1},
        "BERT-large": {"share": 0.1, "max_length": 28},
    }

    temperature: float = knob(
        0.05,
        low=0.001,
        high=1.0,
        front=True,
        help="Temperature. Lower penalises close negatives more (paper, section 4.1: 0.05).",
    )
    share: float = knob(
        0.8,
        low=0.0,
        high=1.0,
        front=True,
        help="λ: weight of the interaction loss, from 0 to 1 (paper, section 4.1: 0.8 for BERT-base, 0.1 for "
        "RoBERTa-base and BERT-large).",
    )
    scoring: str = knob(
        "scalar",
        choices=SCORINGS,
        help="Scores in equation 8: one per input; two classes per input; or one per dimension.",
    )
    joint_norm: bool = knob(
        True, help="Batch-normalise x, Y and Z together; off: each by itself, which hides differences of their means."
    )

    seen: Tensor  # the number of sentences so far, and of those without an antonym

    def build(self) -> None:
        """Build the head that both losses share, and the scores of the second loss."""
        self.composer = Composer(self.base.encoder)
        self.width = self.pooled.width(self.base.width)
        self.make_head()

    def make_head(self) -> None:
        """The part that only the loss uses, initialised at random."""
        dense = nn.Linear(self.width, self.width)
        self.score = nn.Linear(self.width, {"scalar": 1, "two classes": 2, "element-wise": self.width}[self.scoring])
        for layer in (dense, self.score):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        self.hidden = nn.Sequential(dense, nn.BatchNorm1d(self.width), nn.ELU())
        self.register_buffer("seen", torch.zeros(2, dtype=torch.long))

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """For each sentence the tokens of another one to pair it with; None if there is none."""
        raise NotImplementedError

    def loss(self, *columns: list[str]) -> Tensor:
        """Compute the contrast of x with Y, and the interaction of Y and Z."""
        (sentences,) = columns
        pieces = self.composer.pieces(sentences, self.base.max_length)
        others = self.others(sentences, pieces)
        has_other = of_all([other is not None for other in others])
        valid = torch.tensor([place for place, here in enumerate(has_other) if here])
        valid = valid.long().to(self.device, non_blocking=True)
        # without another sentence, use the sentence itself, so that every process has the same number of rows
        inputs = [self.composer.pair(own, own) for own in pieces]
        inputs += [
            self.composer.pair(own, own if other is None else other) for own, other in zip(pieces, others, strict=True)
        ]
        alone = gathered(self.encoded(sentences, self.before_normalising))
        same, other = (gathered(part) for part in self._read(inputs).chunk(2))
        self.watch(alone, same)
        if self.training:
            self.seen += torch.tensor([len(has_other), len(has_other) - len(valid)]).to(self.device, non_blocking=True)
        return self._together(alone, same, other[valid], valid)

    def remark(self) -> str:
        """Report how many sentences had no counterpart."""
        sentences, without = self.seen.tolist()
        return (
            f"{without} of {sentences} sentences ({100 * without / sentences:.1f} %) had no antonym" if without else ""
        )

    @property
    def device(self) -> torch.device:
        """The device of the training."""
        return self.score.weight.device

    def _read(self, inputs: list[Composed]) -> Tensor:
        head = self.before_normalising
        return in_order((places, head(states.hidden, states.mask)) for places, states in self.base.composed(inputs))

    def _together(self, alone: Tensor, same: Tensor, other: Tensor, valid: Tensor) -> Tensor:
        """Both losses of vectors (sentence, width); `other` holds only the rows at the valid places."""
        # means and variances of few rows need more precision than bfloat16
        with torch.autocast(alone.device.type, enabled=False):
            sides = alone.float(), same.float(), other.float()
            one, two, three = self._normed(*sides)
            contrast = info_nce(one, two, self.temperature)
            scores = self.score(two), self.score(three)
            formula = interaction_by_class if self.scoring == "two classes" else interaction
            # a single row has no variance
            enough = len(three) > (0 if self.joint_norm else 1)
            apart = formula(scores[0][valid], scores[1]) if enough else scores[0].sum() * 0
        return (1 - self.share) * contrast + self.share * apart

    def _normed(self, *sides: Tensor) -> Sequence[Tensor]:
        if self.joint_norm:
            together: Tensor = self.hidden(torch.cat(sides))
            return torch.split(together, [len(side) for side in sides])
        return tuple(self.hidden(side) if len(side) > 1 else side for side in sides)
