"""The words behind a cosine: figures of what each word and each pair of words adds, and words coloured by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer.drawing.parts.draft import Draft
from explorer.drawing.parts.style import DIFFERENCE_SCALE, scale_colours, text_colours
from explorer.drawing.sentences.attention_heads import FEW, token_label
from explorer.drawing.sentences.token_grid import Labelled, contribution_bars
from explorer.measuring.sentences.token_pairs import MOST
from explorer.measuring.sentences.word_pair import Floats, WordPair

REST = "(rest)"
MATRIX = "Rows: words of the first sentence; columns: of the second. All cells add up to the cosine."
FOLDED = f"Only the first {MOST} words of a sentence have bars of their own; the others are in the last bar."
NUMBERED = 12  # most words with a number in each cell


def word_bars(sides: dict[str, WordPair]) -> go.Figure:
    """What each word of either sentence adds under each side; the bars of a sentence add up to the cosine."""
    return contribution_bars({name: (_labelled(pair, 0), _labelled(pair, 1)) for name, pair in sides.items()})


def alike(pairs: Mapping[str, WordPair]) -> list[dict[str, WordPair]]:
    """The pairs that share a figure of bars: all sides if they have the same words, else each alone."""
    if len({pair.words for pair in pairs.values()}) == 1:
        return [dict(pairs)]
    return [{name: pair} for name, pair in pairs.items()]


def are_folded(pairs: Mapping[str, WordPair]) -> bool:
    """Whether some words have no bar of their own."""
    return any(len(words) > MOST for pair in pairs.values() for words in pair.words)


def widest(*matrices: Floats) -> float:
    """The largest contribution of two words, for a colour scale that figures share."""
    return max((float(np.abs(matrix).max()) for matrix in matrices), default=0.0) or 1.0


def word_matrix(pair: WordPair, matrix: Floats, most: float) -> go.Figure:
    """What each word of the first sentence (rows) and of the second (columns) add together; blue raises the cosine."""
    down, across = (_names(pair, number) for number in (0, 1))
    values = matrix[_shown(pair, 0)][:, _shown(pair, 1)]
    numbered = max(len(down), len(across)) <= NUMBERED
    draft = Draft()
    draft.add(
        "heatmap",  # the axes are positions, since equal words would share a row
        x=list(range(len(across))),
        y=list(range(len(down))),
        z=values,
        zmin=-most,
        zmax=most,
        colorscale=[list(stop) for stop in DIFFERENCE_SCALE],
        colorbar={"thickness": 10},
        xgap=1,
        ygap=1,
        text=[[f"{one} · {other}" for other in across] for one in down],
        hovertemplate="%{text}: %{z:+.3f}<extra></extra>",
    )
    if numbered:
        colours = text_colours(values, -most, most, DIFFERENCE_SCALE)
        draft.add(
            "scatter",
            x=[column for _ in down for column in range(len(across))],
            y=[row for row in range(len(down)) for _ in across],
            text=[f"{value:+.2f}" for value in values.flat],
            mode="text",
            textfont={"size": 11, "color": colours},
            hoverinfo="skip",
        )
    still = {"showgrid": False, "zeroline": False, "fixedrange": True}
    some = slice(None, None, -(-len(across) // FEW))
    draft.x_axes(side="top", tickangle=-90, tickvals=list(range(len(across)))[some], ticktext=across[some], **still)
    draft.y_axes(autorange="reversed", tickvals=list(range(len(down))), ticktext=down, **still)
    return draft.figure(130 + 26 * max(4, len(down)), margin={"t": 20, "b": 10}, showlegend=False)


def _labelled(pair: WordPair, number: int) -> Labelled:
    """The words that are shown and what they add, then what the rest of the sentence adds."""
    values = pair.contributions[number]
    rest = pair.rests[number] + float(values[MOST:].sum())
    return _names(pair, number), np.append(values[:MOST], rest)


def _names(pair: WordPair, number: int) -> list[str]:
    return [*(token_label(word) for word in pair.words[number][:MOST]), REST]


def _shown(pair: WordPair, number: int) -> list[int]:
    """The places of the words that are shown, and of the reference."""
    count = len(pair.words[number])
    return [*range(min(count, MOST)), count]


@dataclass(frozen=True)
class ColouredWord:
    """A word, the text between it and the word before, what it adds, and its colours."""

    before: str
    word: str
    value: float
    background: str
    ink: str


def largest(*pairs: WordPair) -> float:
    """The largest contribution of a word, for a colour scale that sentences and models share."""
    return max((float(np.abs(values).max(initial=0)) for pair in pairs for values in pair.contributions), default=0.0)


def coloured(
    sentence: str, words: Sequence[str], values: NDArray[np.float64], most: float
) -> tuple[tuple[ColouredWord, ...], str]:
    """The words in order, blue where they raise the cosine and brown where they lower it; then the text after them."""
    span = -(most or 1.0), most or 1.0, DIFFERENCE_SCALE
    found, end = [], 0
    for word, value, background, ink in zip(
        words, values, scale_colours(values, *span), text_colours(values, *span), strict=True
    ):
        place = sentence.find(word, end)
        begin = place if place >= 0 else end
        found.append(ColouredWord(sentence[end:begin], word, float(value), background, ink))
        end = begin + len(word) if place >= 0 else end
    return tuple(found), sentence[end:]
