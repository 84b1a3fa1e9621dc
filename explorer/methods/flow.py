"""Flow (BERT-flow): map vectors to a normal distribution; the encoder is not changed.

Li and others 2020 (BERT-flow), equation 2, in the shape of the released code: three levels of three steps, each a
scaling initialised to mean 0 and variance 1 on the first batch, a reversal, and an additive coupling of width 32. The
code's "average of the last two layers" is the average of the first and the last. Its optimiser is a setting of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from explorer.encoding.read.flow import Flow as FlowOfVectors
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.flow_map import FlowMap
from explorer.encoding.read.pooling import FIRST_LAST, LAST_TWO
from explorer.errors import BadChoice
from explorer.knobs import Values
from explorer.methods import Schedule, _papers, knob
from explorer.methods._after import After, reads_knob
from explorer.optimizers import Group, adamw
from explorer.progress import Work

OPTIMIZERS = ("AdamW", "as released")
FIRST = 64  # sentences that initialise the scalings: the paper's 32 pairs


class BertFlow(After):
    """Minimises the negative log-likelihood under a normal distribution, in bits per dimension."""

    when_to_use = "To map [CLS] or a weak layer and leave the encoder as it is; a tuned layer gained nothing."
    paper = _papers.FLOW
    # the paper's batch of 32 pairs is 64 sentences; its learning rate is unchanged
    schedule = Schedule(batch_size=64, learning_rate=1e-3, decay="none", max_length=64, weight_decay=0.01, epsilon=1e-6)

    released: ClassVar[Values] = {"dropout": True, "reads": FIRST_LAST, "optimizer": "as released"}

    reads: str = reads_knob(LAST_TWO)

    levels: int = knob(
        3, low=1, high=8, help="Number of levels; after each but the last, half of the dimensions is final (paper: 3)."
    )
    depth: int = knob(3, low=1, high=32, help="Steps per level (paper: 3).")
    inner: int = knob(32, low=1, high=4096, help="Width of the networks in the couplings (paper: 32).")
    optimizer: str = knob(
        "AdamW",
        choices=OPTIMIZERS,
        help="AdamW as for the other methods; or as released: Adam without bias correction, whose early steps are up "
        "to 6.6 times as large, with weight decay of all variables, and the loss of first and second sentences "
        "summed.",
    )
    dropout: bool = knob(False, help="Use the encoder's dropout while the flow is trained.")

    def build(self) -> None:
        """Build the flow, as wide as the vectors."""
        super().build()
        width = self.unmapped_width()
        if width < 2**self.levels:
            raise BadChoice(f"levels cannot be {self.levels}: a width of {width} cannot be halved that often.")
        self.map = FlowMap(FlowOfVectors(width, self.levels, self.depth, self.inner))

    @property
    def _as_released(self) -> bool:
        """Whether the released code's optimiser is chosen."""
        return self.optimizer == "as released"

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """AdamW; as released without bias correction, and with weight decay of every weight."""
        if not self._as_released:
            return super().make_optimizer(groups, schedule)
        decayed = [{**group, "weight_decay": schedule.weight_decay} for group in groups]
        return adamw(decayed, schedule.learning_rate, schedule.beta2, schedule.epsilon, corrected=False)

    def train(self, mode: bool = True) -> BertFlow:
        """Switch between training and evaluation; the encoder has no dropout unless it is set."""
        super().train(mode)
        self.base.train(mode and self.dropout)
        return self

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Initialise the scalings with sentences from all over the text, the same in every process."""
        vectors = yield from self.unmapped(sentences[:: max(1, len(sentences) // FIRST)][:FIRST])
        with torch.no_grad():
            self.map.flow(vectors.to(self.base.model.device), beginning=True)

    def loss(self, *columns: list[str]) -> Tensor:
        """The negative log-likelihood in bits per dimension."""
        (sentences,) = columns
        with torch.no_grad():
            vectors = self.encoded(sentences, self.read_as).float()
        with torch.autocast(vectors.device.type, enabled=False):
            surprise: Tensor = self.map.flow.surprise(self.map(vectors))
        # half of the rows are first, half are second sentences: the sum of two means is twice the mean of all
        return 2 * surprise if self._as_released else surprise

    def head(self) -> Head:
        """The layer & pooling, followed by the flow."""
        base = self.read_as
        return Head(base.poolings, (*base.dense, self.map), layers=base.layers)
