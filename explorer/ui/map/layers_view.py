"""Move the map through the layers of a model: encoded once, laid out in the background, aligned."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.set_items import Attribute
from explorer.data.text_sets import Sentences, digest_of
from explorer.drawing.sentences import moving_map
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import OWN
from explorer.measuring.maps import frames, projection
from explorer.progress import Work
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders, sidebar_choice
from explorer.ui.map import map_answer, map_form
from explorer.ui.widgets import first_screen
from explorer.ui.widgets import moving_map as moving

ABOUT = (
    "{} of every layer of {}, each laid out by itself, pulled towards those before and after it, and rotated onto the "
    "one before. Two layers share no space, so how far a sentence moved is how few neighbours it keeps."
)


def layered(
    sentences: Sentences, side: sidebar_choice.Reader, settings: projection.MapSettings
) -> frames.LayerFrames | None:
    """The maps of all layers under the pooling of the side; None while they are being computed."""
    reading = side.reading if side.reading != OWN else declared.default_cell(side.found.folder)

    def make() -> Work[frames.LayerFrames]:
        encoder = loaded_encoders.encoder(side.found, side.settings)
        return (
            yield from frames.layer_frames(
                encoder, sentences.texts, reading.pooling, settings, side.settings.max_length
            )
        )

    key = f"layers of {side.found.digest} {sentences.digest} {reading.pooling} {side.settings} {settings}"
    title = f"Map of {len(sentences):,} sentences in every layer of {side.found.name}"
    found: frames.LayerFrames | None = jobs.result(key, title, make)
    return found


def show(
    answer: DeltaGenerator,
    row: DeltaGenerator,
    figure: DeltaGenerator,
    sentences: Sentences,
    side: sidebar_choice.Reader,
    layered: frames.LayerFrames,
    settings: projection.MapSettings,
) -> None:
    """The answer and the map that moves, and below it how well each layer's map can be trusted."""
    last = len(layered.frames) - 1
    with answer:
        map_answer.changed(sentences, layered.frames, f"layer 0 of {side.name}", f"layer {last}")
    colour = map_form.colour(row, sentences.columns)
    word = map_form.containing(row, sentences.texts)
    subject = digest_of([sentences.digest, side.key, "layers"])
    selected = map_form.selection(subject, (settings, colour.name), len(sentences), word)
    with figure:
        moving.show(
            _content(digest_of([subject, repr(settings), colour.name]), layered, sentences, colour),
            subject=subject,
            name="layers",
            alt=f"{layered.kind} of {len(sentences):,} sentences in every layer of {side.name}.",
            selected=selected,
            revision=map_form.revision(),
            select=map_form.take,
        )
    first_screen.tabs(["Quality of the maps"])
    st.caption(messages.plain(ABOUT.format(layered.kind, f"{runs.model_title(side.found.name)} ({layered.pooling})")))
    _quality(layered)


def _quality(layered: frames.LayerFrames) -> None:
    """How well the map of each layer can be trusted, as a table."""
    st.dataframe(
        [
            {"layer": layer, "trustworthiness": faith.trustworthiness, "neighbours preserved": faith.kept}
            | {"keep most from layer 0": layered.frames.keep_most(layer)}
            for layer, faith in enumerate(layered.faithfulness)
        ],
        hide_index=True,
        placeholder=messages.MISSING,
        column_config={
            "trustworthiness": st.column_config.NumberColumn(format="%.3f", help="Above 0.9 is good, 0.5 is random."),
            "neighbours preserved": st.column_config.NumberColumn(format="percent"),
        },
    )


@st.cache_resource(max_entries=4, show_spinner=False)
def _content(key: str, _found: frames.LayerFrames, _sentences: Sentences, _colour: Attribute) -> dict[str, Any]:
    return moving_map.content(
        key,
        _sentences.texts,
        [f"layer {layer}" for layer in range(len(_found.frames))],
        _found.places,
        _found.frames,
        moving_map.shades_of(_colour),
        title=_found.kind,
        most=_found.frames.most_moved(),
        most_title="Kept the fewest neighbours",
        regions=moving_map.regions(_sentences.texts, _found.places, of=-1),
        sides=False,
    )
