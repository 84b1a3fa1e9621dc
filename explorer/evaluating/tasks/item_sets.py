"""Score every layer & pooling on a set of any kind that has no protocol of its own, such as a file of triplets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from explorer.data.set_items import ItemSet
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice
from explorer.evaluating import kinds
from explorer.evaluating.kinds.item_scores import score_items
from explorer.evaluating.results.scored_task import Items, Measured, Options, ends
from explorer.evaluating.tasks import ALL, Subject, Task
from explorer.measuring.comparing.comparison import default_reading
from explorer.measuring.scores import bootstrap
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
        default = default_reading(scores)
        readings = {one.title: one for one in (*scores.grid, *scores.also)} | {MODEL_DEFAULT: default}
        items = [scores.items_of(default, measure) for measure in scores.metrics]
        return Measured(
            "all",
            tuple(readings),
            scores.metrics,
            np.array([[[scores.score(one, measure)] for measure in scores.metrics] for one in readings.values()]),
            setting={"max_length": scores.max_length, "precision": scores.precision},
            items=Items(items[0], digest=self.data.digest),
            seconds=scores.seconds,
            ends=ends(zip(scores.metrics, map(bootstrap.mean_ends, items), strict=True)),
        )
