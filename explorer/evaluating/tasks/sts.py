"""Score a model on an STS set: every layer & pooling, under every aggregation over sub-corpora."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from explorer.data import sources, text_sets
from explorer.data.graded import sts as published
from explorer.data.tables import columns, files, text_rows
from explorer.encoding.read.pooling import MODEL_DEFAULT, OWN, Reading, Row
from explorer.evaluating.results.scored_task import NO_SCORE, STS, Items, Measured, Options, Setting, agreement_ends
from explorer.evaluating.tasks import ALL, Subject, Suite, Task
from explorer.measuring.scores import layer_scores, measure, metrics
from explorer.places import given_path
from explorer.progress import Work

SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")  # whose average papers print
OTHERS = tuple(known.name for known in published.SETS if known.name not in SEVEN)
TASKS = (*SEVEN, *OTHERS)


class ScoredPairs(Task[text_sets.GradedPairs]):
    """Scored pairs of a published STS set, or of a file."""

    kind = STS
    suites = Suite("sts", SEVEN, 1, "the seven sets of papers"), Suite("sts-more", OTHERS, 5)
    also: ClassVar[Mapping[str, str]] = {other: known.name for known in published.SETS for other in known.also}
    decided_by = ("text",)

    @classmethod
    def load(cls, name: str, options: Options) -> ScoredPairs:
        """Load the test split."""
        return cls(name, published.load(name, "test", online=options.online, text=options.text))

    @classmethod
    def own(cls, source: str) -> ScoredPairs | None:
        """Load a file with two columns of sentences and one of scores."""
        if sources.is_folder(source):
            return None
        table = files.read_file(given_path(source))
        mapping = columns.guess(table)
        return (
            cls(source, text_rows.graded_pairs(table, mapping)[0]) if mapping.kind == text_sets.SCORED_PAIRS else None
        )

    def titles(self, subject: Subject, options: Options) -> tuple[str, ...]:
        """The whole grid, which costs no more than one of it, and what is outside of it."""
        return super().titles(subject, replace(options, titles=(ALL, *options.titles)))

    def score(self, subject: Subject, options: Options) -> Work[Measured]:
        """Score every layer & pooling, under every aggregation over sub-corpora."""
        settings, also = measure.resolved(subject.settings), subject.named(options.titles)
        # stored scores are those of this device, whatever `auto` was where they were measured
        scores = yield from measure.measure(
            subject.found, self.data, settings, lambda *_: subject.encoder, again=options.again, also=also
        )
        return of_scores(scores, self.data, options.text)


def of_scores(scores: layer_scores.LayerScores, pairs: text_sets.GradedPairs, text: str = published.RAW) -> Measured:
    """The scores of every layer & pooling as the result of a task.

    Without a declared model default, it is the mean of the last layer, as in sentence-transformers.
    """
    default = OWN if scores.own is not None else Reading(Row((scores.last,)), "mean")
    every = (*scores.grid, *scores.also)
    readings = {reading.title: reading for reading in every} | {MODEL_DEFAULT: default}
    measures = metrics.measures_of(scores.gold, scores.parts)
    table = [[[scores.score(reading, *one)] for one in measures.values()] for reading in readings.values()]
    setting: dict[str, Setting] = {"text": text, "max_length": scores.max_length, "precision": scores.precision}
    if why := layer_scores.why_none(scores):
        setting[NO_SCORE] = why
    cosines = scores.cosines_of(default)
    return Measured(
        "test",
        tuple(readings),
        tuple(measures),
        np.array(table, dtype=np.float64),
        setting=setting,
        items=Items(cosines, scores.gold, scores.parts, pairs.digest),
        seconds=scores.seconds,
        ends=agreement_ends(scores.gold, cosines, scores.parts),
    )
