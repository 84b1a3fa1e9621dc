"""Score a model on an STS set: every layer & pooling, under every aggregation over sub-corpora."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.data import sources, text_sets
from explorer.data.graded import published_sets
from explorer.data.graded import sts as published
from explorer.data.tables import columns, files, text_rows
from explorer.evaluating.results.scored_task import STS, Measured, Options
from explorer.evaluating.tasks import Subject, Suite
from explorer.evaluating.tasks.item_sets import ItemSets, of_scores
from explorer.measuring.scores import measure
from explorer.places import given_path
from explorer.progress import Work

SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")  # whose average papers print
# the STS tasks of MTEB(eng, v2), which averages them
OF_MTEB = ("BIOSSES", "SICK-R-all", "STS12", "STS13", "STS14", "STS15", "STS17", "STS22.v2", "STS-B")
NEWS = tuple(known.name for known in published_sets.NEWS)
TASKS = tuple(known.name for known in published_sets.SETS)
OTHERS = tuple(name for name in TASKS if name not in {*SEVEN, *OF_MTEB, *NEWS} - {"STS17"})  # STS17 with its tracks


class ScoredPairs(ItemSets):
    """Scored pairs of a published STS set, or of a file."""

    data: text_sets.GradedPairs
    kind = STS
    suites: ClassVar[tuple[Suite, ...]] = (
        Suite("sts", SEVEN, 1, "the seven sets of papers"),
        Suite("sts-more", OTHERS, 5),
        Suite("sts-mteb", OF_MTEB, 8, "the STS tasks of MTEB(eng, v2)"),
        Suite("sts22", NEWS, 8, "STS22.v2 in 10 languages and 8 pairs of languages"),
    )
    also: ClassVar[Mapping[str, str]] = {other: known.name for known in published_sets.SETS for other in known.also}
    decided_by: ClassVar[tuple[str, ...]] = ("text",)

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

    def score(self, subject: Subject, options: Options) -> Work[Measured]:
        """Score every layer & pooling, under every aggregation over sub-corpora."""
        settings, also = measure.resolved(subject.settings), subject.named(options.titles)
        # stored scores are those of this device, whatever `auto` was where they were measured
        scores = yield from measure.measure(
            subject.found, self.data, settings, lambda *_: subject.encoder, again=options.again, also=also
        )
        return of_scores(scores, self.data, options.text if "text" in self.decided_by else published.RAW)
