"""What the DiffCSE methods share: a discriminator that finds what a generator changed, told by the sentence's vector.

Chuang and others 2022, section 3. A frozen masked language model fills in masked words; a second encoder, whose first
place holds the vector of the original sentence, tells which words are not the original's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.encoding.load import masked_model
from explorer.encoding.locate import model_names
from explorer.encoding.tune.tunable import Tunable
from explorer.gathering import gathered
from explorer.losses import info_nce
from explorer.methods import Method, _papers, knob


class Differing(Method):
    """L = L_contrast + λ L_RTD."""

    paper = _papers.DIFFCSE
    eats = "sentences"

    temperature: float = knob(
        0.05, low=0.001, high=1.0, front=True, help="Lower makes near misses cost more (paper, appendix A: 0.05)."
    )
    detection: float = knob(
        0.005, low=0.0, high=10.0, front=True, help="λ: weight of finding replaced words (paper, appendix A: 0.005)."
    )
    mask_share: float = knob(
        0.3, low=0.01, high=0.99, help="Share of the words that are masked (paper, appendix A: 0.3)."
    )
    generator: str = knob(
        "distilbert-base-uncased",
        help="A masked language model with the encoder's vocabulary, by name or folder (the paper's for BERT). Without "
        "a hub, 'python -m explorer generator' makes one of the encoder itself.",
        masked_model=True,
    )
    generator_dropout: bool = knob(False, help="Dropout in the generator too, as the released code has it.")
    count_padding: bool = knob(
        False, help="Take the mean over padding too, as the released code does; the value then depends on its width."
    )

    def build(self) -> None:
        """The generator, the discriminator and what it says of a word."""
        super().build()
        encoder = self.base.encoder
        self.masker = masked_model.Masker(encoder, self.mask_share)
        self.guesser = masked_model.load(model_names.find(self.generator), encoder)
        self.detector = Tunable(encoder, self.base.max_length)
        self.tell = nn.Linear(self.width, 2)

    def train(self, mode: bool = True) -> Differing:
        """Learn, or rest; the generator has no dropout unless it is asked for."""
        super().train(mode)
        self.guesser.train(mode and self.generator_dropout)
        return self

    def projected(self, sentences: list[str]) -> Tensor:
        """Sentences as both losses see them (sentence, width)."""
        raise NotImplementedError

    def loss(self, *columns: list[str]) -> Tensor:
        """Each sentence twice, with its own dropout and its own masks."""
        (sentences,) = columns
        vectors = self.projected(sentences + sentences)
        one, other = (gathered(side) for side in vectors.chunk(2))
        self.watch(one, other)
        return info_nce(one, other, self.temperature) + self.detection * self.detected(sentences + sentences, vectors)

    def detected(self, sentences: list[str], vectors: Tensor) -> Tensor:
        """L_RTD: the mean over words of not knowing whether they were replaced."""
        sums, counts = [], []
        for places, ids, mask in self.base.padded_groups(sentences):
            written = self.rewritten(ids, mask)
            states = self.detector.beginning_with(vectors[places], written, mask)
            counted = torch.ones_like(mask) if self.count_padding else mask
            labels = ((written != ids) & mask)[counted].long()
            with torch.autocast(states.device.type, enabled=False):
                sums.append(functional.cross_entropy(self.tell(states.float())[counted], labels, reduction="sum"))
            counts.append(counted.sum())
        # of all processes: the mean over words is not the mean of means
        return gathered(torch.stack(sums).sum()[None]).sum() / gathered(torch.stack(counts).sum()[None].float()).sum()

    @torch.no_grad()
    def rewritten(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Sentences as the generator writes them: what it finds likeliest at every place but the first."""
        hidden, _ = self.masker(ids, mask)
        written = self.guesser.guesses(hidden, mask)
        written[:, 0] = ids[:, 0]
        return written.where(mask, 0)
