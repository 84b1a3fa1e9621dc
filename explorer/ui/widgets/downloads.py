"""Download buttons for tables and vectors, safe file names, and pictures of figures in the chosen format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from explorer import in_words
from explorer.drawing import style
from explorer.evaluating.results import table_formats
from explorer.measuring.scores.layer_scores import as_csv, for_people
from explorer.measuring.sentences.sentence_vectors import as_npy, as_parquet, as_projector
from explorer.ui import messages
from explorer.ui.access.cached import Vectors
from explorer.ui.widgets import controls

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler
    from streamlit.elements.lib.column_config_utils import ColumnConfigMappingInput

Rows = list[dict[str, object]]
_HELP = {
    "NumPy (.npy)": "float32, a row for each sentence: `numpy.load`.",
    "Parquet": "A row for each sentence: its text and its vector.",
    "Projector (.zip)": "vectors.tsv and metadata.tsv, for projector.tensorflow.org and compatible programs.",
}
FORMATS = ("SVG", "PNG")
PRESENTING, TEXT = "present", 1.5  # in the address: whether presentation mode is on; how many times larger its text is
INK = {"light": "#0c1619", "dark": "#e4eced"}  # of figures, as of other text (.streamlit/config.toml)
# the rules by which a figure that was drawn in one theme can be read in the other
_FOLLOWS = "\n".join(
    f'.js-plotly-plot text[style*="fill: rgb({red}, {green}, {blue})"] {{ fill: currentColor !important; }}'
    for red, green, blue in (bytes.fromhex(ink.removeprefix("#")) for ink in INK.values())
)
# the buttons of a figure are below it, where they cover no title, legend or note; on the full screen, where there is no
# room below and the body of the page does not scroll, they are above it
_BUTTONS = """
.js-plotly-plot { overflow: visible !important; }
.js-plotly-plot .modebar-container { top: 100% !important; }
.js-plotly-plot .modebar { top: 0 !important; }
body[style*="overflow: hidden"] .js-plotly-plot .modebar-container { top: -2.25rem !important; }
[data-testid="stElementContainer"]:has(> * > [data-testid="stPlotlyChart"]) { overflow: visible; margin-bottom: 10px; }
"""
LOOK = _FOLLOWS + _BUTTONS


def file(
    label: str,
    content: str | bytes | Callable[[], str | bytes],
    name: str,
    kind: str | None = None,
    *,
    icon: str = ":material/download:",
    key: str | None = None,
    help: str | None = None,
) -> None:
    """A button that downloads a file; a call makes what takes long to make, once it is clicked."""
    st.download_button(label, content, name, kind, icon=icon, on_click="ignore", key=key, help=help)


def rows(numbers: Rows | Callable[[], Rows], stem: str, label: str) -> None:
    """A button that downloads the numbers of a figure as CSV; very many are gathered only when it is clicked."""
    made, name = lambda: as_csv(numbers() if callable(numbers) else numbers), f"{file_name(stem)}.csv"
    file(label, made, name, "text/csv", icon=":material/table:", key=f"{label} {stem}")


def table(
    numbers: Rows,
    *,
    lines: int | None = None,
    columns: ColumnConfigMappingInput | None = None,
    signed: Sequence[str] = (),
    digits: int = 2,
) -> None:
    """The numbers of a figure as a table of at most so many lines; what is missing is a dash.

    With `signed` columns, which hold differences, all numbers with decimals have so many digits.
    """
    height: int | Literal["auto"] = "auto" if lines is None else 38 * min(lines, len(numbers) + 1)
    shown = for_people(numbers)
    st.dataframe(
        with_signs(shown, signed, digits) if signed else shown,
        hide_index=True,
        height=height,
        column_config=columns,
        placeholder=messages.MISSING,
    )


def with_signs(numbers: Rows, signed: Sequence[str], digits: int = 2) -> Styler:
    """Rows for `st.dataframe`, in which these columns hold differences: `+0.42`, `−0.10`; they are sorted as numbers.

    Others with decimals have as many digits, unless the configuration of their column has another format.
    """
    import pandas as pd

    frame = pd.DataFrame(numbers)
    there = [name for name in signed if name in frame]
    frame[there] = frame[there].astype(float)  # also where all are missing
    styled = frame.style.format(na_rep=messages.MISSING)
    styled = styled.format(partial(in_words.signed, digits=digits), subset=there, na_rep=messages.MISSING)
    for name in frame.select_dtypes("float").columns.difference(there):
        whole = (frame[name].dropna() % 1 == 0).all()  # such as steps, of which one is missing
        write = partial(in_words.number, digits=0 if whole else digits)
        styled = styled.format(write, subset=[name], na_rep=messages.MISSING)
    return styled


def formats(header: table_formats.Header, cells: table_formats.Rows, stem: str, key: str) -> None:
    """Buttons that download a table as CSV, Markdown and LaTeX."""
    for form, ending, label in (("csv", "csv", "CSV"), ("markdown", "md", "Markdown"), ("latex", "tex", "LaTeX")):
        written = table_formats.written(form, header, cells)
        file(label, written, f"{stem}.{ending}", icon=":material/table:", key=f"{key} as {form}")


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
            help = _HELP[label] + (" Includes the attributes of each." if labels and ending != "npy" else "")
            file(label, make, f"{stem}.{ending}", kind, key=f"{label} of {name}", help=help)


def presenting() -> bool:
    """Whether presentation mode is on."""
    return bool(st.session_state.get(PRESENTING))


def control() -> None:
    """Choose SVG or PNG for every figure of every page."""
    controls.segments(
        "Figure format",
        FORMATS,
        default=FORMATS[0],
        key="pictures",
        help="What the camera button of a figure saves: SVG for print and editing, PNG for slides.",
    )


def config(name: str) -> dict[str, Any]:
    """The Plotly settings of a figure; `name` is part of the file name."""
    chosen: str = st.session_state["pictures"] or FORMATS[0]  # none in a link with an empty value
    options = {"format": chosen.lower(), "filename": f"strata-{name}"} | ({"scale": 2} if chosen == "PNG" else {})
    return {"displaylogo": False, "toImageButtonOptions": options}


def draw(figure: Any, *, height: int | None = None, presented: int | None = None, **arguments: Any) -> None:
    """`st.plotly_chart` with text in the colour of the page, and larger in presentation mode.

    Streamlit writes axes and notes in a grey of 3.6:1. A saved figure has this colour too; where the theme of a page
    changes later, `LOOK` corrects it. The height in pixels is `height` if it is given, else the figure's own; in
    presentation mode, where less room is left for it, `presented`.
    """
    style.set_text(figure, INK["dark" if st.context.theme.type == "dark" else "light"], TEXT if presenting() else 1.0)
    if presenting() and presented is not None:
        height = presented
    if height is not None:
        figure.update_layout(height=height)
    st.plotly_chart(figure, **arguments)
