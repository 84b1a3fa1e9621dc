"""Export a model for ONNX Runtime: the field of its weights, the button, and how to use what was written."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from explorer import places, progress
from explorer.data import corpora, sources
from explorer.encoding.export import onnx_packages
from explorer.encoding.export.quantisation import INT8, ONNX_WEIGHTS
from explorer.encoding.locate.model_names import Found
from explorer.measuring.scores.measure import Settings
from explorer.studies.size import small_encoder
from explorer.ui import messages
from explorer.ui.access import cached_texts, loaded_encoders, sidebar_choice
from explorer.ui.widgets import controls, downloads, job_buttons

TITLE = "For ONNX Runtime: smaller and faster on a processor"
ABOUT = "Measured on {} and written with the Python file that encodes without torch."
FIELD, FOLDER, WRITE = "weights in ONNX", "folder of the ONNX files", "export ONNX files"


def draw(model: Found) -> None:
    """A folded part with the export of a model."""
    with st.expander(TITLE, icon=":material/memory:", key="open ONNX export", on_change="rerun") as folded:
        if folded.open:
            _export(model, sidebar_choice.chosen())


def _export(model: Found, choice: sidebar_choice.Choice) -> None:
    if why := onnx_packages.why_missing():
        st.caption(messages.plain(why))
        return
    titles = {name: weights.title for name, weights in ONNX_WEIGHTS.items()}
    weights = controls.menu(
        "Weights", list(ONNX_WEIGHTS), default=INT8, key=FIELD, width=320, format_func=titles.__getitem__
    )
    given, text = choice.evaluated(), cached_texts.searched(sources.text(corpora.SAMPLE))
    st.caption(ABOUT.format(messages.plain(sources.shown(given.name))))

    def work(folder: Path) -> progress.Work[None]:
        encoder = loaded_encoders.encoder(model, Settings())
        yield from small_encoder.export_weights(encoder, model, given, choice.evaluation_set, text, weights, folder)

    folder = job_buttons.export(
        places.runs_folder() / "smaller" / downloads.file_name(f"{model.name} {weights}"),
        partial(key_of, model, given.digest, weights),
        work,
        label="Export for ONNX Runtime",
        key=WRITE,
        field=FOLDER,
        about=": what sentence-transformers opens, the ONNX files, and encode.py, which needs neither torch nor "
        "transformers.",
    )
    if folder is not None:
        st.caption("Its model card has the measured score, size and speed, and the lines that encode with it.")


def key_of(model: Found, given: str, weights: str, folder: Path) -> str:
    """The job key of an export: the model, the set that it is measured on, the weights and the folder."""
    return f"ONNX {model.digest} {given} {weights} to {folder}"
