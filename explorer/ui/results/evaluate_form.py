"""Choose models, tasks and settings, and evaluate them in the background; each result is saved at once."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words
from explorer.data import sources, uploads
from explorer.data.kinds import digest_of
from explorer.encoding.locate import bundled
from explorer.evaluating.evaluation import EvaluationResult, Forecast
from explorer.evaluating.results import result_files
from explorer.evaluating.tasks import published, suites
from explorer.evaluating.word_subject import BAG, BM25
from explorer.ui import messages
from explorer.ui.access import cached, job_results, jobs
from explorer.ui.access.jobs import Job
from explorer.ui.frame import sidebar
from explorer.ui.results import evaluation_choice, filters
from explorer.ui.results.evaluation_choice import Checked, EvaluationChoice
from explorer.ui.widgets import refused_clicks, setting_fields, upload_boxes

JOB = "evaluation"  # one at a time, in whichever tab it was started
MODELS, SUITES_KEY, TASKS = "models to evaluate", "suites to evaluate", "tasks to evaluate"
START, ESTIMATE, UPLOAD = "start evaluation", "estimate evaluation", "task to upload"
CONTINUE = "continue evaluation"
STOPPED = "Stopped: {}. What was measured is saved."
LAST = "_the last evaluation"
COUNTED = "{} × {} = {}: {}. "
SAVED, AGAIN = "Results that are saved already are not measured again.", "Saved results are measured again."
SHOWN = 12  # names of tasks
NO_TIME = "Models without a transformer are not in the estimate."


def show(*, unfolded: bool) -> None:
    """The form, or the progress of the evaluation under way."""
    job = jobs.find(JOB)
    if job is not None and job.state == jobs.DONE:
        st.session_state[LAST] = job.result
        st.session_state[filters.SUITE] = filters.suite_of(job.result.results[0].task)
        jobs.forget(JOB)
        job = None
    if job is not None and job.live:
        job_results.progress_of(job)
        return
    if job is not None:
        _tell_end(job)
    if LAST in st.session_state:
        _tell(st.session_state[LAST])
    with st.expander("Evaluate models", icon=":material/play_arrow:", expanded=unfolded, key="open evaluation"):
        with st.container():  # a place of its own: otherwise an error would move the fold below, which closes it
            refused_clicks.refused()
        _fields()
        _buttons(_chosen())


def _chosen() -> EvaluationChoice:
    """What the fields say; in a callback too, where it is newer than what was drawn."""
    models, single = (
        tuple(dict.fromkeys(one.strip() for one in st.session_state.get(key, ()) if one.strip()))
        for key in (MODELS, TASKS)
    )
    return EvaluationChoice(
        models,
        tuple(st.session_state[SUITES_KEY]),
        single,
        setting_fields.written(evaluation_choice.FORM, evaluation_choice.FIELDS),
    )


def _fields() -> None:
    st.multiselect(
        "Models",
        _with_chosen([*sidebar.encoders(), BAG, BM25], MODELS),
        default=[bundled.NAME],
        key=MODELS,
        persist_state="session",
        accept_new_options=True,
        select_all=False,
        filter_mode="contains",
        placeholder="a name, or the path of a folder",
        help="Models on this disk, and those of your runs; or type the path of a folder and press Enter. "
        f"{BAG} compares shared words, and the path of a file of word vectors (GloVe) is a model too, both on scored "
        f"pairs only; {BM25} searches by words, on retrieval sets only.",
    )
    st.multiselect(
        "Suites",
        list(suites()),
        default=[next(iter(suites()))],
        key=SUITES_KEY,
        persist_state="session",
        help="Sets of tasks: sts are the seven STS sets of papers, transfer classifies texts from their vectors, "
        "search and retrieval find duplicate questions. Their files are read from the folder that STRATA_DATA names.",
    )
    st.multiselect(
        "Single tasks and your own files",
        upload_boxes.offered(_with_chosen(published(), TASKS)),
        format_func=sources.label,
        key=TASKS,
        persist_state="session",
        accept_new_options=True,
        select_all=False,  # with it, Enter after a name takes every task whose name begins so
        filter_mode="contains",
        placeholder="a task, or the path of a file or folder",
        help="Choose a task, or type the path of a file on this machine and press Enter: scored pairs, or texts with "
        "labels. A folder has labelled train and test files.",
    )
    upload_boxes.to_stay(
        "Task (file)",
        UPLOAD,
        _take,
        "The file is kept on this machine only.",
        "Two sentences and a score in each row, or a text and its label. For more than 20 MB, type the file's path "
        "instead.",
    )
    evaluation_choice.draw_settings()


def _with_chosen(options: list[str], key: str) -> list[str]:
    """Options, and what was typed in before: Streamlit would drop it after another page."""
    return list(dict.fromkeys([*options, *st.session_state.get(key, ())]))


def _buttons(choice: EvaluationChoice) -> None:
    if choice.models and choice.tasks:
        st.caption(_told(choice))
    estimate = jobs.find(estimate_key(choice))
    line = st.container(horizontal=True)
    line.button(
        "Evaluate",
        key=START,
        icon=":material/play_arrow:",
        type="primary",
        on_click=refused_clicks.attempt,
        args=(_start,),
    )
    if estimate is None:
        line.button(
            "Estimate time",
            key=ESTIMATE,
            icon=":material/speed:",
            on_click=refused_clicks.attempt,
            args=(_estimate,),
            help="Encodes a few texts of each task, trains the classifier once, and says what is not saved yet. "
            "Nothing is saved.",
        )
    elif estimate.state == jobs.DONE:
        _tell_forecast(st.container(), estimate.result)
    else:
        job_results.progress_of(estimate)


def _told(choice: EvaluationChoice) -> str:
    """What would be measured, without a look at files."""
    models, tasks = len(choice.models), len(choice.tasks)
    names = [messages.plain(uploads.name_of(task) or task) for task in choice.tasks[:SHOWN]]
    more = [f"{tasks - SHOWN} more"] if tasks > SHOWN else []
    counts = _counted(models, "model"), _counted(tasks, "task"), _counted(models * tasks, "result")
    return COUNTED.format(*counts, ", ".join([*names, *more])) + (AGAIN if choice.typed.get("again") else SAVED)


def _start() -> None:
    choice = _chosen()
    checked = choice.checked(sidebar.encoders())
    st.session_state.pop(LAST, None)
    jobs.forget(JOB)  # that was stopped, or failed
    models, tasks = _counted(len(checked.models), "model"), _counted(len(checked.tasks), "task")
    jobs.follow(JOB, f"Evaluating {models} on {tasks}", checked.evaluated)


def _estimate() -> None:
    choice = _chosen()
    checked: Checked = choice.checked(sidebar.encoders())
    jobs.follow(estimate_key(choice), "Estimating the time of the evaluation", checked.expected)


def estimate_key(choice: EvaluationChoice) -> str:
    """The job key of an estimate, which depends on the files of models and tasks, and on what is saved."""
    now = cached.as_they_are(choice.models, choice.tasks), result_files.stamp()
    return f"{ESTIMATE} of {choice} {digest_of([repr(now)])}"


def _take(path: str) -> None:
    st.session_state[TASKS] = [*(one for one in st.session_state.get(TASKS, ()) if one != path), path]


def _tell_end(job: Job) -> None:
    """How an evaluation without a result ended; the form below it stays."""
    if job.state == jobs.STOPPED:
        st.info(STOPPED.format(messages.plain(job.title)), icon=":material/stop_circle:")
        st.button("Continue", key=CONTINUE, icon=":material/resume:", on_click=_continue, args=(job,))
    else:
        messages.trouble(job.error, job.details)


def _continue(job: Job) -> None:
    """Start a stopped evaluation again, which measures what is not saved."""
    jobs.forget(JOB)
    jobs.follow(JOB, job.title, job.make)


def _tell(found: EvaluationResult) -> None:
    """How many results were measured, and what could not be."""
    measured = len(found.results) - len(found.reused)
    told = f"{_counted(measured, 'result')} measured"
    if found.reused:
        told += f", {len(found.reused):,} taken from saved results"
    st.success(f"{told}.", icon=":material/check:")
    for repeated in found.repeated:
        st.info(messages.plain(repeated), icon=":material/content_copy:")
    _tell_troubles(found)


def _tell_forecast(where: DeltaGenerator, found: Forecast) -> None:
    with where:
        usual, most = in_words.duration(found.seconds), in_words.duration(found.at_most)
        about = f"about {usual}{'' if usual == most else f', at most {most}'}"
        told = f"{_counted(len(found.costs), 'result')} to measure: {about}." if found.costs else "Nothing to measure."
        if found.reused:
            told += f" {found.reused:,} {'is' if found.reused == 1 else 'are'} saved already."
        if any(cost is None for _, _, cost in found.costs):
            told += f" {NO_TIME}"
        st.info(told, icon=":material/speed:")
        _tell_troubles(found)


def _tell_troubles(found: EvaluationResult | Forecast) -> None:
    """One box for all tasks without data, and one for all models that failed."""
    if found.missing:
        st.warning(_listed("Not scored:", found.missing), icon=":material/block:")
    if found.failed:
        st.error(_listed("These models failed; the others were scored:", found.failed), icon=":material/error:")


def _listed(title: str, told: tuple[str, ...]) -> str:
    lines = [messages.plain(one) for one in told]
    return f"{title} {lines[0]}" if len(lines) == 1 else "\n".join([title, "", *(f"- {line}" for line in lines)])


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
