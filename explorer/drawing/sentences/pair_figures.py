"""Figures of pairs of sentences: cosines by layer and token by token, what words add to them, and probe packs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from explorer import in_words
from explorer.drawing import style
from explorer.drawing.sentences.heatmaps import FEW, token_label
from explorer.measuring.sentences.edit_costs import EditCosts
from explorer.measuring.sentences.probe_cosines import Probed
from explorer.measuring.sentences.sentence_pair import MOST, PairLayers, Shares, TokenPair
from explorer.measuring.sentences.word_pairs import Floats, WordPair

Span = tuple[float, float]
Labelled = tuple[list[str], NDArray[np.float64]]  # names of tokens or words, and what each contributes

REST = "(rest)"
MATRIX = "Rows: words of the first sentence; columns: of the second. All cells add up to the cosine."
FOLDED = f"Only the first {MOST} words of a sentence have bars of their own; the others are in the last bar."
NUMBERED = 12  # most words with a number in each cell
ROUNDING = 1e-6  # of cosines of float32 vectors
_DASHES = ("solid", "dot", "dash")  # of edits that have lines of their own
_SHIFT = 0.2  # distance of a side from the middle of its pack


def cosines_and_contributions(pair: PairLayers, poolings: tuple[str, ...], span: Span) -> go.Figure:
    """Lines of cosines by layer; below, bars that sum to the last cosine, on a scale that holds `span`."""
    titles = ("cosine of the two sentences", "contribution of the layer to the last cosine")
    draft = style.Draft(rows=2, shared=True, down=0.12, titles=titles)
    layers = list(range(len(pair.cosines)))
    for pooling in poolings:
        column = pair.poolings.index(pooling)
        colour = style.pooling_colour(pooling)
        draft.curve(
            colour,
            x=layers,
            y=pair.cosines[:, column],
            name=pooling,
            legendgroup=pooling,
            marker={"symbol": style.pooling_symbol(pooling), "size": 9},
            hovertemplate=f"{pooling} of layer %{{x}}: %{{y:.3f}}<extra></extra>",
            row=1,
        )
        draft.add(
            "bar",
            x=layers,
            y=pair.contributions[:, column],
            name=pooling,
            legendgroup=pooling,
            showlegend=False,
            marker={"color": colour},
            customdata=[in_words.signed(value, 3) for value in pair.contributions[:, column].tolist()],
            hovertemplate=f"layer %{{x}} adds %{{customdata}} ({pooling})<extra></extra>",
            row=2,
        )
    # every other label if there are many
    draft.x_axes(tickvals=layers[:: 1 if len(layers) <= 13 else 2], zeroline=False)
    draft.x_axes(title="layer", row=2)
    draft.y_axes(zeroline=True)
    low = min([style.COSINE_RANGE[0], *pair.cosines[np.isfinite(pair.cosines)].tolist()])
    draft.y_axes(row=1, range=[low - 0.05, 1.08])
    room = 0.08 * (span[1] - span[0])
    draft.y_axes(row=2, range=[span[0] - room, span[1] + room])
    return draft.figure(520, margin={"t": 58}, legend={"y": 1.1, "x": 1, "xanchor": "right"})


def side_by_side(sides: dict[str, tuple[PairLayers, str, tuple[int, ...]]]) -> go.Figure:
    """The cosine of two sentences by layer, a line for each side under its pooling; the chosen layers stand out."""
    draft = style.Draft()
    most = 0
    for name, (pair, pooling, read) in sides.items():
        cosines = pair.cosines[:, pair.poolings.index(pooling)]
        layers = list(range(len(cosines)))
        most = max(most, len(layers))
        draft.curve(
            style.SIDES["AB".index(name)],
            x=layers,
            y=cosines,
            name=f"{name} ({pooling})",
            marker={"size": [14 if layer in read else 7 for layer in layers]},
            hovertemplate=f"{name}, {pooling} of layer %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    draft.x_axes(title="layer", tickvals=list(range(0, most, 1 if most <= 13 else 2)), zeroline=False)
    draft.y_axes(title="cosine", zeroline=False)
    return draft.figure(340, showlegend=True, margin={"t": 40})


def cost_by_layer(sides: Mapping[str, EditCosts]) -> go.Figure:
    """What the edits of two sentences cost in every layer, a line for each side, and for each of a few edits."""
    draft = style.Draft()
    first = next(iter(sides.values()))
    shown = range(len(first.edits)) if 1 < len(first.edits) <= len(_DASHES) else ()
    most, highest = 0, 0.0
    for name, costs in sides.items():
        colour = style.SIDES["AB".index(name)]
        lines = [(str(costs.edits[at]), costs.by_layer[:, at], _DASHES[at]) for at in shown]
        for label, values, dash in lines or [("1 − cosine", costs.totals, "solid")]:
            most, highest = max(most, len(values)), max(highest, float(np.abs(values).max(initial=0)))
            draft.curve(
                colour,
                x=list(range(len(values))),
                y=values,
                name=f"{name}: {style.short_text(label)}" if lines else name,
                line={"color": colour, "width": 2.5, "dash": dash},
                marker={"size": 8},
                hovertemplate=f"{name}, layer %{{x}}: %{{y:.3f}}<extra></extra>",
            )
    draft.x_axes(title="layer", tickvals=list(range(0, most, 1 if most <= 13 else 2)), zeroline=False)
    draft.y_axes(title="cost", zeroline=True, rangemode="tozero", nticks=5)
    if highest < ROUNDING:  # the axis would be of rounding errors
        draft.y_axes(range=[-0.005, 0.1])
    return draft.figure(250, showlegend=True, margin={"t": 30})


def token_by_token(pair: TokenPair, layer: int) -> go.Figure:
    """Cosines of the tokens of the first sentence (rows) and those of the second (columns), from the top left."""
    down, across = (shown_labels(tokens) for tokens in pair.tokens)
    sizes = [{"size": 12 if len(names) <= FEW else 9} for names in (across, down)]
    scale = style.COSINE_RANGE, style.COSINE_SCALE, in_words.number
    draft = _matrix(pair.cosines[layer], down, across, *scale, style.cosine_bar())
    draft.x_axes(tickfont=sizes[0])
    draft.y_axes(tickfont=sizes[1])
    row = 24 if len(down) <= FEW else 12
    return draft.figure(120 + row * max(4, len(down)), margin={"t": 20, "b": 10})


def _matrix(
    values: NDArray[np.floating[Any]],
    down: list[str],
    across: list[str],
    span: Span,
    scale: Any,
    write: Callable[[float, int], str],
    legend: Mapping[str, Any] | None = None,
) -> style.Draft:
    """Cells of two names each, from the top left; the axes are positions, since equal names would share a row."""
    draft = style.Draft()
    draft.add(
        "heatmap",
        x=list(range(len(across))),
        y=list(range(len(down))),
        z=values,
        zmin=span[0],
        zmax=span[1],
        colorscale=scale,
        colorbar={"thickness": 10, **(legend or {})},
        xgap=1,
        ygap=1,
        text=[
            [f"{one} · {other}: {write(value, 3)}" for other, value in zip(across, row, strict=True)]
            for one, row in zip(down, values.tolist(), strict=True)
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    some = slice(None, None, -(-len(across) // FEW))
    draft.x_axes(
        side="top", tickangle=-90, tickvals=list(range(len(across)))[some], ticktext=across[some], **style.STILL
    )
    draft.y_axes(autorange="reversed", tickvals=list(range(len(down))), ticktext=down, **style.STILL)
    return draft


def token_shares(sides: dict[str, tuple[TokenPair, Shares]]) -> go.Figure:
    """Bars of the contributions of tokens in either sentence, for every side with the same tokens."""
    return contribution_bars(
        {
            name: ((shown_labels(pair.tokens[0]), shares[0]), (shown_labels(pair.tokens[1]), shares[1]))
            for name, (pair, shares) in sides.items()
        }
    )


def shown_labels(tokens: Sequence[str]) -> list[str]:
    """The labels of the tokens that are shown."""
    return [token_label(token) for token in tokens[:MOST]]


def contribution_bars(sides: dict[str, tuple[Labelled, Labelled]]) -> go.Figure:
    """Bars for the labelled contributions of either sentence, next to each other for every side."""
    draft = style.Draft(cols=2, across=0.2, titles=("sentence 1", "sentence 2"))
    rows = 1
    for name, sentences in sides.items():
        for column, (names, values) in enumerate(sentences, start=1):
            rows = max(rows, len(names))
            draft.add(
                "bar",
                x=values[: len(names)],
                y=list(range(len(names))),
                orientation="h",
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                marker={"color": style.SIDES["AB".index(name)]},
                hovertext=[
                    f"{one}: {in_words.signed(value, 3)}" for one, value in zip(names, list(values), strict=False)
                ],
                hovertemplate=f"%{{hovertext}} ({name})<extra></extra>",
                row=1,
                col=column,
            )
            draft.y_axes(tickvals=list(range(len(names))), ticktext=names, row=1, col=column)
    # one range for both sentences, so that all bars have the same width
    draft.y_axes(range=[rows - 0.5, -0.5], showgrid=False, zeroline=False, fixedrange=True)
    draft.x_axes(zeroline=True, zerolinecolor=style.QUIET, nticks=6, fixedrange=True, matches="x")
    return draft.figure(
        110 + (16 + 8 * len(sides)) * max(4, rows),
        bargap=0.25,
        showlegend=True,  # names the side if only one has contributions
        margin={"t": 70, "b": 30},
        legend={"y": 1, "yanchor": "top", "yref": "container"},
    )


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
    shown = [[*range(len(names) - 1), len(words)] for names, words in zip((down, across), pair.words, strict=True)]
    values = matrix[np.ix_(*shown)]  # of the words that are shown, and of the reference
    draft = _matrix(
        values, down, across, (-most, most), [list(stop) for stop in style.DIFFERENCE_SCALE], in_words.signed
    )
    if max(len(down), len(across)) <= NUMBERED:
        draft.numbers(values, (-most, most), style.DIFFERENCE_SCALE, texts=style.written(values, in_words.signed))
    return draft.figure(130 + 26 * max(4, len(down)), margin={"t": 20, "b": 10}, showlegend=False)


def _labelled(pair: WordPair, number: int) -> Labelled:
    """The words that are shown and what they add, then what the rest of the sentence adds."""
    values = pair.contributions[number]
    rest = pair.rests[number] + float(values[MOST:].sum())
    return _names(pair, number), np.append(values[:MOST], rest)


def _names(pair: WordPair, number: int) -> list[str]:
    return [*(token_label(word) for word in pair.words[number][:MOST]), REST]


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
    span = -(most or 1.0), most or 1.0, style.DIFFERENCE_SCALE
    found, end = [], 0
    for word, value, background, ink in zip(
        words, values, style.scale_colours(values, *span), style.text_colours(values, *span), strict=True
    ):
        place = sentence.find(word, end)
        begin = place if place >= 0 else end
        found.append(ColouredWord(sentence[end:begin], word, float(value), background, ink))
        end = begin + len(word) if place >= 0 else end
    return tuple(found), sentence[end:]


def packs_side_by_side(sides: dict[str, Probed]) -> go.Figure:
    """A bar of the mean cosine for every pack and side, and a point for every pair."""
    draft = style.Draft()
    packs = next(iter(sides.values())).packs
    for name, side in sides.items():
        shift = 0.0 if len(sides) == 1 else (-_SHIFT, _SHIFT)["AB".index(name)]
        middles, shade = [place + shift for place in range(len(packs))], style.SIDES["AB".index(name)]
        draft.add(
            "bar",
            x=middles,
            y=[side.mean(pack.name) for pack in packs],
            width=1.8 * _SHIFT,
            name=name,
            legendgroup=name,
            marker={"color": shade, "opacity": 0.45},
            customdata=[pack.name for pack in packs],
            hovertemplate=f"{name}, %{{customdata}}: mean %{{y:.3f}}<extra></extra>",
        )
        pairs = [pair for pack in packs for pair in zip(pack.first, pack.second, strict=True)]
        draft.points(
            # spread over the bar in the order of the pairs, the same in A and in B
            x=np.concatenate(
                [at + np.linspace(-0.7, 0.7, len(pack)) * _SHIFT for at, pack in zip(middles, packs, strict=True)]
            ).tolist(),
            y=[cosine for cosines in side.cosines for cosine in cosines],
            legendgroup=name,
            showlegend=False,
            marker={"color": shade, "size": 6, "line": {"width": 1, "color": "rgba(255,255,255,.6)"}},
            hovertext=[f"{style.hover_text(one)}<br>{style.hover_text(other)}" for one, other in pairs],
            hovertemplate=f"%{{hovertext}}<br>{name}: %{{y:.3f}}<extra></extra>",
        )
    alike = sum(pack.same for pack in packs)
    draft.line(x=alike - 0.5, color=style.QUIET, width=1.5, dash="dot")
    for x, anchor, text in ((alike - 0.55, "right", "same meaning"), (alike - 0.45, "left", "different meaning")):
        draft.note(text, x=x, y=1, yref="paper", yanchor="bottom", xanchor=anchor)
    draft.x_axes(
        tickvals=list(range(len(packs))), ticktext=[pack.name for pack in packs], zeroline=False, fixedrange=True
    )
    draft.y_axes(title="cosine", zeroline=True)
    return draft.figure(370, barmode="overlay", margin={"t": 60, "b": 30}, legend={"y": 1.08})
