"""Write the words behind the cosines of pairs of sentences as HTML: a page, and a part of other reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explorer import in_words
from explorer.drawing.reports import standalone
from explorer.drawing.reports.standalone import heading, note, picture, table
from explorer.drawing.sentences import pair_figures
from explorer.encoding.read.readings import PAD
from explorer.measuring.comparing.comparison_report import LIBRARIES
from explorer.measuring.sentences import word_tables
from explorer.measuring.sentences.word_pairs import Explained, ExplainedPairs
from explorer.measuring.sentences.word_tables import TITLE, Models, Pairs

BARS = 620  # least pixels of the bars of both sentences
NAME, CELL = 170, 42  # of the names of a matrix's rows with its scale, and of a cell
NAMES = {"model_revision": "revision", "model_digest": "digest", "reading": "layer & pooling"}


def page(explained: Sequence[Explained], reference: str, models: Models) -> bytes:
    """The HTML file: every pair with its words under each side, and how they were weighed."""
    names = " and ".join(str(model["model"]) for model in models.values())
    body = []
    for place, one in enumerate(explained, start=1):
        body += [heading(f"Pair {place} of {len(explained)}" if len(explained) > 1 else TITLE)]
        body += [standalone.paragraph(((sentence, False),)) for sentence in one.sentences]
        body += [*_bars(one.pairs), *_matrices(one.pairs), table(word_tables.side_by_side(one.pairs), other=3)]
    rows = [
        {
            "": NAMES.get(name, name),
            **{side: in_words.NONE if of[name] is None else of[name] for side, of in models.items()},
        }
        for name in models["A"]
    ]
    versions = ", ".join(f"{name} {number}" for name, number in in_words.versions(LIBRARIES).items())
    body += [heading("How it was measured"), note(word_tables.ABOUT.format(reference)), table(rows)]
    body += [table([{"": "words are replaced by", "value": reference}, {"": "versions", "value": versions}])]
    return standalone.page(f"{TITLE} {names}", body)


def section(words: ExplainedPairs) -> Iterator[str]:
    """The bars of several pairs, for another report; a note if a model's words cannot be weighed, or nothing."""
    if words.why_none:
        yield note(f"{TITLE} {words.why_none}")
    if words.pairs:
        yield heading(TITLE)
        yield note(word_tables.ABOUT.format(PAD))
    for one in words.pairs:
        yield standalone.paragraph(((" / ".join(one.sentences), False),))
        yield from _bars(one.pairs)


def _bars(pairs: Pairs) -> Iterator[str]:
    """The sentence of a pair's strongest word, or change, and the bars of every word."""
    if text := word_tables.summary(pairs):
        yield standalone.paragraph(((text, True),))
    yield from map(note, (*word_tables.cut_notes(pairs), *word_tables.missed_notes(pairs)))
    for group in pair_figures.alike(pairs):
        title = f"What each word adds to the cosine, {' and '.join(group)}"
        figure = pair_figures.word_bars(group)
        figure.update_layout(legend={"x": 1, "xanchor": "right"})  # beside the titles, which a report has at the top
        yield picture(figure, title, pair_figures.FOLDED * pair_figures.are_folded(group), least=BARS)


def _matrices(pairs: Pairs) -> Iterator[str]:
    """Pairs of words, A and B next to each other with one colour scale."""
    matrices = {side: pair.matrix for side, pair in pairs.items() if pair.matrix is not None}
    if not matrices:
        yield note(word_tables.TOO_LONG)
        return
    most = pair_figures.widest(*matrices.values())
    yield standalone.side_by_side(
        *(
            picture(
                pair_figures.word_matrix(pairs[side], matrix, most),
                f"{side}: pairs of words, cosine {pairs[side].cosine:.3f}",
                among=len(matrices),
                least=NAME + CELL * (len(pairs[side].words[1]) + 1),
            )
            for side, matrix in matrices.items()
        )
    )
    yield note(pair_figures.MATRIX)
