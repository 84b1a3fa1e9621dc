"""Check that the masked language models a recipe names are on this machine; offer to fetch or make a missing one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import streamlit as st

from explorer.data.text_sets import digest_of
from explorer.encoding.locate import model_names
from explorer.errors import HubUnreachable, StrataError
from explorer.knobs import Knob, Values
from explorer.places import cache_folder
from explorer.progress import Work
from explorer.ui import messages
from explorer.ui.access import availability, cached_text, job_results, jobs
from explorer.ui.access.method_cards import MethodCard
from explorer.ui.train import knob_form, text_form
from explorer.ui.widgets import late_clicks

VERSION = "1"  # a new one if a generator is made in another way, such as with more steps
DIGITS = 16  # of the digest in its path
MISSING = (
    "{} needs a {}: a masked language model with the encoder's vocabulary. '{}' is not on this machine. Fetch it from "
    "the hub, make one here, or type a folder in the field {} under **More settings**."
)
MADE = (
    "A generator was made from {}. It predicts {:.1f} % of {} masked words in held-out sentences ({:.1f} % before "
    "training)."
)


def ready(card: MethodCard, base: str, sources: tuple[str, ...], settings: Values) -> bool:
    """Whether all are here; for a missing one, buttons to fetch it or to make one from the base encoder."""
    knobs = [knob for knob in card.knobs.values() if knob.masked_model]
    here = [_is_here(card, knob, str(settings.get(knob.name, knob.default)), base, sources) for knob in knobs]
    return all(here)


def _is_here(card: MethodCard, knob: Knob, named: str, base: str, sources: tuple[str, ...]) -> bool:
    try:
        model_names.find(named)
        return True
    except HubUnreachable:
        label = messages.plain(knob.name.replace("_", " "))
        st.warning(
            MISSING.format(messages.plain(card.name), label, messages.plain(named), label),
            icon=":material/extension:",
        )
        availability.offer(availability.FETCH.format(named), lambda: model_names.fetch(named))
        _offer_to_make(card, knob, base, sources)
    except StrataError as error:
        messages.trouble(error)
    return False


def _offer_to_make(card: MethodCard, knob: Knob, base: str, sources: tuple[str, ...]) -> None:
    """Train a copy of the base to predict masked words of the text; offer one that was made of both before."""
    columns = text_form.columns(sources, card.kind.rows)
    try:
        folder = folder_of(model_names.find(base).digest, cached_text.sentences_digest(sources, columns))
    except StrataError:  # the form shows the error of the base or of the text
        return
    key = f"make {folder}"
    job = jobs.find(key)
    if folder.is_dir():
        told = json.loads((folder / "accuracy.json").read_text(encoding="utf-8"))
        st.caption(MADE.format(messages.plain(base), 100 * told["after"], f"{told['words']:,}", 100 * told["before"]))
        st.button(
            "Use it",
            key=f"use made {knob.name}",
            icon=":material/check:",
            on_click=_use,
            args=(card, knob, folder),
            type="primary",
        )
    elif job is not None and job.state != jobs.DONE:
        job_results.progress_of(job)
    else:
        label = f"Make one from {messages.plain(base)} and this text"
        make = partial(_begin, key, partial(_make, base, sources, columns))
        late_clicks.button(st.container(), label, make, key=f"make {knob.name}", icon=":material/build:")


def _begin(key: str, make: jobs.Make) -> None:
    jobs.forget(key)
    jobs.follow(key, "making a generator", make, lane=jobs.TRAINING)


def _make(base: str, sources: tuple[str, ...], columns: dict[str, str]) -> Work[None]:
    from explorer.data.corpora import corpus
    from explorer.data.row_kinds import SENTENCES
    from explorer.encoding.load.loading import load
    from explorer.training.generator import make_generator

    text, _ = corpus(sources, SENTENCES, columns)
    found = model_names.find(base)
    yield from make_generator(load(found, precision="float32"), text.texts[0], folder_of(found.digest, text.digest))


def folder_of(base: str, text: str) -> Path:
    """Where the generator of a base and a text is kept, both given by their digests."""
    return cache_folder() / "generators" / digest_of(("generator", VERSION, base, text))[:DIGITS]


def _use(card: MethodCard, knob: Knob, folder: Path) -> None:
    st.session_state[knob_form.key_of(card.name, knob.name)] = str(folder)
