"""Choose what is compared, score A and B on the same pairs, compute the verdict, and export it all."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import streamlit as st

from explorer import in_words
from explorer.data import text_sets
from explorer.data.graded import sets
from explorer.data.text_sets import related_pairs
from explorer.drawing.reports.report import report
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.comparing.comparison_report import Findings, NamedAs
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.comparing.splits import SplitChanges
from explorer.measuring.scores import best_cell, bootstrap
from explorer.measuring.sentences.word_pairs import ExplainedPairs, of_pairs
from explorer.progress import Work
from explorer.training.record.run_results import verdict_on
from explorer.ui import messages
from explorer.ui.access import cached_texts, jobs, loaded_encoders, set_choice, sidebar_choice
from explorer.ui.compare import geometry_view
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls, downloads

ASK = f"Choose model B in the sidebar under **{sidebar_choice.MODEL_B}**, or here."
EACH, SAME, CHOSEN = "Each model's default", "Same layer & pooling for both", "As chosen in the sidebar"
KEY = "compared view"
NOTHING, PICKED_ON = "nothing", "picked_on"  # in place of a dev set; the key of the menu
Sides = tuple[sidebar_choice.ModelScores, sidebar_choice.ModelScores]
Choices = tuple[sidebar_choice.Choice, sidebar_choice.Choice]
_ASKED = "report asked for"
FILE = "Report (HTML)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Findings):
    """What the comparison of the page has found, and how A and B were chosen."""

    sides: Sides
    choices: Choices

    @property
    def stem(self) -> str:
        """The first part of the names of downloads."""
        return f"{self.sides[0].found.name} {self.sides[1].found.name}"


def ask() -> None:
    """A button for each model on this disk."""
    st.info(ASK, icon=":material/compare:")
    with st.container(horizontal=True):
        for name in [one for one in sidebar.encoders() if one != sidebar_choice.chosen().source][:4]:
            label = f"Compare with {messages.plain(name)}"
            st.button(label, key=f"beside {name}", on_click=sidebar.choose_model_b, args=(name,))
        st.page_link("pages/train.py", label="Train a model", icon=":material/model_training:")


def both_shown(choices: Choices) -> Sides | None:
    """The scores of A and of B; None until both are computed, with progress or the error shown."""
    if (
        choices[0].evaluation_set == choices[1].evaluation_set
        and set_choice.evaluated_on(choices[0].evaluation_set) is None
    ):
        return None  # the set is the same for both: its card is shown once
    one = sidebar_choice.scored(choices[0])
    if one is None and choices[0].source == choices[1].source:
        return None  # one job scores both: its progress is shown once
    other = sidebar_choice.scored(choices[1])
    return None if one is None or other is None else (one, other)


def compared(sides: Sides, choices: Choices, comparison: Comparison, metric: str, aggregate: str) -> Compared | None:
    """Compute the comparison; None if the two cannot be compared, with the error shown."""
    one, other = sides
    measured = one.measured, other.measured

    def chosen(about: Comparison) -> bootstrap.Interval:
        return differences(measured, about, metric, aggregate).chosen

    try:
        found = differences(measured, comparison, metric, aggregate)
        how = metric, aggregate, chosen, cached_texts.evaluated_on
        _, verdict = verdict_on((one.found, other.found), one.pairs, comparison, *how)
    except StrataError as error:
        messages.trouble(error)
        return None
    return Compared(
        found=(one.found, other.found),
        pairs=one.pairs,
        comparison=comparison,
        differences=verdict.shown(found),
        metric=metric,
        aggregate=aggregate,
        of_models=verdict,
        named=NamedAs((choices[0].source, choices[1].source), choices[0].evaluation_set.written, choices[0].settings),
        sides=sides,
        choices=choices,
    )


def differences(measured: Hashable, comparison: Comparison, metric: str, aggregate: str) -> Differences:
    """B minus A, with intervals; `measured` identifies models, pairs and settings."""
    readings = (comparison.one_reading.title, comparison.other_reading.title)
    grid, own = _cell_differences(measured, metric, aggregate, comparison)
    chosen = comparison.among(grid, own)
    return Differences(chosen or _chosen_difference(measured, readings, metric, aggregate, comparison), grid, own)


@st.cache_resource(max_entries=64, show_spinner=False)
def _chosen_difference(
    measured: Hashable, readings: tuple[str, str], metric: str, aggregate: str, _comparison: Comparison
) -> bootstrap.Interval:
    return _comparison.chosen(metric, aggregate)


@st.cache_resource(max_entries=16, show_spinner="Computing confidence intervals …")
def _cell_differences(
    measured: Hashable, metric: str, aggregate: str, _comparison: Comparison
) -> tuple[bootstrap.Interval | None, bootstrap.Interval | None]:
    return _comparison.cells(metric, aggregate)


def view_control(compared: Compared) -> None:
    """The switch; it sets the layers & poolings of the sidebar, which are kept in the address."""
    folders = [one.found.folder for one in compared.sides]
    cell = declared.default_cell(folders[0])
    titles = {choice.reading or MODEL_DEFAULT for choice in compared.choices}
    now = EACH if titles == {MODEL_DEFAULT} else SAME if len(titles) == 1 else CHOSEN
    both_have_it = now == SAME or sidebar_choice.exists(cell.title, folders[1])
    st.session_state[KEY] = now

    def take() -> None:
        if st.session_state[KEY] in (EACH, SAME):
            sidebar.choose_for_both(MODEL_DEFAULT if st.session_state[KEY] == EACH else cell.title)

    st.segmented_control(
        "Layer & pooling",
        [EACH, *[SAME] * both_have_it, *[CHOSEN] * (now == CHOSEN)],
        key=KEY,
        required=True,
        on_change=take,
        help=f"**{EACH}**: A and B each under model default. **{SAME}**: both under {cell.title}, so that only the "
        "weights differ.",
    )


def picked(sides: Sides, choices: Choices, metric: str) -> best_cell.DevPick | None:
    """The best layer & pooling of A and of B on the dev set; None if none is chosen, or not scored yet."""
    here = sides[0].graded
    if here is None:
        return None
    others = [one for one in sets.known() if one != choices[0].evaluation_set]
    controls.menu(
        "Choose both layers & poolings on",
        controls.with_current([NOTHING, *(one.written for one in others)], PICKED_ON),
        default=NOTHING,
        key=PICKED_ON,
        width=300,
        help="A dev set. The best layer & pooling of A and of B on it are compared on "
        f"{messages.plain(here.name)}. The result is fair: the choice does not use the pairs that are scored.",
    )
    return pick(here, choices, metric)


def pick(here: text_sets.GradedPairs, choices: Choices, metric: str) -> best_cell.DevPick | None:
    """The same without the menu, which another tab has."""
    name = st.session_state.get(PICKED_ON) or NOTHING
    if name == NOTHING:
        return None
    one, other = (
        sidebar_choice.scored(replace(choice, evaluation_set=sidebar.set_of(choice, name), reading=None))
        for choice in choices
    )
    if one is None or other is None or one.graded is None:
        return None  # progress or the error is shown
    try:
        return best_cell.pick(one.graded, (one.scores, other.scores), here, metric)
    except StrataError as error:  # the dev set holds all pairs that are scored, or has no score
        messages.trouble(error)
        return None


def _adding_up(rows: in_words.Rows) -> in_words.Rows:
    """The rows with the difference of both scores as they are shown; the file has the exact one."""
    known = {"A", "B", "difference"}
    return [
        row | {"difference": in_words.gap(float(str(row["A"])), float(str(row["B"])))}
        if all(isinstance(row[name], float) for name in known)
        else row
        for row in rows
    ]


def export(compared: Compared, probes: Learned | None, split: SplitChanges | None) -> None:
    """The table as a file, and the report, which has the groups of `split` and what is best on the chosen dev set."""
    if rows := compared.cells():
        downloads.table(_adding_up(rows), lines=12, signed=("difference", "low", "high"))
        downloads.rows(rows, compared.stem, "Table (CSV)")
    sides, settings = compared.sides, compared.choices[0].settings
    here, pooling = sides[0].graded, geometry_view.pooling(*(side.scores for side in sides))
    has_geometry = related_pairs(sides[0].pairs) is not None
    picked = None if here is None else pick(here, compared.choices, compared.metric)
    compared = replace(compared, picked=picked, probes=probes or Learned(), split=split)
    # the report needs the geometry and the words of pairs: first a button that computes them, then one that downloads
    key, weigh = _words(compared, settings.max_length)
    what = f"{[(side.measured, side.reading.title) for side in sides]} {pooling}"
    is_measured = not has_geometry or geometry_view.is_there(sides, pooling, settings)
    is_weighed = not compared.probes.shown_pairs or jobs.known(key) is not None
    if not (is_measured and is_weighed) and st.session_state.get(_ASKED) != what:
        st.button(
            "Create report (HTML)",
            key="create report",
            icon=":material/description:",
            on_click=lambda: st.session_state.update({_ASKED: what}),
            help="Encodes the sentences with A and B to compute the geometry, and weighs the words of the pairs that "
            "show what was learned; then the report can be downloaded.",
        )
        return
    geometry = geometry_view.found(sides, pooling, settings) if has_geometry else None
    if has_geometry and geometry is None:
        return
    words: ExplainedPairs | None = jobs.result(key, "Weighing the words of the report's pairs", weigh)
    if words is None:
        return
    downloads.file(
        FILE,
        partial(report, replace(compared, geometry=geometry), pooling, words),
        f"{downloads.file_name(f'{compared.stem} {sides[0].pairs.name}')}.html",
        "text/html",
        icon=":material/description:",
        help="One self-contained file: figures, tables, what improved and got worse, measurement settings, and the "
        "command that repeats it.",
    )


def _words(compared: Compared, max_length: int | None) -> tuple[str, Callable[[], Work[ExplainedPairs]]]:
    """The job key of the words of the pairs that show what was learned, and the work that weighs them."""
    readings = compared.about.one_reading, compared.about.other_reading
    weighed = dict(zip("AB", zip(compared.found, readings, strict=True), strict=True))
    pairs = [(one.first, one.second) for one in compared.probes.shown_pairs]
    models = [(found.digest, reading.title) for found, reading in weighed.values()]
    key = f"words of the report {models} {text_sets.digest_of(chain(*pairs))} {max_length}"
    return key, lambda: of_pairs(weighed, pairs, loaded_encoders.attending, max_length)
