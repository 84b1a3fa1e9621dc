"""Build a self-contained HTML page: one file, no network, light and dark, printable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go
from plotly import io

from explorer import in_words
from explorer.measuring.comparing.verdict_sentence import Marked, Sentence, rendered
from explorer.measuring.scores.layer_scores import for_people
from explorer.measuring.scores.verdict import BETTER, CHANCE, CHOSE, MIXED, TRAINED_ON, UNLEARNED, WORSE

Row = Mapping[str, object]

LONG = 24  # characters of a text from which on its column has a minimum width

CONFIG = {"displaylogo": False, "responsive": True, "toImageButtonOptions": {"format": "svg", "filename": "strata"}}
_SIGNS = {BETTER: "▲", WORSE: "▼", MIXED: "▲▼", CHANCE: "◆", CHOSE: "○", TRAINED_ON: "○", UNLEARNED: "∅"}
_CLEAR, _QUIET = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"
_PLOT = 'class="plotly-graph-div"'  # of the element of a picture
# nothing may be loaded from the network
ALONE = "default-src 'none'"
_POLICY = f"{ALONE}; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = """
:root { color-scheme: light dark; --ink: #31333f; --quiet: #6b6f7a; --paper: #fff; --line: #d9dbe1; --soft: #f5f6f8 }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #fafafa; --quiet: #a3a8b4; --paper: #0e1117; --line: #3a3f4b; --soft: #1a1d24 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem; max-width: 78rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere }
h1 { line-height: 1.2; margin: 0 0 1rem } h2 { margin: 2.5rem 0 .5rem } h3 { margin: 1rem 0 .25rem; font-size: 1rem }
p.note, figcaption { color: var(--quiet); font-size: .875rem; max-width: 60rem; margin: .25rem 0 .75rem }
.cards, .beside { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)) }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem }
.card b { display: block; font-size: 1.75rem; font-weight: 600; line-height: 1.25 } .card span { color: var(--quiet) }
.card p { margin: .5rem 0 } .card svg { display: block; width: 100%; height: 5rem }
figure { margin: 0; min-width: 0 } .wide { overflow-x: auto }
p.verdict { border-left: .4rem solid var(--quiet); background: var(--soft); padding: .6rem .9rem; font-size: 1.1rem }
p.verdict.better { border-color: #1a7f37 } p.verdict.worse { border-color: #cf222e }
p.verdict.mixed { border-color: #bf8700 }
.scroll { margin: .75rem 0; overflow: auto; max-height: 40rem; border: 1px solid var(--line); border-radius: .5rem }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
thead th { position: sticky; top: 0; background: var(--soft) } th.number, td.number { text-align: right }
td.text { white-space: pre-wrap } td.long { min-width: 12rem } td.number { white-space: nowrap }
td:first-child { min-width: 6.5rem }
pre { margin: 0; padding: .6rem .9rem; font-size: .875rem; white-space: pre-wrap }
th { vertical-align: bottom; overflow-wrap: normal; min-width: 4.5rem }
@page { size: A4 landscape; margin: 12mm }
@media print { body { padding: 0; max-width: none; font-size: 12px } .modebar-container { display: none }
  .scroll { max-height: none; overflow: visible; border: 0 } figure, .card, tr { break-inside: avoid }
  h2, h3 { break-after: avoid } thead th { position: static } }
"""
# figures take the colours of the page; in print the page is white, and its columns narrower
_SCRIPT = """
const night = matchMedia("(prefers-color-scheme: dark)");
const pictures = () => document.querySelectorAll(".js-plotly-plot");
const ink = dark => pictures().forEach(one => Plotly.relayout(one, {"font.color": dark ? "#fafafa" : "#31333f"}));
addEventListener("load", () => {
  ink(night.matches);
  pictures().forEach(one => Plotly.Plots.resize(one));  // each was drawn before those that share its row were there
});
night.addEventListener("change", () => ink(night.matches));
addEventListener("beforeprint", () => {
  ink(false);
  pictures().forEach(one => Plotly.relayout(one, {width: Math.min(one.clientWidth, 1000 / one.dataset.beside)}));
});
addEventListener("afterprint", () => {
  ink(night.matches);
  pictures().forEach(one => Plotly.relayout(one, {width: null, autosize: true}));
});
"""


def page(title: str, body: Sequence[str]) -> bytes:
    """The page as bytes; `body` is HTML, the title is text. Without pictures there are no scripts, of megabytes."""
    from plotly.offline import get_plotlyjs

    text = escape(title)
    plotly, script = (get_plotlyjs(), _SCRIPT) if any(_PLOT in piece for piece in body) else ("", "")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text}</title><style>{_STYLE}</style><script>{plotly}</script></head><body>",
            f'<h1 dir="auto">{text}</h1>',
            *body,
            f"<script>{script}</script></body></html>",
        ]
    ).encode("utf-8", "replace")  # replaces lone surrogates, which cannot be encoded


def card(label: str, number: str, note: str) -> str:
    """A number in large type."""
    return f'<div class="card">{escape(label)}<b>{escape(number)}</b><span>{escape(note)}</span></div>'


def linked(title: str, target: str, body: Sequence[str]) -> str:
    """A card whose title leads to another file of this folder; `body` is HTML."""
    return f'<div class="card"><a href="{escape(quote(target))}" dir="auto">{escape(title)}</a>{"".join(body)}</div>'


def sparkline(lines: Sequence[Sequence[tuple[float, float]]], level: float | None, title: str) -> str:
    """Lines of points (x, y), and a dashed level, as a small drawing without numbers; its title says what they are."""
    points = [point for line in lines for point in line]
    across, up = [x for x, _ in points], [y for _, y in points] + ([] if level is None else [level])
    if not points:
        return ""

    def scaled(value: float, among: Sequence[float], length: float) -> float:
        span = max(among) - min(among)
        return 2 + length * ((value - min(among)) / span if span else 0.5)

    drawn = []
    for line in lines:
        places = " ".join(f"{scaled(x, across, 296):.1f},{80 - scaled(y, up, 76):.1f}" for x, y in line)
        drawn.append(f'<polyline points="{places}" stroke-width="2" vector-effect="non-scaling-stroke"/>')
    if level is not None:
        height = f"{80 - scaled(level, up, 76):.1f}"
        drawn.append(f'<line x1="0" x2="300" y1="{height}" y2="{height}" stroke-dasharray="6 4" opacity="0.6"/>')
    return (
        f'<svg viewBox="0 0 300 80" preserveAspectRatio="none" role="img" aria-label="{escape(title)}" '
        f'fill="none" stroke="currentColor">{"".join(drawn)}</svg>'
    )


def verdict(sentence: Sentence) -> str:
    """The verdict at the top of a report, with the colour and sign of its kind."""
    return f'<p class="verdict {escape(sentence.kind)}">{_SIGNS.get(sentence.kind, "?")} {_marked(sentence.pieces)}</p>'


def paragraph(pieces: Marked) -> str:
    """A paragraph with emphasised pieces."""
    return f"<p>{_marked(pieces)}</p>"


def pair(label: str, first: Marked, second: Marked, number: str) -> str:
    """A card with two sentences, whose differing words are emphasised, and a number."""
    sentences = "".join(f'<div dir="auto">{_marked(one)}</div>' for one in (first, second))
    return f'<div class="card"><span>{escape(label)}</span>{sentences}<b>{escape(number)}</b></div>'


def _marked(pieces: Marked) -> str:
    return rendered(pieces, escape, lambda text: f"<strong>{text}</strong>")


def side_by_side(*pieces: str, kind: str = "beside") -> str:
    """Pieces side by side if there is room."""
    return f'<div class="{kind}">{"".join(pieces)}</div>'


def picture(figure: go.Figure, title: str, caption: str = "", among: int = 1, least: int = 0) -> str:
    """A figure, one of `among` side by side; its title is its label for screen readers.

    One with a least width, in pixels, is scrolled where there is less room.
    """
    drawn: str = io.to_html(_on_a_page(figure), CONFIG, include_plotlyjs=False, full_html=False, validate=False)
    drawn = drawn.replace(_PLOT, f'{_PLOT} data-beside="{among}"', 1)
    if least:
        drawn = f'<div class="wide"><div style="min-width: {least}px">{drawn}</div></div>'
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure aria-label="{escape(title)}"><h3>{escape(title)}</h3>{drawn}{text}</figure>'


def _on_a_page(figure: go.Figure) -> dict[str, Any]:
    """What plotly.js draws of a figure, with colours for a page that is light or dark.

    Dictionaries are changed: a second figure would check every value of the first one again, most of a report's time.
    """
    drawn: dict[str, Any] = figure.to_dict()
    layout = drawn["layout"]
    layout |= {"template": io.templates["none"].to_plotly_json(), "paper_bgcolor": _CLEAR, "plot_bgcolor": _CLEAR}
    layout["margin"] = layout.get("margin", {}) | {"t": 34, "b": 10, "l": 8}
    for name in ("xaxis", "yaxis", *layout):
        if name.startswith(("xaxis", "yaxis")):
            axis = layout.setdefault(name, {})
            axis |= {"automargin": True, "gridcolor": _QUIET, "zerolinecolor": _QUIET}
            axis["title"] = axis.get("title", {}) | {"standoff": 8}
    return drawn


def table(
    rows: Sequence[Row], digits: Mapping[str, int] | None = None, usual_digits: int = 2, shown: Sequence[Row] = ()
) -> str:
    """Rows as a table; numbers are rounded, with their full value in the element.

    `shown` are rows of the same length, with the numbers that are shown in place of others, such as differences of what
    is shown.
    """
    rows = for_people(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    numbers = {
        name
        for row in rows
        for name, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    head = "".join(f"<th{' class=number' if name in numbers else ''}>{escape(name)}</th>" for name in names)
    places = {name: (digits or {}).get(name, usual_digits) for name in names}
    body = "".join(
        f"<tr>{''.join(_cell(row.get(name), places[name], instead.get(name)) for name in names)}</tr>"
        for row, instead in zip(rows, shown or [{}] * len(rows), strict=True)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def note(text: str) -> str:
    """A paragraph in small type."""
    return f'<p class="note">{escape(text)}</p>'


def code(text: str) -> str:
    """Lines as they are typed."""
    return f'<div class="scroll"><pre>{escape(text)}</pre></div>'


def heading(text: str) -> str:
    """The heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def _cell(value: object, digits: int, shown: object = None) -> str:
    """A value, with another one that is `shown` in its place if it is a number."""
    if value is None:  # an empty cell
        return '<td class="number"></td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, float):
        text = in_words.number(shown if isinstance(shown, float) else value, digits)
        return f'<td class="number"><data value="{value!r}">{text}</data></td>'
    if isinstance(value, int):
        return f'<td class="number"><data value="{value}">{value:,}</data></td>'
    text = str(value)
    return f'<td class="text{" long" if len(text) > LONG else ""}" dir="auto">{escape(text)}</td>'
