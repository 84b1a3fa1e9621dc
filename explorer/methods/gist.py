"""GIST (Solatorio 2024): in-batch negatives without those that a guide finds closer than the positive."""

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.data.text_sets import PAIRS, TRIPLETS
from explorer.losses import false_negatives, guided_cosines, guided_ranking
from explorer.methods import FrozenGuide, InBatchNegatives, cited, guide_knob, knob
from explorer.methods._in_batch import duplicates

ABSOLUTE, RELATIVE = "absolute", "relative"


class GuidedInBatchNegatives(InBatchNegatives, FrozenGuide):
    """Cross-entropy of cosines over a temperature, among the candidates that the guide leaves."""

    paper = cited("solatorio-2024-gistembed")

    temperature: float = knob(
        0.01,
        low=0.001,
        high=1.0,
        front=True,
        help="Cosines are divided by it; lower penalises close negatives more (paper and sentence-transformers: 0.01).",
    )
    guide: str = guide_knob("The encoder that decides which texts of a batch are no negatives.")
    margin: float = knob(
        0.0,
        low=0.0,
        high=1.0,
        front=True,
        help="A candidate is left out if its cosine under the guide is higher than that of the row's own positive less "
        "this margin. Higher leaves out more.",
    )
    margin_strategy: str = knob(
        ABSOLUTE,
        choices=(ABSOLUTE, RELATIVE),
        help="absolute: the margin is a cosine. relative: it is a share of the positive's cosine, so that 0.05 leaves "
        "out what has more than 95 % of it.",
    )
    contrast_anchors: bool = knob(True, help="The anchors of the other rows are negatives of an anchor, too.")
    contrast_positives: bool = knob(
        True,
        help="A row's positive and the positives of the other rows are compared, too, as further negatives. off can be "
        "better for search.",
    )

    @property
    def guide_name(self) -> str:
        """The guide."""
        return self.guide

    def no_negatives(self, columns: Sequence[list[str]], keys: Tensor) -> tuple[Tensor, ...]:
        """A mask (row, candidate): texts that occur twice, and what the guide finds too close."""
        there, shared = duplicates(keys)
        itself = torch.eye(len(shared), dtype=torch.bool, device=keys.device)
        blocks = [shared | itself] * (self.contrast_anchors + self.contrast_positives)
        twice = torch.cat([there[:, : len(shared)], *blocks, there[:, len(shared) :]], dim=1)
        return (twice | false_negatives(self.of(self.sides_of_guide(columns)), self.margin, self.is_relative),)

    def ranked(self, sides: list[Tensor], left_out: tuple[Tensor, ...]) -> Tensor:
        """GIST's cross-entropy."""
        return guided_ranking(self.of(sides), self.temperature, *left_out)

    def of(self, sides: Sequence[Tensor]) -> Tensor:
        """The cosines (row, candidate) that are compared."""
        return guided_cosines(sides, self.contrast_anchors, self.contrast_positives)

    @property
    def is_relative(self) -> bool:
        """Whether the margin is a share."""
        return self.margin_strategy == RELATIVE


class GISTPairs(GuidedInBatchNegatives):
    """GIST on pairs: in-batch negatives without those that a guide takes for positives.

    Solatorio 2024 (GISTEmbed): a frozen guide encodes the batch too. What it finds closer to an anchor than the row's
    own positive is probably a right answer that nobody marked (a false negative), and is left out. Next to the
    positives of the other rows, anchors are compared with anchors and positives with positives. The loss is that of
    sentence-transformers' GISTEmbedLoss, and with `chunk` of its CachedGISTEmbedLoss, but for texts that occur twice in
    a batch: they are no negatives of themselves. The paper's guide is a larger encoder; the default is the base.
    """

    name = "gist"
    when_to_use = "Pairs whose batches hold other right answers; with SNLI no change that is not chance (three seeds)."
    rows = PAIRS


class GISTTriplets(GuidedInBatchNegatives):
    """GIST on triplets: in-batch and hard negatives without those that a guide takes for positives.

    Solatorio 2024 (GISTEmbed), as `gist`, with a hard negative for each row: hard negatives that the guide finds closer
    to an anchor than its positive are left out, too, the row's own as well. The loss is that of sentence-transformers'
    GISTEmbedLoss on triplets, and with `chunk` of its CachedGISTEmbedLoss.
    """

    name = "gist-hard"
    when_to_use = "Triplets whose negatives may be right answers; with SNLI no gain that is not chance (three seeds)."
    rows = TRIPLETS
