"""Choose the training text and its columns; the method follows the text until the visitor chooses another."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data import corpora, sample, sources, splitting, text_sets
from explorer.data.graded import published_sets, sets, sts
from explorer.data.graded.sets import SetIdentity
from explorer.data.labelled import labelled_sets
from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice
from explorer.ui.runs import training_form
from explorer.ui.train import knob_form
from explorer.ui.widgets import controls

UPLOAD = "uploaded text"
ASKED = "Upload your text above, or choose one by name. The method that fits its rows is then chosen."
GUESSED = "(as recognised)"
ONE_FILE, OTHERS = "Your file", "The training text"
_NOTED = "_text of the form"


def chosen_text() -> tuple[SetIdentity, ...]:
    """The chosen texts, by name or as files."""
    filled = st.session_state.pop(training_form.FILLED, False)
    asked = bool(st.session_state.get(training_form.ASKED_FOR_FILE)) and not st.session_state.get(training_form.SOURCES)
    if asked:
        _upload_box(opened=True)
    chosen: list[str] = controls.draw(
        "",
        training_form.setting("data", "Training text"),
        key=training_form.SOURCES,
        offered=offered(st.session_state.get(training_form.SOURCES, st.query_params.get_all(training_form.SOURCES))),
        default=None if filled else [sample.MINIMAL_PAIRS],  # Streamlit warns of both a default and a value
        format_func=sources.label,
        on_change=follow_text,
        bind="query-params",
        placeholder="a name, or the path of a file",
        help="Choose a name, or type the path of a file on this machine and press Enter. Several texts are joined. "
        "`sample` and `minimal pairs` come with Strata. Methods for scored pairs use the scores, methods for labelled "
        "texts the labels (of a folder with train and dev or test files too); every other method uses the sentences "
        "alone.",
    )
    if not asked:
        _upload_box(opened=False)
    found = sources.texts(dict.fromkeys(source.strip() for source in chosen if source.strip()))
    if found:
        st.session_state[training_form.ASKED_FOR_FILE] = False
    st.session_state[_NOTED] = found  # a later text is compared with it
    return found


def _upload_box(*, opened: bool) -> None:
    controls.upload_to_keep(
        "Training text (file)",
        UPLOAD,
        _take,
        "The file is kept on this machine, so that the run can be resumed and repeated from the command line.",
        "One sentence a line, or a table: two columns for pairs, three for triplets, two and a score for scored pairs, "
        "one or two and a label for labelled texts, one whole text per row for documents. "
        "For more than 20 MB, type the file's path instead.",
        opened=opened,
    )


def rows(
    chosen: tuple[SetIdentity, ...], card: training_form.MethodCard, keep_duplicates: bool, about: DeltaGenerator
) -> int | None:
    """The number of rows the text has for a method, with more on them in `about`.

    None, with the error shown, if they do not fit.
    """
    if not chosen and st.session_state.get(training_form.ASKED_FOR_FILE):
        st.info(ASKED, icon=":material/upload_file:")
        return None
    if not chosen:
        messages.trouble("No training text is chosen. Choose 'sample', a set, or a file.")
        return None
    counted = None
    with set_choice.text_or_offered(chosen):
        counted = cached_texts.rows(chosen, card.name, columns(chosen, card.kind.rows), keep_duplicates)
    if counted is None:
        return None
    count, duplicates, reports, divided = counted
    kind, kept = card.kind.rows, [report for report in reports if report.rows_kept]
    text = f"{count:,} {'sentences' if kind == text_sets.SENTENCES else f'rows of {kind.title}'}"
    if kept:
        text += f", of {min(one.least_words for one in kept)} to {max(one.most_words for one in kept)} words each"
    if duplicates and keep_duplicates:
        text += f". {duplicates:,} of them are duplicates, which *keep duplicates* keeps"
    about.caption(f"{text}.")
    for report in reports:
        for dropped in report.dropped:
            st.warning(messages.plain(str(dropped)), icon=":material/filter_alt:")
    if divided:
        about.caption(messages.plain(f"{divided}."))
    return count


def left(
    chosen: tuple[SetIdentity, ...], kind: text_sets.Kind, evaluated: tuple[SetIdentity, ...], batch: int
) -> int | None:
    """The number of scored rows that share no sentence with the dev and test set."""
    try:
        count, dropped = cached_texts.left(chosen, kind, columns(chosen, kind), evaluated, batch)
    except StrataError as error:
        messages.trouble(error)
        return None
    if dropped:
        st.warning(messages.plain(f"{dropped}."), icon=":material/filter_alt:")
    return count


def columns(chosen: Sequence[SetIdentity], kind: text_sets.Kind) -> dict[str, str]:
    """The columns that the visitor chose instead of the recognised ones, by role."""
    kept = {role: st.session_state.get(column_key(role), GUESSED) for role in (column.role for column in kind.trained)}
    return {role: column for role, column in kept.items() if column != GUESSED} if _files(chosen) else {}


def choose_columns(chosen: Sequence[SetIdentity], kind: text_sets.Kind) -> None:
    """A select box for each role that a column of the file can have."""
    files = _files(chosen)
    if not files:
        return
    try:
        names = cached_texts.columns_of(files[0])
    except StrataError:
        return  # `rows` shows the error
    if len(names) < 2:
        return
    with st.expander("Columns", icon=":material/view_column:"), st.container(horizontal=True):
        for column in kind.trained:
            key, knob = column_key(column.role), training_form.setting("columns", column.label)
            if st.session_state.get(key) not in names:
                st.session_state[key] = GUESSED
            options = [GUESSED, *names]
            controls.draw("", knob, key=key, offered=options, accept_new_options=False, help=column.help, width=220)


def column_key(role: str) -> str:
    """The name of the widget of a role."""
    return f"text column {role}"


def offered(chosen: Sequence[str]) -> list[str]:
    """The names of texts to choose from, those that are chosen among them."""
    whole = [one.name for one in published_sets.SETS if len(one.splits) > 1]
    # the train part of the sample's pairs, and of every uploaded set that has one
    divided = [
        sets.SAMPLE,
        *(one for one in sets.kept_sets() if not cached_texts.why_not_split(one, splitting.TRAIN_PART)),
    ]
    parts = [sets.parts(one)[0].written for one in divided]
    labelled = labelled_sets.available()
    known = [*corpora.SHIPPED, *set_choice.uploaded_sets(), *parts, *whole, *sts.menu(), *labelled]
    return controls.with_uploads([*known, *chosen])


def _files(chosen: Sequence[SetIdentity]) -> list[str]:
    return [source for source in map(str, chosen) if source not in corpora.SHIPPED and sources.is_file(source)]


def _take(path: str) -> None:
    """Add a file to the choice; the default samples are removed."""
    before = [
        source
        for source in st.session_state.get(training_form.SOURCES, [])
        if source not in (corpora.SAMPLE, sample.MINIMAL_PAIRS, path)
    ]
    training_form.choose_text([*before, path])
    follow_text()


def follow_text() -> None:
    """Choose the method that fits the new text, with its defaults; only before the form is drawn.

    The demonstration's text has the demonstration's method and settings. What the visitor has chosen or set stays.
    """
    from explorer.training.text_defaults import demonstration

    state = st.session_state
    before, chosen = state.get(_NOTED, ()), sources.texts(state.get(training_form.SOURCES, ()))
    if state.get(training_form.METHOD_BY_HAND) or not chosen:
        return
    shown = demonstration()
    is_shown = chosen == shown.data
    name = shown.method if is_shown else of_text(chosen)
    if name and (name != state.get(training_form.METHOD) or before in ((), shown.data) or is_shown):
        state[training_form.METHOD] = name
        knob_form.fill(training_form.methods()[name], shown.every_setting() if is_shown else {}, follow=not is_shown)


def of_text(chosen: tuple[SetIdentity, ...]) -> str:
    """The method that fits a text; "" if none is suggested, or if the text cannot be read."""
    from explorer.methods import suggested

    try:
        return suggested(*cached_texts.kind_of(chosen))
    except StrataError:  # the text form shows the error
        return ""


def explain(chosen: tuple[SetIdentity, ...], card: training_form.MethodCard, fits: bool) -> None:
    """Why the method fits the visitor's text; if it does not fit, a button that chooses the one that does."""
    name = of_text(chosen) if chosen else ""
    if not name:
        return
    suggestion = training_form.methods()[name].kind.suggestion
    if suggestion is None or not any(sources.is_file(str(one)) for one in chosen):
        return

    def use_fitting() -> None:
        st.session_state[training_form.METHOD], st.session_state[training_form.METHOD_BY_HAND] = name, False
        knob_form.fill(training_form.methods()[name], {}, follow=True)

    why = messages.plain(suggestion.sentence(ONE_FILE if len(chosen) == 1 else OTHERS, name))
    if card.name == name and fits:
        st.caption(why)
    elif not fits and card.name != name:
        st.caption(why)
        st.button(f"Use {messages.plain(name)}", key="use fitting method", icon=":material/rule:", on_click=use_fitting)
