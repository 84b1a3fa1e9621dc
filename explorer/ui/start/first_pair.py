"""Show one pair under A and B on the first screen: type another one, or change a word, and both models answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words
from explorer.data import sample
from explorer.data.text_sets import digest_of
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import Reading
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import edit_tables, word_pairs, word_tables
from explorer.measuring.sentences.edit_costs import EditCosts
from explorer.measuring.sentences.edits import between
from explorer.measuring.sentences.sentence_vectors import of_reading, similarities
from explorer.progress import finish
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached_texts, loaded_encoders, selection, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice, Reader
from explorer.ui.start import ways_in
from explorer.ui.widgets import differences, first_screen, pair_words

FIRST, SECOND, WHAT_IF = "start first", "start second", "start what if"  # keys of the fields
LONGEST = 4000  # characters, far more than an encoder's maximum length
EXAMPLE_AS_B = "B is the {} that ships, since no model B is chosen in the sidebar."
WHAT_IF_HELP = "Change a word of the second sentence here: both models answer below, and the pair stays as it is."
ANSWER = "{}: the cosine with the first sentence is {}."
OWN_HELP = "One sentence a line, at most {}. Sentences, Map and Search show all, Layer attention the first two."
HEIGHT = 300  # pixels of the figure by layer
_SHOWN = "_pair in the fields of Start"
LONG = 300  # characters of a sentence that scrolls
_SCROLLED = """<style>
[class*="st-key-coloured-start-"] { max-height: 7.5rem; overflow-y: auto; }
</style>"""
_LARGER = """<style>
[class*="st-key-coloured-start-"] p { font-size: 1.25rem; line-height: 1.8 !important; }
</style>"""


def show(choice: Choice, answer: DeltaGenerator) -> bool:
    """The sentence that answers, in its place, then the figure: fields, words under A and B, the cost by layer.

    False, with the error shown, if A cannot be read.
    """
    pair = selection.pair() or sample.NEGATION
    _fill(pair)
    sides, note = _sides(choice)
    figure = first_screen.figure()
    with figure:
        _fields()
    if not sides:
        return False
    with figure:
        costs = differences.edit_costs_of(sides, *pair)
    if costs is None:
        return True
    with answer:
        sentence = st.empty()
        sentence.markdown(f"#### {messages.plain(edit_tables.summary(costs) if costs else _cosines(sides, pair))}")
        if note:
            st.caption(note)
    with figure:
        _what_if(sides, pair)
        left, right = st.columns([3, 2], gap="medium") if costs else (st.container(), None)
        with left:
            words = _words(sides, pair, costs)
        if right is not None:
            if (better := differences.refined(costs, words)) != costs:
                sentence.markdown(f"#### {messages.plain(edit_tables.summary(better))}")
            with right:
                differences.cost_by_layer(better, "start", height=HEIGHT)
    return True


def own_sentences() -> None:
    """A button that opens a field for the sentences of every page."""

    def use() -> None:
        typed = [" ".join(line.split()) for line in st.session_state["start own sentences"].splitlines()]
        if sentences := list(dict.fromkeys(filter(None, typed))):
            selection.choose_sentences(sentences)

    with st.popover("Your sentences", icon=":material/notes:"):
        st.text_area(
            "Your sentences",
            "\n".join(selection.sentences()),
            key="start own sentences",
            height=260,
            help=OWN_HELP.format(selection.MOST),
        )
        st.button("Use them on every page", key="use own sentences", type="primary", on_click=use)


def _fill(pair: tuple[str, str]) -> None:
    """Write the pair into the fields if another page, the address or nobody has chosen it since."""
    if st.session_state.get(_SHOWN) != pair or FIRST not in st.session_state:
        st.session_state[FIRST], st.session_state[SECOND] = pair
        st.session_state[WHAT_IF] = pair[1]
        st.session_state[_SHOWN] = pair


def _fields() -> None:
    def choose() -> None:
        first, second = (" ".join(st.session_state[key].split()) for key in (FIRST, SECOND))
        if first and second:
            selection.choose_pair(first, second)
        else:  # an empty field gets its sentence again
            st.session_state.pop(_SHOWN, None)

    first, second, changed = st.columns(3, gap="small")
    first.text_input("One sentence", key=FIRST, max_chars=LONGEST, on_change=choose)
    second.text_input("Another sentence", key=SECOND, max_chars=LONGEST, on_change=choose)
    changed.text_input("What if?", key=WHAT_IF, max_chars=LONGEST, help=WHAT_IF_HELP)


def _sides(choice: Choice) -> tuple[tuple[Reader, ...], str]:
    """A and B; without a chosen B the example that ships, and a note that says so."""
    other, note = sidebar_choice.model_b(), ""
    shipped = ways_in.demonstration()
    if other is None and shipped and shipped != choice.source:
        other = replace(choice, source=shipped, reading=None)
        note = EXAMPLE_AS_B.format(messages.plain(runs.model_title(shipped)))
    return sidebar_choice.readers(choice, other), note


def _words(
    sides: Sequence[Reader], pair: tuple[str, str], costs: Mapping[str, EditCosts]
) -> dict[str, word_pairs.WordPair]:
    """Show both sentences under each side, coloured; return what their words add, of the sides that are computed."""
    plain = st.empty()
    with plain.container():
        for text in pair:
            st.markdown(messages.plain(messages.shortened(text, LONG)))
    known: dict[str, word_pairs.WordPair] = {}
    for side in sides:  # one after the other, with one line of progress
        words = pair_words.words_of(side, *pair, costs.get(side.name))
        if words is None:
            if costs:  # its model is in memory
                encoder, length = loaded_encoders.attending(side.found), side.settings.max_length
                cut = tuple(encoder.tokens([text], length).truncated > 0 for text in pair)
                messages.warn_of_cuts(pair, cut, encoder.limit(length))
            return known
        known[side.name] = words
    plain.empty()
    st.html(_LARGER)
    if max(map(len, pair)) > LONG:
        st.html(_SCROLLED)
    differences.coloured_words(sides, known, pair, "start")
    for line in word_tables.cut_notes(known):
        st.warning(line, icon=":material/content_cut:")
    return known


def _cosines(sides: Sequence[Reader], pair: tuple[str, str]) -> str:
    """The cosine of sentences without differences that have a cost: equal ones, or with too many places."""
    cosines = []
    for side in sides:
        if sidebar_choice.loaded(side.found, side.settings) is None:
            return ""  # progress or an error is shown
        cosines.append(cosine(side.found, tuple(pair), side.reading, side.settings))
    shown = in_words.cosines(*cosines) if len(cosines) > 1 else in_words.cosine(cosines[0])
    return f"The cosine is {shown}."


@cached_texts.by_stamp(
    lambda found, pair, reading, settings: (found.digest, digest_of(pair), reading.title, settings), 64
)
def cosine(_found: Found, _pair: tuple[str, ...], _reading: Reading, _settings: Settings) -> float:
    """The cosine of two sentences in a loaded model."""
    encoder = loaded_encoders.encoder(_found, _settings)
    return float(similarities(finish(of_reading(encoder, _pair, _reading, _settings.max_length)))[0, 1])


def _what_if(sides: Sequence[Reader], pair: tuple[str, str]) -> None:
    """What both models answer once a word of the second sentence is changed."""
    typed = " ".join(st.session_state[WHAT_IF].split())
    if not typed or typed == pair[1]:
        return
    lines = []
    for side in sides:
        if sidebar_choice.loaded(side.found, side.settings) is None:
            return  # progress or an error is shown
        cosines = (cosine(side.found, (pair[0], one), side.reading, side.settings) for one in (pair[1], typed))
        lines.append(f"{in_words.cosines(*cosines)} under {side.name}")
    edited = between(pair[1], typed)
    names = ", ".join(map(str, edited.edits)) if edited and edited.edits else f"“{typed}”"
    st.markdown(messages.plain(ANSWER.format(names, " and ".join(lines))))
