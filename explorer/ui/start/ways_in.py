"""Offer the three ways into Strata, as buttons and with the steps of each, and the models on this disk."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from explorer import errors, in_words, run_folder
from explorer.data import sample
from explorer.data.graded import sets
from explorer.encoding.locate import model_names, stored_vectors
from explorer.measuring.scores import layer_scores
from explorer.measuring.sentences import word_tables
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui import messages
from explorer.ui.access import cached, cached_texts, sidebar_choice
from explorer.ui.frame import page_list, sidebar
from explorer.ui.runs import training_form
from explorer.ui.widgets import controls, first_screen

SCORES, WAYS, OWN, MODELS = "Score by layer", "Three ways in", "Your own pairs", "Models on this disk"
TABS = (SCORES, WAYS, OWN, MODELS)
LATEST = 20  # runs whose status is read
DONE, OPEN = ":material/check_circle:", ":material/radio_button_unchecked:"
LAYERS, COMPARE, TRAIN, PLANS = "pages/layers.py", "pages/compare.py", "pages/train.py", "pages/plans.py"
NEWEST = 3  # runs whose models are not folded
OLDER = "Models of older runs ({})"


def show(choice: sidebar_choice.Choice) -> None:
    """The three, side by side."""
    uploaded = _uploaded(choice)
    one, two, three = st.columns(3, gap="small")
    with one.container(border=True, height="stretch"):
        _see_what_changed()
    with two.container(border=True, height="stretch"):
        _find_the_best_layer(choice, uploaded)
    with three.container(border=True, height="stretch"):
        _fine_tune(choice, uploaded)


def slim_buttons(choice: sidebar_choice.Choice) -> None:
    """The three as a button each: what their next step is, in one line."""
    uploaded, tuned = _uploaded(choice), _tuned()
    if tuned is None:
        _button("Fine-tune with the defaults", TRAIN, "door train defaults", training_form.leave, primary=True)
    else:
        _button("See what changed", COMPARE, "door compare", lambda: _compare(tuned), primary=True)
    if uploaded is None:
        _button("Best layer on the sample", LAYERS, "door layers sample")
        _button("Upload text and train", TRAIN, "door train", training_form.ask_for_file)
        return
    _button("Score your pairs", LAYERS, "door layers", lambda: sidebar.choose_set(uploaded))
    if not page_list.why_not_trained_on(uploaded):
        train = partial(page_list.train_on_own_pairs, uploaded)
        _button("Train on your pairs", TRAIN, "door train own", train)


def _uploaded(choice: sidebar_choice.Choice) -> sets.SetIdentity | None:
    chosen = choice.evaluation_set
    return chosen if chosen.kind == sets.SetKind.UPLOADED else next(iter(sets.kept_sets()), None)


def demonstration() -> str:
    """The model of the run that ships as a demonstration; "" if none does."""
    return next((run_folder.model_name(run.name) for run in runs.examples()), "")


def _tuned() -> str | None:
    """The model of the demonstration, or of the newest run without it."""
    return demonstration() or next(iter(run_folder.models()), None)


def _see_what_changed() -> None:
    tuned = _tuned()
    _describe(
        ":material/compare_arrows: See what fine-tuning changed",
        "A tuned model compared with its base: better or worse, on which sentences, and which words did it.",
        ("Base model", True),
        ("Tuned model", tuned and runs.model_title(tuned)),
        ("Verdict: on the Compare page", False),
    )
    if tuned is not None:
        with st.container(horizontal=True):
            _button(word_tables.TITLE, COMPARE, "door words", lambda: _compare(tuned, *sample.NEGATION))


def _find_the_best_layer(choice: sidebar_choice.Choice, uploaded: sets.SetIdentity | None) -> None:
    _describe(
        ":material/layers: Find the best layer for your data",
        "Every layer & pooling of a model, scored on your own sentence pairs.",
        ("Model", runs.model_title(model_names.shown_name(choice.source))),
        ("Your scored pairs", uploaded.title if uploaded else None),
        ("Scores: on the Layers page", uploaded is not None and _is_scored(choice, uploaded)),
    )
    if uploaded is None:
        open_own = partial(st.session_state.update, {first_screen.TAB: OWN})
        st.button("Upload your pairs", key="door upload", icon=":material/upload:", on_click=open_own)


def _fine_tune(choice: sidebar_choice.Choice, uploaded: sets.SetIdentity | None) -> None:
    trained = _run_on(uploaded) if uploaded else None
    _describe(
        ":material/model_training: Fine-tune on your data",
        "A copy of the model is trained on your text, in the background. The original is not changed.",
        ("Model", runs.model_title(model_names.shown_name(choice.source))),
        ("Your text", uploaded.title if uploaded else None),
        ("Tuned model", trained and runs.model_title(f"run:{trained}")),
    )
    if uploaded is None:
        _button(page_list.SHOULD_I, PLANS, "door advise", address={page_list.ADVISE: ""})
    else:
        reason = page_list.why_not_trained_on(uploaded)
        if reason:
            st.caption(messages.plain(reason))
        else:
            own = page_list.advise_on(uploaded.written)
            _button(page_list.SHOULD_I, PLANS, "door advise", address=own)


def _describe(title: str, about: str, *steps: tuple[str, str | bool | None]) -> None:
    """The title of a way and its steps in order, each with whether it is done: a mark and a word say so.

    A step is done with a name, which is shown.
    """
    st.subheader(title)
    st.markdown(about)
    lines = []
    for number, (step, done) in enumerate(steps, start=1):
        text = f"{step}: {done}" if isinstance(done, str) else step
        lines.append(f"{DONE if done else OPEN} {number} {messages.plain(text)}{' (done)' if done else ''}")
    st.markdown("  \n".join(lines))


def _button(
    label: str,
    page: str,
    key: str,
    act: Callable[[], object] = lambda: None,
    *,
    address: dict[str, str] | None = None,
    primary: bool = False,
) -> None:
    """A button that sets what the page needs, then opens it."""

    def leave() -> None:
        act()
        # not by what the button returns: the first visit of a process starts the page over, and that would be lost
        page_list.open_page(page, address)

    st.button(label, key=key, on_click=leave, type="primary" if primary else "secondary")


def _compare(tuned: str, *pair: str) -> None:
    """Choose a tuned model and its base, and open the words of a pair if one is given."""

    def choose() -> None:
        page_list.compare_with_base(runs.find(run_folder.run_and_checkpoint(tuned)[0]))
        if pair:
            from explorer.ui.widgets import pair_words  # what draws words is needed after such a click alone

            pair_words.open_words(pair_words.COMPARE, *pair)

    controls.attempt(choose)


def _is_scored(choice: sidebar_choice.Choice, uploaded: sets.SetIdentity) -> bool:
    try:
        pairs = cached_texts.graded_pairs(uploaded)
        return cached.kept_scores(choice.found(), pairs, choice.settings) is not None
    except errors.StrataError:
        return False  # the page says what is wrong with the model or the file


def _run_on(uploaded: sets.SetIdentity) -> str | None:
    """The newest finished run that was trained on this file."""
    parts = {uploaded, sets.parts(uploaded)[0]}
    for run in runs.every()[:LATEST]:
        status = run.status()
        if status.state == statuses.FINISHED and not parts.isdisjoint(status.facts.data) and not status.facts.nothing:
            return run.name
    return None


def model_a(scored: sidebar_choice.ModelScores) -> None:
    """Model A, in a line."""
    scores, metric = scored.scores, scored.scores.metrics[0]
    best = scores.best_of_all(metric)
    name = messages.plain(scored.found.name)
    read = "texts of any length" if scores.limit is None else f"up to {scores.max_length} tokens"
    line = f"**{name}** has {scores.last or 'no'} layers and encodes {read}."
    if stored_vectors.are_in(scored.found.folder):
        line = f"**{name}** is vectors that another program computed."
    elif scores.own_title:
        line += f" Model default: {messages.plain(scores.own_title)}."
    if best is not None:
        tied = layer_scores.tied_text(scores.ties(best, metric))
        line += (
            f" On **{messages.plain(scored.pairs.name)}**, {best.title} has the highest {metric}{tied}: "
            f"{in_words.number(scores.score(best, metric))}."
        )
    st.markdown(line)


def on_disk(choice: sidebar_choice.Choice) -> None:
    """Every model that loads without a network, each with a button; those of older runs are folded."""
    names, other = sidebar.encoders(), sidebar_choice.model_b()
    older = run_folder.models()[NEWEST:]
    for name in names:
        if name not in older:
            _line(name, choice, other)
    if older:
        fold = st.expander(OLDER.format(len(older)), icon=":material/history:", key="older runs", on_change="rerun")
        if fold.open:
            with fold:
                for name in older:
                    _line(name, choice, other)
    if len(names) == 1:
        st.caption(
            "It is installed with Strata. Models in the cache of the Hugging Face hub appear here. To load another "
            f"one, type a hub id or a folder under **{sidebar.FOLDED}** in the sidebar."
        )


def _line(name: str, choice: sidebar_choice.Choice, choice_b: sidebar_choice.Choice | None) -> None:
    line = st.container(horizontal=True, vertical_alignment="center")
    line.text(runs.shown(name))
    if name == choice.source:
        line.badge("chosen", icon=":material/check:")
        return
    line.button("Choose", key=f"choose {name}", on_click=sidebar.choose_encoder, args=(name,))
    if choice_b is not None and name == choice_b.source:
        line.page_link("pages/compare.py", label="Compare", icon=":material/compare:")
    else:
        line.button("Compare with it", key=f"beside {name}", on_click=sidebar.choose_model_b, args=(name,))
