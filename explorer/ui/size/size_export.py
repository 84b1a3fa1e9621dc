"""Export one of the measured sizes of an encoder as a folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from explorer import in_words, places, progress
from explorer.encoding.export.quantisation import ONNX_WEIGHTS
from explorer.errors import BadChoice
from explorer.studies.size import small_encoder, static_folder
from explorer.studies.size.points import Picture, Point
from explorer.studies.size.smaller_vectors import BITS, INT8
from explorer.studies.size.static_encoder import StaticOptions
from explorer.training.record import run_results
from explorer.ui import messages
from explorer.ui.frame import sidebar
from explorer.ui.size import size_view
from explorer.ui.widgets import downloads, job_buttons

TAB = "Export"
FOLDER, WRITE = "folder of the smaller encoder", "export the smaller encoder"


def show(subject: size_view.SizeRequest, picture: Picture) -> None:
    """Where to write it, the button, and what was written."""
    point = size_view.chosen(picture)
    score, difference = in_words.number(point.score), in_words.signed(point.verdict.shown_difference)
    st.markdown(f"{messages.plain(picture.named(point))}: {score}, {difference} to the whole model.")

    def work(folder: Path) -> progress.Work[None]:
        models = yield from size_view.models_of(subject)
        named = dict(zip(run_results.names_of(models), models, strict=True)) | {picture.whole.model: subject.found}
        if point.model not in named:  # the same files may have been measured under other names
            raise BadChoice(f"'{point.model}' has another name now. Choose that encoder as model A to export it.")
        found = named[point.model]
        (encoder,) = yield from size_view.loaded(subject, [found])
        static = subject.static and found is models[-1]
        made = static_folder.about(subject.found, StaticOptions(), encoder.width) if static else ()
        about = picture, point, subject.given, subject.named, subject.text, subject.options, folder, subject.words
        yield from small_encoder.export_measured(encoder, found, *about, made)

    folder = job_buttons.export(
        places.runs_folder() / "smaller" / downloads.file_name(point.title),
        partial(key_of, subject, point),
        work,
        label="Export",
        key=WRITE,
        field=FOLDER,
        about=". transformers and sentence-transformers open it; the layers above the cut are really removed.",
    )
    if folder is not None:
        if point.size.stored in (INT8, BITS):
            st.caption(f"The model card in it has the lines that store vectors as {point.size.stored}.")
        lines = f'from sentence_transformers import SentenceTransformer\n\nmodel = SentenceTransformer("{folder}")'
        if point.size.weights in ONNX_WEIGHTS:
            st.caption("In this folder, with onnxruntime, tokenizers and numpy alone:")
            lines = small_encoder.served_lines(point.size.weights)
        st.code(lines, language=None)  # the colours of highlighted code are too faint to read
        st.button(
            "Compare with the whole model",
            icon=":material/compare_arrows:",
            on_click=sidebar.choose_model_b,
            args=(str(folder),),
            key="compare the smaller encoder",
        )


def key_of(subject: size_view.SizeRequest, point: Point, folder: Path) -> str:
    """The job key of an export: what the picture was made of, the size, the folder, and the set that has a dev set."""
    return f"export {subject.key} {subject.named.written!r} {point.title} to {folder}"
