"""What does the model of a step know in every layer, and what has changed in each since the first step?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from explorer.data.kinds import GradedPairs, digest_of
from explorer.drawing.runs import step_pictures
from explorer.drawing.scores import difference, grid
from explorer.encoding.load import declared
from explorer.encoding.locate import layout, model_names
from explorer.encoding.read.readings import OWN, Reading, readings
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_tables import told_difference
from explorer.measuring.comparing.step_scores import Change, changes, score_steps, step_rows
from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import availability, cached, remembered, side_scores, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.frame import second_encoder, sidebar
from explorer.ui.runs.run_metrics import Line
from explorer.ui.widgets import downloads, picture_format, score_options

GRID, CHANGED = "replayed grid", "replayed changes"


@dataclass(frozen=True)
class Kept:
    """The steps of one seed whose models are there, and the one that is looked at."""

    key: str  # a value that stands for the models
    steps: tuple[int, ...]
    names: tuple[str, ...]
    at: int


def show(run: Run, looks: list[Line], number: int, at: int) -> None:
    """Every reading at the step, where the run kept its models; over all steps, where that is asked for."""
    st.subheader("Every layer at this step")
    kept = _kept(run, looks, number, at)
    if kept is None:
        return
    _pins(kept.names[kept.at])
    every = len(kept.steps) > 1 and st.toggle(
        "All steps",
        key="every_step",
        bind="query-params",
        help=f"Scores the models of all {len(kept.steps)} kept steps in the background, once: then the slider changes "
        "the grid at once, on one scale of colour, beside what has changed since the first of them.",
    )
    choice = _as_a_is_read(kept.names[kept.at])
    if every:
        _all_steps(kept, choice)
    else:
        _this_step(kept, choice)


def _kept(run: Run, looks: list[Line], number: int, at: int) -> Kept | None:
    seeds = run.recipe().seeds
    there = set(model_names.steps_of(run.name))
    named = {
        look[
            "step"
        ]: f"{model_names.RUN}{run.name}@{model_names.step_name(seeds[number - 1], look['step'], len(seeds))}"
        for look in looks
    }
    named = {step: name for step, name in named.items() if name in there}
    if not named:
        st.caption(
            "This run did not keep the models of its steps. Set keep_steps when you train, under the settings of the "
            "schedule, or give the command line `--set keep_steps=on`."
        )
        return None
    if looks[at]["step"] not in named:
        st.caption(f"The model of this step is not there. Those of {', '.join(map(str, named))} are.")
        return None
    times = [f"{look['step']} {look['time']}" for look in looks if look["step"] in named]  # others, if it is made anew
    key = digest_of([str(run.folder), str(number), *times])
    return Kept(key, tuple(named), tuple(named.values()), list(named).index(looks[at]["step"]))


def _pins(source: str) -> None:
    """Make the model of the step A or B, on every page."""
    other = second_encoder.beside()
    with st.container(horizontal=True):
        for side, now, choose in (
            ("A", sidebar_choice.chosen().source, sidebar.choose_encoder),
            ("B", other.source if other else None, second_encoder.choose),
        ):
            st.button(
                f"Pin as {side}",
                icon=":material/push_pin:",
                on_click=choose,
                args=(source,),
                disabled=now == source,
                help=f"It is {side} already."
                if now == source
                else f"Makes the model of this step {side}, on every page.",
            )


def _as_a_is_read(source: str) -> Choice:
    """The model of a step, under A's reading where it has that."""
    choice, folder = replace(sidebar_choice.chosen(), source=source), cached.found(source).folder
    if choice.reading is None or choice.reading in sidebar_choice.titles(folder):
        return choice
    last = layout.last_layer(folder)
    instead = replace(choice, reading=None)
    st.caption(
        f"A's layer & pooling is {messages.plain(choice.reading)}; the last layer here is {last}, so "
        f"{messages.plain(declared.described(instead.reading_of(folder), folder))} is framed."
    )
    return instead


def _this_step(kept: Kept, choice: Choice) -> None:
    shown = side_scores.shown(choice)
    if shown is None:
        return
    metric, aggregate = score_options.ways(shown.scores)
    _grid(shown.scores, metric, aggregate, shown.reading, None)
    others = len(kept.steps) - 1
    st.caption(
        f"{metric} × 100 on {messages.plain(shown.pairs.name)}, {len(shown.pairs):,} pairs, on a scale of colour of "
        f"this step alone. To score it took {shown.scores.seconds:.1f} s"
        + (f"; with All steps, {others} more are scored." if others else ".")
    )


def _all_steps(kept: Kept, choice: Choice) -> None:
    pairs = availability.pairs(choice.sts)
    if pairs is None:
        return
    measured = f"{kept.key} {pairs.digest} {choice.settings}"
    title = f"{len(kept.steps)} steps on {pairs.name}"
    scores: tuple[LayerScores, ...] | None = remembered.made(
        f"steps {measured}", title, lambda: score_steps(kept.names, pairs, choice.settings)
    )
    if scores is None:
        return
    metric, aggregate = score_options.ways(scores[0])
    reading = choice.reading_of(cached.found(choice.source).folder)
    changed: tuple[Change, ...] | None = remembered.made(
        f"changes {measured} {metric} {aggregate}", f"What changed: {title}", lambda: changes(scores, metric, aggregate)
    )
    if changed is not None:
        _beside_each_other(kept, pairs, scores, changed, (metric, aggregate), reading)


def _beside_each_other(
    kept: Kept,
    pairs: GradedPairs,
    scores: tuple[LayerScores, ...],
    changed: tuple[Change, ...],
    ways: tuple[str, str],
    reading: Reading,
) -> None:
    """The grid of this step, what changed, and the reading's score over the steps."""
    at, first = kept.at, kept.steps[0]
    metric, aggregate = ways
    columns = st.columns(3, gap="small")
    with columns[0]:
        st.markdown(f"**At step {kept.steps[at]}**")
        height = _grid(
            scores[at], metric, aggregate, reading, grid.span_of(*scores, metric=metric, aggregate=aggregate)
        )
    with columns[1]:
        st.markdown(f"**Changed since step {first}**")
        st.plotly_chart(
            difference.difference_grid(
                Comparison(scores[0], scores[at], reading, reading),
                changed[at].grid,
                changed[at].own,
                widest=max(change.widest for change in changed),
                name=f"since step {first}",
            ),
            key=CHANGED,
            on_select=lambda: _choose_clicked(CHANGED, scores[0].last),
            selection_mode="points",
            config=picture_format.config("replay-changes"),
            alt=f"What every reading gained or lost since step {first}. The table holds the numbers of every step.",
        )
    of_reading = [one.score(reading, metric, aggregate) for one in scores]
    since = [change.of(reading, scores[0]) for change in changed]
    with columns[2]:
        st.markdown(f"**{reading.title}**")
        st.plotly_chart(
            step_pictures.score_by_step(kept.steps, of_reading, since, at, metric, height),
            key="replayed reading",
            config=picture_format.config("replay-reading"),
            alt=f"{metric} of the chosen reading at every kept step, this step marked.",
        )
    st.caption(
        f"{metric} × 100 on {messages.plain(pairs.name)}, {len(pairs):,} pairs; colours mean the same at every step. "
        f"{reading.title}: {score_options.told(of_reading[at])}, {told_difference(since[at])} since step {first}. In "
        f"brackets, as a band and under the mouse: the middle {LEVEL:.0%} of {RESAMPLES:,} resamples of the pairs. "
        "What is hollow could be chance. Click a cell to follow its layer & pooling."
    )
    stem = f"{kept.names[0].partition('@')[0]} {pairs.name} steps"
    downloads.rows(step_rows(kept.steps, scores), stem, "Scores of all steps (CSV)")


def _grid(scores: LayerScores, metric: str, aggregate: str, reading: Reading, span: grid.Span | None) -> int:
    """Draw it, and say how tall it is."""
    figure = grid.layer_by_pooling(scores, metric, aggregate, reading, span, short=True)
    st.plotly_chart(
        figure,
        key=GRID,
        on_select=lambda: _choose_clicked(GRID, scores.last),
        selection_mode="points",
        config=picture_format.config("replay"),
        alt=f"{metric} of every reading of the model at this step.",
    )
    if scores.told_not_measured:
        st.caption(scores.told_not_measured)
    height: int = figure.layout.height
    return height


def _choose_clicked(key: str, last: int) -> None:
    """Make the clicked cell the reading of every page; runs before the page is drawn anew."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        sidebar.choose_reading((*readings(last), OWN)[int(points[0]["customdata"])])
