"""Load a model, score it, compare two, embed sentences: four functions for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.scores.measure import Settings


@dataclass(frozen=True, eq=False)
class Model:
    """A model on this disk; its weights are loaded when they are first needed."""

    found: Found
    settings: Settings

    @cached_property
    def encoder(self) -> Encoder:
        """The loaded weights."""
        from explorer.measuring.scores.measure import load_encoder

        return load_encoder(self.found, self.settings)

    def __repr__(self) -> str:
        return f"<Model {self.found.name}>"


def load(name: str, *, precision: str = "float32", device: str = "auto") -> Model:
    """The model of a name, a folder, a hub id that is on this disk, or run:NAME."""
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.scores.measure import Settings

    return Model(find(name), Settings(precision, device))


def embed(model: Model, sentences: Sequence[str], layer_and_pooling: str | None = None) -> NDArray[np.float32]:
    """Vectors (sentence, width) under a layer & pooling such as "mean of layer 4"; else under the model default."""
    from explorer.encoding.load.declared import named
    from explorer.measuring.sentences.sentence_vectors import of_reading
    from explorer.progress import finish

    return finish(of_reading(model.encoder, sentences, named(layer_and_pooling, model.found.folder), None))


def score(model: Model, pairs: str = "sample") -> pd.DataFrame:
    """Spearman and Pearson × 100 (higher is better, at most 100) of every layer & pooling on scored pairs."""
    import pandas as pd

    from explorer.data.sources import scored_pairs
    from explorer.measuring.scores.measure import measure
    from explorer.measuring.scores.score_tables import score_rows
    from explorer.progress import finish

    return pd.DataFrame(score_rows(finish(measure(model.found, scored_pairs(pairs)[0], model.settings))))


def compare(one: Model, other: Model | str, pairs: str = "sample") -> dict[str, Any]:
    """The verdict on B against A on the same pairs, each under its model default; `text` says it in a sentence."""
    from explorer.data.sources import scored_pairs
    from explorer.encoding.load.declared import default
    from explorer.measuring.comparing.comparison import Comparison
    from explorer.measuring.scores.measure import measure
    from explorer.progress import finish
    from explorer.training.record.model_comparison import verdict_on

    other = load(other) if isinstance(other, str) else other
    known, found = scored_pairs(pairs)[0], (one.found, other.found)
    scores = [finish(measure(side.found, known, side.settings)) for side in (one, other)]
    comparison = Comparison(scores[0], scores[1], default(one.found.folder), default(other.found.folder))
    ways = ("Spearman", "all")
    return verdict_on(found, known, comparison, ways, lambda about: about.chosen(*ways))[1].as_json()
