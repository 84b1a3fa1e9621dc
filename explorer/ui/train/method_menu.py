"""Choose the training method: all of them by what they train on, why some do not fit the text, and what one needs."""

import json
from functools import partial
from itertools import groupby
from pathlib import Path

import streamlit as st

from explorer import errors, places, progress
from explorer.data import reference_scores, text_sets, wordnet
from explorer.encoding.locate import model_names
from explorer.knobs import Knob, Values
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.runs import training_form
from explorer.ui.train import knob_form, text_form
from explorer.ui.widgets import controls

FETCH = "Fetch {} ({})"
MISSING = "{} needs {}, which is not on this machine. {}"
VERSION = "1"  # a new one if a generator is made in another way, such as with more steps
DIGITS = 16  # of the digest in its path
NO_GENERATOR = (
    "{} needs a {}: a masked language model with the encoder's vocabulary. '{}' is not on this machine. Fetch it from "
    "the hub, make one here, or type a folder in the field {} under **More settings**."
)
MADE = (
    "A generator was made from {}. It predicts {:.1f} % of {} masked words in held-out sentences ({:.1f} % before "
    "training)."
)


def method() -> training_form.MethodCard:
    """The chosen method."""
    cards = training_form.methods()
    name: str = st.selectbox(
        "Method",
        list(cards),
        key=training_form.METHOD,
        on_change=_by_hand,
        bind="query-params",
        help="Sorted by family. The list below says which methods fit the text. The name is the same on the command "
        "line.",
    )
    card = cards[name]
    st.caption(f"{messages.plain(card.kind.title())} Trains on {card.kind.rows.title}.")
    if card.kind.when_to_use:
        st.caption(_advice(card), help=messages.plain(reference_scores.measured_source()))
    return card


def about(card: training_form.MethodCard) -> None:
    """What the method does, and its paper."""
    with st.expander(f"About {messages.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(messages.plain(card.kind.about()))
        st.markdown(f"Paper: [{messages.plain(card.kind.paper.line)}]({card.kind.paper.link})")


def ready(card: training_form.MethodCard) -> bool:
    """Whether everything the method needs is on this machine; if not, show what is missing and a fetch button."""
    for need in card.lacks:
        st.warning(
            MISSING.format(*map(messages.plain, (card.name, need.name, need.how))),
            icon=":material/extension:",
        )
        sidebar_choice.offer(FETCH.format(need.name, need.size), partial(_fetch, need))
    return not card.lacks


def every(sources: tuple[str, ...]) -> None:
    """List the methods by what they train on; those that do not fit the text cannot be chosen, and say why."""
    cards = sorted(training_form.methods().values(), key=lambda card: text_sets.KINDS.index(card.kind.rows))
    lacks = {
        card.name: training_form.lacks(sources, card.kind.rows)
        or "; ".join(f"{need.name} is not on this machine" for need in card.lacks)
        for card in cards
    }
    fitting = sum(not lack for lack in lacks.values())
    fit = f"{fitting} of {len(lacks)} fit this text" if sources else f"{len(lacks)}"
    folded = st.expander(
        f"All methods by what they train on: {fit}",
        icon=":material/rule:",
        key="every method",
        on_change="rerun",
    )
    if not folded.open:
        return
    with folded:
        st.caption(messages.plain(reference_scores.measured_source()))
        for kind, of_kind in groupby(cards, key=lambda card: card.kind.rows):
            st.markdown(f"**Trained on {kind.title}**")
            for family, of_family in groupby(of_kind, key=lambda card: card.kind.family):
                st.caption(messages.plain(family))
                for card in of_family:
                    lack, title = lacks[card.name], messages.plain(card.kind.title())
                    button, about = st.columns([1, 3], vertical_alignment="center")
                    button.button(
                        card.name,
                        key=f"choose {card.name}",
                        on_click=_choose,
                        args=(card,),
                        disabled=bool(lack),
                        width="stretch",
                    )
                    about.markdown(f":gray[{title} Does not fit: {messages.plain(lack)}.]" if lack else title)
                    if card.kind.when_to_use:
                        about.caption(_advice(card))


def _advice(card: training_form.MethodCard) -> str:
    return messages.plain(reference_scores.advice(card.name, card.kind.when_to_use))


def _choose(card: training_form.MethodCard) -> None:
    st.session_state[training_form.METHOD] = card.name
    _by_hand()


def _by_hand() -> None:
    st.session_state[training_form.METHOD_BY_HAND] = True


def _fetch(need: wordnet.Need) -> progress.Work[None]:
    yield progress.Progress(f"fetching {need.name}", 0, 0)
    need.fetch()


def generators_ready(card: training_form.MethodCard, base: str, sources: tuple[str, ...], settings: Values) -> bool:
    """Whether all are here; for a missing one, buttons to fetch it or to make one from the base encoder."""
    knobs = [knob for knob in card.knobs.values() if knob.masked_model]
    here = [_is_here(card, knob, str(settings.get(knob.name, knob.default)), base, sources) for knob in knobs]
    return all(here)


def _is_here(card: training_form.MethodCard, knob: Knob, named: str, base: str, sources: tuple[str, ...]) -> bool:
    try:
        model_names.find(named)
        return True
    except errors.HubUnreachable:
        label = messages.plain(knob.name.replace("_", " "))
        st.warning(
            NO_GENERATOR.format(messages.plain(card.name), label, messages.plain(named), label),
            icon=":material/extension:",
        )
        sidebar_choice.offer(sidebar_choice.FETCH.format(named), lambda: model_names.fetch(named))
        _offer_to_make(card, knob, base, sources)
    except errors.StrataError as error:
        messages.trouble(error)
    return False


def _offer_to_make(card: training_form.MethodCard, knob: Knob, base: str, sources: tuple[str, ...]) -> None:
    """Train a copy of the base to predict masked words of the text; offer one that was made of both before."""
    columns = text_form.columns(sources, card.kind.rows)
    try:
        folder = folder_of(model_names.find(base).digest, cached.sentences_digest(sources, columns))
    except errors.StrataError:  # the form shows the error of the base or of the text
        return
    key = f"make {folder}"
    job = jobs.find(key)
    if folder.is_dir():
        text = json.loads((folder / "accuracy.json").read_text(encoding="utf-8"))
        st.caption(MADE.format(messages.plain(base), 100 * text["after"], f"{text['words']:,}", 100 * text["before"]))
        st.button(
            "Use it",
            key=f"use made {knob.name}",
            icon=":material/check:",
            on_click=lambda: st.session_state.update({knob_form.key_of(card.name, knob.name): str(folder)}),
            type="primary",
        )
    elif job is not None and job.state != jobs.DONE:
        jobs.progress_of(job)
    else:

        def begin() -> None:
            jobs.forget(key)
            jobs.follow(key, "making a generator", partial(_make, base, sources, columns), lane=jobs.TRAINING)

        label = f"Make one from {messages.plain(base)} and this text"
        controls.button(st.container(), label, begin, key=f"make {knob.name}", icon=":material/build:")


def _make(base: str, sources: tuple[str, ...], columns: dict[str, str]) -> progress.Work[None]:
    from explorer.data.corpora import corpus
    from explorer.data.text_sets import SENTENCES
    from explorer.encoding.load.loading import load
    from explorer.training.generator import make_generator

    text, _ = corpus(sources, SENTENCES, columns)
    found = model_names.find(base)
    yield from make_generator(load(found, precision="float32"), text.texts[0], folder_of(found.digest, text.digest))


def folder_of(base: str, text: str) -> Path:
    """Where the generator of a base and a text is kept, both given by their digests."""
    return places.cache_folder() / "generators" / text_sets.digest_of(("generator", VERSION, base, text))[:DIGITS]
