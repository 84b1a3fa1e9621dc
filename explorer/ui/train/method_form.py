"""Choose the method of a training, see what it needs on this machine, and fetch or make that."""

import json
from functools import partial
from itertools import groupby
from pathlib import Path

import streamlit as st

from explorer import knobs, places, progress
from explorer.data import corpora, reference_scores, text_sets, wordnet
from explorer.data.graded.sets import SetIdentity
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, HubUnreachable, StrataError
from explorer.ui import messages
from explorer.ui.access import cached_texts, jobs, set_choice
from explorer.ui.runs import training_form
from explorer.ui.train.text_form import columns, of_text
from explorer.ui.widgets import controls, job_buttons

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


def chosen() -> str:
    """The chosen method by name; a link may name one that there is not, which stays in the menu to be corrected."""
    name: str | None = controls.draw(
        "",
        training_form.setting("method"),
        key=training_form.METHOD,
        offered=controls.with_current([*training_form.methods()], training_form.METHOD),
        accept_new_options=False,
        on_change=lambda: st.session_state.update({training_form.METHOD_BY_HAND: True}),
        bind="query-params",
        width=230,
        help="Sorted by family. The tab *Text and method* says which methods fit the text. The name is the same on the "
        "command line.",
    )
    return name or ""


def method(name: str, text: tuple[SetIdentity, ...]) -> training_form.MethodCard:
    """The method of this name; if there is none, that is said, and the one that fits the text is used meanwhile."""
    cards = training_form.methods()
    if name in cards:
        return cards[name]
    from explorer.methods import load

    fitting = of_text(text) or next(iter(cards))
    try:
        load(name)
    except BadChoice as error:
        messages.replaced(error, fitting)
    return cards[fitting]


def about(card: training_form.MethodCard) -> None:
    """What the method does, when to use it, and its paper."""
    st.caption(f"{messages.plain(card.kind.title())} Trains on {card.kind.rows.title}.")
    if card.kind.when_to_use:
        st.caption(_advice(card), help=messages.plain(reference_scores.measured_source()))
    with st.expander(f"About {messages.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(messages.plain(card.kind.about()))
        st.markdown(f"Paper: [{messages.plain(card.kind.paper.line)}]({card.kind.paper.link})")


def ready(card: training_form.MethodCard) -> bool:
    """Whether everything the method needs is on this machine; if not, show what is missing and a fetch button."""
    for need in card.lacks:
        st.warning(MISSING.format(*map(messages.plain, (card.name, need.name, need.how))), icon=":material/extension:")
        set_choice.offer(FETCH.format(need.name, need.size), partial(_fetch, need))
    return not card.lacks


def every(chosen: tuple[SetIdentity, ...]) -> None:
    """List the methods by what they train on; those that do not fit the text cannot be chosen, and say why."""
    cards = sorted(training_form.methods().values(), key=lambda card: text_sets.KINDS.index(card.kind.rows))
    missing = training_form.lacks(chosen)
    lacks = {
        card.name: missing[card.kind.rows] or "; ".join(f"{need.name} is not on this machine" for need in card.lacks)
        for card in cards
    }
    fitting = sum(not lack for lack in lacks.values())
    fit = f"{fitting} of {len(lacks)} fit this text" if chosen else f"{len(lacks)}"
    title = f"All methods by what they train on: {fit}"
    folded = st.expander(title, icon=":material/rule:", key="every method", on_change="rerun")
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
                        on_click=st.session_state.update,
                        args=({training_form.METHOD: card.name, training_form.METHOD_BY_HAND: True},),
                        disabled=bool(lack),
                        width="stretch",
                    )
                    about.markdown(f":gray[{title} Does not fit: {messages.plain(lack)}.]" if lack else title)
                    if card.kind.when_to_use:
                        about.caption(_advice(card))


def _advice(card: training_form.MethodCard) -> str:
    return messages.plain(reference_scores.advice(card.name, card.kind.when_to_use))


def _fetch(need: wordnet.Need) -> progress.Work[None]:
    yield progress.Progress(f"fetching {need.name}", 0, 0)
    need.fetch()


def models_ready(
    card: training_form.MethodCard, base: str, chosen: tuple[SetIdentity, ...], settings: knobs.Values
) -> bool:
    """Whether all models that settings name are here; for a missing one, buttons to fetch it or to make a generator."""
    ready = True
    for knob in card.knobs.values():
        named = str(settings.get(knob.name, knob.default))
        if not knob.names_model(named):
            continue
        try:
            model_names.find(named)
            continue
        except HubUnreachable as error:
            label = messages.plain(knob.name.replace("_", " "))
            if knob.masked_model:
                missing = NO_GENERATOR.format(messages.plain(card.name), label, messages.plain(named), label)
                st.warning(missing, icon=":material/extension:")
            else:
                messages.trouble(error)
            set_choice.offer(set_choice.FETCH.format(named), partial(model_names.fetch, named))
            if knob.masked_model:
                _offer_to_make(card, knob, base, chosen)
        except StrataError as error:
            messages.trouble(error)
        ready = False
    return ready


def _offer_to_make(
    card: training_form.MethodCard, knob: knobs.Knob, base: str, chosen: tuple[SetIdentity, ...]
) -> None:
    """Train a copy of the base to predict masked words of the text; offer one that was made of both before."""
    of_roles = columns(chosen, card.kind.rows)
    try:
        folder = folder_of(model_names.find(base).digest, cached_texts.sentences_digest(chosen, of_roles))
    except StrataError:  # the form shows the error of the base or of the text
        return
    key = f"make {folder}"
    if folder.is_dir():
        text = json.loads((folder / "accuracy.json").read_text(encoding="utf-8"))
        st.caption(MADE.format(messages.plain(base), 100 * text["after"], f"{text['words']:,}", 100 * text["before"]))
        st.button(
            "Use it",
            key=f"use made {knob.name}",
            icon=":material/check:",
            on_click=lambda: st.session_state.update({training_form.knob_key(card.name, knob.name): str(folder)}),
            type="primary",
        )
    else:
        job_buttons.button(
            st.container(),
            f"Make one from {messages.plain(base)} and this text",
            key,
            partial(jobs.follow, key, "making a generator", partial(_make, base, chosen, of_roles), lane=jobs.TRAINING),
            key=f"make {knob.name}",
            anew=True,
            icon=":material/build:",
        )


def _make(base: str, texts: tuple[SetIdentity, ...], of_roles: dict[str, str]) -> progress.Work[None]:
    from explorer.training.generator import make_generator

    text, _ = corpora.corpus(texts, text_sets.SENTENCES, of_roles)
    found = model_names.find(base)
    encoder = loading.load(found, precision="float32")
    yield from make_generator(encoder, text.texts[0], folder_of(found.digest, text.digest))


def folder_of(base: str, text: str) -> Path:
    """Where the generator of a base and a text is kept, both given by their digests."""
    return places.cache_folder() / "generators" / text_sets.digest_of(("generator", VERSION, base, text))[:DIGITS]
