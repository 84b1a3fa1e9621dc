"""Compute a sentence's vector from its states: poolings, then the parts of `parts`, then normalisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from explorer.encoding.read.head_facts import HeadFacts, PartFacts, PooledLayers
from explorer.encoding.read.layer_reading import LayerReading
from explorer.encoding.read.parts import LIBRARY, HeadStep, StatePooling
from explorer.encoding.read.parts.dense import Dense
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.pooling import POOLINGS, layers_of, pooled
from explorer.encoding.read.prompts import NO_PROMPTS, RolePrompts

__all__ = ["Dense", "Head"]  # a dense layer is the part that most heads have


@dataclass(frozen=True)
class Head:
    """Poolings, concatenated; then maps, in order; then normalisation if `normalize`.

    Poolings are of the last layer unless they name others; the output of `layers`, from all layers, comes after them.
    `prompt` is put before every sentence, under every layer & pooling, unless it is a query or a document with a prompt
    of its own in `roles`, which also say whether prompts are pooled. `remark` is a key of `head_facts.REMARKS`.
    """

    poolings: tuple[str, ...]
    dense: tuple[HeadStep, ...] = ()
    normalize: bool = False
    prompt: str = ""
    roles: RolePrompts = NO_PROMPTS
    remark: str = ""
    layers: StatePooling | None = None

    def __call__(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from states (layer, sentence, token, width) and a mask."""
        *_, vectors = self.stages(hidden, mask)
        return vectors

    def stages(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Iterator[Tensor]:
        """The vectors after the pooling, after each map, and after the normalisation if there is one."""
        parts = [pooled(name, hidden, mask) for name in self.poolings]
        if self.layers:
            parts.append(self.layers(hidden, mask))
        yield (vectors := torch.cat(parts, dim=-1))
        for step in self.dense:
            yield (vectors := step(vectors))
        if self.normalize:
            yield functional.normalize(vectors, dim=-1)

    def width(self, states: int) -> int:
        """The dimension of a vector, for states of this width."""
        found = states * len(self.poolings) + (self.layers.width(states) if self.layers else 0)
        for step in self.dense:
            found = step.width(found)
        return found

    def misfit(self, states: int) -> str:
        """Why its maps do not fit one another, or states of this width; "" if they do."""
        found = replace(self, dense=()).width(states)
        for step in self.dense:
            if step.takes not in (None, found):
                return f"{_facts(step).words} takes vectors of width {step.takes}, and gets vectors of width {found}"
            found = step.width(found)
        return ""

    @property
    def of_last_layer(self) -> bool:
        """Whether it uses the last layer only."""
        return self.layers is None and all(name in POOLINGS for name in self.poolings)

    @property
    def attention(self) -> LayerAttention | None:
        """Its attention over layers, if it has one."""
        return self.layers if isinstance(self.layers, LayerAttention) else None

    @property
    def has_layer_reading(self) -> bool:
        """Whether its pooling is exported as a module of Strata, since those of sentence-transformers cannot do it."""
        return self.layers is not None or (len(self.poolings) > 1 and not self.of_last_layer)

    @property
    def own_modules(self) -> tuple[str, ...]:
        """The types of its modules that sentence-transformers lacks, as `file.Class`."""
        steps = dict.fromkeys(step.module for step in self.dense if not step.module.startswith(LIBRARY))
        return (*[LayerReading.module] * self.has_layer_reading, *steps)

    def facts(self) -> HeadFacts:
        """What it does, without its weights."""
        poolings = tuple(PooledLayers(*layers_of(name)) for name in self.poolings)
        maps, layers = tuple(map(_facts, self.dense)), _facts(self.layers) if self.layers else None
        return HeadFacts(poolings, layers, maps, self.normalize, self.remark, self.prompt, self.roles.pooled)

    def describe(self) -> str:
        """`mean of the last layer → Dense 512 (tanh) → normalised, after the prompt 'query: '`."""
        return self.facts().words

    def to(self, device: str) -> Head:
        """A copy on a device."""
        layers = self.layers and self.layers.to(device)
        return replace(self, dense=tuple(step.to(device) for step in self.dense), layers=layers)


def _facts(part: HeadStep | StatePooling) -> PartFacts:
    return PartFacts(type(part).__name__, part.settings())
