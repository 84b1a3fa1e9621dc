"""What came of a run? Scores before and after, its model, and the lines that load it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.training.runs import Run
from explorer.training.seeds import spread
from explorer.training.status import Status
from explorer.ui import controls, notices, run_words

COMPARE_PAGE = "pages/layers.py"


def card(run: Run, status: Status) -> None:
    """The numbers, then the model, as far as there are any."""
    after = mean_and_spread(status.results, "test")
    cards = st.container(horizontal=True)
    base_test = status.facts.get("base_test")
    if status.facts.get("test"):
        _before_and_after(cards, "Test", base_test, after)
    _before_and_after(cards, "Development, best step", status.base, _dev(status))
    if status.best_step and status.seeds == 1:
        notices.number(cards, "Best step", f"{status.best_step:,}", f"of {status.total:,}", border=True)
    if status.seconds:
        notices.number(cards, "Time", run_words.duration(status.seconds), _steps(status), border=True)
    if after is not None and base_test is not None and after[0] < base_test:
        st.warning(
            "The tuned encoder scores lower than the base on the test pairs. Other text, fewer steps or a lower "
            "learning rate may help; the base is as it was.",
            icon=":material/trending_down:",
        )
    if status.facts.get("seen"):
        st.warning(notices.plain(str(status.facts["seen"])), icon=":material/visibility:")
    if len(status.results) > 1:
        _seeds(status)
    _model(run, status)


def _steps(status: Status) -> str:
    return f"{status.step:,} steps" if status.step else "nothing to train"


def mean_and_spread(results: tuple[Mapping[str, Any], ...], name: str) -> tuple[float, float | None] | None:
    """Mean of a number over seeds, and its standard deviation where there are several; None where one lacks it."""
    if len(results) == 1:
        return None if results[0][name] is None else (results[0][name], None)
    if not results:
        return None
    return spread(results, name)


def _dev(status: Status) -> tuple[float, float | None] | None:
    """Over the seeds that are done; the best so far where none is."""
    if status.results:
        return mean_and_spread(status.results, "dev")
    return None if status.best is None else (status.best, None)


def _before_and_after(
    cards: DeltaGenerator, label: str, before: float | None, after: tuple[float, float | None] | None
) -> None:
    """`73.58 → 78.70`, with the gain below; one `none` where neither was measured."""
    value, note = run_words.NONE, ""
    if after is not None:
        value = run_words.score(after[0]) + ("" if after[1] is None else f" ± {after[1]:.2f}")
        note = "" if before is None else f"{after[0] - before:+.2f}"
    if before is not None or after is not None:
        value = f"{run_words.score(before)} → {value}"
    notices.number(cards, label, value, note, border=True)


def _seeds(status: Status) -> None:
    with st.expander(f"Each of {len(status.results)} seeds", icon=":material/casino:"):
        st.dataframe(
            [
                {
                    "Seed": str(one["seed"]),
                    "Best step": one["best_step"],
                    "Development": one["dev"],
                    "Test": one["test"],
                }
                for one in status.results
            ],
            hide_index=True,
            column_config={name: st.column_config.NumberColumn(format="%.2f") for name in ("Development", "Test")},
        )
        st.caption(
            "± is the standard deviation over seeds. The model kept is that of the best seed on the development pairs."
        )


def _model(run: Run, status: Status) -> None:
    """Where the model is, how it is loaded, and a look at it."""
    if not run.model.is_dir():
        return
    base = str(status.facts.get("model", ""))
    if st.button(
        "Compare with base",
        type="primary",
        icon=":material/compare_arrows:",
        on_click=controls.choose_encoder,
        args=(str(run.model),),
        help="Opens the Layers page with the tuned encoder chosen.",
    ):
        st.switch_page(COMPARE_PAGE)
    st.caption(f"The Layers page opens with the tuned encoder. The base, {notices.plain(base)}, is one click back.")
    st.caption("Its folder, and how it is loaded:")
    st.code(str(run.model), language=None, wrap_lines=True)
    own_modules = sorted(path.name for path in run.model.glob("*.py"))  # for what none of the library's can express
    trusting = ", trust_remote_code=True" if own_modules else ""
    loaded = f"SentenceTransformer({str(run.model)!r}{trusting})"
    st.code(
        f"from sentence_transformers import SentenceTransformer\n\nmodel = {loaded}",
        language="python",
        wrap_lines=True,
    )
    if own_modules:
        st.caption(f"The folder brings `{'`, `'.join(own_modules)}`, which the library runs when it is told to.")
