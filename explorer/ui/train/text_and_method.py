"""Choose the training text, and the method: the one that fits the text until the visitor chooses another."""

import json
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import knobs, places, progress
from explorer.data import corpora, reference_scores, sample, sources, splitting, text_sets, wordnet
from explorer.data.graded import sets, sts
from explorer.data.labelled import labelled_sets
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.errors import HubUnreachable, SetNotFound, StrataError
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.runs import training_form
from explorer.ui.train import knob_form
from explorer.ui.widgets import controls, job_buttons

UPLOAD = "uploaded text"
ASKED = "Upload your text above, or choose one by name. The method that fits its rows is then chosen."
GUESSED = "(as recognised)"
ONE_FILE, OTHERS = "Your file", "The training text"
_NOTED = "_text of the form"
FETCH = "Fetch {} ({})"
MISSING = "{} needs {}, which is not on this machine. {}"
VERSION = "1"  # a new one if a generator is made in another way, such as with more steps
DIGITS = 16  # of the digest in its path
NO_GENERATOR = (
    "{} needs a {}: a masked language model with the encoder's vocabulary. '{}' is not on this machine. Fetch it from "
    "the hub, make one here, or type a folder in the field {} under **More settings**."
)
MADE = (
    "A generator was made from {}. It predicts {:.1f} % of {} masked words in held-out sentences ({:.1f} % before "
    "training)."
)


def chosen_text() -> tuple[str, ...]:
    """The chosen names and files."""
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
    found = tuple(dict.fromkeys(source.strip() for source in chosen if source.strip()))
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
    chosen: tuple[str, ...], card: training_form.MethodCard, keep_duplicates: bool, about: DeltaGenerator
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
    try:
        count, duplicates, reports, divided = cached.rows(
            chosen, card.name, columns(chosen, card.kind.rows), keep_duplicates
        )
    except SetNotFound as error:
        training_form.not_found(error, chosen)
        return None
    except StrataError as error:
        messages.trouble(error)
        return None
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
    chosen: tuple[str, ...], kind: text_sets.Kind, evaluated: tuple[sets.SetIdentity, ...], batch: int
) -> int | None:
    """The number of scored rows that share no sentence with the dev and test set."""
    try:
        count, dropped = cached.left(chosen, kind, columns(chosen, kind), evaluated, batch)
    except StrataError as error:
        messages.trouble(error)
        return None
    if dropped:
        st.warning(messages.plain(f"{dropped}."), icon=":material/filter_alt:")
    return count


def columns(chosen: Sequence[str], kind: text_sets.Kind) -> dict[str, str]:
    """The columns that the visitor chose instead of the recognised ones, by role."""
    kept = {role: st.session_state.get(column_key(role), GUESSED) for role in (column.role for column in kind.trained)}
    return {role: column for role, column in kept.items() if column != GUESSED} if _files(chosen) else {}


def choose_columns(chosen: Sequence[str], kind: text_sets.Kind) -> None:
    """A select box for each role that a column of the file can have."""
    files = _files(chosen)
    if not files:
        return
    try:
        names = cached.columns_of(files[0])
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
    whole = [one.name for one in sts.SETS if len(one.splits) > 1]
    # the train part of the sample's pairs, and of every uploaded set that has one
    divided = [sets.SAMPLE, *(one for one in sets.kept_sets() if not cached.why_not_split(one, splitting.TRAIN_PART))]
    parts = [sources.written(sets.parts(one)[0]) for one in divided]
    labelled = labelled_sets.available()
    known = [*corpora.SHIPPED, *sidebar_choice.uploaded_sets(), *parts, *whole, *sts.menu(), *labelled]
    return controls.with_uploads([*known, *chosen])


def _files(chosen: Sequence[str]) -> list[str]:
    return [source for source in chosen if source not in corpora.SHIPPED and sources.is_file(source)]


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
    from explorer.training.recipe import demonstration

    state = st.session_state
    before, chosen = state.get(_NOTED, ()), tuple(state.get(training_form.SOURCES, ()))
    if state.get(training_form.METHOD_BY_HAND) or not chosen:
        return
    shown = demonstration()
    is_shown = chosen == shown.data
    name = shown.method if is_shown else of_text(chosen)
    if name and (name != state.get(training_form.METHOD) or before in ((), shown.data) or is_shown):
        state[training_form.METHOD] = name
        knob_form.fill(training_form.methods()[name], shown.every_setting() if is_shown else {}, follow=not is_shown)


def of_text(chosen: tuple[str, ...]) -> str:
    """The method that fits a text; "" if none is suggested, or if the text cannot be read."""
    from explorer.methods import suggested

    try:
        return suggested(*cached.kind_of(chosen))
    except StrataError:  # the text form shows the error
        return ""


def explain(chosen: tuple[str, ...], card: training_form.MethodCard, fits: bool) -> None:
    """Why the method fits the visitor's text; if it does not fit, a button that chooses the one that does."""
    name = of_text(chosen) if chosen else ""
    if not name:
        return
    suggestion = training_form.methods()[name].kind.suggestion
    if suggestion is None or not any(map(sources.is_file, chosen)):
        return

    def use_fitting() -> None:
        st.session_state[training_form.METHOD], st.session_state[training_form.METHOD_BY_HAND] = name, False
        knob_form.fill(training_form.methods()[name], {}, follow=True)

    why = messages.plain(suggestion.sentence(ONE_FILE if len(chosen) == 1 else OTHERS, name))
    if card.name == name and fits:
        st.caption(why)
    elif not fits and card.name != name:
        st.caption(why)
        st.button(
            f"Use {messages.plain(name)}",
            key="use fitting method",
            icon=":material/rule:",
            on_click=use_fitting,
        )


def method() -> training_form.MethodCard:
    """The chosen method."""
    cards = training_form.methods()
    name: str = controls.draw(
        "",
        training_form.setting("method"),
        key=training_form.METHOD,
        offered=cards,
        accept_new_options=False,
        on_change=lambda: st.session_state.update({training_form.METHOD_BY_HAND: True}),
        bind="query-params",
        width=230,
        help="Sorted by family. The tab *Text and method* says which methods fit the text. The name is the same on the "
        "command line.",
    )
    return cards[name]


def about(card: training_form.MethodCard) -> None:
    """What the method does, when to use it, and its paper."""
    st.caption(f"{messages.plain(card.kind.title())} Trains on {card.kind.rows.title}.")
    if card.kind.when_to_use:
        st.caption(_advice(card), help=messages.plain(reference_scores.measured_source()))
    with st.expander(f"About {messages.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(messages.plain(card.kind.about()))
        st.markdown(f"Paper: [{messages.plain(card.kind.paper.line)}]({card.kind.paper.link})")


def ready(card: training_form.MethodCard) -> bool:
    """Whether everything the method needs is on this machine; if not, show what is missing and a fetch button."""
    for need in card.lacks:
        st.warning(MISSING.format(*map(messages.plain, (card.name, need.name, need.how))), icon=":material/extension:")
        sidebar_choice.offer(FETCH.format(need.name, need.size), partial(_fetch, need))
    return not card.lacks


def every(chosen: tuple[str, ...]) -> None:
    """List the methods by what they train on; those that do not fit the text cannot be chosen, and say why."""
    cards = sorted(training_form.methods().values(), key=lambda card: text_sets.KINDS.index(card.kind.rows))
    missing = training_form.lacks(chosen)
    lacks = {
        card.name: missing[card.kind.rows] or "; ".join(f"{need.name} is not on this machine" for need in card.lacks)
        for card in cards
    }
    fitting = sum(not lack for lack in lacks.values())
    fit = f"{fitting} of {len(lacks)} fit this text" if chosen else f"{len(lacks)}"
    title = f"All methods by what they train on: {fit}"
    folded = st.expander(title, icon=":material/rule:", key="every method", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.caption(messages.plain(reference_scores.measured_source()))
        for kind, of_kind in groupby(cards, key=lambda card: card.kind.rows):
            st.markdown(f"**Trained on {kind.title}**")
            for family, of_family in groupby(of_kind, key=lambda card: card.kind.family):
                st.caption(messages.plain(family))
                for card in of_family:
                    lack, title = lacks[card.name], messages.plain(card.kind.title())
                    button, about = st.columns([1, 3], vertical_alignment="center")
                    button.button(
                        card.name,
                        key=f"choose {card.name}",
                        on_click=st.session_state.update,
                        args=({training_form.METHOD: card.name, training_form.METHOD_BY_HAND: True},),
                        disabled=bool(lack),
                        width="stretch",
                    )
                    about.markdown(f":gray[{title} Does not fit: {messages.plain(lack)}.]" if lack else title)
                    if card.kind.when_to_use:
                        about.caption(_advice(card))


def _advice(card: training_form.MethodCard) -> str:
    return messages.plain(reference_scores.advice(card.name, card.kind.when_to_use))


def _fetch(need: wordnet.Need) -> progress.Work[None]:
    yield progress.Progress(f"fetching {need.name}", 0, 0)
    need.fetch()


def generators_ready(
    card: training_form.MethodCard, base: str, chosen: tuple[str, ...], settings: knobs.Values
) -> bool:
    """Whether all are here; for a missing one, buttons to fetch it or to make one from the base encoder."""
    ready = True
    for knob in card.knobs.values():
        if not knob.masked_model:
            continue
        named = str(settings.get(knob.name, knob.default))
        try:
            model_names.find(named)
            continue
        except HubUnreachable:
            label = messages.plain(knob.name.replace("_", " "))
            st.warning(
                NO_GENERATOR.format(messages.plain(card.name), label, messages.plain(named), label),
                icon=":material/extension:",
            )
            sidebar_choice.offer(sidebar_choice.FETCH.format(named), partial(model_names.fetch, named))
            _offer_to_make(card, knob, base, chosen)
        except StrataError as error:
            messages.trouble(error)
        ready = False
    return ready


def _offer_to_make(card: training_form.MethodCard, knob: knobs.Knob, base: str, chosen: tuple[str, ...]) -> None:
    """Train a copy of the base to predict masked words of the text; offer one that was made of both before."""
    of_roles = columns(chosen, card.kind.rows)
    try:
        folder = folder_of(model_names.find(base).digest, cached.sentences_digest(chosen, of_roles))
    except StrataError:  # the form shows the error of the base or of the text
        return
    key = f"make {folder}"
    if folder.is_dir():
        text = json.loads((folder / "accuracy.json").read_text(encoding="utf-8"))
        st.caption(MADE.format(messages.plain(base), 100 * text["after"], f"{text['words']:,}", 100 * text["before"]))
        st.button(
            "Use it",
            key=f"use made {knob.name}",
            icon=":material/check:",
            on_click=lambda: st.session_state.update({knob_form.key_of(card.name, knob.name): str(folder)}),
            type="primary",
        )
    else:
        job_buttons.button(
            st.container(),
            f"Make one from {messages.plain(base)} and this text",
            key,
            partial(jobs.follow, key, "making a generator", partial(_make, base, chosen, of_roles), lane=jobs.TRAINING),
            key=f"make {knob.name}",
            anew=True,
            icon=":material/build:",
        )


def _make(base: str, texts: tuple[str, ...], of_roles: dict[str, str]) -> progress.Work[None]:
    from explorer.training.generator import make_generator

    text, _ = corpora.corpus(texts, text_sets.SENTENCES, of_roles)
    found = model_names.find(base)
    encoder = loading.load(found, precision="float32")
    yield from make_generator(encoder, text.texts[0], folder_of(found.digest, text.digest))


def folder_of(base: str, text: str) -> Path:
    """Where the generator of a base and a text is kept, both given by their digests."""
    return places.cache_folder() / "generators" / text_sets.digest_of(("generator", VERSION, base, text))[:DIGITS]
