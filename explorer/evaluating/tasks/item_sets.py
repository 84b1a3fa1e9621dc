"""Score every layer & pooling on a set of any kind that has no protocol of its own, such as a file of triplets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from explorer.data.graded import sts
from explorer.data.set_items import ItemSet
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice
from explorer.evaluating import kinds
from explorer.evaluating.kinds.item_scores import ItemScores, score_items
from explorer.evaluating.results.scored_task import NO_SCORE, Items, Measured, Options, Setting, agreement_ends, ends
from explorer.evaluating.tasks import ALL, Subject, Task
from explorer.measuring.comparing.comparison import default_reading
from explorer.measuring.scores import layer_scores, metrics
from explorer.measuring.scores.bootstrap import mean_ends
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.progress import Progress, Work


class ItemSets(Task[ItemSet]):
    """A file of the user whose items are scored one by one."""

    kind = "items"

    @classmethod
    def load(cls, name: str, options: Options) -> ItemSets:
        """There is no published task of this kind."""
        raise BadChoice(f"There is no task '{name}'.")

    @classmethod
    def own(cls, source: str) -> ItemSets | None:
        """Read a file of a kind that has no protocol of its own."""
        every: tuple[type[kinds.JudgedSet[Any]], ...] = kinds.every()
        read = (kind.read(source, False) for kind in every if not kind.has_protocol)
        return next((cls(source, one) for one in read if one is not None), None)

    def titles(self, subject: Subject, options: Options) -> tuple[str, ...]:
        """The whole grid, which costs little more than one of it, and what is outside of it."""
        return super().titles(subject, replace(options, titles=(ALL, *options.titles)))

    def score(self, subject: Subject, options: Options) -> Work[Measured]:
        """What each item gets under every layer & pooling; a score is their mean."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        judge = kinds.judge_of(self.data, subject.encoder)
        scores = yield from score_items(subject.encoder, judge, self.length(subject), subject.named(options.titles))
        return of_scores(scores, self.data)


def of_scores(scores: LayerScores, given: ItemSet, text: str = sts.RAW) -> Measured:
    """The scores of every layer & pooling as the result of a task.

    Without a declared model default, it is the mean of the last layer, as in sentence-transformers.
    """
    default = default_reading(scores)
    readings = {one.title: one for one in (*scores.grid, *scores.also)} | {MODEL_DEFAULT: default}
    setting: dict[str, Setting] = {"max_length": scores.max_length, "precision": scores.precision}
    if why := layer_scores.why_none(scores):
        setting[NO_SCORE] = why
    if isinstance(scores, ItemScores):
        measures = {measure: (measure, "all") for measure in scores.metrics}
        values = [scores.items_of(default, measure) for measure in measures]
        items, found = Items(values[0], digest=given.digest), ends(zip(measures, map(mean_ends, values), strict=True))
    else:
        measures, cosines = metrics.measures_of(scores.gold, scores.parts), scores.cosines_of(default)
        items = Items(cosines, scores.gold, scores.parts, given.digest)
        setting, found = {"text": text, **setting}, agreement_ends(scores.gold, cosines, scores.parts)
    table = [[[scores.score(reading, *one)] for one in measures.values()] for reading in readings.values()]
    return Measured(
        "all" if isinstance(scores, ItemScores) else "test",
        tuple(readings),
        tuple(measures),
        np.array(table, dtype=np.float64),
        setting=setting,
        items=items,
        seconds=scores.seconds,
        ends=found,
    )
