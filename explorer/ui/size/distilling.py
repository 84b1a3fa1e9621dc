"""Smaller encoders that are trained, on Size & quality: runs that made one join the picture, and one is suggested."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.studies.size import distilled
from explorer.studies.size.points import Picture
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.frame import page_list
from explorer.ui.runs import training_form, training_queue

_JOINED = "_runs in the picture"  # of a model, by its digest: those that joined the field, which may have left it since
SUGGESTION = (
    "Cut after layer {layers}, {model} loses {lost} points ({reading}). Training the {first} towards the whole encoder "
    "gets a part of that back."
)
TIMING, TAKES = "Measuring how long that takes …", "It takes about **{}** on {}."
TRAIN, BUTTON = "Train the {}", "train a smaller encoder"


def join_runs(model: Found, key: str) -> None:
    """Put the runs that made a smaller encoder of this model into the field of other encoders, once each."""
    state = st.session_state
    digest, joined = state.get(_JOINED, ("", ()))
    now = distilled.of_base(model)
    chosen = [name for name in state.get(key) or () if digest == model.digest or name not in joined]
    known = joined if digest == model.digest else ()
    state[_JOINED] = model.digest, tuple(dict.fromkeys((*known, *now)))
    new = [name for name in now if name not in (*known, *chosen)]
    if new or (joined and digest != model.digest):
        state[key] = [*chosen, *new]


def suggest(picture: Picture, source: str, model: str) -> None:
    """Where a cut loses more than a point: what it loses, how long training takes, and a button that fills its form."""
    cut = distilled.worth_training(picture)
    if cut is None:
        return
    lost = in_words.number(cut.lost)
    first = "first layer" if cut.layers == 1 else f"first {cut.layers} layers"
    about = {"layers": cut.layers, "first": first, "lost": lost, "reading": cut.best.size.reading}
    text = SUGGESTION.format(model=picture.whole.model, **about)
    with st.container(border=True):
        st.markdown(messages.plain(text))
        row = st.container(horizontal=True, vertical_alignment="center")
        row.button(
            TRAIN.format(first),
            key=BUTTON,
            icon=":material/model_training:",
            on_click=partial(_open_form, source, cut.layers),
            help="Opens Train with the method, the layers and the text filled in. Nothing is started.",
        )
        with row:
            _how_long(source, cut.layers, model)


def _open_form(source: str, layers: int) -> None:
    page_list.open_page(page_list.named("train").file, page_list.train_smaller(source, layers))


def _how_long(source: str, layers: int, model: str) -> None:
    """The time of such a training, once a step of it was measured in the background."""
    from explorer.training.recipe import Recipe

    try:
        settings = {training_form.LAYERS: layers}
        recipe = Recipe(method=training_form.smaller(), model=model, data=(sources.text(source),), settings=settings)
        key = training_queue.trial_key(recipe)
        if jobs.find(key) is None and not jobs.idle(jobs.TRAINING):
            return  # a run trains, which a step would wait for
        job = training_queue.try_one_step(recipe)
    except StrataError:  # Train says what is wrong with the text
        return
    if not jobs.has_ended(job, TIMING):
        return
    if job.state == jobs.DONE:
        st.markdown(TAKES.format(in_words.duration(job.result.seconds), messages.plain(sources.shown(source))))
    elif job.error:  # such as a text with fewer rows than a batch
        st.caption(messages.plain(job.error))
