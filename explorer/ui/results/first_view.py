"""Answer which models really differ, in a sentence and a figure: of what is chosen, else of the runs there are."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Place

from explorer import in_words, run_folder
from explorer.data import sources
from explorer.drawing.scores.changes import SetChange, sets_changed
from explorer.drawing.scores.ranks import ranked, unranked
from explorer.evaluating.results import result_table
from explorer.measuring.scores.verdict import BETTER, CHANCE, MIXED, WORDS, WORSE
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.results import table_view
from explorer.ui.results.filters import RUNS, FilteredResults, suite_of
from explorer.ui.widgets import downloads, first_screen

ROOM, PRESENTED = 380, 300  # pixels of the figure
MOST_NAMED = 3
BEGIN = "*Evaluate models* compares them on the same tasks."
CANNOT = (
    "Which of {} models really differ is not known: they have no task of one measure with the same items in common, "
    "under the model default. Choose another suite, or evaluate them."
)
ALONE = "Only {} was evaluated on these tasks. Evaluate a second model to compare them."
_BOXES = {BETTER: st.success, WORSE: st.error, MIXED: st.warning, CHANCE: st.info}


def answer_and_figure(chosen: FilteredResults, answer: Place, figure: Place) -> None:
    """The ranking; of test sets that only runs have, each run against its base; else the scores without a verdict."""
    ranking = table_view.ranking(chosen)
    if ranking is not None:
        with answer:
            table_view.show_ranking(ranking, chosen)
        with figure:
            shown = replace(ranking, names=tuple(map(runs.model_title, ranking.names)))
            _draw(ranked(shown, table_view.measure_of(chosen), ROOM), "which models differ, with intervals")
        return
    of_runs = _of_runs() if all(suite_of(task) == RUNS for task in chosen.tasks) else []
    if of_runs:
        with answer:
            _runs(of_runs)
        with figure:
            _draw(sets_changed(of_runs, ROOM), "the difference of each run to its base, with its interval")
        return
    scores = [(runs.model_title(row.name), score) for row in chosen.rows if (score := _score(chosen, row)) is not None]
    with answer:
        named = messages.plain(chosen.rows[0].name) if len(chosen.rows) == 1 else ""
        st.info(ALONE.format(f"**{named}**") if named else CANNOT.format(len(chosen.rows)), icon=":material/help:")
    with figure:
        _draw(unranked(scores, table_view.measure_of(chosen), ROOM), "the scores of the models")


def evaluate_button(tab: str) -> None:
    """The button that opens the form, which is a tab."""
    st.button(
        "Evaluate models",
        key="open evaluation",
        icon=":material/play_arrow:",
        on_click=lambda: st.session_state.update({first_screen.TAB: tab}),
    )


def _score(chosen: FilteredResults, row: result_table.ModelRow) -> float | None:
    """The mean score of a row on the chosen tasks, if it has all; else on the first that it has."""
    cells = [row.cell(task, chosen.title, chosen.measure) for task in chosen.tasks]
    known = [cell.mean for cell in cells if cell is not None and cell.mean is not None]
    if not known:
        return None
    return sum(known) / len(known) if len(known) == len(cells) else known[0]


def _of_runs() -> list[SetChange]:
    """The test verdict of each finished run, the largest difference first."""
    found = []
    for run in [*runs.every(), *runs.examples()]:
        status = run.status()
        test = status.verdict.test if status.verdict and status.facts.nothing is None else None
        if test is not None and test.known:
            name = runs.model_title(run_folder.model_name(run.name))
            found.append(SetChange(f"{name} over {runs.model_title(sources.shown(status.facts.model))}", test))
    return sorted(found, key=lambda one: -abs(one.verdict.difference or 0.0))


def _runs(of_runs: list[SetChange]) -> None:
    """How many runs differ from their base by more than chance, the largest differences by name."""
    certain = [one for one in of_runs if one.verdict.kind in (BETTER, WORSE)]
    kinds = {one.verdict.kind for one in certain}
    listed = [
        f"{messages.plain(one.name)} {one.verdict.gap_alone}"
        + f", **{WORDS[one.verdict.kind].lower()}**" * bool(certain)
        for one in (certain or of_runs)[:MOST_NAMED]
    ]
    box = _BOXES[MIXED if len(kinds) > 1 else next(iter(kinds), CHANCE)]
    first = _how_many(len(certain), len(of_runs))
    box(f"{first} by more than chance: {'; '.join(listed)}. {BEGIN}", icon=":material/leaderboard:")


def _how_many(differ: int, of: int) -> str:
    """`1 of 4 runs differs from its base`, `2 of 4 runs differ from their base`."""
    if of == 1:
        return "The run differs from its base" if differ else "The run does not differ from its base"
    return f"{differ or 'None'} of {of} runs {in_words.verb(differ or 1, 'differs from its', 'differ from their')} base"


def _draw(drawn: object, what: str) -> None:
    downloads.draw(
        drawn,
        presented=PRESENTED,
        key="results figure",
        config=downloads.config("results"),
        alt=f"{what}. The table has the numbers.",
    )
