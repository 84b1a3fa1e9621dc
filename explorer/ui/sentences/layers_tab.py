"""Which layer distinguishes the sentences: the cosine of every pair by layer, and marks that name a layer & pooling."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing.sentences import layer_curves as drawn
from explorer.encoding.read.pooling import Reading
from explorer.measuring.sentences.layer_cosines import LayerCosines
from explorer.measuring.sentences.marked_pairs import HINT, Mark, Separation, separation
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import selection
from explorer.ui.frame import sidebar
from explorer.ui.sentences.matrices import Seen
from explorer.ui.widgets import controls, downloads

FIGURE = "cosines by layer"
NO_PAIR = "Click a cell above to choose a pair."
MARK = (
    "Mark two pairs or more, some as same and some as different: the page then names the layer & pooling that "
    "separates them best."
)
NO_RANDOM = "Vectors alone have one layer & pooling, so there is none to choose."
SHOWN = 60  # characters of a sentence
GUESS = "A guess"
HELP = (
    "Margin: mean cosine of the pairs marked as same minus that of those marked as different, in standard deviations. "
    "AUC: share of (same, different) in which the same pair has the higher cosine. With ten marks of STS-B dev the "
    "named layer & pooling was within 2 points of the best in {full} of draws; in encoders cut after layer 2 to 5, "
    "where no layer is far better than the others, in {cut}."
)
TEN_MARKS = ("94 %", "38 %")  # of whole encoders, and of cut ones: benchmarks/marked_pairs.py
Choose = Callable[[Reading], None]
CHOOSE: dict[str, Choose] = {"A": sidebar.choose_reading, "B": sidebar.choose_reading_of_b}


def show(seen: Seen) -> None:
    """The marks with what they name, and the figure."""
    _marking(seen)
    marks = selection.marks()
    layers = _with_marks(seen, marks)
    if layers is None:
        return  # progress is shown
    _named(seen, layers, marks)
    _figure(seen, layers, marks)


def _marking(seen: Seen) -> None:
    """The chosen pair, and buttons that mark it."""
    pair = seen.pair()
    if pair is None or pair[0] == pair[1]:
        st.caption(NO_PAIR)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        shown = " | ".join(messages.shortened(text, SHOWN) for text in pair)
        st.markdown(messages.plain(shown), width="content")
        known = [mark.same for mark in selection.marks() if {mark.first, mark.second} == {*pair}]
        for label, same, icon in (("Same", True, "equal"), ("Different", False, "not_equal")):
            # a second click takes the mark back
            st.button(
                label,
                key=f"mark {label}",
                icon=f":material/{icon}:" if icon == "equal" else ":material/block:",
                type="primary" if same in known else "secondary",
                on_click=selection.mark,
                args=(*pair, None if same in known else same),
                help="Mark this pair; click again to take the mark back.",
            )
        if selection.marks():
            st.button(
                "Clear marks", key="clear marks", type="tertiary", on_click=selection.clear, args=(selection.MARKS,)
            )


def _with_marks(seen: Seen, marks: tuple[Mark, ...]) -> tuple[LayerCosines, ...] | None:
    """The cosines of the sentences, and of marked ones that are not of them."""
    texts = (text for mark in marks for text in (mark.first, mark.second))
    more = tuple(dict.fromkeys(text for text in texts if text not in seen.sentences))
    if not more:
        return seen.layers
    made = [side.layers((*seen.sentences, *more)) for side in seen.sides]
    known = tuple(one for one in made if one is not None)
    return known if len(known) == len(made) else None


def _named(seen: Seen, layers: tuple[LayerCosines, ...], marks: tuple[Mark, ...]) -> None:
    """The layer & pooling that separates the marks best, for each side, with how far it may be trusted."""
    if len(seen.layers[0].readings) == 1:
        st.caption(NO_RANDOM)
        return
    if len({mark.same for mark in marks}) < 2:
        kinds = f" So far: {len(marks)} marked." if marks else ""
        st.caption(MARK + kinds, help=HELP.format(full=TEN_MARKS[0], cut=TEN_MARKS[1]))
        return
    same = np.array([mark.same for mark in marks])
    for side, of_side, random in zip(seen.sides, layers, seen.random, strict=True):
        if random is None:
            continue
        cosines = np.array(
            [[of_side.cosine(one, mark.first, mark.second) for mark in marks] for one in of_side.readings]
        )
        named = separation(of_side.readings, cosines, same, random.spread, side.reading)
        if named is None:
            continue
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                sentence(side.name, named), width="stretch", help=HELP.format(full=TEN_MARKS[0], cut=TEN_MARKS[1])
            )
            st.button(
                f"Use {named.best.title}",
                key=f"use the best of {side.name}",
                icon=":material/check:",
                on_click=partial(CHOOSE[side.name], named.best),
                disabled=named.best == side.reading,
                help="On every page.",
            )


def sentence(side: str, named: Separation) -> str:
    """What separates the marks best, by how much more than the chosen one, and how far one may trust it."""
    marks = named.same + named.different
    margin, auc = named.of(named.best)
    gap, low, high = named.gap
    score = f"margin {in_words.number(margin)}, AUC {in_words.number(auc)}"
    found = (
        f"**{side}: {messages.plain(named.best.title)} separates your {marks} marks best** "
        f"({named.same} same, {named.different} different): {score}."
    )
    if named.best == named.chosen:
        compared = "It is the chosen one."
    else:
        chance = "which could be chance" if named.could_be_chance else "more than chance"
        compared = (
            f"That is {in_words.signed(gap)} more than {messages.plain(named.chosen.title)} "
            f"(95 % CI {in_words.ends(gap, low, high)}), {chance}."
        )
    if named.is_guess:
        trust = f"{GUESS}: {marks} marks are too few."
    elif marks < HINT:
        trust = "A hint: check it on an evaluation set (Layers)."
    else:
        trust = "Check it on an evaluation set (Layers)."
    return f"{found} {compared} {trust}"


def _figure(seen: Seen, layers: tuple[LayerCosines, ...], marks: tuple[Mark, ...]) -> None:
    """The lines; a click on a point of the chosen pair chooses that layer & pooling for every page."""
    readings = [of.layers(seen.pooling(number)) for number, of in enumerate(layers)]
    if not all(readings):
        return

    def choose_clicked() -> None:
        number = controls.clicked_place(FIGURE)
        if number is not None:
            side, layer = drawn.place_of(number)
            CHOOSE[seen.sides[side].name](readings[side][layer])

    of_sides = enumerate(zip(layers, readings, strict=True))
    downloads.draw(
        drawn.by_layer([_curves(seen, number, *of_side, marks) for number, of_side in of_sides]),
        height=drawn.HEIGHT,
        presented=drawn.PRESENTED,
        key=FIGURE,
        on_select=choose_clicked,
        selection_mode="points",
        config=downloads.config("layers-of-sentences"),
        alt="The cosine of every pair by layer. The file of every layer & pooling under Export has the numbers.",
    )
    st.caption("Click a point of the chosen pair to use that layer & pooling on every page.")


def _curves(
    seen: Seen, number: int, cosines: LayerCosines, readings: Sequence[Reading], marks: tuple[Mark, ...]
) -> drawn.CurvesOfSide:
    """The curves of a side: of all pairs, of the marked and the chosen ones, and of random pairs."""
    side, first, random, pair = seen.sides[number], seen.layers[number], seen.random[number], seen.pair()
    rows = [cosines.readings.index(reading) for reading in readings]

    def line(a: str, b: str) -> NDArray[np.float64]:
        return np.array([cosines.cosine(reading, a, b) for reading in readings])

    there = pair is not None and {*pair} <= {*cosines.sentences} and pair[0] != pair[1]
    return drawn.CurvesOfSide(
        f"{side.name}  {runs.model_title(side.found.name)}, {seen.pooling(number)} of each layer",
        first.pairs[[first.readings.index(reading) for reading in readings]].astype(np.float64),
        [(line(mark.first, mark.second), mark.same) for mark in marks],
        line(*pair) if there and pair is not None else None,
        None if random is None else np.stack([random.mean, random.low, random.high])[:, rows],
    )
