"""Answer whether to fine-tune on a text: the form that proposes trainings, and the answer over their plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from explorer import in_words, typed_json
from explorer.data import corpora, sources
from explorer.data.graded import published_sets, sets
from explorer.progress import Work
from explorer.ui import messages
from explorer.ui.access import cached, jobs, set_choice, sidebar_choice
from explorer.ui.frame.page_list import ADVISE
from explorer.ui.frame.page_list import SHOULD_I as TITLE
from explorer.ui.plans import plan_start
from explorer.ui.runs import set_fields, training_form, training_queue
from explorer.ui.widgets import controls, downloads

if TYPE_CHECKING:
    from explorer.studies.plans.advice import AdviceOptions, Proposal
    from explorer.studies.plans.answer import Answer
    from explorer.studies.plans.plan_folder import PlanFolder, PlanStatus
    from explorer.studies.plans.plan_table import PlanTable
    from explorer.training.record.runs import Run

TEXT, FORM, START, LEAVE = "advice text", "advice", "advice start", "advice leave"
ABOUT = (
    "The methods that fit your text are trained within a time limit: first all of them, then with further seeds, on "
    "fewer rows, and with another learning rate. The answer says whether the model becomes better on rows that it was "
    "not trained on, what your rows could show, and whether more text would help."
)
USE, SPARE = "in use", "advice delete models"
OTHERS = "Further models that were trained for this answer: {:,}, {} on the disk."
KEPT = "The answer is of that of {}, which stays."
OWN_TEST = "a part of the text"
FAILS = "{} cannot be trained on it: {}"


def is_asked_for() -> bool:
    """Whether the address asks for the form."""
    return ADVISE in st.query_params


def leave() -> None:
    """Show the form of plans."""
    st.query_params.pop(ADVISE, None)


def form() -> None:
    """The text, the time limit, what is proposed, and the button that starts it."""
    controls.refused()
    st.subheader(TITLE)
    st.caption(ABOUT)
    source, options = _fields()
    st.button("All plans", key=LEAVE, icon=":material/checklist:", on_click=leave)
    if not source or options is None:
        return
    proposal = _proposal(source, options)
    if proposal is None:
        return
    _tell(proposal)

    def start() -> None:
        # the sets elsewhere are chosen once, for runs and plans
        elsewhere = tuple(st.session_state.get(set_fields.ELSEWHERE, proposal.plan.elsewhere))
        with_sets = replace(proposal, plan=replace(proposal.plan, elsewhere=elsewhere))
        plan_start.choose(training_queue.start_advice(with_sets).name)
        leave()

    controls.button(st.container(), "Start", start, key=START, type="primary", icon=":material/play_arrow:")


def _fields() -> tuple[str, AdviceOptions | None]:
    """The text, and the options; None without a time limit."""
    from explorer.studies.plans.advice import AdviceOptions

    knobs, named = AdviceOptions.knobs, set_choice.in_menu()
    columns = st.columns([5, 5, 3, 3])
    with columns[0]:
        source = _text()
    with columns[1]:
        test: str = controls.draw(
            FORM,
            replace(knobs["test"], title="Test set"),
            offered=["", *set_fields.every_set()],
            format_func=lambda name: named(name) if name else OWN_TEST,
        )
    with columns[2]:
        minutes = controls.draw(FORM, knobs["minutes"], step=5.0, format="%g", width="stretch")
    with columns[3]:
        longest = controls.draw(FORM, knobs["max_length"], width="stretch", placeholder="usual")
    if minutes is None:
        return source, None
    model = sidebar_choice.chosen().source
    judged_on = knobs["test"].checked(test)
    return source, AdviceOptions(model=model, minutes=minutes, test=judged_on, max_length=longest)


def _proposal(source: str, options: AdviceOptions) -> Proposal | None:
    """What is proposed for a text; None while it is being estimated, with progress shown."""
    now = cached.inputs_digest((options.model,), filter(None, (sources.text(source), options.test)))

    def make() -> Work[Proposal]:
        from explorer.studies.plans import advice, own_data

        data = own_data.read(source, options.model, test=options.test)
        return (yield from advice.proposal(data, options))

    key = f"advice {now} {source} {typed_json.written(options)}"
    job = jobs.finished_job(key, "reading the text, and measuring a step of each method", make, jobs.TRAINING)
    return None if job is None else job.result


def _tell(proposal: Proposal) -> None:
    """What the text holds, what is left out of it and of the methods, and what is proposed."""
    from explorer.studies.plans.advice import in_text

    st.markdown("\n".join(f"- {messages.plain(line)}" for line in proposal.advice.data.lines))
    for line in proposal.cut:
        st.warning(messages.plain(line), icon=":material/content_cut:")
    for method, why in proposal.advice.failures.items():
        st.warning(messages.plain(FAILS.format(method, why)), icon=":material/block:")
    model, seconds = proposal.advice.options.model, in_words.duration(proposal.seconds)
    text = f"Model {sources.shown(model)}: {in_text(proposal)}. About {seconds}."
    st.info(messages.plain(text), icon=":material/speed:")


def _text() -> str:
    """The text that the address names, or another one."""
    named = [*sets.kept_sets(), *(sets.SetIdentity(sets.SetKind.PUBLISHED, one.name) for one in published_sets.SETS)]
    known = controls.with_uploads([*corpora.SHIPPED, *(one.written for one in named)])
    given = st.query_params.get(ADVISE, "")
    labels = {sources.label(one): one for one in known}
    first = labels.get(given, given)
    options = known if not first or first in known else [*known, first]
    if first and TEXT not in st.session_state:
        st.session_state[TEXT] = first
    found: str | None = controls.draw(
        "",
        replace(training_form.setting("data", "Your text"), default=""),
        key=TEXT,
        offered=options,
        index=None,
        format_func=set_choice.in_menu(),
        placeholder="a name, or the path of a file",
        help="Scored pairs, pairs that mean the same, triplets, sentences, or texts with labels. Upload a file on the "
        "Start page, or type its path.",
        on_change=_follow,
    )
    return found or ""


def _follow() -> None:
    """The address names the text that is chosen, for a reload."""
    chosen = st.session_state[TEXT]
    st.query_params[ADVISE] = sources.label(chosen) if chosen else ""


def answered(folder: PlanFolder, table: PlanTable, status: PlanStatus) -> bool:
    """Show the answer of a plan that gives advice; False if it is any other plan."""
    from explorer.measuring.scores.in_use import AtRecall, InUse
    from explorer.studies.plans import advice, answer, extension, plan_folder

    given = advice.of_folder(folder)
    if given is None:
        return False
    wanted = InUse(**controls.checked(controls.written(USE, InUse.knobs), InUse.knobs))
    reached: Answer = answer.answer(table, given, status, wanted)
    st.subheader(TITLE)
    messages.verdict(reached.sentence)
    if reached.elsewhere is not None:
        messages.verdict(reached.elsewhere)
    for line in reached.helps:  # what more rows bring has a section of its own
        st.markdown(messages.plain(line))
    if reached.in_use_text:
        st.markdown(messages.plain(reached.in_use_text))
    if isinstance(reached.in_use, AtRecall):
        controls.draw(USE, InUse.knobs["recall"], step=0.05, width=200)
    if reached.best is not None:
        st.caption(answer.how_chosen(given))
        made, file = lambda: answer.report(table, given, status, wanted), f"{downloads.file_name(folder.name)}.html"
        downloads.file("Answer (HTML)", made, file, "text/html", icon=":material/description:", key="advice as html")
    if status.state == plan_folder.FINISHED:
        _other_models(extension.other_models(table, status, reached.run), reached.run)
    with st.expander("What was read of the text", icon=":material/description:"):
        st.markdown("\n".join(f"- {messages.plain(line)}" for line in given.data.lines))
    return True


def _other_models(others: list[Run], run: str) -> None:
    """What the models weigh that the answer is not of, and a button that deletes them."""
    if not others:
        return

    def delete() -> None:
        for one in others:
            one.delete_model()

    weight = in_words.size(sum(one.model_bytes for one in others))
    st.caption(messages.plain(f"{OTHERS.format(len(others), weight)} {KEPT.format(run) if run else ''}".strip()))
    with st.popover("Delete these models", icon=":material/delete:"):
        st.write("Their runs stay, with all scores and recipes. It cannot be undone.")
        controls.callback_button("Delete models", delete, key=SPARE, type="primary")
