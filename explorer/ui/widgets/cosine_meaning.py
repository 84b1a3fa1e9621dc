"""Say what cosines mean, on request: the switch in the address, the settings of a match, and the numbers of each side.

They are those of the sidebar's evaluation set; random pairs are of its sentences, or of a text or vectors that a page
searches.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer.data import splitting
from explorer.data.text_sets import Sentences
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.drawing.scores.distributions import reliability_of
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import Reading
from explorer.errors import StrataError
from explorer.in_words import rounded
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import calibration, similarity
from explorer.ui import messages
from explorer.ui.access import cached, sidebar_choice, splits
from explorer.ui.widgets import controls, downloads

FORM = "match"
KEY, _FOUND = "meaning", "_meanings of this page"
LABEL = "What cosines mean"
HELP = (
    "Next to each cosine: the probability that two sentences with this cosine match, fitted on the dev set of the "
    "sidebar's evaluation set, and its place among the cosines of random pairs."
)
# the step of each field, and what an empty one says
_FIELDS = {"match": (0.5, "default"), "at_precision": (0.05, "none"), "at_recall": (0.05, "none")}
Meanings = Mapping[str, similarity.CosineMeaning]  # by the name of the side


def switch() -> None:
    """The switch that asks for the meanings."""
    st.toggle(LABEL, key=KEY, bind="query-params", help=HELP)


def find(sides: Sequence[sidebar_choice.Reader], text: Sentences | None = None) -> Meanings:
    """What the cosines of each side mean, kept for `note`: empty unless asked for, and while it is computed.

    It is called once in a run of a page, before cosines are shown, since progress is shown here.
    """
    found: dict[str, similarity.CosineMeaning] = {}
    choices = sidebar_choice.chosen(), sidebar_choice.model_b()
    for side, choice in zip(sides, choices, strict=False) if st.session_state.get(KEY) else ():
        one = None if choice is None else _of_side(side, choice, text)
        if one is None:
            found = {}
            break
        found[side.name] = one
    st.session_state[_FOUND] = found
    return found


def find_for(sides: Sequence[sidebar_choice.Reader], text: Sentences | None = None) -> None:
    """The same for a page that shows cosines, with the prevalence that the probabilities are for."""
    _say_prevalence(find(sides, text))


def _say_prevalence(meanings: Meanings) -> None:
    for line in dict.fromkeys(
        similarity_text.at_prevalence(one.calibration) for one in meanings.values() if one.calibration
    ):
        st.caption(messages.plain(line))


def find_in_vectors(corpus: VectorCorpus, choice: sidebar_choice.Choice | None) -> None:
    """What the cosines of vectors on disk mean, kept for `note` of A: random pairs are theirs.

    The probability is that of the choice of model and layer & pooling that made them; None if that is not at hand.
    """
    found: dict[str, similarity.CosineMeaning] = {}
    if st.session_state.get(KEY):
        scored = None if choice is None else sidebar_choice.scored(choice)
        known, coming = None, choice is not None and scored is None
        if choice is not None and scored is not None:
            known, coming = _probability("A", scored, choice)
        rows = {corpus.text(int(row)): row for row in corpus.drawn(similarity.SENTENCES)}
        if not coming and len(rows) > 1:
            vectors = corpus.rows(np.array(list(rows.values())))
            drawn = replace(random_pairs(vectors_key(corpus.digest), vectors), text=corpus.name)
            found["A"] = similarity.CosineMeaning(corpus.name, corpus.title or "", known, drawn)
    st.session_state[_FOUND] = found
    _say_prevalence(found)


def note(side: str, cosine: float, *, short: bool = False) -> str:
    """`match 86 %, top 3 % of random pairs`; "" if it is not asked for or not known."""
    found: Meanings = st.session_state.get(_FOUND, {})
    return found[side].words(cosine, short=short) if side in found else ""


def columns(row: Mapping[str, object]) -> dict[str, object]:
    """A row of a table with what its columns `cosine A` and `cosine B` mean, each after its cosine."""
    shown: dict[str, object] = {}
    for name, value in row.items():
        shown[name] = value
        for side in "AB":
            if name == f"cosine {side}" and isinstance(value, float) and (words := note(side, value, short=True)):
                shown[f"{side} means"] = words
    return shown


def section(scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice) -> None:
    """Thresholds, reliability and a table of cosines of the chosen layer & pooling, with the file."""
    st.subheader(LABEL)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        switch()
        if st.session_state[KEY] and scored.graded is not None:
            for knob in calibration.MatchOptions.knobs.values():
                step, empty = _FIELDS[knob.name]
                controls.draw(FORM, knob, step=step, width=200, placeholder=empty)
    sides = sidebar_choice.readers(choice, None)
    meanings = find(sides)
    if not meanings:
        return
    found = meanings[sides[0].name]
    if found.calibration is not None:
        _calibration(found, found.calibration)
    rows = _table(meanings)
    with st.container(horizontal=True):
        stem = downloads.file_name(f"{found.model} {scored.pairs.name}")
        downloads.file(similarity.FILE, similarity.as_file(found), f"{stem}-{similarity.FILE}", "application/json")
        downloads.rows(rows, f"{stem} cosines", "Cosines (CSV)")
    with st.expander("The five lines that use the file", icon=":material/code:"):
        st.code(similarity.code(found), language="python")


def threshold_of_best_f1(
    scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice
) -> tuple[calibration.Threshold, str] | None:
    """The threshold of the best F1 as `section` shows it, and which pairs it is of; None of pairs that have none."""
    try:
        known = _calibrated(scored, choice)
    except StrataError:
        return None  # the section says why
    if known is None:
        return None
    return known.thresholds[0], f"chosen on {known.dev.name}, tested on {known.test.name}"


def _calibration(meaning: similarity.CosineMeaning, known: calibration.Calibration) -> None:
    st.markdown("\n".join(f"- {messages.plain(similarity_text.threshold_text(one))}" for one in known.thresholds))
    downloads.draw(
        reliability_of(known),
        config=downloads.config("reliability"),
        alt="Share of test pairs that match by predicted probability. Points on the diagonal are well calibrated.",
    )
    st.caption(messages.plain(f"{similarity_text.about(known)} {similarity_text.quality(meaning)}"))


def _table(meanings: Meanings) -> downloads.Rows:
    """What cosines from 1 down mean, for each side; the rows are returned too."""
    rows: downloads.Rows = []
    for cosine in (step / 20 for step in range(20, -3, -1)):
        row: dict[str, object] = {"cosine": cosine}
        for name, found in meanings.items():
            of = f" {name}" if len(meanings) > 1 else ""
            if found.calibration is not None:
                row[f"match{of}"] = rounded(found.calibration.curve.at(cosine))
            if found.random_pairs is not None:
                row[f"random pairs{of}"] = rounded(found.random_pairs.share(cosine), 5)
        rows.append(row)
    helps = {"match": "Probability that two sentences with this cosine match.",
             "random pairs": "Share of random pairs with this cosine or a higher one."}  # fmt: skip
    columns = {
        name: st.column_config.NumberColumn(format="percent", help=text)
        for start, text in helps.items()
        for name in rows[0]
        if name in (start, f"{start} A", f"{start} B")
    }
    columns["cosine"] = st.column_config.NumberColumn(format="%.2f", help="−1 to 1. Higher is more similar.")
    downloads.table(rows, lines=8, columns=columns)
    return rows


def compared(choice: sidebar_choice.Choice, choice_b: sidebar_choice.Choice) -> None:
    """Whether the cosines of B say more of a match than those of A, and the thresholds of both, if asked for."""
    st.subheader(LABEL)
    switch()
    meanings = find(sidebar_choice.readers(choice, choice_b))
    if len(meanings) < 2:
        return
    if sentence := similarity_text.change(*meanings.values()):
        messages.verdict(sentence)
    for column, (name, found) in zip(st.columns(2, gap="medium"), meanings.items(), strict=True):
        with column:
            lines = [f"**{name}** {messages.plain(found.model)}, {messages.plain(found.reading)}\n"]
            if found.calibration is not None:
                texts = (
                    *map(similarity_text.threshold_text, found.calibration.thresholds),
                    similarity_text.quality(found),
                )
                lines += [f"- {messages.plain(text)}" for text in texts]
            st.markdown("\n".join(lines))
    _table(meanings)
    known = meanings["B"].calibration
    if known is not None:
        st.caption(messages.plain(similarity_text.about(known)))


def _of_side(
    side: sidebar_choice.Reader, choice: sidebar_choice.Choice, text: Sentences | None
) -> similarity.CosineMeaning | None:
    """What cosines of a side mean; None, with progress or the error shown, while it is not known."""
    scored = sidebar_choice.scored(choice)
    if scored is None:
        return None
    known, coming = _probability(side.name, scored, choice)
    if coming:
        return None
    if text is None:
        sentences = (
            scored.graded.sentences if scored.graded is not None else next(iter(scored.pairs.text_columns.values()))
        )
        text = Sentences(scored.pairs.name, similarity.some_sentences(sentences))
    vectors = side.vectors(text.texts)
    if vectors is None:
        return None
    drawn = None
    if len(text.texts) > 1:
        drawn = replace(random_pairs(pairs_key(side, text), vectors), text=text.name)
    title = declared.described(side.reading, side.found.folder)
    return similarity.CosineMeaning(side.found.name, title, known, drawn)


def _probability(
    side: str, scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice
) -> tuple[calibration.Calibration | None, bool]:
    """What the evaluation set says of a match, and whether a part of it is still measured, with progress shown.

    None, with the reason shown, of pairs that say nothing; None of a set of another kind.
    """
    try:
        known = _calibrated(scored, choice)
        return known, known is None and scored.graded is not None
    except StrataError as error:
        st.info(messages.plain(f"No probability of a match for {side}: {error}"), icon=":material/block:")
    return None, False


def _calibrated(scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice) -> calibration.Calibration | None:
    """Curves and thresholds of the evaluation set; None while one is measured, and of another kind."""
    both = None if scored.graded is None else _dev_and_test(scored, choice)
    if both is None:
        return None
    knobs = calibration.MatchOptions.knobs
    options = calibration.MatchOptions(**controls.checked(controls.written(FORM, knobs), knobs))
    measured = tuple((one.name, one.measured) for one in both)
    return calibrated(measured, scored.reading.title, options, scored.reading, *both)


def _dev_and_test(
    scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice
) -> tuple[splits.ScoredSet, splits.ScoredSet] | None:
    """The scores of dev and test set, or of halves of a set that has none; None while one of them is measured."""
    both = splits.dev_and_test(scored, choice)
    if both is not None or scored.graded is None:
        return both
    if splits.is_measured_now(choice):
        return None
    dev, test = (
        splits.ScoredSet(
            one.name, len(one), scored.scores.of_pairs(scored.graded.rows_of(one)), (*scored.measured, one.digest)
        )
        for one in splitting.halves(scored.graded)
    )
    return dev, test


@st.cache_resource(max_entries=64, show_spinner=False)
def calibrated(
    measured: Hashable,
    reading: str,
    options: calibration.MatchOptions,
    _reading: Reading,
    _dev: splits.ScoredSet,
    _test: splits.ScoredSet,
) -> calibration.Calibration:
    """Curves and thresholds of a layer & pooling; `measured` identifies model, both sets and settings."""
    sides = [
        calibration.LabelledCosines(one.name, one.scores.gold, one.scores.cosines_of(_reading)) for one in (_dev, _test)
    ]
    return calibration.calibrate(sides[0], sides[1], options)


@st.cache_resource(max_entries=32, show_spinner=False)
def random_pairs(key: str, _vectors: cached.Vectors) -> similarity.RandomPairs:
    """The cosines of random pairs of vectors; `key` identifies model, sentences, layer & pooling and settings."""
    return similarity.random_pairs(_vectors, "")


def pairs_key(side: sidebar_choice.Reader, text: Sentences) -> str:
    """What the cosines of random pairs of a text depend on."""
    return f"{side.key} {text.digest}"


def vectors_key(digest: str) -> str:
    """What the cosines of random pairs of vectors on disk depend on."""
    return f"vectors {digest}"
