"""Show one run, under way or ended, from its folder alone, and the buttons for it."""

from dataclasses import replace
from functools import partial

import streamlit as st

from explorer import errors, in_words
from explorer.data import sources
from explorer.encoding.locate import layout
from explorer.measuring.comparing.learned import NOT_HELD_OUT
from explorer.measuring.scores.metrics import MEASURES, SPEARMAN
from explorer.measuring.scores.verdict import NO_TEST, WORDS, WORSE, Verdict
from explorer.training.loop.computed import PROCESSOR, THREADS
from explorer.training.loop.measured_facts import StageScores, spread
from explorer.training.record import status as statuses
from explorer.training.record.runs import DISCARD, KEEP, Run
from explorer.ui import blend, messages
from explorer.ui.access import jobs
from explorer.ui.frame import page_list
from explorer.ui.runs import run_status, training_form, training_queue
from explorer.ui.train import recipe_form
from explorer.ui.widgets import controls, downloads, first_screen, microscope

REDRAWN = 3.0  # seconds
SCORES, CURVES, LOG, BLEND, RUNS = "Scores", "Loss and geometry", "About and log", "Blend", "Runs"  # tabs
INTERRUPTED = (
    "The training process ended before the run finished. Press **Resume** to continue from the last saved checkpoint, "
    "or from the start if there is none."
)
STOPPED_AT = "Stopped at step {:,} of {:,}. Press **Resume** to continue from there."
STOPPED_EARLY = "Stopped before its first step. Press **Resume** to continue from there."
NOT_TESTED = "Not tested: the run was stopped. Resume it to finish and test it."
WHAT_TO_TRY = "Try other text, fewer steps or a lower learning rate. The base is not changed."
OF_SEEDS = "Test: {:.2f} ± {:.2f}, mean and standard deviation over seeds."
BASE, SAME, TUNED = "base, model default", "base, trained layer & pooling", "tuned model"
NO_TEST_SCORE, AS_BASE = "not tested", "as the base"
NO_COMPARISON = "No comparison with the base: this run was trained by an older version. Train it again to get one."
SCORE_HELP = {
    "base": "{} × 100 of the base under model default. Higher is better, at most 100{}.",
    "same": "{} × 100 of the base under the layer & pooling that the run trained. The gap to the tuned model is due to "
    "training alone. Higher is better.",
    "tuned": "{} × 100 of the saved model, as sentence-transformers loads it. Higher is better, at most 100.",
}
ELSEWHERE_HELP = (
    "What training cost elsewhere. Items that share a text with the training text, the dev set or a test set are left "
    "out. The base is scored under its model default, both in float32; each interval is of this difference alone. "
    "Higher is better."
)
OF_CLASSES = {
    "accuracy": "The share of rows with the right class, in percent. Higher is better.",
    "macro F1": "The mean F1 of the classes, each counted the same. Higher is better, at most 100.",
    "Matthews": "Correlation of predicted and true classes. Higher is better: 100 is perfect, 0 as good as chance.",
}


def page(run: Run) -> None:
    """The run: its buttons, its verdict or its progress, its curves, and the rest in tabs.

    While it is live, its progress is updated every second and its curves every few seconds.
    """
    live = training_queue.standing(run).live
    with first_screen.controls_row():
        actions(run)
    with first_screen.answer():
        st.fragment(_place, run_every=1.0 if live else None)(run, live)
    with first_screen.figure():
        # replacing a figure is visible, so not every second
        st.fragment(run_status.figures, run_every=REDRAWN if live else None)(run)
    tab = first_screen.tabs([SCORES, CURVES, LOG, BLEND, RUNS])
    if tab == SCORES:
        card(run, training_queue.standing(run))
    elif tab == CURVES:
        st.fragment(run_status.loss_and_geometry, run_every=REDRAWN if live else None)(run)
    elif tab == LOG:
        st.fragment(_log, run_every=REDRAWN if live else None)(run)
    elif tab == BLEND:
        blend.of_run(run)
    else:
        run_status.table(run.name, training_form.choose, "show its run")


def _place(run: Run, was_live: bool) -> None:
    status = training_queue.standing(run)
    if was_live != status.live or not run.folder.is_dir():  # ended, resumed or discarded, here or in another tab
        st.rerun()  # the whole page: its list of runs, and this fragment's clock
    controls.refused()
    if status.live:
        _under_way(run, status)
        return
    if status.state == statuses.FAILED:
        messages.trouble(status.error or "The run failed.", status.details)
    elif status.state == statuses.INTERRUPTED:
        st.warning(INTERRUPTED, icon=":material/power_off:")
    elif status.state == statuses.STOPPED:
        text = STOPPED_AT.format(status.step, status.total) if status.total else STOPPED_EARLY
        st.info(text, icon=":material/stop_circle:")
    if not messages.answer(status.learned) and status.verdict is not None:
        st.info(NOT_TESTED, icon=":material/science_off:")


def _log(run: Run) -> None:
    """What the run was made with, and its log."""
    status = training_queue.standing(run)
    facts = status.facts
    text = " + ".join(map(sources.shown, facts.data))
    rows = "" if facts.rows is None else f" ({facts.rows:,} rows)"
    parts = [
        *([f"run {run.name}"] if run.row else []),
        f"{facts.methods} on {sources.shown(facts.model)}",
        *([] if facts.stages else [f"text: {text}{rows}"]),  # which stages state
        f"dev: {sources.shown(facts.dev or in_words.NONE)}",
        f"test: {', '.join(map(sources.shown, (facts.test or in_words.NONE, *facts.more_tests)))}",
    ]
    if facts.device:
        parts.append(f"{facts.precision} on {facts.device}")
    parts += facts.listed(statuses.PAGE).values()
    st.caption(messages.plain(" · ".join(parts)))
    st.code(run.log_tail() or "The log is empty.", language=None, wrap_lines=True)
    downloads.file("Download the log", lambda: run.log_tail(10**9).encode(), f"{run.name}.log", "text/plain")


def _under_way(run: Run, status: statuses.Status) -> None:
    parts = [run_status.place(status), run_status.pace(status), f"{in_words.duration(status.seconds)} so far"]
    st.progress(run_status.share(status), messages.plain(" · ".join(filter(None, parts))))
    job = training_queue.job_of(run)
    front = jobs.in_front(job) if job is not None else None
    if front is not None:
        st.caption(jobs.WAITING_FOR.format(messages.plain(front.title)))
    if status.facts.estimate:
        st.caption(messages.plain(f"Estimated at the start: {status.facts.estimate.words}."))
    if run.stop_requested():
        st.caption("Stopping after this step …")
        return
    with st.container(horizontal=True):
        controls.callback_button(
            "Stop (can be resumed)",
            partial(training_queue.stop, run, KEEP),
            key="run stop",
            icon=":material/stop_circle:",
            help="Saves the best checkpoint so far as the run's model. The run can be resumed.",
        )
        with st.popover("Discard", icon=":material/delete:"):
            st.write("This stops the run and deletes its folder and its model. It cannot be undone.")
            discard = partial(training_queue.stop, run, DISCARD)
            controls.callback_button("Discard run", discard, key="run discard", type="primary")


def actions(run: Run) -> None:
    """The buttons; a run under way can only be duplicated."""
    status, name = training_queue.standing(run), f"name for {run.name}"
    run_status.heading(run.called, "example, read-only" if run.is_example else status.state)
    with st.container(horizontal=True):
        st.button("New run", key="run new", icon=":material/add:", on_click=training_form.leave, help="Open the form.")
        controls.callback_button(
            "Duplicate and edit",
            partial(_duplicate, run),
            key="run duplicate",
            icon=":material/content_copy:",
            help="Fills the form with this run's recipe.",
        )
        if run.is_example:
            controls.callback_button(
                "Train it again",
                partial(_train_again, run),
                key="run again",
                type="primary",
                icon=":material/replay:",
                help="Starts a new run with the same recipe and saves its model.",
            )
        if status.live or run.is_example:
            return
        if status.state != statuses.FINISHED:
            resume = partial(training_queue.resume, run)
            controls.callback_button("Resume", resume, key="run resume", icon=":material/resume:")
        with st.popover("Rename", icon=":material/edit:"):
            st.text_input("New name", run.name, key=name)
            controls.callback_button("Rename run", partial(_rename, run, name), key="run rename")
        with st.popover("Delete", icon=":material/delete:"):
            st.write("This deletes the run's folder and its model. It cannot be undone.")
            controls.callback_button("Delete run", partial(_delete, run), key="run delete", type="primary")


def _duplicate(run: Run) -> None:
    recipe_form.fill(run.recipe())
    training_form.leave()


def _train_again(run: Run) -> None:
    recipe = run.recipe()
    kept = {name: value for name, value in recipe.made_with.items() if name in (THREADS, PROCESSOR)}
    training_form.choose(training_queue.start(replace(recipe, made_with=kept)))


def _rename(run: Run, key: str) -> None:
    new = str(st.session_state[key]).strip()
    if not new:
        raise errors.BadChoice("The new name is empty. Type letters, digits, '-', '_' and '.'.")
    if new != run.name:
        training_form.choose(training_queue.rename(run, new))


def _delete(run: Run) -> None:
    training_queue.delete(run)
    training_form.leave()


def card(run: Run, status: statuses.Status) -> None:
    """The verdict, its scores and the model, as far as the run has them."""
    learned = status.learned
    if messages.how_sure(learned):
        microscope.pairs_that_show(status.verdict.pairs if status.verdict else ())
        if status.facts.packs_held_out is False:
            st.caption(NOT_HELD_OUT)
        if learned.score is not None and learned.score.kind == WORSE and not learned.score.is_untrained:
            st.caption(WHAT_TO_TRY)
    scores(status)
    classes(status)
    cards = st.container(horizontal=True)
    if status.best_step and status.seeds == 1:
        at_best_step = f"{run_status.AT_BEST_STEP.lower()} {in_words.number(status.best)}"
        by = "score on the rows that are held out to choose it" if status.facts.held_out else "dev score"
        help = f"The step with the highest {by}, which the saved model is made of. {run_status.HOW_AT_BEST_STEP}"
        note = f"of {status.total:,} steps, {at_best_step}"
        messages.number(cards, "Best checkpoint", f"step {status.best_step:,}", note, border=True, help=help)
    if status.seconds:
        steps = f"{status.step:,} steps" if status.step else "no training steps"
        messages.number(cards, "Time", in_words.duration(status.seconds), steps, border=True)
    for text in status.facts.warnings:
        st.warning(messages.plain(text), icon=":material/visibility:")
    _stages(status)
    if len(status.results) > 1:
        _seeds(status)
    _model(run, status)


def _stages(status: statuses.Status) -> None:
    """What each stage of each seed that is done came to; nothing for a run without stages."""
    facts = status.facts.stages
    if facts is None or not status.results:
        return
    with st.expander(f"Best checkpoints of {len(facts.methods)} stages", icon=":material/stairs:"):
        rows = []
        for result in status.results:
            last = StageScores(facts.methods[-1], result.steps or 0, result.best_step, result.dev_at_best_step)
            for number, one in enumerate((*result.stages, last), start=1):
                of_seed = {"Seed": str(result.seed)} if len(status.results) > 1 else {}
                row = {"Stage": f"{number}. {one.method}", "Ends at step": one.steps}
                dev = {run_status.AT_BEST_STEP: one.dev_at_best_step}
                rows.append({**of_seed, **row, "Best checkpoint": one.best_step, **dev})
        two = st.column_config.NumberColumn(format="%.2f", help=run_status.HOW_AT_BEST_STEP)
        st.dataframe(rows, hide_index=True, column_config={run_status.AT_BEST_STEP: two})
        st.caption("Each stage starts from the best checkpoint of the one before. Steps are counted through.")


def _seeds(status: statuses.Status) -> None:
    with st.expander(f"Scores of {len(status.results)} seeds", icon=":material/casino:"):
        rows: in_words.Rows = [
            {
                "Seed": str(one.seed),
                "Best checkpoint": one.best_step,
                "Dev": one.dev,
                "Test": one.test,
                "Gain": one.verdict.test.shown_difference if one.verdict and one.verdict.test else None,
            }
            for one in status.results
        ]
        st.dataframe(downloads.with_signs(rows, ("Gain",)), hide_index=True)
        test = spread([one.test for one in status.results])
        by = "score on held-out rows" if status.facts.held_out else "dev score"
        text = "" if test is None else f"{OF_SEEDS.format(*test)} "
        st.caption(f"{text}Gain: minus the base under model default. The seed with the best {by} is saved.")


def _model(run: Run, status: statuses.Status) -> None:
    if not run.model.is_dir():
        return
    if st.button(
        "Compare with base",
        key="run compare",
        type="primary",
        icon=":material/compare_arrows:",
        on_click=page_list.compare_with_base,
        args=(run,),
        help="Opens the Compare page on the test set. A is the base under model default, B the tuned model.",
    ):
        # without query_params, Streamlit would clear every parameter, and it refuses those bound to widgets
        st.switch_page("pages/compare.py", query_params={})
    folder = str(run.model)
    own_modules = sorted(path.name for path in run.model.glob("*.py"))  # for modules that the library lacks
    if layout.adapter(run.model) is None:
        st.caption("Load the model from its folder:")
        st.code(folder, language=None, wrap_lines=True)
    else:
        folder = f"{run.name}-model"
        own_modules = ["layer_reading.py"] * any(one.kind == "LayerReading" for one in layout.modules(run.model))
        st.caption("This run keeps its model as an adapter of the base. Export a whole model, and load it:")
        st.code(f"python -m explorer export {run.name} {folder}", language=None, wrap_lines=True)
    trusting = ", trust_remote_code=True" if own_modules else ""
    loaded = f"SentenceTransformer({folder!r}{trusting})"
    st.code(
        f"from sentence_transformers import SentenceTransformer\n\nmodel = {loaded}",
        language=None,  # the colours of highlighted code are too faint to read
        wrap_lines=True,
    )
    if own_modules:
        st.caption(f"The folder includes code (`{'`, `'.join(own_modules)}`), which `trust_remote_code=True` runs.")


def scores(status: statuses.Status) -> None:
    """A row of cards for each test set, and one for the dev set."""
    verdict = status.verdict
    if verdict is None:
        if status.state == statuses.FINISHED:  # any other one has none yet
            st.caption(NO_COMPARISON)
        return
    reading = status.facts.base_reading or status.facts.reading
    trained = reading.words if reading else "trained layer & pooling"
    for use, found in verdict.by_use.items():
        _row(use, found, trained, status)
    if verdict.elsewhere:
        st.markdown("**Elsewhere**: sets that the run was not trained for · scores × 100", help=ELSEWHERE_HELP)
        rows = [
            {
                "Set": sources.shown(one.name),
                "Items": one.items,
                "Measure": one.measure,
                BASE.capitalize(): in_words.rounded(one.verdict.declared_base, 2),
                TUNED.capitalize(): in_words.rounded(one.verdict.exported, 2),
                "Difference (95 % CI)": one.verdict.gap or None,
                "Verdict": WORDS[one.verdict.kind] if one.verdict.exported is not None else None,
            }
            for one in verdict.elsewhere
        ]
        st.dataframe(rows, hide_index=True, key="elsewhere")


def classes(status: statuses.Status) -> None:
    """The scores of the classes of the test rows, over all seeds that are done, of a run on labelled texts."""
    found = [one.classes for one in status.results if one.classes is not None]
    if not found:
        return
    seeds = f", mean ± standard deviation of {len(found)} seeds" if len(found) > 1 else ""
    st.markdown(f"**Test rows**: classes of {found[0].rows:,} rows · × 100{seeds}")
    if status.frozen is not None:
        messages.verdict(status.frozen.sentence)
    cards = st.columns(3, gap="small")
    for card, name in zip(cards, MEASURES, strict=True):
        average = spread([one.measure(name) for one in found])
        if average is not None:
            deviation = f" ± {average[1]:.2f}" if len(found) > 1 else ""
            messages.number(
                card, f"Test rows: {name}", f"{average[0]:.2f}{deviation}", border=True, help=OF_CLASSES[name]
            )


def _row(use: str, found: Verdict, trained: str, status: statuses.Status) -> None:
    name, count, measure = status.facts.set_of(use), status.facts.size_of(use), status.facts.measure_of(use)
    size, why = f", {status.facts.counted(use)}" if count else "", status.facts.why_no_score(use)
    of_set, use = "Dev set" if use == "dev" else use.replace("test", "Test set"), use.capitalize()
    st.markdown(f"**{of_set}**: {messages.plain(sources.shown(name))}{size} · {measure} × 100")
    good = "; good models: 75 to 90" if measure == SPEARMAN else ""
    help_of = {which: text.format(measure, good) for which, text in SCORE_HELP.items()}
    cards = st.columns(3, gap="small")
    default = status.facts.default.words if status.facts.default else ""
    before = ((BASE, found.declared_base, default, "base"),
              (SAME, found.same_reading_base, trained, "same"))  # fmt: skip
    for card, (label, score, note, which) in zip(cards, before, strict=False):
        messages.number(card, f"{use}: {label}", in_words.number(score), note, border=True, help=help_of[which])
    if why:
        st.caption(f"No score: {why}.")
    value = in_words.number(found.exported)
    if status.facts.nothing is not None:
        value = AS_BASE
    elif found.exported is None and not why:
        value = "not yet" if status.live else NO_TEST_SCORE
    note = found.gap if found.chose else found.gap_with_ci
    messages.number(cards[-1], f"{use}: {TUNED}", value, note, border=True, help=help_of["tuned"])
    if found.chose:
        st.caption(NO_TEST)
    if words := found.parts(status.facts.poolings):
        st.caption(messages.plain(f"Of {in_words.signed(found.shown_difference)}, {words}."))
