"""Training methods for the pages: the class of each one, and its settings for a family of encoders, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data.text_sets import KINDS
from explorer.data.wordnet import Need
from explorer.knobs import Knob, Values

if TYPE_CHECKING:
    from explorer.methods import Method


@dataclass(frozen=True)
class MethodCard:
    """A method as the pages show it: what its class states, for a family of encoders such as `RoBERTa-base`."""

    kind: type[Method]
    encoders: str = ""  # the family whose values in the paper are the defaults of `knobs`; "" for any encoder

    @property
    def name(self) -> str:
        """Its name in the menu and on the command line."""
        return self.kind.name

    @cached_property
    def knobs(self) -> Mapping[str, Knob]:
        """Every setting by name, with the defaults for these encoders."""
        from explorer.training.recipe import knobs_of

        return knobs_of(self.kind, self.encoders)

    @cached_property
    def presets(self) -> Mapping[str, Values]:
        """Further sets of settings by name."""
        from explorer.training.recipe import presets

        return presets(self.kind)

    @property
    def of_encoders(self) -> Values:
        """The values that the paper states for the family of the encoder, and that are therefore the defaults."""
        stated = self.kind.by_family.get(self.encoders, {})
        return {name: value for name, value in stated.items() if self.knobs[name].default == value}

    @property
    def lacks(self) -> tuple[Need, ...]:
        """The needs that are not on this machine."""
        return tuple(need for need in self.kind.needs if not need.there())


@st.cache_resource(show_spinner="Loading the methods …")
def methods() -> dict[str, MethodCard]:
    """Every training method by name, sorted by its family and by what it trains on; the first call loads torch."""
    from explorer.methods import DEMONSTRATION, load, names

    kinds = [load(name) for name in names()]
    families = list(dict.fromkeys(kind.family for kind in sorted(kinds, key=lambda kind: KINDS.index(kind.rows))))
    first = next(kind for kind in kinds if DEMONSTRATION in kind.presets)
    families.sort(key=lambda family: family != first.family)
    kinds.sort(key=lambda kind: (families.index(kind.family), kind != first, KINDS.index(kind.rows), kind.name))
    return {kind.name: MethodCard(kind) for kind in kinds}
