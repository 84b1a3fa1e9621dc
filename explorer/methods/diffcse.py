"""DiffCSE: as SimCSE without labels, and the vector has to tell which words were replaced.

Chuang and others 2022, equations 1 to 4 and appendix A. The projector serves training only: the pooled vector is read
afterwards ([CLS] in the paper). With its norm, or as SimCSE's dense layer (the paper's Table 6).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from explorer.gathering import gathered, own_share
from explorer.methods import Schedule, knob
from explorer.methods._diffcse import Differing
from explorer.methods._pooled import Pooled

PROJECTORS = ("batch norm", "tanh")


class DiffCSE(Differing, Pooled):
    """Sensitive to what changes a sentence's meaning, where SimCSE is only told what does not."""

    training_only = ("guesser", "detector", "tell", "project")
    schedule = Schedule(batch_size=64, learning_rate=7e-6, max_length=32, epochs=2, evaluate_every=125)

    projector: str = knob(
        "batch norm", choices=PROJECTORS, help="Two maps with norms (paper), or SimCSE's dense layer with tanh."
    )

    def build(self) -> None:
        """The projector, and what it is to serve."""
        super().build()
        width, pooled = self.width, self.pooled.width(self.width)
        if self.projector == "tanh":
            dense = nn.Linear(pooled, width)
            nn.init.normal_(dense.weight, std=0.02)
            nn.init.zeros_(dense.bias)
            self.project = nn.Sequential(dense, nn.Tanh())
        else:
            self.project = nn.Sequential(
                nn.Linear(pooled, 2 * width, bias=False),
                nn.BatchNorm1d(2 * width),
                nn.ReLU(),
                nn.Linear(2 * width, width, bias=False),
                nn.BatchNorm1d(width, affine=False),
            )

    def projected(self, sentences: list[str]) -> Tensor:
        """Sentences through the projector."""
        with torch.autocast(self.base.model.device.type, enabled=False):  # norms over few rows: not in bfloat16
            return own_share(self.project(gathered(self.encoded(sentences, self.before_normalising)).float()))
