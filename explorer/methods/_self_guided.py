"""Base of the self-guided methods: a frozen copy as guide, a projection head, and weight regularisation.

Kim, Yoo and Lee 2021, section 3. A copy of the encoder is frozen; its pooled layers are the views, the positives of
the trained copy's vector ([CLS] in the paper). The embedding block is not trained.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from explorer.encoding.read.batches import in_order
from explorer.encoding.read.encoder import States
from explorer.encoding.read.pooling import POOLINGS
from explorer.encoding.tune.lora import effective
from explorer.errors import BadChoice
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import _papers, knob
from explorer.methods._pooled import Pooled
from explorer.methods._schedule import Schedule

PROJECTION = 4096


class SelfGuided(Pooled):
    """A trained and a frozen copy of one encoder, with a contrastive loss between them."""

    paper = _papers.SELF_GUIDED
    training_only = ("guide", "project")
    schedule = Schedule(
        batch_size=16,
        learning_rate=5e-5,
        max_length=128,
        warmup=0.1,
        weight_decay=0.01,
        beta2=0.9,
        epsilon=1e-6,
        early_stop="drops",
        endurance=10,
    )

    released: ClassVar[Values] = {"view_pooling": "mean", "guide_dropout": True}

    temperature: float = knob(
        0.01,
        low=0.001,
        high=1.0,
        front=True,
        help="Temperature. Lower penalises close negatives more (paper, section 4.1: 0.01).",
    )
    pull: float = knob(
        0.1,
        low=0.0,
        high=100.0,
        front=True,
        help="λ: weight regularisation, the squared distance to the starting weights (paper, section 4.1: 0.1).",
    )
    projection: bool = knob(
        True, help="Use the two-layer projection head of width 4096 on both sides; off: Table 5's ablation."
    )
    view_pooling: str = knob("max", choices=("max", "mean"), help="Pooling of each layer of the frozen copy to a view.")
    first_layer: int = knob(0, low=0, high=1000, help="The lowest view layer; 0 is the embedding output.")
    guide_dropout: bool = knob(False, help="Use dropout in the frozen copy too.")

    def build(self) -> None:
        """Freeze a copy and the embeddings; build the projection head."""
        if self.first_layer > self.base.layers:
            raise BadChoice(
                f"first_layer cannot be {self.first_layer}: this encoder has the layers 0 to {self.base.layers}."
            )
        declared = self.pooled
        if replace(declared, dense=()).width(self.base.width) != self.base.width:
            raise BadChoice(
                f"pooling cannot be 'model default' here: '{self.base.encoder.name}' joins several poolings, but a "
                "view of the frozen copy is one pooling. Set pooling to mean or cls."
            )
        self.width = declared.width(self.base.width)
        self.guide = self.base.frozen()
        self.base.embeddings.requires_grad_(False)
        self.project = self._head() if self.projection else nn.Identity()
        self._tied = [name for name, weight in effective(self.base.model).items() if weight.requires_grad]

    def _head(self) -> nn.Module:
        layers = nn.Linear(self.width, PROJECTION), nn.Linear(PROJECTION, PROJECTION)
        for layer in layers:
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        return nn.Sequential(layers[0], nn.GELU(), layers[1], nn.GELU())

    def constant(self) -> tuple[nn.Module, ...]:
        """The frozen copy and the embeddings."""
        return self.guide, self.base.embeddings

    def train(self, mode: bool = True) -> SelfGuided:
        """Switch between training and evaluation; the frozen copy has no dropout unless it is set."""
        super().train(mode)
        self.guide.train(mode and self.guide_dropout)
        return self

    def tuned(self, sentences: list[str]) -> Tensor:
        """Vectors (sentence, width) of the trained copy, not yet projected."""
        return self.encoded(sentences, self.before_normalising)

    @torch.no_grad()
    def views(self, sentences: list[str]) -> Tensor:
        """Views (sentence, view, width) of each layer of the frozen copy, not yet projected."""
        return in_order((places, self._pooled(states)) for places, states in self.guide.grouped(sentences))

    def _pooled(self, states: States) -> Tensor:
        pool = POOLINGS[self.view_pooling].pool
        pooled = torch.stack([pool(layer, states.mask) for layer in states.hidden[self.first_layer :]], dim=1)
        views = pooled.flatten(0, 1)
        for step in self.pooled.dense:  # the same maps as for the trained copy's vectors
            views = step(views)
        return views.view(*pooled.shape[:2], -1)

    def sampled(self, views: Tensor) -> Tensor:
        """One random view of each sentence: (sentence, width)."""
        drawn = torch.randint(views.shape[1], (len(views),)).to(views.device, non_blocking=True)
        return views[torch.arange(len(views), device=views.device), drawn]

    def sides(self, tuned: Tensor, guide: Tensor) -> tuple[Tensor, Tensor]:
        """Project both sides, of every process, and record their cosines.

        `guide` is (sentence, width) or (sentence, view, width). One pass for both, since the head has more weights than
        many an encoder.
        """
        together = self.project(torch.cat([tuned, guide.reshape(-1, self.width)]))
        tuned, guide = together[: len(tuned)], together[len(tuned) :].view(*guide.shape[:-1], -1)
        tuned, guide = gathered(tuned), gathered(guide)
        self.watch(tuned, guide if guide.dim() == 2 else guide[:, -1])
        return tuned, guide

    def tied(self) -> list[tuple[Tensor, Tensor]]:
        """Each trained weight, with its adapter added if it has one, and where it started."""
        own, start = effective(self.base.model), dict(self.guide.model.named_parameters())
        return [(own[name], start[name]) for name in self._tied]

    def held(self) -> Tensor | float:
        """L_reg: the sum of squared differences from the starting weights, neither averaged nor rooted."""
        if not self.pull:
            return 0.0
        own, start = zip(*self.tied(), strict=True)
        distance: Tensor = _Apart.apply(start, *own)  # type: ignore[no-untyped-call]
        return self.pull * distance

    def contrast(self, tuned: Tensor, views: Tensor) -> Tensor:
        """The contrastive term of one method of the family; `views` are not yet projected."""
        raise NotImplementedError

    def loss(self, *columns: list[str]) -> Tensor:
        """The contrastive loss plus weight regularisation."""
        sentences, guiding = columns[0], columns[-1]
        with_views = self.contrast(self.tuned(sentences), self.views(guiding))
        return with_views + self.held()


class _Apart(torch.autograd.Function):
    """The sum of squared differences of many weights, with its own gradient, which is faster than autograd."""

    @staticmethod
    def forward(context: Any, start: tuple[Tensor, ...], *own: Tensor) -> Tensor:
        apart = torch._foreach_sub(own, start)
        context.save_for_backward(*apart)
        return torch.stack([one.flatten().dot(one.flatten()) for one in apart]).sum()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *torch._foreach_mul(context.saved_tensors, 2 * gradients[0]))
