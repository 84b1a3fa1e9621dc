"""Download buttons for vectors, in formats for other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from explorer.measuring.sentences.vector_files import as_npy, as_parquet, as_projector
from explorer.ui.access.vectors import Vectors
from explorer.ui.widgets import downloads


def offer(
    name: str,
    model: str,
    sentences: Sequence[str],
    vectors: Vectors,
    labels: Mapping[str, Sequence[object]] | None = None,
) -> None:
    """Downloads of a side's vectors with sentence attributes; `name` is A or B, `model` is part of the file name."""
    stem = downloads.file_name(f"{name}-{model}")
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


_HELP = {
    "NumPy (.npy)": "float32, a row for each sentence: `numpy.load`.",
    "Parquet": "A row for each sentence: its text and its vector.",
    "Projector (.zip)": "vectors.tsv and metadata.tsv, for projector.tensorflow.org and compatible programs.",
}
