"""Choose models, tasks and settings, and evaluate them in the background; each result is saved at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from explorer import errors, in_words, progress
from explorer.data import sources, text_sets, uploads
from explorer.data.set_items import counted
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.evaluation import AnySubject, EvaluationResult, Models, evaluation, forecast
from explorer.evaluating.results import result_files, scored_task
from explorer.evaluating.tasks import ALL, Subject, named, published, suites, tasks_of
from explorer.evaluating.tasks.word_models import BAG, BM25, WordSubject, is_word_model
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings
from explorer.studies.size import static_folder
from explorer.training.record import runs
from explorer.training.record.run_results import scored
from explorer.ui import messages
from explorer.ui.access import cached, jobs, loaded_encoders
from explorer.ui.frame import sidebar
from explorer.ui.results import filters
from explorer.ui.widgets import controls, job_buttons

JOB = "evaluation"  # one at a time, in whichever tab it was started
MODELS, SUITES_KEY, TASKS = "models to evaluate", "suites to evaluate", "tasks to evaluate"
START, ESTIMATE, UPLOAD = "start evaluation", "estimate evaluation", "task to upload"
CONTINUE = "continue evaluation"
STOPPED = "Stopped: {}. What was measured is saved."
LAST = "_the last evaluation"
SAVED, AGAIN = "Results that are saved already are not measured again.", "Saved results are measured again."
SHOWN = 12  # names of tasks
CUT = "Some texts are not read to their end."
FORM = "evaluate"
USUAL, DEFAULT, EVERY = "usual", MODEL_DEFAULT, ALL
TITLE_NAMES = {USUAL: "automatic", DEFAULT: "the model default only", EVERY: "all"}


def fields() -> dict[str, Knob]:
    """The settings in the order of the form."""
    knobs = dict(scored_task.Options.knobs)
    again = knobs.pop("again")
    return {**knobs, "max_length": Settings.knobs["max_length"], "again": again}


def collect() -> None:
    """Take the result of an evaluation that has ended, and show its suite; before the menu of suites is drawn."""
    job = jobs.find(JOB)
    if job is not None and job.state == jobs.DONE:
        st.session_state[LAST] = job.result
        st.session_state[filters.SUITE] = filters.suite_of(job.result.results[0].task)
        jobs.forget(JOB)


def show() -> None:
    """The form, or the progress of the evaluation under way."""
    job = jobs.find(JOB)
    if job is not None and job.live:
        jobs.progress_of(job)
        return
    if job is not None and job.state == jobs.STOPPED:
        st.info(STOPPED.format(messages.plain(job.title)), icon=":material/stop_circle:")
        # measures what is not saved
        st.button("Continue", key=CONTINUE, icon=":material/resume:", on_click=jobs.restart, args=(job,))
    elif job is not None:
        messages.trouble(job.error, job.details)
    if LAST in st.session_state:
        found: EvaluationResult = st.session_state[LAST]
        text = f"{counted(len(found.results) - len(found.reused), 'result')} measured"
        if found.reused:
            text += f", {len(found.reused):,} taken from saved results"
        st.success(f"{text}.", icon=":material/check:")
        for repeated in found.repeated:
            st.info(messages.plain(repeated), icon=":material/content_copy:")
        _tell_troubles(found)
    with st.container():  # a place of its own: otherwise an error would move the fold below, which closes it
        controls.refused()
    _models()
    _tasks()
    with st.expander("Settings", icon=":material/tune:"):
        _settings()
    _buttons(_chosen())


def _chosen() -> EvaluationChoice:
    """What the fields say; in a callback too, where it is newer than what was drawn."""
    state = st.session_state
    models, single = ([one.strip() for one in state.get(key, ()) if one.strip()] for key in (MODELS, TASKS))
    tasks = [*(task for suite in state[SUITES_KEY] for task in tasks_of(suite)), *single]
    typed = controls.written(FORM, fields())
    return EvaluationChoice(tuple(dict.fromkeys(models)), tuple(dict.fromkeys(tasks)), typed)


def _models() -> None:
    from explorer.studies.plans.plan import Plan

    controls.draw(
        "",
        replace(Plan.knobs["models"], title="Models"),  # a plan evaluates the same, on the same
        key=MODELS,
        offered=[*sidebar.encoders(), f"{static_folder.STATIC}{lookup.BUNDLED}", BAG, BM25],
        default=[lookup.BUNDLED],
        format_func=runs.shown,
        select_all=False,
        filter_mode="contains",
        placeholder="a name, or the path of a folder",
        help="Models on this disk, and those of your runs; or type the path of a folder and press Enter. "
        f"{static_folder.STATIC} before a name is the static encoder of that model: a vector for each token. "
        f"{BAG} compares shared words, and the path of a file of word vectors (GloVe) is a model too, both on scored "
        f"pairs only; {BM25} searches by words, on retrieval sets only.",
    )


def _tasks() -> None:
    from explorer.studies.plans.plan import Plan

    tasks = Plan.knobs["tasks"]
    controls.draw(
        "",
        replace(tasks, title="Suites"),
        key=SUITES_KEY,
        offered=suites(),
        default=[next(iter(suites()))],
        accept_new_options=False,
        help="Sets of tasks: sts are the seven STS sets of papers, transfer classifies texts from their vectors, "
        "search and retrieval find duplicate questions. Their files are read from the folder that STRATA_DATA names.",
    )
    controls.draw(
        "",
        replace(tasks, title="Single tasks and your own files"),
        key=TASKS,
        offered=controls.with_uploads(published()),
        format_func=sources.label,
        select_all=False,  # with it, Enter after a name takes every task whose name begins so
        filter_mode="contains",
        placeholder="a task, or the path of a file or folder",
        help="Choose a task, or type the path of a file on this machine and press Enter: scored pairs, triplets, "
        "translations, or texts with labels. A folder has labelled train and test files.",
    )
    controls.upload_to_keep(
        "Task (file)",
        UPLOAD,
        _take,
        "The file is kept on this machine only.",
        "Two sentences and a score in each row, or a text and its label. For more than 20 MB, type the file's path "
        "instead.",
    )


def _settings() -> None:
    for name, knob in fields().items():
        if name == "titles":  # a menu of the usual choices: a form rarely needs more than one layer & pooling
            controls.draw(
                FORM,
                replace(knob, default="", help=f"automatic: {knob.empty}. {knob.help}"),
                offered=TITLE_NAMES,
                format_func=lambda title: TITLE_NAMES.get(title, title),
                width=controls.WIDTH,
            )
        elif name == "max_length":
            controls.draw(FORM, knob, placeholder=f"{knob.empty}; 64 for search")
        else:
            controls.draw(FORM, knob)


def _buttons(choice: EvaluationChoice) -> None:
    def start() -> None:
        checked = _chosen().checked(sidebar.encoders())
        st.session_state.pop(LAST, None)
        jobs.forget(JOB)  # that was stopped, or failed
        models, tasks = counted(len(checked.models), "model"), counted(len(checked.tasks), "task")
        jobs.follow(JOB, f"Evaluating {models} on {tasks}", checked.evaluated)

    job_key = estimate_key(choice)

    def estimate_time() -> None:
        expected = choice.checked(sidebar.encoders()).expected
        jobs.follow(job_key, "Estimating the time of the evaluation", expected)

    models, tasks = len(choice.models), len(choice.tasks)
    if models and tasks:  # what would be measured, without a look at files
        names = [messages.plain(uploads.name_of(task) or task) for task in choice.tasks[:SHOWN]]
        more = [f"{tasks - SHOWN} more"] if tasks > SHOWN else []
        counts = counted(models, "model"), counted(tasks, "task"), counted(models * tasks, "result")
        saved = AGAIN if choice.typed.get("again") else SAVED
        st.caption(f"{' × '.join(counts[:2])} = {counts[2]}: {', '.join([*names, *more])}. {saved}")
    line = st.container(horizontal=True)
    controls.callback_button("Evaluate", start, place=line, key=START, icon=":material/play_arrow:", type="primary")
    estimate = job_buttons.button(
        line,
        "Estimate time",
        job_key,
        estimate_time,
        key=ESTIMATE,
        icon=":material/speed:",
        help="Encodes a few texts of each task, trains the classifier once, and says what is not saved yet. "
        "Nothing is saved.",
    )
    if estimate is not None:
        _tell_estimate(estimate.result)


def _tell_estimate(expected: EvaluationResult) -> None:
    """What there is to measure and how long it takes, and the texts that are cut."""
    usual, most = in_words.duration(expected.seconds), in_words.duration(expected.at_most)
    about, results = f"about {usual}{'' if usual == most else f', at most {most}'}", len(expected.costs)
    text = f"{counted(results, 'result')} to measure: {about}." if results else "Nothing to measure."
    if expected.reused:
        text += f" {len(expected.reused):,} {'is' if len(expected.reused) == 1 else 'are'} saved already."
    if any(cost is None for _, _, cost in expected.costs):
        text += " Models without a transformer are not in the estimate."
    st.info(text, icon=":material/speed:")
    known = ((model, task, cost.cut.text) for model, task, cost in expected.costs if cost and cost.cut)
    if cut := tuple(f"{task}, {model}: {text}" for model, task, text in known if text):
        st.warning(_listed(CUT, cut), icon=":material/content_cut:")
    _tell_troubles(expected)


def estimate_key(choice: EvaluationChoice) -> str:
    """The job key of an estimate, which depends on the files of models and tasks, and on what is saved."""
    now = (
        cached.inputs_digest(map(static_folder.whole, choice.models), sources.texts(choice.tasks)),
        result_files.stamp(),
    )
    return f"{ESTIMATE} of {choice} {text_sets.digest_of([repr(now)])}"


def _take(path: str) -> None:
    st.session_state[TASKS] = [*(one for one in st.session_state.get(TASKS, ()) if one != path), path]


def _tell_troubles(results: EvaluationResult) -> None:
    """One box for all tasks without data, and one for all models that failed."""
    if results.missing:
        st.warning(_listed("Not scored:", results.missing), icon=":material/block:")
    if results.failed:
        st.error(_listed("These models failed; the others were scored:", results.failed), icon=":material/error:")


def _listed(title: str, text: tuple[str, ...]) -> str:
    lines = [messages.plain(one) for one in text]
    return f"{title} {lines[0]}" if len(lines) == 1 else "\n".join([title, "", *(f"- {line}" for line in lines)])


@dataclass(frozen=True)
class EvaluationChoice:
    """Models, tasks or files, and settings, as they are in the form."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    typed: Mapping[str, Any]  # the settings that are not empty

    @property
    def options(self) -> scored_task.Options:
        """The settings of an evaluation; an error if a value is not allowed."""
        title = self.typed.get("titles", USUAL)
        typed = {**self.typed, "titles": () if title == USUAL else (title,)}
        typed.pop("max_length", None)
        return scored_task.Options(**controls.checked(typed, fields()))

    @property
    def max_length(self) -> int | None:
        """The maximum length in tokens; None: that of each model."""
        typed = {name: value for name, value in self.typed.items() if name == "max_length"}
        return controls.checked(typed, fields()).get("max_length")

    def checked(self, known: list[str]) -> EvaluationChoice:
        """The same with the names of tasks; an error that names what is missing, unknown or not allowed.

        Models that are not among the known ones were typed in, and are looked for.
        """
        if not self.models or not self.tasks:
            raise errors.BadChoice("Choose at least one model and one suite or task.")
        for model in self.models:
            if model not in known and not is_word_model(model):
                cached.found(static_folder.whole(model))
        found = replace(self, tasks=tuple(dict.fromkeys(map(named, self.tasks))))
        _ = found.options, found.max_length  # an error if one is not allowed
        return found

    def evaluated(self) -> progress.Work[EvaluationResult]:
        """Score the models on the tasks; an error if nothing could be scored."""
        models, failed = yield from self._subjects()
        found = yield from evaluation(models, self.tasks, self.options)
        found = replace(found, failed=(*failed, *found.failed))
        if not found.results:
            raise errors.StrataError(next(iter((*found.failed, *found.missing)), "Nothing could be scored."))
        return found

    def expected(self) -> progress.Work[EvaluationResult]:
        """Estimate the time of what is not saved."""
        models, failed = yield from self._subjects()
        found = yield from forecast(models, self.tasks, self.options)
        return replace(found, failed=(*failed, *found.failed))

    def _subjects(self) -> progress.Work[tuple[Models, tuple[str, ...]]]:
        """The models that are there, and in words those that are not."""
        found: list[tuple[result_files.ScoredModel, AnySubject]] = []
        failed: list[str] = []
        settings = replace(scored_task.EVALUATED, max_length=self.max_length)
        for name in self.models:
            yield progress.Progress(f"reading the files of {name}", 0, 0)
            if is_word_model(name):
                word = WordSubject(name, settings)
                found.append((word.scored, word))
                continue
            try:
                model = yield from static_folder.of_source(name, cached.found)
            except errors.StrataError as error:  # such as a run that was deleted meanwhile
                failed.append(f"{name}: {error}")
                continue
            found.append((scored(model), Subject(model, settings, loaded_encoders.encoder)))
        return found, tuple(failed)
