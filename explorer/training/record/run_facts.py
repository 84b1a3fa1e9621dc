"""What a run works on: names from its recipe, then what loading them found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from explorer.encoding.read.head_facts import HeadFacts
from explorer.measuring.scores.verdict import by_use
from explorer.measuring.scores.verdict_text import SPEARMAN
from explorer.training.loop.measured_facts import Adapters, Cut, Estimate, TextOverlap


@dataclass(frozen=True)
class RunFacts:
    """What viewers show of a run without opening its recipe, text or model; fields from `rows` on follow later."""

    method: str = ""
    model: str = ""
    data: tuple[str, ...] = ()
    dev: str = ""
    test: str | None = None
    more_tests: tuple[str, ...] = ()
    plan: str = ""  # the id of the plan that made the run
    rows: int | None = None
    precision: str | None = None
    device: str | None = None
    reading: HeadFacts | None = None  # the layer & pooling that is trained
    seen: TextOverlap | None = None  # how many test sentences are in the training text
    default: HeadFacts | None = None  # the base's model default
    pairs: Mapping[str, int] | None = None  # the size of each evaluation set, by `dev`, `test`, `test 2`
    measures: Mapping[str, str] | None = None  # and the name of its score; that of scored pairs may be missing
    held_out: int | None = None  # rows that choose the best checkpoint
    packs_held_out: bool | None = None  # the probe packs neither choose it nor are trained on
    estimate: Estimate | None = None  # of time and memory, as measured before the first step
    adapters: Adapters | None = None  # that hold what is trained; None for all weights
    cut: Cut | None = None  # what remains of the base if layers were removed

    def as_json(self) -> dict[str, Any]:
        """The facts that are known; no test set is a fact too."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ()) or name == "test"}

    def set_of(self, use: str) -> str:
        """The evaluation set of a use: `dev`, `test`, `test 2` and so on; "" if there is none."""
        return by_use(self.dev, (self.test or "", *self.more_tests)).get(use, "")

    def size_of(self, use: str) -> int:
        """The number of its pairs or queries; 0 if it is not known."""
        return (self.pairs or {}).get(use, 0)

    def measure_of(self, use: str) -> str:
        """The name of its score."""
        return (self.measures or {}).get(use, SPEARMAN)
