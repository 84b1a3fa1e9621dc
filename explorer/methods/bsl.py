"""BSL: predict a momentum copy's vector of a sentence's back-translation, without negatives.

Zhang and others 2021 (bootstrapped sentence learning), after BYOL: three networks in a chain on the trained encoder's
vector predict the copy's vector of the other sentence of the row, and the copy follows after each update. Settings and
the shape of the networks are the released code's; for an encoder of width 768 they have 212 million weights, which is
twice BERT; the preset *quick* has one small network. The copy has dropout, as in the released code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor, nn

from explorer.data.row_kinds import BACK_TRANSLATIONS
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.losses import bootstrapped
from explorer.methods import Paper, Schedule, knob
from explorer.methods._momentum import Followed, follow
from explorer.methods._pooled import pooling_knob


class Bootstrapped(Followed):
    """Both sentences of a row are encoded by both copies; each prediction is of the other sentence."""

    when_to_use = "To repeat the paper: in 200 updates the model default of a tuned encoder got worse."
    eats = BACK_TRANSLATIONS
    paper = Paper(
        title="Bootstrapped Unsupervised Sentence Representation Learning",
        authors="Zhang, He, Liu, Bing and Li",
        year=2021,
        link="https://aclanthology.org/2021.acl-long.402",
        bibtex="""@inproceedings{zhang-etal-2021-bootstrapped,
  title = {Bootstrapped Unsupervised Sentence Representation Learning},
  author = {Zhang, Yan and He, Ruidan and Liu, Zuozhu and Bing, Lidong and Li, Haizhou},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  year = {2021},
  url = {https://aclanthology.org/2021.acl-long.402}
}""",
        family="momentum copies",
    )
    training_only = ("target", "predict")
    presets: ClassVar[Mapping[str, Values]] = {"quick": {"predictors": 1, "predictor_width": 2}}
    schedule = Schedule(batch_size=64, learning_rate=1e-4, max_length=64, warmup=0.1, epsilon=1e-6)

    momentum: float = knob(
        0.999, low=0.0, high=1.0, front=True, help="Share of its own weights that the momentum copy keeps at an update."
    )
    predictors: int = knob(3, low=1, high=8, front=True, help="Networks in the chain that predicts (released code: 3).")
    predictor_width: int = knob(
        10, low=1, high=32, front=True, help="Their inner width, in widths of a vector (released code: 10)."
    )
    target_dropout: bool = knob(True, help="Use dropout in the momentum copy too.")
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Copy the encoder, and build the networks that predict."""
        super().build()
        width = self.before_normalising.width(self.base.width)
        inner = self.predictor_width * width
        self.predict = nn.Sequential(*(_predictor(width, inner) for _ in range(self.predictors)))
        self._spread: Tensor | None = None

    def train(self, mode: bool = True) -> Bootstrapped:
        """Switch between training and evaluation; the momentum copy has dropout unless it is off."""
        super().train(mode)
        self.target.train(mode and self.target_dropout)
        return self

    def loss(self, *columns: list[str]) -> Tensor:
        """The distance of both predictions, of the rows of all processes: batch norm needs all of them."""
        first, second = columns
        head = self.before_normalising
        online = self.encoded(first + second, head)
        target = self.targets(first + second, head)
        one, other = (self.predict(gathered(side).float()) for side in online.chunk(2))
        to_first, to_second = (gathered(side) for side in target.chunk(2))
        self.watch(one, to_second)
        self._spread = nn.functional.normalize(online.detach().float(), dim=-1).std(dim=0).mean()
        return bootstrapped(one, to_second) + bootstrapped(other, to_first)

    def after_update(self) -> None:
        """The copy follows."""
        follow([self.target.model], [self.base.model], self.momentum)

    def remark(self) -> str:
        """How far the vectors are from collapsing into one."""
        if self._spread is None:
            return ""
        usual = self.base.width**-0.5
        return (
            f"Standard deviation of each dimension of unit vectors in the last batch: {self._spread.item():.4f} "
            f"({usual:.4f} if directions are uniform, 0 if all vectors are one)."
        )


def _predictor(width: int, inner: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(width, inner),
        nn.BatchNorm1d(inner),
        nn.ReLU(),
        nn.Linear(inner, inner),
        nn.ReLU(),
        nn.Linear(inner, width),
    )
