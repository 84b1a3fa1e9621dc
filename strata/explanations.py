"""Explain the cosine of two sentences by their words, under one model or two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.commands.parts import output
from explorer.encoding.load.declared import named
from explorer.encoding.read.pooling import REFERENCES
from explorer.errors import BadChoice
from explorer.measuring.sentences import edit_tables
from explorer.measuring.sentences.word_pairs import WordPair, measured
from explorer.measuring.sentences.word_tables import REST, cut_notes, edits_of, missed_notes, side_by_side, summary
from strata.models import ModelLike, load, loaded_like, text
from strata.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Explanation(Shown):
    """The words behind the cosine of two sentences, under A, or under A and B."""

    sentences: tuple[str, str]
    reference: str  # what replaces the words in the sentence that the sum starts from
    of: Mapping[str, WordPair]  # by side

    @property
    def cosine(self) -> dict[str, float]:
        """The cosine by side."""
        return {side: pair.cosine for side, pair in self.of.items()}

    @cached_property
    def words(self) -> pd.DataFrame:
        """A row for each word of either sentence; the rows of a sentence add up to the cosine."""
        import pandas as pd

        return pd.DataFrame(side_by_side(dict(self.of)))

    @cached_property
    def edits(self) -> pd.DataFrame:
        """A row for each difference with its cost, the most costly first; costs add up to 1 minus the cosine.

        Empty if the sentences are equal, or differ in more than 32 places.
        """
        import pandas as pd

        edits = edits_of(dict(self.of))
        return pd.DataFrame(edit_tables.rows(edits) if edits else [])

    @cached_property
    def pairs(self) -> dict[str, pd.DataFrame]:
        """By side, what each word of the first sentence (row) and of the second (column) add together.

        None for sentences of more than 64 tokens without a maximum length.
        """
        import pandas as pd

        return {
            side: pd.DataFrame(pair.matrix, [*pair.words[0], REST], [*pair.words[1], REST])
            for side, pair in self.of.items()
            if pair.matrix is not None
        }

    def to_frame(self) -> pd.DataFrame:
        """The words: a row for each word of either sentence."""
        return self.words

    def figure(self) -> go.Figure:
        """What each word adds, as bars, as in *Which words did it?* on pages.

        If A and B split the sentences into other words, only the bars of A.
        """
        from explorer.drawing.sentences import pair_figures

        return pair_figures.word_bars(pair_figures.alike(self.of)[0])

    def _repr_html_(self) -> str:
        """What it says, and both sentences with their words coloured: blue raises the cosine, brown lowers it."""
        from explorer.drawing.sentences.pair_figures import coloured, largest

        most = largest(*self.of.values())
        lines = []
        for side, pair in self.of.items():
            lines.append(f"<p><b>{escape(side)}</b>, cosine {in_words.cosine(pair.cosine)}</p>")
            for sentence, words, values in zip(self.sentences, pair.words, pair.contributions, strict=True):
                parts, end = coloured(sentence, words, values, most)
                spans = (
                    f'{escape(one.before)}<span style="background:{one.background};color:{one.ink}" '
                    f'title="{in_words.signed(one.value, 3)}">{escape(one.word)}</span>'
                    for one in parts
                )
                lines.append(f"<p>{''.join(spans)}{escape(end)}</p>")
        return f"<p>{escape(repr(self))}</p>{''.join(lines)}"

    def __repr__(self) -> str:
        pairs = dict(self.of)
        edits = edits_of(pairs)
        headline = [edit_tables.summary(edits), *edit_tables.notes(edits)] if edits else []
        return " ".join(filter(None, (*headline, summary(pairs), *cut_notes(pairs), *missed_notes(pairs))))


def explain(
    model: ModelLike,
    first: str,
    second: str,
    model_b: ModelLike | None = None,
    *,
    layer_and_pooling: str | None = None,
    reference: str = "[PAD]",
) -> Explanation:
    """What each difference of two sentences costs, and what each word adds to their cosine; always in float32.

    The layer & pooling is that of A and of B. `reference` is what words are compared with: "[PAD]", "[MASK]" or
    "mean embedding".
    """
    if reference not in REFERENCES:
        raise BadChoice(f"'{reference}' replaces no words. Choose one of {', '.join(REFERENCES)}.")
    pair = text(first, "first"), text(second, "second")
    one = load(model)
    sides = {"A": one, **({} if model_b is None else {"B": loaded_like(model_b, one)})}
    found = {}
    for side, of in sides.items():
        reading, settings = named(layer_and_pooling, of.found.folder), of.settings
        work = measured(
            of.found,
            pair,
            reading,
            partial(getattr, of, "differentiable"),
            reference,
            settings.max_length,
            device=settings.device,
            matrix=True,
        )
        found[side] = output.shown(work)
    return Explanation(pair, reference, found)
