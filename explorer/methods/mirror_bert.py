"""Mirror-BERT (Liu, Vulić, Korhonen and Collier 2021): a sentence and its masked copy are a positive pair."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.text_sets import SENTENCES
from explorer.encoding.tune import editing
from explorer.errors import UnsupportedModel
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.losses import nt_xent
from explorer.methods import Pooled, Schedule, cited, knob, pooling_knob, temperature_knob
from explorer.optimizers import Group

NOISES = (DROPOUT, DROP_HEADS) = ("dropout", "drop heads")
SHORTEST = 30  # characters: of shorter sentences too little would be left


class MirrorBERT(Pooled):
    """Mirror-BERT: a sentence and its copy with a few characters masked are a positive pair.

    Liu, Vulić, Korhonen and Collier 2021, section 2: NT-Xent over a sentence and its copy, in which a span of 5
    characters is replaced by the mask token, both under dropout. The settings are those of the released code for
    sentences: 50 updates of 200 sentences with a constant learning rate and no clipping, which decay every weight,
    biases and norms too. It pools BERT by the mean, RoBERTa by its first token. "drop heads" is the paper's variant
    with DropHead instead of dropout.

    Where the released code differs from what is meant, Strata does what is meant: the span is cut at the drawn place,
    not where the same 5 characters occur first; the mask token is the encoder's, also for RoBERTa; the mean leaves out
    padding.
    """

    # both views are anchors, and everything else in the batch is a negative
    name = "mirror-bert"
    family = "Mirror-BERT"
    paper = cited("liu-etal-2021-fast")
    when_to_use = "Only sentences: a gain like SimCSE's under the model default, and a larger one of [CLS]."
    rows = SENTENCES
    schedule = Schedule(
        batch_size=200, learning_rate=2e-5, max_length=50, decay="none", weight_decay=0.01, epsilon=1e-8, clip=0.0
    )
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"pooling": "cls", "dropped_heads": 0.05},
        "RoBERTa-large": {"pooling": "cls"},
    }

    temperature: float = temperature_knob(0.04, "paper: 0.04 for sentences, 0.2 for words")
    span: int = knob(
        5,
        low=0,
        high=100,
        front=True,
        help="Characters of the copy that one mask token replaces, from a random place; sentences of fewer than 30 "
        "characters are not masked. 0: no masks.",
    )
    noise: str = knob(
        DROPOUT,
        choices=NOISES,
        front=True,
        help="dropout: both views under the encoder's own dropout. drop heads: without dropout, whole attention heads "
        "are dropped for each sentence and layer (DropHead).",
    )
    dropped_heads: float = knob(
        0.2,
        low=0.0,
        high=0.95,
        help="Probability of dropping a head, if noise is 'drop heads' (paper: 0.2 for BERT, 0.05 for RoBERTa).",
    )
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Find the mask token, and refuse encoders without one or without known attention heads."""
        encoder = self.base.encoder
        found = encoder.tokenizer().mask_token
        if self.span and (found is None or (encoder.lower_case and found != found.lower())):
            why = "has no mask token" if found is None else f"lowercases its text, and with it the mask token {found}"
            raise UnsupportedModel(
                f"'{encoder.name}' {why}, so nothing can be masked. Set span to 0, which leaves the copy unmasked, or "
                "choose another encoder."
            )
        self.mask_token = found or ""
        if self.noise == DROP_HEADS:
            editing.heads_joined(self.base.model, encoder.name)

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The encoder, where heads are dropped."""
        return () if self.noise == DROPOUT else (self.base,)

    def groups(self, schedule: Schedule) -> list[Group]:
        """All trained weights, with weight decay."""
        trained = [weight for weight in self.parameters() if weight.requires_grad]
        return [{"params": trained, "weight_decay": schedule.weight_decay}]

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent of sentences and their masked copies, in one pass."""
        (sentences,) = columns
        starts = torch.rand(len(sentences)).tolist()
        copies = [self.masked(one, start) for one, start in zip(sentences, starts, strict=True)]
        with self.base.heads_dropped(self.dropped_heads if self.training and self.noise == DROP_HEADS else 0.0):
            vectors = self.encode(sentences + copies)
        one, other = (gathered(side) for side in vectors.chunk(2))
        self.record_similarities(one, other)
        return nt_xent(one, other, self.temperature)

    def masked(self, sentence: str, start: float) -> str:
        """A sentence with a span masked; `start` is its place, from 0 to 1 of the possible ones."""
        if not self.span or len(sentence) < max(SHORTEST, self.span):
            return sentence
        first = int(start * (len(sentence) - self.span + 1))
        return f"{sentence[:first]} {self.mask_token} {sentence[first + self.span :]}"
