"""What a head does, as a value without weights that a run stores; the words for it are made from it here alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.encoding.read import parts
from explorer.encoding.read.pooling import LAST, Reading, reading_of, title_of

LAST_NORM, SIMCSE = "last_norm", "supervised_simcse"
AS_GIVEN = "vectors as given"  # those that another program computed, which have no layers
UNLIMITED = 2**20  # the tokens of a text that they allow: it is looked up as a whole
REMARKS = {LAST_NORM: "after the last norm", SIMCSE: "as in supervised SimCSE"}
_FIELD, _OPTIONAL = re.compile(r"\{(\w+)\}"), re.compile(r"\[([^]]*)\]")


@dataclass(frozen=True)
class PooledLayers:
    """A pooling of one layer, or of several that are averaged; `LAST` is the last one, whatever its number."""

    pooling: str
    layers: tuple[int, ...]


@dataclass(frozen=True)
class PartFacts:
    """A part of a head: its class, and its settings."""

    kind: str
    settings: Mapping[str, Any]

    @property
    def words(self) -> str:
        """`Dense 512 (tanh)`: the title that the part's file states, with these settings.

        A piece of it in brackets is left out unless all its settings are given. True is written as the setting's name.
        """
        title = next((part.title or part.words for part in parts.listed() if part.kind == self.kind), self.kind)
        kept = _OPTIONAL.sub(lambda piece: piece[1] * all(map(self.settings.get, _FIELD.findall(piece[1]))), title)

        def in_words(field: re.Match[str]) -> str:
            value = self.settings.get(field[1])
            if isinstance(value, list | tuple):
                return ", ".join(map(str, value))
            return field[1] if value is True else str(value)

        return _FIELD.sub(in_words, kept)


@dataclass(frozen=True)
class HeadFacts:
    """Poolings, a pooling of all layers, maps, and whether the vectors are normalised at the end.

    `remark` is a key of `REMARKS`, `prompt` what is put before every sentence, `prompt_pooled` whether its tokens are
    part of the pooling.
    """

    poolings: tuple[PooledLayers, ...]
    all_layers: PartFacts | None = None
    maps: tuple[PartFacts, ...] = ()
    normalised: bool = False
    remark: str = ""
    prompt: str = ""
    prompt_pooled: bool = True

    @property
    def stages(self) -> tuple[str, ...]:
        """The pooling, each map, and the normalisation if there is one, in words."""
        last = " + ".join(one.pooling for one in self.poolings if one.layers == (LAST,))
        first_last = any(one.layers == (1, LAST) for one in self.poolings)
        pooled = (
            f"{last} of the last layer" if last else "",
            "mean of layers 1 and last" if first_last else "",
            *(title_of(one.pooling, one.layers) for one in self.poolings if LAST not in one.layers),
            self.all_layers.words if self.all_layers else "",
        )
        return " + ".join(filter(None, pooled)), *(one.words for one in self.maps), *["normalised"] * self.normalised

    @property
    def words(self) -> str:
        """`mean of the last layer → Dense 512 (tanh) → normalised, after the prompt 'query: '`."""
        if self.remark == AS_GIVEN:
            return AS_GIVEN
        left_out = "" if self.prompt_pooled else " (left out of the pooling)"
        prompt = f"after the prompt {self.prompt!r}{left_out}" if self.prompt else ""
        remark = REMARKS.get(self.remark, self.remark)
        return ", ".join(filter(None, (" → ".join(self.stages), remark, prompt)))

    def cell(self, last: int) -> Reading | None:
        """The layer & pooling that it is, normalisation aside, in an encoder whose last layer is `last`.

        None if it is more than one pooling: with maps, a remark or a prompt.
        """
        if len(self.poolings) != 1 or self.all_layers or self.maps or self.remark or self.prompt:
            return None
        layers = (last if layer == LAST else layer for layer in self.poolings[0].layers)
        return reading_of(self.poolings[0].pooling, tuple(layers), last)
