"""Show a run's result: verdict, scores compared with the base, its model, and code to load it."""

from __future__ import annotations

import streamlit as st

from explorer import in_words
from explorer.encoding.locate import layout
from explorer.measuring.comparing.learned_text import NOT_HELD_OUT
from explorer.measuring.scores.verdict_text import WORSE
from explorer.training.loop.seed_scores import SeedScores, spread
from explorer.training.record.runs import Run
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.frame import shortcuts
from explorer.ui.train import run_scores
from explorer.ui.widgets import learned_view

COMPARE_PAGE = "pages/compare.py"
NOT_TESTED = "Not tested: the run was stopped. Resume it to finish and test it."
WHAT_TO_TRY = "Try other text, fewer steps or a lower learning rate. The base is not changed."
OF_SEEDS = "Test: {:.2f} ± {:.2f}, mean and standard deviation over seeds."


def card(run: Run, status: Status) -> None:
    """The verdict, its scores and the model, as far as the run has them."""
    learned = status.learned
    if learned_view.line(learned):
        learned_view.pairs(status.verdict.pairs if status.verdict else ())
        if status.facts.packs_held_out is False:
            st.caption(NOT_HELD_OUT)
        if learned.score is not None and learned.score.kind == WORSE:
            st.caption(WHAT_TO_TRY)
    elif not status.live and status.verdict is not None:
        st.info(NOT_TESTED, icon=":material/science_off:")
    run_scores.show(status)
    run_scores.classes(status)
    _progress(status)
    if status.facts.seen:
        st.warning(messages.plain(status.facts.seen.words), icon=":material/visibility:")
    if len(status.results) > 1:
        _seeds(status)
    _model(run, status)


def _progress(status: Status) -> None:
    """The best checkpoint and the time it took."""
    cards = st.container(horizontal=True)
    if status.best_step and status.seeds == 1:
        of = f"of {status.total:,} steps, dev {in_words.number(status.shown_best)}"
        by = "score on the rows that are held out to choose it" if status.facts.held_out else "dev score"
        help = f"The step with the highest {by}. The saved model is this checkpoint."
        messages.number(cards, "Best checkpoint", f"step {status.best_step:,}", of, border=True, help=help)
    if status.seconds:
        messages.number(cards, "Time", in_words.duration(status.seconds), _steps(status), border=True)


def _steps(status: Status) -> str:
    return f"{status.step:,} steps" if status.step else "no training steps"


def _seeds(status: Status) -> None:
    with st.expander(f"Scores of {len(status.results)} seeds", icon=":material/casino:"):
        st.dataframe(
            [_seed_row(one) for one in status.results],
            hide_index=True,
            column_config={name: st.column_config.NumberColumn(format="%.2f") for name in ("Dev", "Test", "Gain")},
        )
        test = spread([one.test for one in status.results])
        by = "score on held-out rows" if status.facts.held_out else "dev score"
        told = "" if test is None else f"{OF_SEEDS.format(*test)} "
        st.caption(f"{told}Gain: minus the base under model default. The seed with the best {by} is saved.")


def _seed_row(one: SeedScores) -> dict[str, object]:
    tested = one.verdict.test if one.verdict else None
    return {
        "Seed": str(one.seed),
        "Best checkpoint": one.best_step,
        "Dev": one.dev,
        "Test": one.test,
        "Gain": tested.difference if tested else None,
    }


def _model(run: Run, status: Status) -> None:
    """A button to compare with the base, the model's folder, and code to load it."""
    if not run.model.is_dir():
        return
    if st.button(
        "Compare with base",
        key="run compare",
        type="primary",
        icon=":material/compare_arrows:",
        on_click=shortcuts.compare_with_base,
        args=(run,),
        help="Opens the Compare page on the test set. A is the base under model default, B the tuned model.",
    ):
        # without query_params, Streamlit would clear every parameter, and it refuses those bound to widgets
        st.switch_page(COMPARE_PAGE, query_params={})
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
