"""Write a talk as one HTML file without a server: the answer and the figures of each view, as they were shown.

What a page shows is on the server only while it is sent to the browser. So the answer and figures of a view are noted
when a visitor is at it, and a view that this session has not shown is named without them. The form of a run has no
result: in its place is the last run of this machine.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import streamlit as st
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Markdown_pb2 import Markdown

from explorer.drawing import sections_page, style
from explorer.drawing.scores import run_figures, watched
from explorer.drawing.sections_page import COMPONENT, FIGURE, NOTE, SHEET, TEXT, Section, Shown, ShownPart
from explorer.measuring.comparing import headline
from explorer.run_folder import Evaluation
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.frame import inside_streamlit, talk_steps, talks
from explorer.ui.frame.page_list import named
from explorer.ui.runs import run_curves, training_form
from explorer.ui.widgets import downloads, first_screen

_SHOWN = "_what views of talks have shown"
_SHEET = re.compile(r"(?:<style>([^<]*)</style>\s*)+")
RUN_THERE, RUN_SHIPPED = "**The last run, {}.** ", "**The run {}, which ships as an example.** "
Path = tuple[int, ...]


@dataclass
class _Noted:
    """What a page has sent, by its place: containers by key, columns with their width, and pieces of what they show."""

    containers: dict[str, Path] = field(default_factory=dict)
    columns: dict[Path, float] = field(default_factory=dict)
    pieces: dict[Path, ShownPart] = field(default_factory=dict)
    tabs: Path | None = None
    computing: bool = False

    def take(self, message: ForwardMsg) -> None:
        """Note a message; what is at its place has gone."""
        delta, path = message.delta, tuple(message.metadata.delta_path)
        if message.WhichOneof("type") != "delta":
            return
        for known in [one for one in self.pieces if one[: len(path)] == path]:
            del self.pieces[known]
        if delta.HasField("add_block"):
            if key := inside_streamlit.key_of(delta.add_block.id):
                self.containers[key] = path
            if delta.add_block.HasField("column"):
                self.columns[path] = delta.add_block.column.weight
        elif delta.HasField("new_element"):
            self._element(delta.new_element, path)

    def _element(self, element: Element, path: Path) -> None:
        kind = element.WhichOneof("type")
        self.computing |= kind == "progress"
        if kind == "button_group" and inside_streamlit.key_of(element.button_group.id) == first_screen.TAB:
            self.tabs = path
        if piece := _piece(element, kind):
            keys = [key for key, place in self.containers.items() if _is_in(path, place)]
            key = max(keys, key=lambda one: len(self.containers[one]), default="")
            column = max((one for one in self.columns if _is_in(path, one)), key=len, default=())
            self.pieces[path] = ShownPart(*piece, key, column, self.columns.get(column, 1.0))

    def within(self, key: str) -> list[ShownPart]:
        """What a container has shown."""
        place = self.containers.get(key)
        return [] if place is None else self._where(lambda one: _is_in(one, place))

    def of_tab(self) -> list[ShownPart]:
        """What is below the tabs, without notes, such as what a click does."""
        tabs = self.tabs
        found = [] if tabs is None else self._where(lambda one: one[0] == tabs[0] and one > tabs)
        return [one for one in found if one.kind != NOTE]

    def _where(self, is_there: Callable[[Path], bool]) -> list[ShownPart]:
        """The pieces in the order of the page; style sheets are outside of all containers."""
        every = [(place, self.pieces[place]) for place in sorted(self.pieces)]
        return [piece for place, piece in every if piece.kind == SHEET or is_there(place)]


def _piece(element: Element, kind: str | None) -> tuple[str, str] | None:
    """The kind of a piece and its content; None of what is not exported."""
    if kind == "markdown":
        is_note = element.markdown.element_type == Markdown.Type.CAPTION
        return (NOTE if is_note else TEXT), element.markdown.body
    if kind in ("alert", "heading"):
        return TEXT, getattr(element, kind).body
    if kind == "plotly_chart":
        return FIGURE, element.plotly_chart.spec
    if kind == "bidi_component" and element.bidi_component.component_name in sections_page.COMPONENTS:
        name, given = element.bidi_component.component_name, element.bidi_component
        return COMPONENT, json.dumps([name, json.loads(given.json or given.mixed.json)])
    if kind == "html" and _SHEET.fullmatch(element.html.body.strip()):
        return SHEET, "".join(re.findall(r"<style>([^<]*)</style>", element.html.body))
    return None


def _is_in(path: Path, place: Path) -> bool:
    return path[: len(place)] == place


@contextmanager
def noting() -> Iterator[None]:
    """Note the answer and the figures that the page sends to the browser, if it is a view of a talk as kept."""
    view = talk_steps.view()
    if view is None or not talk_steps.is_at(view):
        yield
        return
    noted = _Noted()
    try:
        with inside_streamlit.sent(noted.take):
            yield
    finally:
        answer = "\n".join(one.content for one in noted.within(first_screen.ANSWER) if one.kind in (TEXT, NOTE))
        parts = noted.of_tab() if talk_steps.shows_tab(view) else noted.within(first_screen.FIGURE)
        if (answer or any(one.kind != SHEET for one in parts)) and not noted.computing:
            known: dict[str, Shown] = st.session_state.setdefault(_SHOWN, {})
            known[_key(view)] = Shown(answer, tuple(parts), st.context.theme.type or "light")


def _key(view: talks.View) -> str:
    stated = asdict(view) | {"text": ""}  # its line may be edited
    return json.dumps(stated, sort_keys=True)


def not_shown(talk: talks.Talk) -> list[str]:
    """The views whose figures this session has not drawn, by number and page."""
    shown = st.session_state.get(_SHOWN, {})
    return [
        _title(number, view)
        for number, view in enumerate(talk.views, start=1)
        if _key(view) not in shown and not _is_form(view)
    ]


def page(talk: talks.Talk) -> Callable[[], str]:
    """What writes the file of a talk; made in a run of a page, since a download itself knows of no visit."""
    known: dict[str, Shown] = dict(st.session_state.get(_SHOWN, {}))
    theme = st.context.theme.type or "light"

    def written() -> str:
        sections = []
        for number, view in enumerate(talk.views, start=1):
            shown = _last_run(theme) if _is_form(view) else None
            sections.append(Section(_title(number, view), view.text, shown or known.get(_key(view))))
        return sections_page.page(talk.name, sections, theme, inside_streamlit.font())

    return written


def _is_form(view: talks.View) -> bool:
    return view.page == talk_steps.TRAIN and training_form.RUN not in view.address


def _last_run(theme: str) -> Shown | None:
    """What the last run that has ended on this machine shows, else the first that ships."""
    for run in (*runs.every(), *runs.examples()):
        status, lines = run.status(), run_curves.numbers(run.folder).lines()
        text = headline.line(status.learned)
        if status.live or text is None or not any(isinstance(line, Evaluation) for line in lines):
            continue
        facts, same_reading = status.facts, run_curves.same_reading(status)
        scores = run_figures.dev_scores(lines, status.base, 0, same_reading=same_reading, measure=facts.step_measure)
        drawn = [(f"**{facts.step_score}**", scores)]
        pairs = status.facts.watched
        if pairs and any(isinstance(line, Evaluation) and line.cosines for line in lines):
            drawn.append(("**Cosines of watched pairs**", watched.watched_cosines(lines, pairs, 0)))
        parts = []
        for column, (title, figure) in enumerate(drawn):
            style.set_text(figure, downloads.INK[theme])
            parts += [
                ShownPart(TEXT, title, "", (0, column)),
                ShownPart(FIGURE, str(figure.to_json()), "", (0, column)),
            ]
        named_run = (RUN_SHIPPED if run.is_example else RUN_THERE).format(messages.plain(run.called))
        return Shown(named_run + messages.marked(text.pieces), tuple(parts), theme)
    return None


def _title(number: int, view: talks.View) -> str:
    return f"{number}. {named(view.page).title}"
