"""The tab Serving of Size & quality: upload vectors of a server, and see what explains a difference to the model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from explorer import places
from explorer.data.vectors import opening
from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.progress import Work
from explorer.studies.serving import given_vectors, verification
from explorer.studies.serving.given_vectors import GivenVectors, VerifyOptions
from explorer.studies.serving.verdict import Verification
from explorer.studies.size.picture import limited
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders
from explorer.ui.widgets import controls, downloads, job_buttons

TAB = "Serving"
FORM = "served"
VECTORS, UPLOADED, UPLOADED_TEXT, START = "served vectors", "served file", "served sentences", "verify vectors"
TYPES = ["npy", "parquet", "jsonl", "json"]
ABOUT = (
    "Does your server, an API or another library compute the vectors of this model? If not, other settings are tried "
    "until one explains the difference: pooling, normalisation, prompt, length, padding and more."
)
FILE_HELP = (
    "A .npy file or the .json answer of an embedding API, with a text file of one sentence a line; or .parquet, .jsonl "
    "or .json with sentences and vectors."
)
TAKES = "Seconds if the vectors agree, minutes if not: dozens of settings are tried."
COSINES = ("mean cosine", "lowest cosine", "cosine as declared", "cosine explained")
FORMATS = {**dict.fromkeys(COSINES, "%.6f"), "largest difference": "%.0e"}


@dataclass(frozen=True)
class ServedFile:
    """A file by its path, or an upload by its name and content."""

    name: str
    content: bytes | None = None

    @property
    def key(self) -> str:
        """A value that differs once the file is another one."""
        if self.content is None:
            return f"{self.name} {opening.stamps(self.name)}"
        return f"{self.name} {hashlib.sha256(self.content).hexdigest()}"

    def path(self, folder: Path) -> Path:
        """Where it is; an upload is written into the folder."""
        if self.content is None:
            return places.given_path(self.name)
        written = folder / Path(self.name).name
        written.write_bytes(self.content)
        return written


@dataclass(frozen=True)
class Served:
    """The vectors of a server, with the file of their sentences if that is another one."""

    vectors: ServedFile
    text: ServedFile | None

    @property
    def key(self) -> str:
        """A value that differs once a file is another one."""
        return f"{self.vectors.key} {self.text.key if self.text else ''}"

    def read(self) -> Work[GivenVectors]:
        """The vectors with their sentences; uploads are on the disk only meanwhile."""
        with TemporaryDirectory() as place:
            folder = Path(place)
            text = self.text.path(folder) if self.text else None
            return (yield from given_vectors.read(opening.opened(self.vectors.path(folder), text)))


def show(model: Found, settings: Settings) -> None:
    """The form, then the verdict on what it names."""
    st.caption(ABOUT)
    fields = st.container(horizontal=True, vertical_alignment="bottom")
    with fields:
        vectors = _file("Vectors of the server", VECTORS, UPLOADED, TYPES, FILE_HELP)
        text = _file(
            "Sentences", controls.key_of(FORM, "text"), UPLOADED_TEXT, ["txt"], VerifyOptions.knobs["text"].help
        )
    if vectors is None:
        controls.button(fields, "Check vectors", None, key=START, icon=":material/rule:", help=TAKES)
        return
    served = Served(vectors, text)
    try:
        key = key_of(model, settings, served)
    except (StrataError, OSError) as error:  # of a path that cannot be one
        messages.trouble(str(error))
        return
    make = partial(_verified, model, settings, served)
    title = f"Checking {Path(vectors.name).name} against {model.name}"
    found: Verification | None = jobs.known(key)
    if found is None:
        start = partial(jobs.follow, key, title, make)
        job = job_buttons.button(
            fields, "Check vectors", key, start, key=START, type="primary", icon=":material/rule:", help=TAKES
        )
        found = None if job is None else jobs.result(key, title, make)
    if found is not None:
        _verdict(found)


def key_of(model: Found, settings: Settings, served: Served) -> str:
    """The key of a check: model and files, whose names it shows, and the settings."""
    return f"verify {model.name} {model.digest} {settings} {served.key}"


def _file(label: str, key: str, upload_key: str, types: list[str], help: str) -> ServedFile | None:
    """A field for a path, and a button that uploads a file in its place."""
    typed = st.text_input(label, key=key, width=300, placeholder="path of a file", help=help, persist_state="session")
    with st.popover("Upload", icon=":material/upload_file:"):
        upload = st.file_uploader(label, type=types, key=upload_key, help=help)
        st.caption("Read once, and not kept. It takes the place of the path.")
    if upload is not None:
        return ServedFile(upload.name, upload.getvalue())
    return ServedFile(typed.strip()) if typed and typed.strip() else None


def _verified(model: Found, settings: Settings, served: Served) -> Work[Verification]:
    given = yield from served.read()
    encoder = limited(loaded_encoders.encoder(model, settings), settings.max_length)
    return (yield from verification.verify(model, encoder, given, VerifyOptions()))


def _verdict(checked: Verification) -> None:
    """The verdict, what to change, then the settings that were tried and the sentences that differ most."""
    messages.verdict(checked.sentence)
    if checked.remedy:
        st.markdown("**In the server:**")
        for cause in checked.causes:
            if cause.remedy:
                code = f": `{cause.code}`" if cause.code else ""
                st.markdown(f"- {messages.plain(cause.remedy)}{code}.")
    for note in checked.notes:
        st.caption(messages.plain(note))
    st.markdown(f"**Settings tried ({checked.count:,}), the nearest first**")
    downloads.table(checked.tried_rows(), lines=8, columns=_formats())
    if checked.different:
        st.markdown("**Sentences that differ most**")
        downloads.table(checked.different_rows(), columns=_formats())
    content = partial(json.dumps, checked.as_json(), ensure_ascii=False, indent=1)
    downloads.file("Everything (JSON)", content, "verification.json", "application/json", key="verification as json")


def _formats() -> dict[str, Any]:
    """Cosines have six digits, since those near 1 differ in the last ones; small differences have an exponent."""
    return {name: st.column_config.NumberColumn(format=form) for name, form in FORMATS.items()}
