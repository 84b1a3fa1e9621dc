"""Self-guided contrastive learning (Kim, Yoo and Lee 2021): SG, SG-OPT, and the paper's baselines of back-translation.

Section 3: a copy of the encoder is frozen; its pooled layers are the views, the positives of the trained copy's vector
([CLS] in the paper). The embedding block is not trained. Weight regularisation holds the others near the start.
"""

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from explorer import losses
from explorer.data.text_sets import BACK_TRANSLATIONS, SENTENCES
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.pooling import FUNCTIONS
from explorer.encoding.tune import editing
from explorer.encoding.tune.adapters import effective
from explorer.errors import BadChoice
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.methods import Pooled, Schedule, Suggestion, cited, knob, temperature_knob

PROJECTION = 4096


class SelfGuided(Pooled):
    """A trained and a frozen copy of one encoder, with a contrastive loss between them."""

    family = "self-guided"
    paper = cited("kim-etal-2021-self")
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

    temperature: float = temperature_knob(0.01, "paper, section 4.1: 0.01")
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

    @classmethod
    def needs_layers(cls) -> bool:
        """The views are layers."""
        return True

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
        editing.embeddings(self.base.model).requires_grad_(False)
        self.project = projection_head(self.width) if self.projection else nn.Identity()
        self._trained_names = [name for name, weight in effective(self.base.model).items() if weight.requires_grad]

    def constant(self) -> tuple[nn.Module, ...]:
        """The frozen copy and the embeddings."""
        return self.guide, editing.embeddings(self.base.model)

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The frozen copy, unless it is set."""
        return () if self.guide_dropout else (self.guide,)

    def tuned(self, sentences: list[str]) -> Tensor:
        """Vectors (sentence, width) of the trained copy, not yet projected."""
        return self.encode(sentences, self.before_normalising)

    @torch.no_grad()
    def views(self, sentences: list[str]) -> Tensor:
        """Views (sentence, view, width) of each layer of the frozen copy, not yet projected."""
        pool, found = FUNCTIONS[self.view_pooling], []
        for places, states in self.guide.grouped(sentences):
            pooled = torch.stack([pool(layer, states.mask) for layer in states.hidden[self.first_layer :]], dim=1)
            views = pooled.flatten(0, 1)
            for step in self.pooled.dense:  # the same maps as for the trained copy's vectors
                views = step(views)
            found.append((places, views.view(*pooled.shape[:2], -1)))
        return in_order(found)

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
        self.record_similarities(tuned, guide if guide.dim() == 2 else guide[:, -1])
        return tuned, guide

    def trained_and_start(self) -> list[tuple[Tensor, Tensor]]:
        """Each trained weight, with its adapter added if it has one, and where it started."""
        trained, start = effective(self.base.model), dict(self.guide.model.named_parameters())
        return [(trained[name], start[name]) for name in self._trained_names]

    def regularisation(self) -> Tensor | float:
        """L_reg: the sum of squared differences from the starting weights, neither averaged nor rooted."""
        if not self.pull:
            return 0.0
        trained, start = zip(*self.trained_and_start(), strict=True)
        distance: Tensor = _SquaredDistance.apply(start, *trained)  # type: ignore[no-untyped-call]
        return self.pull * distance


def projection_head(width: int) -> nn.Module:
    """The head of both sides, initialised at random as in the released code."""
    layers = nn.Linear(width, PROJECTION), nn.Linear(PROJECTION, PROJECTION)
    for layer in layers:
        nn.init.normal_(layer.weight, std=0.02)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.GELU(), layers[1], nn.GELU())


class _SquaredDistance(torch.autograd.Function):
    """The sum of squared differences of many weights, with its own gradient, which is faster than autograd."""

    @staticmethod
    def forward(context: Any, start: tuple[Tensor, ...], *trained: Tensor) -> Tensor:
        differences = torch._foreach_sub(trained, start)
        context.save_for_backward(*differences)
        if differences[0].device.type == "cuda":  # a few kernels for all weights
            return torch.stack(torch._foreach_norm(differences)).square().sum()
        return torch.stack([one.flatten().dot(one.flatten()) for one in differences]).sum()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *torch._foreach_mul(context.saved_tensors, 2 * gradients[0]))


class SG(SelfGuided):
    """Self-guided contrast (SG): train a vector to match a layer of a frozen copy of the encoder.

    L_base of Kim, Yoo and Lee 2021 (equations 1 to 4): NT-Xent between the trained copy's vector ([CLS] in the paper)
    and one randomly drawn layer of the frozen copy, both through one projection head, plus λ times the squared
    distance to the starting weights. The settings are those of section 4.1 and of the ablations in Table 5.
    """

    name = "sg"
    when_to_use = "Only sentences, and [CLS] must be the vector: there the self-guided methods gain most."
    rows = SENTENCES

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent over the 2b vectors: both sides are anchors, and everything else in the batch is a negative."""
        (sentences,) = columns
        sides = self.sides(self.tuned(sentences), self.sampled(self.views(sentences)))
        return losses.nt_xent(*sides, self.temperature) + self.regularisation()


class SGOpt(SelfGuided):
    """SG-OPT: self-guided learning with only the trained copy as anchor and every layer as a view.

    Kim, Yoo and Lee 2021, section 3.3. L_opt1 uses only the trained copy as anchor, L_opt2 also drops its other vectors
    from the negatives, L_opt3 uses all layers of the frozen copy instead of a random one. SG-OPT is L_opt3; the others
    are rows of Table 5.
    """

    name = "sg-opt"
    when_to_use = "Only sentences, and [CLS] must be the vector; under the model default it gained, unlike SG."
    rows = SENTENCES

    objective: str = knob(
        "opt3", choices=("opt1", "opt2", "opt3"), front=True, help="Objective L_opt1, L_opt2 or L_opt3; SG-OPT is opt3."
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """The chosen objective."""
        (sentences,) = columns
        tuned, views = self.tuned(sentences), self.views(sentences)
        if self.objective == "opt3":
            return losses.self_guided_3(*self.sides(tuned, views), self.temperature) + self.regularisation()
        formula = losses.self_guided_1 if self.objective == "opt1" else losses.self_guided_2
        return formula(*self.sides(tuned, self.sampled(views)), self.temperature) + self.regularisation()


class BackTranslation(SelfGuided):
    """Back-translation (BT): contrast with a sentence and its back-translation as a positive pair.

    The baseline of Kim, Yoo and Lee 2021 (appendix A.2): NT-Xent as in SG, with the trained copy's vector of the
    back-translation instead of the frozen copy's view. The frozen copy is used for weight regularisation (λ) only.
    """

    name = "bt"
    when_to_use = "Back-translations and the model default: a small gain; BT + SG-OPT gained more."
    rows = BACK_TRANSLATIONS
    released: ClassVar[Values] = {**SelfGuided.released, "guided": False}

    guided: bool = knob(
        False,
        paper=True,
        help="Encode back-translations with a layer of the frozen copy: the literal reading of 'identical to SG' in "
        "appendix A.2. off: with the trained copy, as the released code.",
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent of sentences with their back-translations, plus weight regularisation."""
        sentences, translated = columns
        if self.guided:
            one, other = self.tuned(sentences), self.sampled(self.views(translated))
        else:  # in one pass: several processes allow no second one before the gradients
            one, other = self.tuned(sentences + translated).chunk(2)
        return losses.nt_xent(*self.sides(one, other), self.temperature) + self.regularisation()


class BackTranslationSGOpt(SelfGuided):
    """BT + SG-OPT: the trained copy encodes the original, the frozen copy its back-translation.

    Kim, Yoo and Lee 2021, section 6: L_opt3 with the views of the back-translated sentence. The released code takes the
    views of the original; the line that joins both is commented out there.
    """

    name = "bt-sg-opt"
    when_to_use = "Back-translations and the model default: a gain like SG-OPT's, which needs none."
    rows = BACK_TRANSLATIONS
    suggestion = Suggestion("back-translations", 2, "of the methods on them it gained most")
    released: ClassVar[Values] = {**SelfGuided.released, "original_views": True}

    both_views: bool = knob(False, help="The frozen copy encodes the original too, which doubles the number of views.")
    original_views: bool = knob(
        False,
        help="The frozen copy encodes the original instead, as in the released code; back-translations are then not "
        "used. Ignored if both_views is on.",
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """L_opt3 of sentences with the views of their back-translations, plus weight regularisation."""
        sentences, translated = columns
        views = self.views(sentences if self.original_views and not self.both_views else translated)
        if self.both_views:
            views = torch.cat([self.views(sentences), views], dim=1)
        sides = self.sides(self.tuned(sentences), views)
        return losses.self_guided_3(*sides, self.temperature) + self.regularisation()
