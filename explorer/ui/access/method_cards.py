"""Describe each training method as plain values, without torch: what it does, trains on and lets you set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data.needs import Need
from explorer.data.row_kinds import KINDS, Kind
from explorer.knobs import Knob, Values

if TYPE_CHECKING:
    from explorer.methods import Suggestion


@dataclass(frozen=True)
class MethodCard:
    """One method, as the pages show it."""

    name: str
    title: str
    about: str
    eats: Kind
    family: str
    paper: str
    link: str
    knobs: Mapping[str, Knob]
    needs: tuple[Need, ...]  # what Strata does not ship
    when_to_use: str = ""
    as_published: bool = True  # whether the values of its settings are the paper's
    released: Values = field(default_factory=dict)  # settings in which the released code differs from the paper
    by_family: Mapping[str, Values] = field(default_factory=dict)  # the paper's values for families of encoders
    presets: Mapping[str, Values] = field(default_factory=dict)  # further sets of settings by name
    encoders: str = ""  # the family of encoders whose values are the defaults of `knobs`
    predicts: bool = False  # whether it predicts classes, so that labelled rows are held out
    suggestion: Suggestion | None = None  # for which rows it is chosen where nobody has chosen a method
    trains: bool = True  # if not, it is fitted in closed form, without a schedule

    @property
    def of_encoders(self) -> Values:
        """The values that the paper states for the family of the encoder, and that are therefore the defaults."""
        return {name: value for name, value in self._of(self.encoders).items() if self.knobs[name].default == value}

    def for_encoders(self, family: str) -> MethodCard:
        """The same with the paper's values for a family of encoders, such as `RoBERTa-base`, as defaults."""
        knobs = {name: self.knobs[name].for_family(value) for name, value in self._of(family).items()}
        return replace(self, encoders=family, knobs={**self.knobs, **knobs})

    def _of(self, family: str) -> Values:
        return self.by_family.get(family, {})

    @property
    def lacks(self) -> tuple[Need, ...]:
        """The needs that are not on this machine."""
        return tuple(need for need in self.needs if not need.there())


def read_all() -> dict[str, MethodCard]:
    """Every method by name, sorted by its family and by what it needs; this loads torch."""
    from explorer import methods
    from explorer.training.recipe import knobs_of, presets

    cards = []
    for name in methods.names():
        kind = methods.load(name)
        about = re.sub(r"(?<!\n)\n(?!\n)", " ", kind.about())  # a docstring is wrapped, a page wraps by itself
        paper = kind.paper
        cards.append(
            MethodCard(
                name,
                kind.title(),
                about,
                kind.eats,
                paper.family,
                paper.line,
                paper.link,
                knobs_of(kind),
                kind.needs,
                kind.when_to_use,
                kind.as_published,
                kind.released,
                kind.by_family,
                presets(kind),
                predicts=kind.predicts(),
                suggestion=kind.suggestion,
                trains=kind.trains(),
            )
        )
    families = list(dict.fromkeys(card.family for card in sorted(cards, key=lambda card: KINDS.index(card.eats))))
    first = next(card for card in cards if methods.load(card.name).first)
    families.sort(key=lambda family: family != first.family)
    cards.sort(key=lambda card: (families.index(card.family), card != first, KINDS.index(card.eats), card.name))
    return {card.name: card for card in cards}


@st.cache_resource(show_spinner="Loading the methods …")
def methods() -> dict[str, MethodCard]:
    """Every training method by name; the first call loads torch."""
    return read_all()
