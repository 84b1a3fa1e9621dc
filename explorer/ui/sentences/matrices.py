"""The answer of the Sentences page, and its figure: matrices of cosines of A, B and B − A in every layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing.sentences import layer_matrices as drawn
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import OWN, Reading
from explorer.measuring.sentences import layer_cosines, sentence_vectors
from explorer.measuring.sentences.layer_cosines import LayerCosines, RandomCosines
from explorer.measuring.sentences.sentence_vectors import Matrix
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import selection, sidebar_choice
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.widgets import controls, downloads, first_screen

FIGURE = "matrices"
AS_CHOSEN = "as chosen"
TYPED = "as typed"
SHOWN = 48  # characters of a sentence in the answer
ENDS = "{} ends at layer {} and stays there."
# on a phone the matrices are wider than the screen, and are scrolled
_WIDE = """<style>
.st-key-figure { overflow-x: auto; }
@media (max-width: 760px) { .st-key-figure > div:has(.stPlotlyChart) { min-width: 760px; } }
</style>"""
_STEP = "_step of the matrices"  # what the visitor looked at when a cell was clicked
SAME_COSINE = 1e-5  # two layers & poolings whose cosines differ by less are one, such as with and without normalising


@dataclass(frozen=True, eq=False)
class Seen:
    """The sentences under every layer & pooling of the sides, and where random pairs are."""

    sides: tuple[Reader, ...]
    sentences: tuple[str, ...]
    layers: tuple[LayerCosines, ...]
    random: tuple[RandomCosines | None, ...]

    @property
    def one(self) -> Matrix:
        """The cosines of A under its layer & pooling."""
        return self.layers[0].of(self.sides[0].reading)

    @property
    def other(self) -> Matrix | None:
        """Those of B, if there is one."""
        return self.layers[1].of(self.sides[1].reading) if len(self.sides) > 1 else None

    def pair(self) -> tuple[str, str] | None:
        """The pair of the app; until one is chosen the one that changed most, or is most similar; None of one."""
        if found := selection.pair():
            return found
        places = sentence_vectors.foremost(self.one, self.other, 1)
        return (self.sentences[places[0][0]], self.sentences[places[0][1]]) if places else None

    def places(self) -> tuple[int, int] | None:
        """The positions of the pair among the sentences; None of a pair that is not of them."""
        pair = self.pair()
        if pair is None or not {*pair} <= {*self.sentences}:
            return None
        first = self.sentences.index(pair[0])
        others = [place for place, text in enumerate(self.sentences) if text == pair[1] and place != first]
        return (first, others[0]) if others else None

    def pooling(self, side: int) -> str:
        """The pooling whose layers are shown: the side's, or the first of its grid."""
        chosen, found = self.sides[side], self.layers[side]
        reading = declared.default_cell(chosen.found.folder) if chosen.reading == OWN else chosen.reading
        return reading.pooling if found.layers(reading.pooling) else next(iter(found.readings)).pooling

    def steps(self) -> tuple[list[str], list[tuple[Reading, ...]], int]:
        """The steps of the slider: labels, a layer & pooling of each side, and the one that the sidebar has chosen.

        A side with fewer layers stays at its last one. Where no step is what the sidebar has chosen, one is added.
        """
        every = [found.layers(self.pooling(side)) for side, found in enumerate(self.layers)]
        chosen = tuple(side.reading for side in self.sides)
        if not all(every):
            return [AS_CHOSEN], [chosen], 0
        most = max(map(len, every))
        steps = [tuple(layers[min(step, len(layers) - 1)] for layers in every) for step in range(most)]
        labels = list(map(str, range(most)))
        for at in reversed(range(most)):
            if all(self._same(side, steps[at][side], reading) for side, reading in enumerate(chosen)):
                return labels, steps, at
        return [*labels, AS_CHOSEN], [*steps, chosen], most

    def _same(self, side: int, reading_a: Reading, reading_b: Reading) -> bool:
        if reading_a == reading_b:
            return True
        found = self.layers[side]
        first, second = (found.pairs[found.readings.index(reading)] for reading in (reading_a, reading_b))
        return reading_b == OWN and bool(np.allclose(first, second, atol=SAME_COSINE, rtol=0, equal_nan=True))


def seen(
    sides: tuple[Reader, ...], sentences: tuple[str, ...], later: st.delta_generator.DeltaGenerator
) -> Seen | None:
    """The sentences in every layer; None, with progress shown, until those of A are encoded.

    A is not kept waiting by B, nor either of them by random pairs: their progress is in `later`.
    """
    layers_a = sides[0].layers(sentences)
    with later:
        layers = (layers_a, *(side.layers(sentences) for side in sides[1:]))
        known = tuple(found for found in layers if found is not None)
        if layers_a is None:
            return None
        if len(known) < len(sides):
            return Seen(sides[:1], sentences, known, (None,))
        return Seen(sides, sentences, known, tuple(side.random() for side in sides))


def answer(seen: Seen) -> None:
    """What the two models do with the sentences: the pair that changed most, and the mean of all pairs."""
    one, other = seen.one, seen.other
    places = sentence_vectors.foremost(one, other, 1)[0]
    pair = " and ".join(f"“{messages.shortened(seen.sentences[place], SHOWN)}”" for place in places)
    count = len(seen.sentences) * (len(seen.sentences) - 1) // 2
    means = [None if of is None else of.of(side.reading)[0] for side, of in zip(seen.sides, seen.random, strict=True)]
    if other is None:
        where = f"; random pairs have {in_words.number(means[0])}" if means[0] is not None else ""
        cosine = in_words.cosine(float(one[places]))
        st.markdown(messages.plain(f"Of {count:,} pairs, A finds {pair} most similar: ") + f"**{cosine}**{where}.")
        if sidebar_choice.model_b() is None:
            st.caption(sidebar_choice.ASK_FOR_B)
        return
    cosines = float(one[places]), float(other[places])
    digits = in_words.cosine_digits(*cosines)
    gap = in_words.gap(*cosines, digits=digits)
    changes = sentence_vectors.apart(other - one)
    mean = float(np.nanmean(changes)) if np.isfinite(changes).any() else None
    how = "more" if gap > 0 else "less"
    arrow = in_words.arrow(*cosines, digits=digits)
    st.markdown(
        messages.plain(f"Most changed: B finds {pair} {how} similar, ")
        + f"**{arrow} ({in_words.signed(gap, digits)})**. All {count:,} pairs: {in_words.signed(mean)} on average"
        + (f"; random pairs {in_words.arrow(*means)}." if None not in means else ".")
    )


def order(seen: Seen, chosen: str) -> NDArray[np.intp]:
    """The order of the sentences in every matrix."""
    if chosen not in _orders(seen.sides)[1:]:  # as typed, or by B, which is not encoded yet
        return np.arange(len(seen.sentences))
    of_b = seen.other is not None and chosen == _orders(seen.sides)[-1]
    return sentence_vectors.clustered(seen.other if of_b and seen.other is not None else seen.one)


def order_menu(sides: Sequence[Reader]) -> str:
    """Choose the order."""
    chosen: str = controls.segments(
        "Order",
        _orders(sides),
        default=TYPED,
        key="order",
        help="Clustered: similar sentences are adjacent (average linkage). Every matrix has the same order.",
    )
    return chosen


def _orders(sides: Sequence[Reader]) -> tuple[str, ...]:
    return (TYPED, *(f"clustered by {side.name}" for side in sides))


def draw(seen: Seen, ordered: NDArray[np.intp]) -> None:
    """The figure; a click on a cell makes its pair the one of the app, and the layer stays."""
    labels, steps, at = seen.steps()
    shown_as = [[reading.title for reading in step] for step in steps]
    kept, step = st.session_state.get(_STEP, (None, 0))
    count = len(seen.sentences)

    def choose_clicked() -> None:
        place = controls.clicked_place(FIGURE)
        if place is not None:
            shown, first, second = drawn.cell_of(place, count)
            st.session_state[_STEP] = shown_as, shown
            selection.choose_pair(seen.sentences[first], seen.sentences[second])

    sides = []
    for number, (side, of, random) in enumerate(zip(seen.sides, seen.layers, seen.random, strict=True)):
        readings = [step[number] for step in steps]
        means = None if random is None else np.array([random.of(reading)[0] for reading in readings])
        pooling = f"{seen.pooling(number)} of each layer" if len(steps) > 1 else side.reading.title
        title = f"{runs.model_title(side.found.name)}, {pooling}"
        sides.append(drawn.LayeredSide(side.name, title, np.stack([of.of(reading) for reading in readings]), means))
    figure = drawn.matrices(sides, labels, seen.sentences, ordered, step if kept == shown_as else at, seen.places())
    with first_screen.figure():
        st.html(_WIDE)
        downloads.draw(
            figure,
            height=drawn.HEIGHT,
            key=FIGURE,
            on_select=choose_clicked,
            selection_mode="points",
            config=downloads.config("sentences"),
            alt="Cosines of every two sentences. The files under Export have the numbers.",
        )
        ends = [len(of.layers(seen.pooling(number))) - 1 for number, of in enumerate(seen.layers)]
        for side, end in zip(seen.sides, ends, strict=True):
            if 0 <= end < max(ends):
                st.caption(ENDS.format(side.name, end))


def export(seen: Seen) -> None:
    """Files of the sentences: cosines under the chosen and under every layer & pooling, and vectors."""
    names = " ".join(side.found.name for side in seen.sides)
    rows = sentence_vectors.similarity_rows(seen.sentences, seen.one, seen.other)
    by_name = {side.name: of for side, of in zip(seen.sides, seen.layers, strict=True)}
    with st.container(horizontal=True):
        downloads.rows(rows, f"similarities {names}", "Similarities (CSV)")
        downloads.rows(lambda: layer_cosines.rows(by_name), f"layers {names}", "Every layer & pooling (CSV)")
    for side in seen.sides:
        vectors = side.vectors(seen.sentences)
        if vectors is not None:  # else progress is shown
            downloads.of_vectors(side.name, side.found.name, seen.sentences, vectors)
