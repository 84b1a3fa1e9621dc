"""Load a model, score it, compare two, list what changed, embed, explain a cosine: for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data import sources
from explorer.encoding.load import loading
from explorer.encoding.load.declared import default, named
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import REFERENCES
from explorer.errors import BadChoice
from explorer.evaluating.tasks.judges import Evaluated, judged
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict
from explorer.measuring.comparing.item_changes import changed_items
from explorer.measuring.scores.layer_scores import score_rows
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences import edit_tables
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.measuring.sentences.word_pairs import WordPair, measured
from explorer.measuring.sentences.word_tables import REST, cut_notes, edits_of, missed_notes, side_by_side, summary
from explorer.progress import finish
from explorer.training.record.run_results import load_set, verdict_on

if TYPE_CHECKING:
    import pandas as pd

    from explorer.encoding.read.encoder import Encoder


@dataclass(frozen=True, eq=False)
class Model:
    """A model on this disk; its weights are loaded when they are first needed."""

    found: Found
    settings: Settings

    @cached_property
    def encoder(self) -> Encoder:
        """The loaded weights."""
        return load_encoder(self.found, self.settings)

    @cached_property
    def differentiable(self) -> Encoder:
        """The model in float32, with attention that has derivatives."""
        return loading.load(self.found, "float32", self.settings.device, attention=EAGER)

    def __repr__(self) -> str:
        return f"<Model {self.found.name}>"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The words behind the cosine of two sentences, under A, or under A and B."""

    of: dict[str, WordPair]  # by side

    @property
    def cosine(self) -> dict[str, float]:
        """The cosine by side."""
        return {side: pair.cosine for side, pair in self.of.items()}

    @cached_property
    def words(self) -> pd.DataFrame:
        """A row for each word of either sentence; the rows of a sentence add up to the cosine."""
        import pandas as pd

        return pd.DataFrame(side_by_side(self.of))

    @cached_property
    def edits(self) -> pd.DataFrame:
        """A row for each difference with its cost, the most costly first; costs add up to 1 minus the cosine.

        Empty if the sentences share no word.
        """
        import pandas as pd

        edits = edits_of(self.of)
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

    def __repr__(self) -> str:
        edits = edits_of(self.of)
        headline = [edit_tables.summary(edits), *edit_tables.notes(edits)] if edits else []
        return " ".join(filter(None, (*headline, summary(self.of), *cut_notes(self.of), *missed_notes(self.of))))


def load(name: str, *, precision: str = "float32", device: str = "auto", online: bool = False) -> Model:
    """The model of a name, a folder, a hub id, or run:NAME; `online` allows the download of one that is not here."""
    return Model(find(name, online), Settings(precision, device))


def embed(model: Model, sentences: Sequence[str], layer_and_pooling: str | None = None) -> NDArray[np.float32]:
    """Vectors (sentence, width) under a layer & pooling such as "mean of layer 4"; else under the model default."""
    return finish(of_reading(model.encoder, sentences, named(layer_and_pooling, model.found.folder), None))


def score(model: Model, on: str = "sample") -> pd.DataFrame:
    """The scores × 100 of every layer & pooling on a set of any kind, a column for each measure. Higher is better."""
    import pandas as pd

    return pd.DataFrame(score_rows(finish(judged(_set(on)).measured(model.found, model.settings))))


def compare(one: Model, other: Model | str, on: str = "sample test", metric: str | None = None) -> dict[str, Any]:
    """The verdict on B against A on the same items, each under its model default; `text` says it in a sentence.

    The default is the half of the sample on which runs choose no checkpoint, and the main measure of the set.
    """
    _, verdict, measure = _compared(one, other, on, metric)
    return verdict.as_json() | {"measure": measure}


def changes(one: Model, other: Model | str, on: str = "sample test", metric: str | None = None) -> pd.DataFrame:
    """The items that improved from A to B and those that got worse, most changed first, in the column `change`.

    Of scored pairs also those that are still wrong. Empty if nothing changed.
    """
    import pandas as pd

    about, _, measure = _compared(one, other, on, metric)
    given = _set(on)
    found = changed_items(given, judged(given).columns, about, about, measure)
    if found.why_none:
        raise BadChoice(found.why_none)
    return pd.DataFrame([{"change": kind, **row} for kind, rows in found.rows.items() for row in rows])


def _set(on: str) -> Evaluated:
    return load_set(sources.identity(on))


def _compared(one: Model, other: Model | str, on: str, metric: str | None) -> tuple[Comparison, ComparisonVerdict, str]:
    """Both models under their model defaults, the verdict, and the measure."""
    other = load(other) if isinstance(other, str) else other
    given, found = _set(on), (one.found, other.found)
    measure = judged(given).measure(metric)
    scores = [finish(judged(given).measured(side.found, side.settings)) for side in (one, other)]
    comparison = Comparison(scores[0], scores[1], default(one.found.folder), default(other.found.folder))
    way = measure, "all"  # and how sub-corpora are aggregated
    return *verdict_on(found, given, comparison, *way, lambda about: about.chosen(*way)), measure


def explain(
    model: Model,
    first: str,
    second: str,
    model_b: Model | str | None = None,
    layer_and_pooling: str | None = None,
    reference: str = "[PAD]",
) -> Explanation:
    """What each difference of two sentences costs, and what each word adds to their cosine; shown, it says it."""
    if reference not in REFERENCES:
        raise BadChoice(f"'{reference}' replaces no words. Choose one of {', '.join(REFERENCES)}.")
    other = load(model_b) if isinstance(model_b, str) else model_b
    sides = {"A": model, **({} if other is None else {"B": other})}

    def of(one: Model) -> WordPair:
        reading, device = named(layer_and_pooling, one.found.folder), one.settings.device
        pair = (first, second)
        return finish(
            measured(one.found, pair, reading, lambda: one.differentiable, reference, device=device, matrix=True)
        )

    return Explanation({side: of(one) for side, one in sides.items()})
