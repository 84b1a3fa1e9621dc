"""A task as results identify it: its kind, the digest of its data, and every setting that decides its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from explorer.data.graded.sts import RAW
from explorer.data.kinds import digest_of
from explorer.evaluating.measured import Setting
from explorer.measuring.scores.measure import Settings

# a new version if the meaning of scores changes, such as by another list of C, so that old results are not reused
VERSION = "2"
EVALUATED = Settings()
LOGISTIC, SENTEVAL = "logistic", "senteval"  # probes


@dataclass(frozen=True)
class Options:
    """What decides the scores of a task besides model and data."""

    text: str = RAW  # of STS sets
    probe: str = LOGISTIC
    seeds: tuple[int, ...] = (1,)  # of the probe
    index: str = "flat"  # of searches
    titles: tuple[str, ...] = ()  # for transfer and search; () for all, but of SentEval's slow probe the model default
    prompts: tuple[str | None, str | None] = (None, None)  # of queries and documents; None: the model's
    online: bool = False
    again: bool = False  # measure what is saved already, too


def stated(options: Options, settings: Settings) -> dict[str, Setting]:
    """Every setting that decides scores, by name."""
    query, document = options.prompts
    return {
        "text": options.text,
        "probe": options.probe,
        "seeds": ", ".join(map(str, options.seeds)),
        "index": options.index,
        "query_prompt": query,
        "document_prompt": document,
        "max_length": settings.max_length,
        "precision": settings.precision,
        "device": settings.device,
    }


STS, TRANSFER, RETRIEVAL, SEARCH = "sts", "transfer", "retrieval", "search"  # kinds of tasks
OF_ENCODING = ("max_length", "precision", "device")  # settings that matter to all of them
FINE_TUNING, GLUE, RUN_TEST = "fine-tuning", "glue", "run's test set"  # results with the settings of a training
USUAL = {name: value for name, value in stated(Options(), EVALUATED).items() if name not in ("seeds", "device")}


@dataclass(frozen=True)
class ScoredTask:
    """Scores are comparable exactly if their tasks are equal; name and folder are labels, and no part of this."""

    kind: str  # one of the above, or of what else gives results, such as fine-tuning
    data: str  # the digest of sentences, with their scores, labels or judgements
    settings: Mapping[str, Setting]  # those that decide its scores, by name
    name: str = field(compare=False)  # "STS12"; of a file or folder its name
    folder: str = field(default="", compare=False)  # the end of its path; "" for a published set

    @cached_property
    def digest(self) -> str:
        """The digest of all that decides scores besides the model."""
        settings = (f"{name}={value!r}" for name, value in sorted(self.settings.items()))
        return digest_of(("scored task", VERSION, self.kind, self.data, *settings))

    @property
    def unusual(self) -> dict[str, Setting]:
        """The settings that have another value than the usual one."""
        known = {} if self.kind in (FINE_TUNING, GLUE, RUN_TEST) else USUAL
        return {name: value for name, value in self.settings.items() if value != known.get(name, value)}

    def key(self, model: str) -> str:
        """The key of the result of a model, which is given by the digest of its files."""
        return digest_of(("result", model, self.digest))


def unscored(task: str, name: str, folder: str = "") -> ScoredTask:
    """A task without data, which no result is of."""
    return ScoredTask("", task, {}, name, folder)
