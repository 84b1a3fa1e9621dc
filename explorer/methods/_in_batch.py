"""In-batch negatives: what the methods share that rank the positive of a row above the other texts of its batch."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from explorer.encoding.read.batching import in_order
from explorer.gathering import gathered, text_keys
from explorer.knobs import knob
from explorer.losses import orthogonality
from explorer.methods._additions import ChosenPrompts, pooling_knob
from explorer.methods._batches import NoDuplicates
from explorer.methods._matryoshka import AdaptiveLayers
from explorer.methods._schedule import Sampler, Schedule


class InBatchNegatives(AdaptiveLayers, ChosenPrompts):
    """The first two texts of a row are a positive pair; the other texts of its batch are negatives."""

    family = "contrastive"
    as_published = False
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    temperature: float = knob(
        0.05,
        low=0.001,
        high=1.0,
        front=True,
        help="Cosines are divided by it; lower penalises close negatives more. 1 / temperature is the scale of "
        "sentence-transformers, whose default of 20 is this default of 0.05.",
    )
    dropout: bool = knob(
        True,
        help="Use the encoder's dropout in training. Without it, the model can learn differences smaller than the "
        "noise of dropout, such as swapped roles.",
    )
    no_duplicates: bool = knob(
        False,
        help="Draw batches in which no text occurs twice, as the batch sampler NO_DUPLICATES of sentence-transformers: "
        "each row then has all others as negatives. off: rows are drawn at random, and a text that occurs twice is no "
        "negative of itself.",
    )
    chunk: int = knob(
        0,
        low=0,
        high=100_000,
        help="Sentences encoded at a time, for large batches (gradient caching, Gao and others 2021): memory is that "
        "of one chunk, and loss and gradients are those of the whole batch. Each sentence is encoded twice, so that a "
        "step takes up to two thirds longer. 0: all sentences of a batch at once.",
    )
    orthogonal_mean: float = knob(
        0.0,
        low=0.0,
        high=1000.0,
        help="Global orthogonal regularisation (Zhang and others 2017): weight of the square of the mean cosine of "
        "different rows, of each column of texts. Higher moves random pairs towards a cosine of 0. It is 1 in "
        "sentence-transformers, and 0 for EmbeddingGemma.",
    )
    orthogonal_moment: float = knob(
        0.0,
        low=0.0,
        high=1000.0,
        help="The same: weight of the mean squared cosine of different rows, as far as it is above that of "
        "vectors at random, 1 / dimensions. Higher spreads vectors over all directions. It is 1 in "
        "sentence-transformers and for EmbeddingGemma, which sums over the columns where this is their mean.",
    )
    pooling: str = pooling_knob()

    def sampler(self) -> Sampler:
        """Rows in random order, without a text twice in a batch if that is set."""
        return NoDuplicates() if self.no_duplicates else Sampler()

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of all columns in one pass: the first two are positive pairs, the others hold hard negatives."""
        together = self.in_chunks([text for column in self.prompted(columns) for text in column])
        every = [  # the vectors of each column, of the last layer first
            [gathered(side) for side in layer.chunk(len(columns))]
            for layer in together.chunk(self.trained_layers, dim=1)
        ]
        sides = every[0]
        self.record_similarities(sides[0], sides[1])
        left_out = self.no_negatives(columns, torch.stack([text_keys(column, together.device) for column in columns]))
        losses = [self.of_layers([self.at_all_widths(layer, left_out) for layer in every], [*map(torch.cat, every)])]
        if self.orthogonal_mean or self.orthogonal_moment:  # of whole vectors of the last layer
            mean, moment = torch.stack([orthogonality(side) for side in sides]).mean(0)
            losses += [self.orthogonal_mean * mean, self.orthogonal_moment * moment]
        return torch.stack(losses).sum()

    def at_all_widths(self, sides: list[Tensor], left_out: tuple[Tensor, ...]) -> Tensor:
        """The loss of whole vectors, and of the shorter ones that are trained too."""
        losses = [self.ranked([side[:, :width] for side in sides], left_out) for width in self.widths]
        return torch.stack(losses).sum()

    def no_negatives(self, columns: Sequence[list[str]], keys: Tensor) -> tuple[Tensor, ...]:
        """Masks of texts that are no negatives, from their numbers (column, row): those that occur twice."""
        return duplicates(keys)

    def ranked(self, sides: list[Tensor], left_out: tuple[Tensor, ...]) -> Tensor:
        """The loss of the vectors of each column, of all processes, without the negatives that are left out."""
        raise NotImplementedError

    def in_chunks(self, texts: list[str]) -> Tensor:
        """Vectors of the trained layers with gradients; of several chunks, the backward pass encodes each again."""
        if not 0 < self.chunk < len(texts):
            return self.encode_layers(texts)
        tokens = self.base.encoder.tokens(texts, self.base.max_length).ids
        by_length = sorted(range(len(texts)), key=lambda place: -len(tokens[place]))  # a chunk has little padding
        chunks = [by_length[start : start + self.chunk] for start in range(0, len(texts), self.chunk)]
        # a checkpoint restores the random state: the second time, dropout is the same
        layers = (checkpoint(self.encode_layers, [texts[row] for row in own], use_reentrant=False) for own in chunks)
        return in_order(zip(chunks, layers, strict=True))

    def rows_in_memory(self, rows: int) -> int:
        """Of so many rows, those whose activations are held at a time: those of a chunk."""
        return min(rows, -(-self.chunk // self.texts_of_a_row)) if self.chunk else rows

    @property
    def texts_of_a_row(self) -> int:
        """The number of texts of a row in a batch."""
        return len(self.rows.texts)


def duplicates(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Masks of sentences that are no negatives, from numbers (column, row) that are equal for equal texts.

    The first mask is (anchor, candidate), with the positives of all rows before their hard negatives; the second is
    (positive, anchor). Rows that share an anchor or a positive give each other no negatives from these two
    columns. Any other text counts once: a hard negative of several rows is used once, and none that equals the anchor
    or the positive.
    """
    anchor, positive, *negatives = keys
    others = ~torch.eye(len(anchor), dtype=torch.bool, device=keys.device)
    shared = torch.stack([_equal(one, other) for one in (anchor, positive) for other in (anchor, positive)]).any(0)
    shared &= others
    masks = [shared.clone()]
    for negative in negatives:
        masks[0] |= _equal(negative, positive) & others
        masks.append(_equal(anchor, negative) | _equal(positive, negative) | (_equal(negative, negative) & others))
    return torch.cat(masks, dim=1), shared


def _equal(first: Tensor, second: Tensor) -> Tensor:
    """(row of one, row of the other)."""
    return first[:, None] == second[None, :]
