"""The facts of a run, each declared once: its type, where a training finds it, and how people read it.

`status.json` keeps them. The page of a run, its model card and the report of a comparison read them from here, so that
a new fact is one more field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from explorer.encoding.read.head_facts import HeadFacts
from explorer.measuring.comparing import learned as learning
from explorer.measuring.comparing.learned import Learned
from explorer.measuring.scores.metrics import SPEARMAN
from explorer.measuring.scores.verdict import RunVerdict, by_use
from explorer.training.loop.measured_facts import Adapters, Cut, Estimate, TextOverlap

if TYPE_CHECKING:
    from explorer.training.loop.loop import Training

PAGE, CARD, REPORT = "page", "card", "report"


def fact(
    of: Callable[[Training], Any], title: str = "", *, page: str = "{title}: {words}", card: str = "{words}"
) -> dict[str, Any]:
    """State as a field's metadata where a fact is found, and how people read it.

    `of` finds it in a training. A fact with a title is listed: in the first line of the run's page, and in a row of the
    card and of the report; `page` and `card` are how it is written there, "" for not at all. One without a title has a
    place of its own.
    """
    return {"of": of, "title": title, PAGE: page, CARD: card, REPORT: "{words}"}


@dataclass(frozen=True)
class RunFacts:
    """What viewers show of a run without opening its recipe, text or model."""

    method: str = ""
    model: str = ""
    data: tuple[str, ...] = ()
    dev: str = ""
    test: str | None = None
    more_tests: tuple[str, ...] = ()
    plan: str = ""  # the id of the plan that made the run
    rows: int | None = field(default=None, metadata=fact(lambda training: len(training.prepared.corpus)))
    precision: str | None = field(default=None, metadata=fact(lambda training: training.world.precision))
    device: str | None = field(default=None, metadata=fact(lambda training: str(training.world.device)))
    # the layer & pooling that is trained
    reading: HeadFacts | None = field(default=None, metadata=fact(lambda training: training.reading))
    # how many test sentences are in the training text
    seen: TextOverlap | None = field(default=None, metadata=fact(lambda training: training.prepared.seen))
    # the base's model default
    default: HeadFacts | None = field(
        default=None, metadata=fact(lambda training: training.prepared.encoder.default_head.facts())
    )
    # the size of each evaluation set, by `dev`, `test`, `test 2`, and the name of its score
    pairs: Mapping[str, int] | None = field(
        default=None, metadata=fact(lambda training: {use: len(judge) for use, judge in training.judged()})
    )
    measures: Mapping[str, str] | None = field(
        default=None, metadata=fact(lambda training: {use: judge.measure for use, judge in training.judged()})
    )
    # rows that choose the best checkpoint
    held_out: int | None = field(default=None, metadata=fact(lambda training: len(training.prepared.held_out or ())))
    # the probe packs neither choose it nor are trained on
    packs_held_out: bool | None = field(
        default=None, metadata=fact(lambda training: training.prepared.packs is not None)
    )
    # time and memory, as measured before the first step
    estimate: Estimate | None = field(default=None, metadata=fact(lambda training: training.estimate))
    # what remains of the base if layers were removed; the card says it in its first sentence
    cut: Cut | None = field(
        default=None, metadata=fact(lambda training: training.cut, "Layers", page="trains {words}", card="")
    )
    # what holds the trained weights; None for all weights
    adapters: Adapters | None = field(
        default=None,
        metadata=fact(
            lambda training: training.adapters,
            "Trained weights",
            page="{words}",
            card="{words}; added to the weights of the base",
        ),
    )

    def found_by(self, training: Training) -> RunFacts:
        """These facts with what a training has found out; what a resumed one does not find again stays."""
        found = {one.name: one.metadata["of"](training) for one in fields(self) if "of" in one.metadata}
        return replace(self, **{name: value for name, value in found.items() if value is not None})

    def listed(self, where: str) -> dict[str, str]:
        """The known facts that have a title as they are written on the PAGE, the CARD or the REPORT, by title."""
        known = {one: value for one in fields(self) if (value := getattr(self, one.name)) is not None}
        return {
            title: written.format(title=title, words=getattr(value, "words", value))
            for one, value in known.items()
            if (title := one.metadata.get("title")) and (written := one.metadata[where])
        }

    def as_json(self) -> dict[str, Any]:
        """The facts that are known; no test set is a fact too."""
        return {name: value for name, value in asdict(self).items() if value not in (None, ()) or name == "test"}

    def set_of(self, use: str) -> str:
        """The evaluation set of a use: `dev`, `test`, `test 2` and so on; "" if there is none."""
        return by_use(self.dev, (self.test or "", *self.more_tests)).get(use, "")

    def size_of(self, use: str) -> int:
        """The number of items of an evaluation set, such as pairs or queries; 0 if it is not known."""
        return (self.pairs or {}).get(use, 0)

    def measure_of(self, use: str) -> str:
        """The name of the score on an evaluation set."""
        return (self.measures or {}).get(use, SPEARMAN)

    def learned(self, verdict: RunVerdict) -> Learned:
        """What the run learned, by its held-out probe packs and its test set."""
        names = {use: self.set_of(use) for use in ("test", "dev")}
        return learning.of_run(verdict, names, self.pairs or {}, self.measures or {})
