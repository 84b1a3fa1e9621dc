"""Score every layer & pooling of the model at a step, and show what changed since the first step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from explorer import in_words, places, run_folder
from explorer.data.set_items import size_of
from explorer.data.text_sets import GradedPairs, digest_of
from explorer.drawing.scores import grid, run_figures
from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.encoding.read.pooling import Reading
from explorer.measuring.comparing import comparison, comparison_report, step_scores
from explorer.measuring.scores import bootstrap, layer_scores
from explorer.measuring.scores.bootstrap import Interval
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import cached, jobs, set_choice, sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls, downloads

ONLY_PAIRS = (
    "All steps are scored on scored pairs only. Choose such a set in the sidebar; each step is scored on any set."
)
NO_MODELS = (
    "This run did not save a model at each step. To see its layers, train again with **Keep steps** on under **More "
    "settings** (command line: `--set keep_steps=on`)."
)
NO_SUCH_LAYER = "A's layer & pooling, {}, does not exist here: the last layer is {}."
GRID, CHANGED = "replayed grid", "replayed changes"


def show(run: Run, evaluations: list[run_folder.Evaluation], number: int, at: int) -> None:
    """The grid at the step, if the run saved its models; on request, for all steps."""
    seeds, step, there = run.recipe().seeds, evaluations[at].step, set(run_folder.checkpoints(run.name))
    names = {
        one.step: run_folder.model_name(run.name, run_folder.checkpoint_name(seeds[number - 1], one.step, len(seeds)))
        for one in evaluations
    }
    saved = {step: name for step, name in names.items() if name in there}
    if not saved:
        st.caption(NO_MODELS)
        return
    if step not in saved:
        st.caption(f"No model was saved at this step. Choose one of: {', '.join(map(str, saved))}.")
        return
    _pins(saved[step])
    every = len(saved) > 1 and st.toggle(
        "Score all steps",
        key="every_step",
        bind="query-params",
        help=f"Scores the {len(saved)} saved models once, in the background. The slider then updates the grid at "
        "once, on one colour scale, next to the change since the first step.",
    )
    choice = _with_layer_of_a(saved[step])
    if every:
        _all_steps(run, saved, step, choice)
        return
    scored = sidebar_choice.scored(choice)
    if scored is None:
        return
    metric, aggregate = controls.metric_and_aggregate(scored.scores)
    _grid(scored.scores, metric, aggregate, scored.reading, None)
    st.caption(
        f"{metric} × 100 on {messages.plain(scored.pairs.name)}, {size_of(scored.pairs)}. "
        f"The colour scale is for this step only. Scoring took {scored.scores.seconds:.1f} s"
        + (f"; **Score all steps** scores {len(saved) - 1} more." if len(saved) > 1 else ".")
    )


def models_key(run: Run, names: Sequence[str]) -> str:
    """The key of the models of a run's checkpoints, by their files: another run may have had these names."""
    folders = (run.folder / run_folder.STEPS / run_folder.run_and_checkpoint(name)[1] for name in names)
    return digest_of([repr(places.stamps(sorted(folder.rglob("*")))) for folder in folders])


def _pins(source: str) -> None:
    other = sidebar_choice.model_b()
    with st.container(horizontal=True):
        for side, now, choose in (
            ("A", sidebar_choice.chosen().source, sidebar.choose_encoder),
            ("B", other.source if other else None, sidebar.choose_model_b),
        ):
            st.button(
                f"Set as {side}",
                key=f"set as {side}",
                icon=":material/push_pin:",
                on_click=choose,
                args=(source,),
                disabled=now == source,
                help=f"This model is {side} already."
                if now == source
                else f"Uses the model of this step as {side} on every page.",
            )


def _with_layer_of_a(source: str) -> sidebar_choice.Choice:
    """The model of a step under A's layer & pooling, if it has that layer."""
    choice, folder = replace(sidebar_choice.chosen(), source=source), cached.found(source).folder
    if choice.reading is None or sidebar_choice.exists(choice.reading, folder):
        return choice
    last = layout.last_layer(folder)
    instead = replace(choice, reading=None)
    st.caption(
        f"{NO_SUCH_LAYER.format(messages.plain(choice.reading), last)} "
        f"{messages.plain(declared.described(instead.reading_of(folder), folder))} is marked instead."
    )
    return instead


def _all_steps(run: Run, saved: Mapping[int, str], step: int, choice: sidebar_choice.Choice) -> None:
    """The grid of this step, the change by cell, and the chosen cell's score, of the `saved` models by their steps."""
    pairs = set_choice.evaluated_on(choice.evaluation_set)
    if pairs is None:
        return
    if not isinstance(pairs, GradedPairs):
        st.info(ONLY_PAIRS, icon=":material/block:")
        return
    folder, names, steps = cached.found(choice.source).folder, tuple(saved.values()), tuple(saved)
    reading = choice.reading_of(folder)
    also = declared.outside(reading, folder)
    measured = " ".join(
        (f"{models_key(run, names)} {pairs.digest} {choice.settings} {choice.prompt}", *(one.title for one in also))
    )
    title = f"{len(saved)} steps on {pairs.name}"
    scores: tuple[layer_scores.LayerScores, ...] | None = jobs.result(
        f"steps {measured}",
        title,
        lambda: step_scores.score_steps(names, pairs, choice.settings, also=also, prompt=choice.prompt),
    )
    if scores is None:
        return
    metric, aggregate = controls.metric_and_aggregate(scores[0])
    changed: tuple[step_scores.Change, ...] | None = jobs.result(
        f"changes {measured} {metric} {aggregate}",
        f"What changed: {title}",
        lambda: step_scores.changes(scores, metric, aggregate),
    )
    if changed is None:
        return
    at = steps.index(step)
    of_reading, since = _columns(steps, scores, changed, at, (metric, aggregate), reading)
    st.caption(
        f"{reading.title}: {layer_scores.text_of(of_reading[at])}, "
        f"{comparison_report.difference_text((of_reading[0], of_reading[at]), since[at])} since step {steps[0]}. "
        f"{metric} × 100 on {messages.plain(pairs.name)}, {size_of(pairs)}; one colour scale for all steps. "
        f"In brackets, as a band, on hover: {in_words.percent(bootstrap.LEVEL)} confidence interval "
        f"({comparison_report.INTERVAL_BY}). "
        "Hollow cells could be chance. Click a cell to follow its layer & pooling."
    )
    stem = f"{names[0].partition('@')[0]} {pairs.name} steps"
    downloads.rows(step_scores.step_rows(steps, scores), stem, "Scores of all steps (CSV)")


def _columns(
    steps: tuple[int, ...],
    scores: tuple[layer_scores.LayerScores, ...],
    changed: tuple[step_scores.Change, ...],
    at: int,
    shown: tuple[str, str],
    reading: Reading,
) -> tuple[list[float], list[Interval]]:
    """The grid of a step, its change by cell, and the chosen cell's line; that cell's scores and changes of all steps.

    `shown` are metric and aggregation.
    """
    (metric, aggregate), first, columns = shown, steps[0], st.columns(3, gap="small")
    with columns[0]:
        st.markdown(f"**At step {steps[at]}**")
        span = grid.span_of(*scores, metric=metric, aggregate=aggregate)
        height = _grid(scores[at], metric, aggregate, reading, span)
    with columns[1]:
        st.markdown(f"**Change since step {first}**")
        change, both = changed[at], comparison.Comparison(scores[0], scores[at], reading, reading)
        widest, name = max(one.widest for one in changed), f"since step {first}"
        downloads.draw(
            grid.difference_grid(both, metric, aggregate, change.grid, change.own, widest=widest, name=name),
            key=CHANGED,
            on_select=lambda: sidebar.choose_clicked(CHANGED, scores[0]),
            selection_mode="points",
            config=downloads.config("replay-changes"),
            alt=f"Change of every layer & pooling since step {first}. The download has the numbers of every step.",
        )
    of_reading = [one.score(reading, metric, aggregate) for one in scores]
    since = [change.of(reading, scores[0]) for change in changed]
    with columns[2]:
        st.markdown(f"**{reading.title}**")
        downloads.draw(
            run_figures.score_by_step(steps, of_reading, since, at, metric, height),
            key="replayed reading",
            config=downloads.config("replay-reading"),
            alt=f"{metric} of the chosen layer & pooling at every saved step, this step marked.",
        )
    return of_reading, since


def _grid(
    scores: layer_scores.LayerScores, metric: str, aggregate: str, reading: Reading, span: grid.Span | None
) -> int:
    figure = grid.layer_by_pooling(scores, metric, aggregate, reading, span, short=True)
    downloads.draw(
        figure,
        key=GRID,
        on_select=lambda: sidebar.choose_clicked(GRID, scores),
        selection_mode="points",
        config=downloads.config("replay"),
        alt=f"{metric} of every layer & pooling of the model at this step.",
    )
    if scores.not_measured_text:
        st.caption(scores.not_measured_text)
    height: int = figure.layout.height
    return height
