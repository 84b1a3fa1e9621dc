"""Write a talk as one HTML file without a server: the answer and the figures of each view, as they were shown.

What a page shows is on the server only while it is sent to the browser. So the answer and figures of a view are noted
when a visitor is at it, and a view that this session has not shown is named without them.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.common import user_key_from_element_id

from explorer.ui.frame import talk_steps, talks
from explorer.ui.frame.page_list import named
from explorer.ui.widgets import first_screen

_SHOWN = "_what views of talks have shown"
_SENT = {"markdown": "body", "alert": "body", "heading": "body"}  # elements with text that an answer is made of
_SIGNS = re.compile(r":material/\w+:|:small\[\]|:[a-z]+(?:-[a-z]+)?\[([^\]]*)\]")
_ESCAPED, _BOLD = re.compile(r"\\([!-/:-@\[-`{-~])"), re.compile(r"\*\*(.+?)\*\*")
_COLOURS = {"light": ("#ffffff", "#0c1619"), "dark": ("#0e1619", "#e4eced")}
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:;
 script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; font-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 18px/1.45 sans-serif; margin: 0 auto; max-width: 1200px; padding: 1rem; background: {ground};
color: {ink}; }} h2 {{ margin: 2.5rem 0 0; }} p {{ margin: 0.4rem 0; }} .answer {{ font-size: 1.15em; }}
.js-plotly-plot text {{ unicode-bidi: plaintext; }}</style></head><body>
<h1>{title}</h1>
{views}
<script>{plotly}</script>
<script>for (const [place, shown] of Object.entries({figures})) {{
  Plotly.newPlot(place, {{...shown, config: {{responsive: true, displaylogo: false}}}});
}}</script></body></html>
"""


@dataclass(frozen=True)
class Shown:
    """What a view has shown: its answer in markdown, figures as plotly reads them, and whether it was light or dark."""

    answer: str
    figures: tuple[str, ...]
    theme: str


@contextmanager
def noting() -> Iterator[None]:
    """Note the answer and the figures that the page sends to the browser, if it is a view of a talk as kept."""
    context, view = get_script_run_ctx(suppress_warning=True), talk_steps.view()
    if context is None or view is None or not talk_steps.is_at(view):
        yield
        return
    places: dict[str, tuple[int, ...]] = {}
    texts: list[str] = []
    figures: list[str] = []
    send = context._enqueue

    def noted(message: ForwardMsg) -> None:
        send(message)
        delta, path = message.delta, tuple(message.metadata.delta_path)
        if delta.HasField("add_block") and (key := user_key_from_element_id(delta.add_block.id)):
            places[key] = path
        element = delta.new_element
        kind = element.WhichOneof("type") if delta.HasField("new_element") else None
        if kind in _SENT and _inside(path, places.get(first_screen.ANSWER)):
            texts.append(getattr(getattr(element, kind), _SENT[kind]))
        if kind == "plotly_chart" and _inside(path, places.get(first_screen.FIGURE)):
            figures.append(element.plotly_chart.spec)

    context._enqueue = noted
    try:
        yield
    finally:
        context._enqueue = send
        if figures:  # a page that still computes has none
            shown = Shown("\n".join(texts), tuple(figures), st.context.theme.type or "light")
            st.session_state.setdefault(_SHOWN, {})[_key(view)] = shown


def _inside(path: Sequence[int], place: Sequence[int] | None) -> bool:
    return place is not None and tuple(path[: len(place)]) == tuple(place)


def _key(view: talks.View) -> str:
    stated = asdict(view) | {"text": ""}  # its line may be edited
    return json.dumps(stated, sort_keys=True)


def not_shown(talk: talks.Talk) -> list[str]:
    """The views whose figures this session has not drawn, by number and page."""
    shown = st.session_state.get(_SHOWN, {})
    return [_title(number, view) for number, view in enumerate(talk.views, start=1) if _key(view) not in shown]


def page(talk: talks.Talk) -> str:
    """The whole file; texts of users are escaped, and nothing is asked of another machine."""
    from plotly.offline import get_plotlyjs

    known: dict[str, Shown] = st.session_state.get(_SHOWN, {})
    shown = [known.get(_key(view)) for view in talk.views]
    parts, figures = [], {}
    for number, (view, its) in enumerate(zip(talk.views, shown, strict=True), start=1):
        parts.append(f"<section><h2>{html.escape(_title(number, view))}</h2>\n<p>{html.escape(view.text)}</p>")
        if its is None:
            parts.append(
                "<p><i>This view was not shown before the talk was exported, so its figure is missing.</i></p>"
            )
        else:
            parts.append(f'<p class="answer">{_as_html(its.answer)}</p>')
            for place, spec in enumerate(its.figures):
                figures[f"figure-{number}-{place}"] = _drawn(spec)
                parts.append(f'<div id="figure-{number}-{place}"></div>')
        parts.append("</section>")
    ground, ink = _COLOURS.get(next((one.theme for one in shown if one), "light"), _COLOURS["light"])
    return _PAGE.format(
        title=html.escape(talk.name),
        views="\n".join(parts),
        plotly=get_plotlyjs(),
        figures=json.dumps(figures).replace("<", "\\u003c"),
        ground=ground,
        ink=ink,
    )


def _title(number: int, view: talks.View) -> str:
    return f"{number}. {named(view.page).title}"


def _drawn(spec: str) -> dict[str, object]:
    """A figure without Streamlit's template, whose colours are names that only its own pages replace."""
    from plotly.io import templates

    stated = json.loads(spec)
    layout = {**stated.get("layout", {}), "template": templates["plotly_white"].to_plotly_json()}
    layout |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    return {"data": stated.get("data", []), "layout": layout, "frames": stated.get("frames", [])}


def _as_html(markdown: str) -> str:
    """The text of an answer with its bold words; everything else is text."""
    marked = _BOLD.sub(r"<b>\1</b>", html.escape(_SIGNS.sub(r"\1", markdown)))
    return "<br>".join(_ESCAPED.sub(r"\1", marked).splitlines())
