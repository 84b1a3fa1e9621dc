"""Export the chosen size as a folder on this machine."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from explorer import in_words
from explorer.errors import StrataError
from explorer.places import given_path, runs_folder
from explorer.progress import Work
from explorer.studies.size.compression import BITS, INT8
from explorer.studies.size.points import Picture, Point
from explorer.ui import messages
from explorer.ui.access import cached, jobs
from explorer.ui.frame import sidebar
from explorer.ui.size import picture_view
from explorer.ui.size.size_form import SizeRequest
from explorer.ui.widgets import clicks, downloads

FOLDER, WRITE = "folder of the smaller encoder", "export the smaller encoder"
CODES = "The model card in it has the lines that store vectors as {}."


def show(subject: SizeRequest, picture: Picture) -> None:
    """Where to write it, the button, and what was written."""
    st.subheader("Export")
    point = picture_view.chosen(picture)
    difference = in_words.number(point.verdict.difference, "+.2f")
    st.markdown(f"{messages.plain(picture.named(point))}: {point.score:.2f}, {difference} to the whole model.")
    if point.model != picture.whole.model:
        st.caption(
            "This encoder is a folder already; cut and stored smaller it can be exported with itself as model A."
        )
        return
    usual = runs_folder() / "smaller" / downloads.file_name(point.title)
    written = st.text_input(
        "Folder",
        key=FOLDER,
        placeholder=str(usual),
        help="A new folder on this machine. transformers and sentence-transformers open it; the layers above the cut "
        "are really removed.",
    )
    try:
        folder = given_path(written.strip()) if written.strip() else usual
    except StrataError as error:
        messages.trouble(error)
        _button(None)
        return
    key = key_of(subject, point, folder)
    job = jobs.find(key)
    if job is not None and job.state == jobs.DONE:
        _tell(folder, point)
    elif job is not None and job.live:
        jobs.progress_of(job)
    else:
        if job is not None and job.error:
            messages.trouble(job.error, job.details)
        _button(partial(_start, key, subject, picture, point, folder))


def _button(act: Callable[[], object] | None) -> None:
    clicks.button(st.container(), "Export", act, key=WRITE, icon=":material/download:")


def key_of(subject: SizeRequest, point: Point, folder: Path) -> str:
    """The job key of an export: what the picture was made of, the size, and the folder."""
    return f"export {subject.key} {point.title} to {folder}"


def _start(key: str, subject: SizeRequest, picture: Picture, point: Point, folder: Path) -> None:
    jobs.forget(key)
    jobs.follow(key, f"Writing {folder.name}", lambda: _written(subject, picture, point, folder))


def _written(subject: SizeRequest, picture: Picture, point: Point, folder: Path) -> Work[None]:
    from explorer.evaluating.tasks.judges import judge_of
    from explorer.studies.size.export import export
    from explorer.studies.size.picture import besides, limited

    encoder = limited(cached.encoder(subject.found, subject.settings), subject.max_length)
    fit_on = besides(subject.text, judge_of(subject.given, encoder))
    yield from export(encoder, subject.found, picture, point, fit_on, folder)


def _tell(folder: Path, point: Point) -> None:
    st.success(f"Written to {messages.plain(str(folder))}", icon=":material/check:")
    if point.size.stored in (INT8, BITS):
        st.caption(CODES.format(point.size.stored))
    st.code(
        f'from sentence_transformers import SentenceTransformer\n\nmodel = SentenceTransformer("{folder}")',
        language=None,  # the colours of highlighted code are too faint to read
    )
    st.button(
        "Compare with the whole model",
        icon=":material/compare_arrows:",
        on_click=sidebar.choose_model_b,
        args=(str(folder),),
        key="compare the smaller encoder",
    )
