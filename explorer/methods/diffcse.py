"""DiffCSE (Chuang and others 2022): the detection of replaced words in addition to SimCSE without labels."""

import torch
from torch import Tensor, nn

from explorer.gathering import gathered, own_share
from explorer.methods import Pooled, Schedule, knob
from explorer.methods._objectives import DETECTION_PARTS, ReplacedTokenDetection

PROJECTORS = ("batch norm", "tanh")


class DiffCSE(ReplacedTokenDetection, Pooled):
    """DiffCSE: SimCSE without labels, plus detecting replaced words from the sentence's vector.

    Chuang and others 2022, equations 1 to 4 and appendix A. The projector is used in training only: the trained model
    uses the pooled vector ([CLS] in the paper). The projector has batch norms, or is SimCSE's dense layer (Table 6).
    """

    # trains sensitivity to edits that change the meaning, in addition to SimCSE's invariance to dropout
    name = "diffcse"
    when_to_use = "Only sentences and time for many updates: 200 of 16 rows gave [CLS] one point."
    training_only = (*DETECTION_PARTS, "project")
    schedule = Schedule(batch_size=64, learning_rate=7e-6, max_length=32, epochs=2, evaluate_every=125)

    projector: str = knob(
        "batch norm",
        choices=PROJECTORS,
        help="Projector: two linear maps with batch norm (paper), or SimCSE's dense layer with tanh.",
    )

    def build(self) -> None:
        """Build the projector and the DiffCSE parts."""
        super().build()
        width, pooled = self.width, self.pooled.width(self.width)
        if self.projector == "tanh":
            dense = nn.Linear(pooled, width)
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
        for layer in self.project:
            if isinstance(layer, nn.Linear):  # as the released code, which starts them as the encoder's own maps
                nn.init.normal_(layer.weight, std=0.02)

    def projected(self, sentences: list[str]) -> Tensor:
        """Vectors of sentences after the projector."""
        # batch norm over few rows needs more precision than bfloat16
        with torch.autocast(self.base.model.device.type, enabled=False):
            return own_share(self.project(gathered(self.encode(sentences, self.before_normalising)).float()))
