"""What the ConIsI methods share: a sentence beside itself as the positive, and beside another as its opposite.

Sun and Huang 2022, section 3. One encoder reads the sentence alone (x), with itself (Y) and with another one (Z). What
the other one is, is all that the three methods differ in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.encoding.read.sentence_pairs import Composed, Composer
from explorer.gathering import gathered
from explorer.losses import info_nce, interaction, interaction_by_class
from explorer.methods import Schedule, _papers, in_order, knob
from explorer.methods._pooled import Pooled

SCORINGS = ("scalar", "two classes", "element-wise")


class ConIsI(Pooled):
    """L = (1 - λ) L_C + λ L_I."""

    paper = _papers.CONISI
    eats = "sentences"
    training_only: ClassVar[tuple[str, ...]] = ("hidden", "score")
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)

    temperature: float = knob(
        0.05, low=0.001, high=1.0, front=True, help="Lower makes near misses cost more (paper, section 4.1: 0.05)."
    )
    share: float = knob(
        0.8,
        low=0.0,
        high=1.0,
        front=True,
        help="λ: the share of the interaction in the loss (paper, section 4.1: 0.8 for BERT-base, 0.1 for RoBERTa-base "
        "and BERT-large).",
    )
    scoring: str = knob(
        "scalar",
        choices=SCORINGS,
        help="Equation 8 with one score an input; as classification of the pair; or dimension by dimension.",
    )
    joint_norm: bool = knob(
        True, help="Normalise x, Y and Z over one batch of all three; off: each over its own, which hides their shifts."
    )

    seen: Tensor  # sentences so far, and those without an opposite

    def build(self) -> None:
        """The head that both losses share, and the scores of the second."""
        self.composer = Composer(self.base.encoder)
        self.width = self.pooled.width(self.base.width)
        self.make_head()

    def make_head(self) -> None:
        """What only the loss sees, made up at random."""
        dense = nn.Linear(self.width, self.width)
        self.score = nn.Linear(self.width, {"scalar": 1, "two classes": 2, "element-wise": self.width}[self.scoring])
        for layer in (dense, self.score):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        self.hidden = nn.Sequential(dense, nn.BatchNorm1d(self.width), nn.ELU())
        self.register_buffer("seen", torch.zeros(2, dtype=torch.long))

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """For each sentence the pieces of another one to read beside it; None where there is none."""
        raise NotImplementedError

    def loss(self, *columns: list[str]) -> Tensor:
        """The contrast of x with Y, and the interaction of Y and Z."""
        (sentences,) = columns
        pieces = self.composer.pieces(sentences, self.base.max_length)
        others = self.others(sentences, pieces)
        valid = gathered(torch.tensor([[float(other is not None)] for other in others], device=self.device))[:, 0] > 0
        # where there is no other sentence, its place is taken by the sentence: every process shares as many rows
        inputs = [self.composer.pair(own, own) for own in pieces]
        inputs += [
            self.composer.pair(own, own if other is None else other) for own, other in zip(pieces, others, strict=True)
        ]
        alone = gathered(self.encoded(sentences, self.before_normalising))
        same, other = (gathered(part) for part in self._read(inputs).chunk(2))
        self.watch(alone, same)
        if self.training:
            self.seen += torch.tensor([len(valid), len(valid) - int(valid.sum())], device=self.device)
        return self._together(alone, same, other[valid], valid)

    def remark(self) -> str:
        """How many sentences had nothing to be read beside them."""
        sentences, without = self.seen.tolist()
        return (
            f"{without} of {sentences} sentences ({100 * without / sentences:.1f} %) had no opposite" if without else ""
        )

    @property
    def device(self) -> torch.device:
        """Where it is trained."""
        return self.score.weight.device

    def _read(self, inputs: list[Composed]) -> Tensor:
        head = self.before_normalising
        return in_order((places, head(states.hidden, states.mask)) for places, states in self.base.composed(inputs))

    def _together(self, alone: Tensor, same: Tensor, other: Tensor, valid: Tensor) -> Tensor:
        """Both losses of vectors (sentence, width); `other` has those that are valid alone."""
        # few rows, whose means and spreads are taken: not in bfloat16
        with torch.autocast(alone.device.type, enabled=False):
            sides = alone.float(), same.float(), other.float()
            one, two, three = self._normed(*sides)
            contrast = info_nce(one, two, self.temperature)
            scores = self.score(two), self.score(three)
            formula = interaction_by_class if self.scoring == "two classes" else interaction
            # of a single row there is no spread, and of none nothing at all
            enough = len(three) > (0 if self.joint_norm else 1)
            apart = formula(scores[0][valid], scores[1]) if enough else scores[0].sum() * 0
        return (1 - self.share) * contrast + self.share * apart

    def _normed(self, *sides: Tensor) -> Sequence[Tensor]:
        if self.joint_norm:
            together: Tensor = self.hidden(torch.cat(sides))
            return torch.split(together, [len(side) for side in sides])
        return tuple(self.hidden(side) if len(side) > 1 else side for side in sides)
