"""What the forms of runs and plans share: methods, seeds, what other pages fill in, and what the address names.

The run that the Train page shows is in the address, so that a reload and a second tab show it again; so is a plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from explorer.data.graded.sets import SetIdentity
from explorer.data.sources import shown
from explorer.data.text_sets import KINDS, SENTENCES, Kind
from explorer.data.wordnet import Need
from explorer.errors import BadChoice, RunNotFound, StrataError
from explorer.knobs import Knob, Values
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui import messages
from explorer.ui.access import cached_texts
from explorer.ui.runs import training_queue
from explorer.ui.widgets import controls

if TYPE_CHECKING:
    from explorer.methods import Method
    from explorer.training.text_defaults import TextDefaults

RUN = "run"
_LEFT, _OF_VIEWS, _SHOWN = "_runs that were left for the form", "_runs of views of talks", "_run that was shown"
GONE = "{} is no longer there: it was renamed or deleted."
Shown = TypeVar("Shown")
LAYERS = "keep_layers"  # the setting of methods that make an encoder smaller
SOURCES, METHOD = "data", "method"  # the names of the widgets, and of their parameters in the address
FILLED = "_text was set"
METHOD_BY_HAND = "_method by hand"  # whether the visitor has chosen the method, which then does not follow the text
ASKED_FOR_FILE = "_a file is asked for"  # whether the upload box of the form is open until there is a text
BY_HAND = "_dev and test by hand"  # the fields that the visitor has set, which keep their value


def asked_for(view: str = "") -> runs.Run | None:
    """The run that the address names, else one that trains; None without one, or if it is missing (with an error).

    A run that trains is not shown to who has left it for the form, or follows a link with a text or a method. In a
    `view` of a talk it is shown without being named: the address stays that of the view, which is opened again with its
    run after wandering off.
    """
    of_views: dict[str, str] = st.session_state.setdefault(_OF_VIEWS, {})
    if RUN not in st.query_params and {SOURCES, METHOD}.isdisjoint(st.query_params):
        left = st.session_state.get(_LEFT, ())
        names = [run.name for run, status in training_queue.under_way() if status.state == statuses.RUNNING]
        name = names[0] if names and names[0] not in left else of_views.get(view, "")
        if view:
            of_views[view] = name
            with suppress(RunNotFound):  # it was renamed or deleted since
                return runs.find(name) if name else None
            return None
        if name:
            st.query_params[RUN] = name
    found = shown_under(RUN, _SHOWN, runs.find, GONE)
    if view and found is not None:
        of_views[view] = found.name
    return found


def choose(run: runs.Run) -> None:
    """Show a run, from its progress on."""
    st.query_params[RUN] = run.name
    controls.from_the_top()


def leave() -> None:
    """Show the form, also while a run trains."""
    st.query_params.pop(RUN, None)
    st.session_state.pop(_OF_VIEWS, None)
    st.session_state[_LEFT] = {run.name for run, _ in training_queue.under_way()}


def shown_under(key: str, seen: str, find: Callable[[str], Shown], gone: str) -> Shown | None:
    """What the address names under a key; None if it names nothing, or something missing (with an error).

    `seen` is the key in the session of what was shown last; `gone` tells that it was deleted since.
    """
    name = st.query_params.get(key)
    if name is None:
        return None
    try:
        found = find(name)
    except RunNotFound as error:
        if name == st.session_state.get(seen):  # since it was shown, here or in another tab
            st.query_params.pop(key, None)
            st.toast(gone.format(messages.plain(name)), icon=":material/delete:")
        else:
            messages.trouble(error)
        return None
    st.session_state[seen] = name
    return found


def choose_text(sources: Sequence[str]) -> None:
    """Set the training text; only in a callback."""
    st.session_state[SOURCES], st.session_state[FILLED] = list(sources), True


def ask_for_file() -> None:
    """Show the form without a text, open its upload box, and let the method follow the file; only in a callback."""
    leave()
    choose_text(())
    st.session_state[ASKED_FOR_FILE], st.session_state[METHOD_BY_HAND] = True, False
    follow_text()


def follow_text() -> None:
    """Reset dev and test set to follow the text again; only in a callback."""
    st.session_state[BY_HAND] = set()


def lacks(text: Sequence[SetIdentity]) -> dict[Kind, str]:
    """For each kind of rows the reason why a text has none; "" if it has some, or cannot be read."""
    found = dict.fromkeys(KINDS, "")
    for given in text:
        with suppress(StrataError):  # the field of the text shows the error
            for kind, lack in cached_texts.serves(given, {}).items():
                if lack and not found[kind]:
                    found[kind] = f"{shown(given)} {lack}"
    return found


def setting(name: str, title: str = "") -> Knob:
    """A setting of a recipe, perhaps under another title."""
    from explorer.training.recipe import Recipe

    return replace(Recipe.declared[name], title=title or Recipe.declared[name].title)


def text_defaults(
    data: Sequence[SetIdentity], method: str, columns: Mapping[str, str] | None = None
) -> TextDefaults | None:
    """What a method has by default for a text; None if there is no text, or if it cannot be read."""
    from explorer.training.text_defaults import of_text

    with suppress(StrataError):  # the field of the text shows the error
        return of_text(method, data, columns) if data else None
    return None


def seeds_field(key: str, usual: str, help: str = "") -> tuple[int, ...]:
    """The seeds; none, with the error shown, if what is typed is not allowed."""
    if key not in st.session_state:
        st.session_state[key] = usual
    knob = replace(setting("seeds"), default="")
    typed = controls.draw("", knob, key=key, width="stretch", help=help or knob.help)
    try:
        return typed_seeds(typed)
    except BadChoice as error:
        messages.trouble(error)
        return ()


def typed_seeds(typed: str) -> tuple[int, ...]:
    """Parse `1, 2, 3` as numbers."""
    words = re.split(r"[\s,;]+", typed.strip(" ,;\t"))
    if not all(re.fullmatch(r"[0-9]{1,10}", word) for word in words):
        raise BadChoice(f"Seeds cannot be '{typed}'. Type whole numbers with commas between them, such as 1, 2, 3.")
    return tuple(map(int, words))


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
        from explorer.methods import knobs_of

        return knobs_of(self.kind, self.encoders)

    @cached_property
    def presets(self) -> Mapping[str, Values]:
        """Further sets of settings by name."""
        from explorer.methods import presets

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


def knob_key(method: str, knob: str) -> str:
    """The key of the field of a method's setting."""
    return f"knob {method} {knob}"


def smaller() -> str:
    """The method that makes an encoder smaller on plain sentences."""
    return next(name for name, card in methods().items() if card.kind.makes_smaller and card.kind.rows == SENTENCES)
