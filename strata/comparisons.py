"""Compare two models on the same items: better, worse or could be chance; and what changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.commands.parts import output
from explorer.data.set_items import ItemSet
from explorer.encoding.load import declared
from explorer.errors import BadChoice
from explorer.evaluating.kinds import judged
from explorer.measuring.comparing.comparison_verdict import ScoredSide
from explorer.measuring.comparing.item_changes import changed_items
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.scores.judge import Gap
from explorer.studies.gate import Judged, compared
from explorer.training.record.run_results import known_probes
from strata.models import Model, ModelLike, load, loaded_like
from strata.scores import evaluation_set
from strata.shown import HEIGHT, Shown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """The verdict on B against A; every comparison has the same fields, None where there is nothing to say.

    A tuned model is judged against its base, each under its model default: then `before` is the base, even if it is B.
    """

    a: Model
    b: Model
    on: ItemSet  # the evaluation set
    metric: str
    # "better", "worse", "chance", "unknown", or the set is no test: it chose a model ("chose"), or "trained on"
    kind: str
    before: ScoredSide  # model, layer & pooling, and score × 100
    after: ScoredSide
    difference: float | None  # after less before, with its 95 % confidence interval
    low: float | None
    high: float | None
    training: Gap | None  # the part of a tuned model's difference that is due to training; None if all of it is
    base_as_trained: float | None  # the score of the base under the layer & pooling that was trained, if recorded
    smallest_gain: float | None  # that this set tells from chance in 80 % of cases
    items_needed: int | None  # that tell a gain as large as this one
    optimistic: bool  # items of the set were trained on, or chose one of the models
    no_score: str  # why a side has no score; "" if both have one
    text: str  # the verdict in a sentence
    found: Judged = field(repr=False)  # all numbers behind it

    @property
    def packs(self) -> Learned:
        """The changes of the probe packs, if the run that tuned one model from the other measured them."""
        sides = self.a, self.b
        known = known_probes((self.a.found, self.b.found), self.found.verdict, [one.settings for one in sides])
        return self.found.verdict.learned(known or Learned())

    def changes(self) -> pd.DataFrame:
        """The items that improved from A to B, then those that got worse, most changed first, in the column `change`.

        Of scored pairs also those that are still wrong. Empty if nothing changed.
        """
        import pandas as pd

        items = changed_items(self.on, self.found.about, self.found.about, self.metric)
        if items.why_none:
            raise BadChoice(items.why_none)
        return pd.DataFrame([{"change": kind, **row} for kind, rows in items.rows.items() for row in rows])

    def to_frame(self) -> pd.DataFrame:
        """One row, with the same columns for every comparison, so that those of several sets are one table."""
        import pandas as pd

        part = self.training
        row = {
            "set": self.on.name,
            "items": len(self.on),
            "metric": self.metric,
            "before": self.before.model,
            "after": self.after.model,
            "score before": in_words.rounded(self.before.score),
            "score after": in_words.rounded(self.after.score),
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "due to training": None if part is None else in_words.rounded(part.difference),
            "smallest gain": self.smallest_gain,
            "items needed": self.items_needed,
            "optimistic": self.optimistic,
            "verdict": self.kind,
        }
        return pd.DataFrame([row])

    def figure(self) -> go.Figure:
        """The change of each probe pack, as on the Compare page, if a run measured them; else that of the set."""
        from explorer.drawing.scores.changes import SetChange, packs_changed, sets_changed

        learned, swapped = self.packs, self.found.verdict.tuning is not None and self.found.verdict.tuning.tuned == 0
        if learned.packs:
            return packs_changed(learned.packs, HEIGHT, (1, 0) if swapped else (0, 1))
        return sets_changed([SetChange(f"{self.on.name} ({self.metric})", self.found.verdict.score)], HEIGHT)

    def __repr__(self) -> str:
        return self.text


def compare(
    a: ModelLike,
    b: ModelLike,
    on: str | PathLike[str] = "sample test",
    *,
    metric: str | None = None,
    layer_and_pooling: str | None = None,
    layer_and_pooling_b: str | None = None,
) -> Comparison:
    """Judge B against A on the same items, each under its model default unless a layer & pooling is named.

    The set is by default the half of the sample on which runs choose no checkpoint. The layer & pooling of A is that of
    B too, if B's is not named; a tuned model and its base are always judged under their model defaults.
    """
    one = load(a)
    other, evaluated = loaded_like(b, one), evaluation_set(on)
    if one.settings != other.settings:
        raise BadChoice(
            f"A is measured with {one.settings}, and B with {other.settings}. Load both with the same settings."
        )
    readings = (
        declared.named(layer_and_pooling, one.found.folder),
        declared.named(layer_and_pooling_b or layer_and_pooling, other.found.folder),
    )
    measure = judged(evaluated).measure_named(metric)
    found = output.shown(compared((one.found, other.found), evaluated, readings, one.settings, measure))
    verdict, score = found.verdict, found.verdict.score
    return Comparison(
        a=one,
        b=other,
        on=evaluated,
        metric=measure,
        kind=score.kind,
        before=verdict.before,
        after=verdict.after,
        difference=in_words.rounded(score.difference),
        low=in_words.rounded(score.low),
        high=in_words.rounded(score.high),
        training=score.training,
        base_as_trained=None if verdict.same is None else in_words.rounded(verdict.same.score),
        smallest_gain=in_words.rounded(score.smallest_gain),
        items_needed=score.items_needed,
        optimistic=verdict.optimistic,
        no_score=verdict.why_none,
        text=verdict.sentence().text,
        found=found,
    )
