"""What the self-guided methods share: a frozen copy that guides, a projection head, and a pull back to the start.

Kim, Yoo and Lee 2021, section 3. A copy of the encoder is frozen for good; its layers, pooled, are the views that the
vector of the trained copy ([CLS] in the paper) should find. The embedding block is not trained.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer.encoding.read.encoder import States
from explorer.encoding.read.pooling import POOLINGS
from explorer.errors import BadChoice
from explorer.gathering import gathered
from explorer.methods import _papers, in_order, knob
from explorer.methods._pooled import Pooled
from explorer.methods._schedule import Schedule

PROJECTION = 4096


class SelfGuided(Pooled):
    """Two copies of one encoder, and what ties them."""

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

    temperature: float = knob(
        0.01, low=0.001, high=1.0, front=True, help="Lower makes near misses cost more (paper, section 4.1: 0.01)."
    )
    pull: float = knob(
        0.1,
        low=0.0,
        high=100.0,
        front=True,
        help="λ: how strongly weights are held to where they started, as a sum of squares (paper, section 4.1: 0.1).",
    )
    projection: bool = knob(
        True, help="The two-layer head of width 4096 that both sides pass; off: Table 5's ablation."
    )
    view_pooling: str = knob("max", choices=("max", "mean"), help="How a layer of the frozen copy becomes a view.")
    first_layer: int = knob(0, low=0, high=1000, help="The lowest layer that is a view; 0 is the embeddings' output.")
    guide_dropout: bool = knob(False, help="Dropout in the frozen copy too, as the released code has it.")

    def build(self) -> None:
        """Freeze a copy and the embeddings; make the head."""
        if self.first_layer > self.base.layers:
            raise BadChoice(
                f"first_layer cannot be {self.first_layer}: this encoder has the layers 0 to {self.base.layers}."
            )
        declared = self.pooled
        if replace(declared, dense=()).width(self.base.width) != self.base.width:
            raise BadChoice(
                f"pooling cannot be 'model default' here: '{self.base.encoder.name}' puts several poolings side by "
                "side, and a layer of the frozen copy is one. Set pooling to mean or cls."
            )
        self.width = declared.width(self.base.width)
        self.guide = self.base.frozen()
        self.base.embeddings.requires_grad_(False)
        self.project = self._head() if self.projection else nn.Identity()
        guided = dict(self.guide.model.named_parameters())
        self._tied = [(own, guided[name]) for name, own in self.base.model.named_parameters() if own.requires_grad]

    def _head(self) -> nn.Module:
        layers = nn.Linear(self.width, PROJECTION), nn.Linear(PROJECTION, PROJECTION)
        for layer in layers:
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        return nn.Sequential(layers[0], nn.GELU(), layers[1], nn.GELU())

    def train(self, mode: bool = True) -> SelfGuided:
        """Learn, or rest; the guide has no dropout unless it is asked for."""
        super().train(mode)
        self.guide.train(mode and self.guide_dropout)
        return self

    def tuned(self, sentences: list[str]) -> Tensor:
        """What the trained copy says of sentences (sentence, width), not yet projected."""
        return self.encoded(sentences, self.before_normalising)

    @torch.no_grad()
    def views(self, sentences: list[str]) -> Tensor:
        """What each layer of the frozen copy says of sentences: (sentence, view, width), not yet projected."""
        return in_order((places, self._pooled(states)) for places, states in self.guide.grouped(sentences))

    def _pooled(self, states: States) -> Tensor:
        pool = POOLINGS[self.view_pooling]
        pooled = torch.stack([pool(layer, states.mask) for layer in states.hidden[self.first_layer :]], dim=1)
        views = pooled.flatten(0, 1)
        for step in self.pooled.dense:  # the maps that the trained copy's vectors pass too
            views = step(views)
        return views.view(*pooled.shape[:2], -1)

    def sampled(self, views: Tensor) -> Tensor:
        """One view of each sentence, drawn anew each time: (sentence, width)."""
        drawn = torch.randint(views.shape[1], (len(views),)).to(views.device)
        return views[torch.arange(len(views), device=views.device), drawn]

    def sides(self, tuned: Tensor, guide: Tensor) -> tuple[Tensor, Tensor]:
        """Both sides through the head, of every process; their cosines are remembered.

        `guide` is (sentence, width) or (sentence, view, width). One pass for both: the head is larger than many an
        encoder, and costs most by its weights.
        """
        together = self.project(torch.cat([tuned, guide.reshape(-1, self.width)]))
        tuned, guide = together[: len(tuned)], together[len(tuned) :].view(*guide.shape[:-1], -1)
        tuned, guide = gathered(tuned), gathered(guide)
        self.watch(tuned, guide if guide.dim() == 2 else guide[:, -1])
        return tuned, guide

    def held(self) -> Tensor | float:
        """L_reg: how far the weights are from where they started; a sum of squares, neither averaged nor rooted."""
        if not self.pull:
            return 0.0
        own, start = zip(*self._tied, strict=True)
        distance: Tensor = _Apart.apply(start, *own)  # type: ignore[no-untyped-call]
        return self.pull * distance

    def contrast(self, tuned: Tensor, views: Tensor) -> Tensor:
        """The contrastive term of one method of the family; `views` are not yet projected."""
        raise NotImplementedError

    def loss(self, *columns: list[str]) -> Tensor:
        """The contrast of the trained copy with the guide, and the pull back to the start."""
        sentences, guiding = columns[0], columns[-1]
        with_views = self.contrast(self.tuned(sentences), self.views(guiding))
        return with_views + self.held()


class _Apart(torch.autograd.Function):
    """The sum of squared differences of many weights; by hand, since autograd would go over them six times."""

    @staticmethod
    def forward(context: Any, start: tuple[Tensor, ...], *own: Tensor) -> Tensor:
        apart = torch._foreach_sub(own, start)
        context.save_for_backward(*apart)
        return torch.stack([one.flatten().dot(one.flatten()) for one in apart]).sum()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *torch._foreach_mul(context.saved_tensors, 2 * gradients[0]))
