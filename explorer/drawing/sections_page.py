"""Write titles, answers in markdown and figures of pages into one HTML file that needs no server."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SIGNS = re.compile(
    r"(?m)^#+ |:material/\w+:|:small\[\]|:[a-z]+(?:-[a-z]+)?\[([^\]]*)\]"
)  # of a heading, and of Streamlit
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
    """What a page has shown: its answer in markdown, figures as plotly reads them, and its theme, light or dark."""

    answer: str
    figures: tuple[str, ...]
    theme: str


@dataclass(frozen=True)
class Section:
    """A title, a line below it, and what was shown; None if nothing was."""

    title: str
    line: str
    shown: Shown | None


def page(title: str, sections: Sequence[Section]) -> str:
    """The whole file; all texts are escaped, and nothing is asked of another machine."""
    from plotly.offline import get_plotlyjs

    parts, figures = [], {}
    for number, section in enumerate(sections, start=1):
        parts.append(f"<section><h2>{html.escape(section.title)}</h2>\n<p>{html.escape(section.line)}</p>")
        if section.shown is None:
            parts.append("<p><i>This view was not opened before the talk was exported: its figure is missing.</i></p>")
        else:
            parts.append(f'<p class="answer">{_as_html(section.shown.answer)}</p>')
            for place, spec in enumerate(section.shown.figures):
                figures[f"figure-{number}-{place}"] = _drawn(spec)
                parts.append(f'<div id="figure-{number}-{place}"></div>')
            if not section.shown.figures:
                parts.append("<p><i>The figure of this view moves, and is in Strata alone.</i></p>")
        parts.append("</section>")
    theme = next((one.shown.theme for one in sections if one.shown), "light")
    ground, ink = _COLOURS.get(theme, _COLOURS["light"])
    return _PAGE.format(
        title=html.escape(title),
        views="\n".join(parts),
        plotly=get_plotlyjs(),
        figures=json.dumps(figures).replace("<", "\\u003c"),
        ground=ground,
        ink=ink,
    )


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
