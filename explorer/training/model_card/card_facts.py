"""The facts of a tuned model that its card shows: names, numbers and digests, never training text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.encoding.locate import bundled
from explorer.encoding.read.head_facts import NO_PROMPTS, RolePrompts
from explorer.knobs import Values
from explorer.measuring.scores.verdict import Verdict, by_use
from explorer.training.loop.seed_scores import SeedScores

if TYPE_CHECKING:
    from explorer.encoding.read.head import Head
    from explorer.encoding.read.head_facts import HeadFacts
    from explorer.methods import Paper
    from explorer.training.loop.measured_facts import Adapters, Cut, TextOverlap


@dataclass(frozen=True)
class CardFacts:
    """Everything that a card shows; what is None was not measured, and is left out."""

    run: str
    base: str
    base_digest: str
    base_revision: str | None  # the commit of a model of the hub
    method: str
    title: str
    paper: Paper
    settings: Values  # of method and schedule
    defaults: Values  # the paper's values, or the method's own if none are published
    as_published: bool  # whether the defaults are the paper's
    data: tuple[str, ...]
    data_rows: int
    data_digest: str
    dev_set: str
    test_set: str | None
    verdict: Verdict
    set_sizes: Mapping[str, int]  # the number of pairs or queries of each evaluation set
    measures: Mapping[str, str]  # the name of the score on each evaluation set
    default: HeadFacts  # the base's model default
    trained: HeadFacts  # the layer & pooling that was trained
    seen: TextOverlap | None  # how many test sentences are in the training text
    seeds: tuple[SeedScores, ...]
    kept: int  # the seed whose weights these are
    seconds: float | None
    head: Head
    prompt: str
    lower_case: bool
    max_length: int  # tokens of the exported model, not of the training
    dimension: int
    opener: str  # the transformers class that opens it
    versions: Mapping[str, str]
    command: str
    more_tests: tuple[str, ...] = ()
    prompts: RolePrompts = NO_PROMPTS  # of queries and documents
    adapters: Adapters | None = None  # that hold what was trained; None for all weights
    cut: Cut | None = None  # what remains of the base if layers were removed

    @property
    def sets(self) -> dict[str, str]:
        """The names of the evaluation sets by use: test, test 2 and so on, dev."""
        return by_use(self.dev_set, (self.test_set or "", *self.more_tests))

    @property
    def model(self) -> SeedScores:
        """The training whose weights were kept."""
        return next((one for one in self.seeds if one.seed == self.kept), SeedScores(self.kept))

    @property
    def on_hub(self) -> str | None:
        """The base's name on the hub, if it is there."""
        if self.base == bundled.NAME:
            return bundled.ON_HUB
        return self.base.partition("@")[0] if self.base_revision else None
