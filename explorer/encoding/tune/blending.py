"""Blend a base with models that were tuned from it: weights of the base plus a share of their change.

The weights are W + α (W' - W), with W' of the tuned model, or the mean of several. Wortsman and others 2022 ("Robust
fine-tuning of zero-shot models") blend a base and a tuned model, and several tuned models ("Model soups"); Xiao and
others 2023 (LM-Cocktail) do it with encoders of sentences.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from explorer.encoding.locate import lookup
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.errors import BadChoice, UnsupportedModel

BASE, TUNED = 0.0, 1.0  # the shares α of the two ends


def share(alpha: float) -> float:
    """A share α from 0, the base, to 1, the tuned model, to six decimals; any other number is refused."""
    if not (math.isfinite(alpha) and BASE <= alpha <= TUNED):
        raise BadChoice(
            f"α = {alpha:g} is not between 0 (the base) and 1 (the tuned model). Choose a number from 0 to 1."
        )
    return round(float(alpha), 6)


class Blending:
    """A base, and one or more models tuned from it, whose weights can be blended."""

    def __init__(self, base: Encoder, tuned: Sequence[Encoder]) -> None:
        for one in tuned:
            check(base, one)
            if one is not tuned[0]:
                check(tuned[0], one)
        self.base, self.tuned = base, tuple(tuned)
        models = [dict(one.model.named_parameters()) for one in tuned]
        self._weights: dict[str, Tensor] = {}  # of the tuned model, or the mean of several
        for name, weight in models[0].items():
            # their mean is taken on the processor: not every device knows float64
            several = [one[name].detach().cpu().double() for one in models] if len(models) > 1 else []
            self._weights[name] = torch.stack(several).mean(0).to(weight) if several else weight.detach()

    def at(self, alpha: float) -> Encoder:
        """The encoder at a share α, under the layer & pooling of the tuned model; the two ends are exact."""
        alpha, first = share(alpha), self.tuned[0]
        found = copy.copy(first)
        found.model = copy.deepcopy(first.model)
        before = dict(self.base.model.named_parameters())
        with torch.no_grad():
            for name, weight in found.model.named_parameters():
                weight.copy_(torch.lerp(before[name], self._weights[name], alpha))
        found.head = self._head(alpha)
        found.digest = self.digest(alpha)
        return found

    def digest(self, alpha: float) -> str:
        """The identity of the encoder at a share α, without computing it."""
        return lookup.blend_digest(self.base.digest, [one.digest for one in self.tuned], share(alpha))

    @property
    def same_head(self) -> bool:
        """Whether the base is used under the same layer & pooling: then α = 0 is the base as it is used."""
        return self.base.default_head.facts() == self.tuned[0].default_head.facts()

    def _head(self, alpha: float) -> Head:
        """The head of the tuned model, with weights that are blended in the same way."""
        head, before = self.tuned[0].default_head, _parts(self.base.default_head)
        blended: list[Any] = []
        for place, part in enumerate(_parts(head)):
            tuned = [_tensors(_parts(one.default_head)[place]) for one in self.tuned]
            means = {name: torch.stack([one[name] for one in tuned]).mean(0) for name in tuned[0]}
            ends = _tensors(before[place])
            blended.append(replace(part, **{name: torch.lerp(ends[name], means[name], alpha) for name in means}))
        layers = blended.pop() if head.layers else None
        return replace(head, dense=tuple(blended), layers=layers)


def check(base: Encoder, tuned: Encoder) -> None:
    """Refuse two encoders between which no weights can be blended, and say why."""
    one, other = base.model.config, tuned.model.config
    shapes, others = (
        {name: tuple(weight.shape) for name, weight in each.model.named_parameters()} for each in (base, tuned)
    )
    differing = sorted(name for name in shapes | others if shapes.get(name) != others.get(name))
    parts, before = (
        [(type(part).__name__, part.settings()) for part in _parts(each.default_head)] for each in (tuned, base)
    )
    why = ""
    if type(base.model) is not type(tuned.model):
        why = f"the one is a {one.model_type}, the other a {other.model_type}"
    elif one.num_hidden_layers != other.num_hidden_layers:
        why = f"the one has {one.num_hidden_layers} layers, the other {other.num_hidden_layers}"
    elif differing:
        name = differing[0]
        why = f"their weights differ in shape ({name}: {shapes.get(name)} and {others.get(name)})"
    elif _tokens(base) != _tokens(tuned):
        why = "they split a text into different tokens"
    elif parts and parts != before:
        words = tuned.default_head.describe()
        why = f"the pooling of the other has weights that the one lacks ({words})"
    elif not all(is_dataclass(part) for part in _parts(tuned.default_head)):
        why = "what comes after the pooling cannot be blended (a flow)"
    if why:
        raise UnsupportedModel(
            f"'{base.name}' and '{tuned.name}' cannot be blended: {why}. Choose a base and a model that was fine-tuned "
            "from it with the same layers, vocabulary and pooling."
        )


def _tokens(encoder: Encoder) -> tuple[object, ...]:
    """The vocabulary, and how a text is split that has what tokenizers treat in two ways: case, accents, signs."""
    return encoder.tokenizer().get_vocab(), encoder.tokens(["A Café, naïve: 1,234 (Cats & dogs)!"], prompt="").ids


def _parts(head: Head) -> list[Any]:
    """The parts of a head that may have weights, the pooling of states last."""
    return [*head.dense, *([head.layers] if head.layers else [])]


def _tensors(part: Any) -> dict[str, Tensor]:
    """The weights of a part by the name of their field."""
    values = {one.name: getattr(part, one.name) for one in fields(part)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}
