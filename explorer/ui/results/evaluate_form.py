"""Choose models and suites, and evaluate them in the background; each result is saved at once."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.encoding.locate import bundled
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.evaluation import Evaluation, evaluation
from explorer.evaluating.suites import SUITES, Options, Subject, tasks_of
from explorer.measuring.scores.measure import Settings
from explorer.progress import Work
from explorer.training.record.run_origin import scored
from explorer.ui import messages
from explorer.ui.access import cached, job_progress, jobs
from explorer.ui.frame import sidebar
from explorer.ui.results import filters
from explorer.ui.widgets import refused_clicks

JOB = "evaluation"  # one at a time, in whichever tab it was started
MODELS, SUITES_KEY, START = "models to evaluate", "suites to evaluate", "start evaluation"
MISSING = "_missing of the last evaluation"
SETTINGS = Settings("float32")  # rounding to bfloat16 alone changes a score by up to 0.1


def show(*, unfolded: bool) -> None:
    """The form, or the progress of the evaluation under way."""
    job = jobs.find(JOB)
    if job is not None and job.state == jobs.DONE:
        st.session_state[MISSING] = job.result.missing
        st.session_state[filters.SUITE] = filters.suite_of(job.result.results[0].measured.task)
        jobs.forget(JOB)
        job = None
    if job is not None:
        job_progress.progress_of(job)
        return
    for told in st.session_state.get(MISSING, ()):
        st.warning(messages.plain(told), icon=":material/block:")
    with st.expander("Evaluate models", icon=":material/play_arrow:", expanded=unfolded):
        refused_clicks.refused()
        st.multiselect(
            "Models",
            sidebar.encoders(),
            default=[bundled.NAME],
            key=MODELS,
            help="Models on this disk, and those of your runs. Every layer & pooling is scored from one encoding.",
        )
        st.multiselect(
            "Suites",
            list(SUITES),
            default=[next(iter(SUITES))],
            key=SUITES_KEY,
            help="Sets of tasks: sts are the seven STS sets of papers, transfer classifies texts from their vectors, "
            "search finds duplicate questions. Their files are read from the folder that STRATA_DATA names.",
        )
        st.button(
            "Evaluate",
            key=START,
            icon=":material/play_arrow:",
            type="primary",
            on_click=refused_clicks.attempt,
            args=(_start,),
        )


def _start() -> None:
    models, suites = st.session_state[MODELS], st.session_state[SUITES_KEY]
    if not models or not suites:
        raise BadChoice("Choose at least one model and one suite.")
    st.session_state[MISSING] = ()
    tasks = [task for suite in suites for task in tasks_of(suite)]
    title = f"Evaluating {len(models)} model{'s' if len(models) > 1 else ''} on {len(tasks)} tasks"
    jobs.follow(JOB, title, lambda: evaluated(models, tasks))


def evaluated(models: Sequence[str], tasks: Sequence[str]) -> Work[Evaluation]:
    """Score models on tasks; an error if not one of them has its data."""
    subjects = [Subject(cached.found(name), SETTINGS, cached.encoder) for name in models]
    named = [(scored(subject.found), subject) for subject in subjects]
    found: Evaluation = yield from evaluation(named, tasks, Options())
    if not found.results:
        raise StrataError(f"None of the {len(tasks)} tasks can be scored. {next(iter(found.missing), '')}")
    return found
