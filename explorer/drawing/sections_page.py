"""Write titles, answers in markdown and figures of pages into one HTML file that needs no server."""

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from explorer.drawing.sentences import moving_map

TEXT, NOTE, SHEET, FIGURE, COMPONENT = "text", "note", "sheet", "figure", "component"  # kinds of parts
COMPONENTS = {"moving_map": moving_map}  # what draws itself from its data, by name
_SIGNS = re.compile(
    r"(?m)^#+ |:material/\w+:|:[a-z]+(?:-[a-z]+)?\[((?:\\.|[^\]\\])*)\]"
)  # of a heading, and of Streamlit
_WORD = re.compile(r":gray-background\[((?:\\.|[^\]\\])*?):small\[([^\]]*)\]\]")  # a coloured one, with its number
_COLOURED = r'<span class="stMarkdownColoredBackground">\1<span>\2</span></span>'
_NOTHING = ":small[]"
_ESCAPED, _BOLD = re.compile(r"\\([!-/:-@\[-`{-~])"), re.compile(r"\*\*(.+?)\*\*")
_COLOURS = {  # ground, text, ground and line of fields
    "light": ("#ffffff", "#0c1619", "#eef2f3", "#c9d1d3"),
    "dark": ("#0e1619", "#e4eced", "#1b2a2e", "#3a4a4f"),
}
_TEMPLATES = {"light": "plotly_white", "dark": "plotly_dark"}
_FONT = """@font-face {{ font-family: Page; font-weight: 200 900;
  src: url(data:font/woff2;base64,{}) format("woff2"); }}
"""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:;
 script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; font-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root {{ color-scheme: {theme}; --st-background-color: {ground}; --st-text-color: {ink};
  --st-secondary-background-color: {field}; --st-border-color: {line}; --st-primary-color: #0f6b70;
  --st-font: Page, sans-serif; }}
{font}body {{ font: 18px/1.45 Page, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1rem; background: {ground};
  color: {ink}; overflow-wrap: anywhere; }}
section {{ margin-top: 2.5rem; border-top: 1px solid {line}; }}
h2 {{ margin: 1rem 0 0; }} p {{ margin: 0.4rem 0; }} .answer {{ font-size: 1.15em; }} .note {{ font-size: 0.8em; }}
.row {{ display: flex; gap: 1.5rem; }} .row > div {{ min-width: 0; }} .component > .moving-map {{ height: 34rem; }}
.js-plotly-plot text {{ unicode-bidi: plaintext; }}
{recoloured}
@media (max-width: 700px) {{ body {{ font-size: 16px; }} .row {{ display: block; }}
  .component > .moving-map {{ height: auto; }} .wide {{ overflow-x: auto; }} .wide > div {{ min-width: 960px; }} }}
{sheets}</style></head><body>
<h1>{title}</h1>
{views}
<script>{plotly}</script>
<script>for (const [place, shown] of Object.entries({figures})) {{
  Plotly.newPlot(place, {{...shown, config: {{responsive: true, displaylogo: false}}}});
}}</script>
<script>{scripts}
for (const [place, [name, data]] of Object.entries({components}))
  components[name]({{ parentElement: document.getElementById(place), data, setTriggerValue: () => {{}} }});
</script></body></html>
"""


@dataclass(frozen=True)
class ShownPart:
    """A piece of what a page has shown: its kind, and its content.

    That is markdown, a style sheet, a figure as plotly reads it, or a component's name with its data as JSON. `key` is
    that of the container around it, which style sheets name; `column` the place of its column, with its share.
    """

    kind: str
    content: str
    key: str = ""
    column: tuple[int, ...] = ()
    share: float = 1.0


@dataclass(frozen=True)
class Shown:
    """What a page has shown: its answer in markdown, the parts of its figure, and its theme, light or dark."""

    answer: str
    parts: tuple[ShownPart, ...]
    theme: str


@dataclass(frozen=True)
class Section:
    """A title, a line below it, and what was shown; None if nothing was."""

    title: str
    line: str
    shown: Shown | None


def page(title: str, sections: Sequence[Section], theme: str = "light", font: bytes | None = None) -> str:
    """The whole file, with a font (WOFF2) in it; all texts are escaped, and nothing is asked of another machine."""
    from plotly.offline import get_plotlyjs

    written: list[str] = []
    sheets: list[str] = []
    figures: dict[str, object] = {}
    components: dict[str, tuple[str, object]] = {}
    for number, section in enumerate(sections, start=1):
        written.append(
            f'<section id="view-{number}"><h2>{html.escape(section.title)}</h2>\n<p>{html.escape(section.line)}</p>'
        )
        if section.shown is None:
            written.append(
                "<p><i>This view was not opened before the talk was exported: its figure is missing.</i></p>"
            )
        else:
            written.append(f'<p class="answer">{_as_html(section.shown.answer)}</p>')
            parts = [(f"part-{number}-{place}", part) for place, part in enumerate(section.shown.parts)]
            figures |= {place: _drawn(part.content, theme) for place, part in parts if part.kind == FIGURE}
            components |= {place: json.loads(part.content) for place, part in parts if part.kind == COMPONENT}
            own = "".join(part.content for _, part in parts if part.kind == SHEET)
            sheets.append(f"#view-{number} {{ {own} }}\n" if own else "")  # two views may have containers of one key
            written += _rows(parts)
        written.append("</section>")
    used = sorted({name for name, _ in components.values()})
    ground, ink, field, line = _COLOURS.get(theme, _COLOURS["light"])
    return _PAGE.format(
        title=html.escape(title),
        views="\n".join(written),
        plotly=get_plotlyjs(),
        figures=_in_script(figures),
        components=_in_script(components),
        scripts="const components = {};\n" + "".join(_script(name) for name in used),
        sheets="".join([*sheets, *(COMPONENTS[name].CSS for name in used)]),
        font="" if font is None else _FONT.format(b64encode(font).decode()),
        recoloured="\n".join(_recoloured(one[1]) for one in _COLOURS.values()),
        **{"ground": ground, "ink": ink, "field": field, "line": line, "theme": theme},
    )


def _rows(parts: Sequence[tuple[str, ShownPart]]) -> Iterator[str]:
    """The parts in their order; those of columns next to each other."""
    shown = [(place, part) for place, part in parts if part.kind != SHEET]
    for row, of_row in groupby(shown, key=lambda one: one[1].column[:-1]):
        if not row:
            yield from (_part(*one) for one in of_row)
            continue
        yield '<div class="row">'
        for _, of_column in groupby(of_row, key=lambda one: one[1].column):
            found = list(of_column)
            inside = "".join(_part(*one) for one in found)
            yield f'<div style="flex: {found[0][1].share:g} 1 0">{inside}</div>'
        yield "</div>"


def _part(place: str, part: ShownPart) -> str:
    if part.kind in (TEXT, NOTE):
        key = html.escape("st-key-" + re.sub(r"[^\w-]", "-", part.key))
        return f'<div class="{key}"><p class="{part.kind}">{_as_html(part.content)}</p></div>'
    if part.kind == COMPONENT:
        return f'<div class="component" id="{place}">{COMPONENTS[json.loads(part.content)[0]].HTML}</div>'
    name = "wide" if "xaxis2" in json.loads(part.content).get("layout", {}) else "narrow"  # panels side by side
    return f'<div class="{name}"><div id="{place}"></div></div>'


def _script(name: str) -> str:
    """The code of a component, which is a module, as a function that draws it."""
    code = COMPONENTS[name].script().replace("export default function", "return function")
    return f"components[{json.dumps(name)}] = (() => {{\n{code}\n}})();\n"


def _in_script(value: object) -> str:
    return json.dumps(value).replace("<", "\\u003c")


def _recoloured(ink: str) -> str:
    """The rule by which text of figures that were drawn in the other theme can be read."""
    shade = ", ".join(str(part) for part in bytes.fromhex(ink.removeprefix("#")))
    return f'.js-plotly-plot text[style*="fill: rgb({shade})"] {{ fill: currentColor !important; }}'


def _drawn(spec: str, theme: str) -> dict[str, object]:
    """A figure without Streamlit's template, whose colours are names that only its own pages replace."""
    from plotly.io import templates

    stated = json.loads(spec)
    template = templates[_TEMPLATES.get(theme, _TEMPLATES["light"])].to_plotly_json()
    layout = {**stated.get("layout", {}), "template": template}
    layout |= {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)"}
    layout["font"] = {**layout.get("font", {}), "family": "Page, sans-serif"}
    return {"data": stated.get("data", []), "layout": layout, "frames": stated.get("frames", [])}


def _as_html(markdown: str) -> str:
    """Markdown with its bold and its coloured words; everything else is text."""
    marked = _WORD.sub(_COLOURED, html.escape(markdown.replace(_NOTHING, "")))
    marked = _BOLD.sub(r"<b>\1</b>", _SIGNS.sub(r"\1", marked))
    return "<br>".join(_ESCAPED.sub(r"\1", marked).splitlines())
