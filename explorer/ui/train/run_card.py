"""Show what a run came to: the verdict, its stages and seeds, the model, and the scores on each set."""

import streamlit as st

from explorer import in_words, run_folder
from explorer.data import sources
from explorer.encoding.locate import layout
from explorer.evaluating.probes.class_scores import MEASURES
from explorer.measuring.comparing.learned import NOT_HELD_OUT
from explorer.measuring.comparing.verdict_sentence import gap_with_ci, is_untrained, parts
from explorer.measuring.scores.metrics import SPEARMAN
from explorer.measuring.scores.verdict import NO_TEST, WORDS, WORSE, Verdict
from explorer.training.loop.measured_facts import StageScores, spread
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import cached
from explorer.ui.frame import page_list
from explorer.ui.runs import run_status
from explorer.ui.widgets import downloads, onnx_export, pair_words

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


def card(run: Run, status: statuses.Status) -> None:
    """The verdict, its scores and the model, as far as the run has them."""
    learned = status.learned
    if messages.how_sure(learned):
        pair_words.pairs_that_show(learned.shown_pairs)
        if status.facts.packs_held_out is False:
            st.caption(NOT_HELD_OUT)
        if learned.score is not None and learned.score.kind == WORSE and not is_untrained(learned.score):
            st.caption(WHAT_TO_TRY)
    scores(status)
    classes(status)
    cards = st.container(horizontal=True)
    if status.best_step and status.seeds == 1:
        at_best_step = f"{run_status.AT_BEST_STEP.lower()} {in_words.number(status.best)}"
        help = f"The step with the highest {status.facts.chosen_by}, which the saved model is made of. "
        help += run_status.HOW_AT_BEST_STEP
        note = f"of {status.total:,} steps, {at_best_step}"
        messages.number(cards, "Best checkpoint", f"step {status.best_step:,}", note, border=True, help=help)
    if status.seconds:
        steps = f"{status.step:,} steps" if status.step else "no training steps"
        messages.number(cards, "Time", in_words.duration(status.seconds), steps, border=True)
    if status.facts.ran:
        st.caption(messages.plain(f"{'Trains' if status.live else 'Trained'} on {status.facts.ran}."))
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
        text = "" if test is None else f"{OF_SEEDS.format(*test)} "
        st.caption(
            f"{text}Gain: minus the base under model default. The seed with the best {status.facts.chosen_by} is saved."
        )


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
    onnx_export.draw(cached.found(run_folder.model_name(run.name)))


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
                BASE.capitalize(): in_words.rounded(one.verdict.before, 2),
                TUNED.capitalize(): in_words.rounded(one.verdict.after, 2),
                "Difference (95 % CI)": one.verdict.gap or None,
                "Verdict": WORDS[one.verdict.kind] if one.verdict.after is not None else None,
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


def _row(use: str, verdict: Verdict, trained: str, status: statuses.Status) -> None:
    name, count, measure = status.facts.set_of(use), status.facts.size_of(use), status.facts.measure_of(use)
    size, why = f", {status.facts.counted(use)}" if count else "", status.facts.why_no_score(use)
    of_set, use = "Dev set" if use == "dev" else use.replace("test", "Test set"), use.capitalize()
    st.markdown(f"**{of_set}**: {messages.plain(sources.shown(name))}{size} · {measure} × 100")
    good = "; good models: 75 to 90" if measure == SPEARMAN else ""
    help_of = {which: text.format(measure, good) for which, text in SCORE_HELP.items()}
    cards = st.columns(3, gap="small")
    default = status.facts.default.words if status.facts.default else ""
    before = ((BASE, verdict.before, default, "base"),
              (SAME, verdict.before_as_trained, trained, "same"))  # fmt: skip
    for card, (label, score, note, which) in zip(cards, before, strict=False):
        messages.number(card, f"{use}: {label}", in_words.number(score), note, border=True, help=help_of[which])
    if why:
        st.caption(f"No score: {why}.")
    value = in_words.number(verdict.after)
    if status.facts.nothing is not None:
        value = AS_BASE
    elif verdict.after is None and not why:
        value = "not yet" if status.live else NO_TEST_SCORE
    note = gap_with_ci(verdict) if verdict.is_test else verdict.gap
    messages.number(cards[-1], f"{use}: {TUNED}", value, note, border=True, help=help_of["tuned"])
    if not verdict.is_test:
        st.caption(NO_TEST[verdict.kind])
    if words := parts(verdict, status.facts.poolings):
        st.caption(messages.plain(f"Of {in_words.signed(verdict.shown_difference)}, {words}."))
