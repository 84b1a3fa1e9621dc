"""Score a model on an evaluation set, under every layer & pooling."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.commands.parts import output
from explorer.data.set_items import ItemSet, several, size_of
from explorer.encoding.load import declared
from explorer.errors import BadChoice
from explorer.evaluating.kinds import judged
from explorer.measuring.comparing.comparison import default_reading
from explorer.measuring.scores import layer_scores
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.training.record import used_rows
from explorer.training.record.run_results import named_set
from strata.models import Model, ModelLike, load
from strata.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Scores(Shown):
    """The scores × 100 of a model under every layer & pooling; higher is better."""

    model: Model
    on: ItemSet  # the evaluation set
    metric: str  # the one that it is reported by
    layers: LayerScores

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that the set has, the main one first."""
        return tuple(self.layers.metrics)

    @property
    def default(self) -> float | None:
        """The score of the model default, or of the mean of the last layer of a model that declares none."""
        return in_words.rounded(self.layers.score(default_reading(self.layers), self.metric))

    @property
    def best(self) -> str | None:
        """The layer & pooling with the highest score; optimistic, since it is chosen on the items it is scored on."""
        found = self.layers.best_of_all(self.metric)
        return None if found is None else found.title

    @property
    def trained_on(self) -> int:
        """How many items of the set are in the training text of the model's run, or of its base's."""
        used = used_rows.in_training_text([self.model.found], self.on)
        return len(used.trained | used.seen)

    def score(self, layer_and_pooling: str, metric: str | None = None) -> float | None:
        """The score of one layer & pooling, by its title; None if it has none."""
        reading = declared.named(layer_and_pooling, self.model.found.folder)
        if self.layers.lacks([reading]):
            raise BadChoice(
                f"'{layer_and_pooling}' was not scored. Name it in score(…, also=['{layer_and_pooling}']), or choose "
                "one of the table."
            )
        measure = judged(self.on).measure_named(metric) if metric else self.metric
        return in_words.rounded(self.layers.score(reading, measure))

    def to_frame(self) -> pd.DataFrame:
        """A row for every layer & pooling, with a column for each metric."""
        import pandas as pd

        return pd.DataFrame(layer_scores.for_people(layer_scores.score_rows(self.layers)))

    def figure(self) -> go.Figure:
        """The grid of layers and poolings, as on the Layers page."""
        from explorer.drawing.scores import grid

        return grid.layer_by_pooling(self.layers, self.metric, "all", default_reading(self.layers))

    def __repr__(self) -> str:
        default = layer_scores.text_of(self.layers.score(default_reading(self.layers), self.metric))
        text = f"{self.model.name} on {self.on.name} ({size_of(self.on)}, {self.metric} × 100): model default {default}"
        found = self.layers.best_of_all(self.metric)
        if found is None:
            return f"{text}. No score: {layer_scores.why_none(self.layers, self.metric)}."
        if words := used_rows.in_training_text([self.model.found], self.on).words:
            return f"{text}. {words}"
        best = layer_scores.text_of(self.layers.score(found, self.metric))
        tied = layer_scores.tied_text(self.layers.ties(found, self.metric))
        chosen = f"chosen on the {several(self.on.item)} it is scored on, so optimistic"
        return f"{text}, best {best} ({found.title}{tied}, {chosen})"


def score(
    model: ModelLike,
    on: str | PathLike[str] = "sample",
    *,
    metric: str | None = None,
    also: tuple[str, ...] | list[str] = (),
) -> Scores:
    """Score every layer & pooling on an evaluation set of any kind.

    `on` names scored pairs, queries with passages, triplets, labelled texts or probe packs, or is their file or folder.
    `metric` is one of the set, its main one by default. `also` names layers & poolings outside of the grid, such as
    "mean of layers 4-6".
    """
    given, evaluated = load(model), evaluation_set(on)
    measure = judged(evaluated).measure_named(metric)
    named = [declared.named(title, given.found.folder) for title in also]
    outside = [one for reading in named for one in declared.outside(reading, given.found.folder)]
    scores = output.shown(judged(evaluated).measured(given.found, given.settings, also=outside))
    return Scores(given, evaluated, measure, scores)


def evaluation_set(on: str | PathLike[str]) -> ItemSet:
    """The evaluation set of a name, a file or a folder."""
    return named_set(str(on))
