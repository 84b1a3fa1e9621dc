"""Download buttons for tables and vectors, and safe file names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

import streamlit as st

from explorer.measuring.scores.score_tables import as_csv, for_people
from explorer.measuring.sentences.sentence_vectors import as_npy, as_parquet, as_projector
from explorer.ui import messages
from explorer.ui.access.cached import Vectors

if TYPE_CHECKING:
    from streamlit.elements.lib.column_config_utils import ColumnConfigMappingInput

Rows = list[dict[str, object]]
_HELP = {
    "NumPy (.npy)": "float32, a row for each sentence: `numpy.load`.",
    "Parquet": "A row for each sentence: its text and its vector.",
    "Projector (.zip)": "vectors.tsv and metadata.tsv, for projector.tensorflow.org and compatible programs.",
}


def rows(numbers: Rows | Callable[[], Rows], stem: str, label: str) -> None:
    """A button that downloads the numbers of a figure as CSV; very many are gathered only when it is clicked."""
    st.download_button(
        label,
        lambda: as_csv(numbers() if callable(numbers) else numbers),
        f"{file_name(stem)}.csv",
        "text/csv",
        icon=":material/table:",
        on_click="ignore",
        key=f"{label} {stem}",
    )


def table(numbers: Rows, *, lines: int | None = None, columns: ColumnConfigMappingInput | None = None) -> None:
    """The numbers of a figure as a table of at most so many lines; what is missing is a dash."""
    height: int | Literal["auto"] = "auto" if lines is None else 38 * min(lines, len(numbers) + 1)
    st.dataframe(
        for_people(numbers), hide_index=True, height=height, column_config=columns, placeholder=messages.MISSING
    )


def file_name(text: str) -> str:
    """Text turned into a file name that is valid on every disk."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "strata"


def of_vectors(
    name: str,
    model: str,
    sentences: Sequence[str],
    vectors: Vectors,
    labels: Mapping[str, Sequence[object]] | None = None,
) -> None:
    """Downloads of a side's vectors with sentence attributes; `name` is A or B, `model` is part of the file name."""
    stem = file_name(f"{name}-{model}")
    st.caption(f"Vectors of {name}: {vectors.shape[0]:,} × {vectors.shape[1]:,}")
    with st.container(horizontal=True):
        for label, ending, kind, make in (
            ("NumPy (.npy)", "npy", "application/octet-stream", partial(as_npy, vectors)),
            ("Parquet", "parquet", "application/octet-stream", partial(as_parquet, sentences, vectors, labels)),
            ("Projector (.zip)", "zip", "application/zip", partial(as_projector, sentences, vectors, labels)),
        ):
            # made on request
            st.download_button(
                label,
                make,
                f"{stem}.{ending}",
                kind,
                icon=":material/download:",
                on_click="ignore",
                key=f"{label} of {name}",
                help=_HELP[label] + (" Includes the attributes of each." if labels and ending != "npy" else ""),
            )
