"""A task as results identify it: its kind, the digest of its data, and every setting that decides its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from explorer.data.graded import sts
from explorer.data.text_sets import digest_of
from explorer.evaluating.measured import Setting
from explorer.knobs import LARGEST_SEED, Knob, Knobs, knob
from explorer.measuring.neighbours.vector_index import FLAT, IVF
from explorer.measuring.scores.measure import Settings

# a new version if the meaning of scores changes, such as by another list of C, so that old results are not reused
VERSION = "2"
EVALUATED = Settings()
LOGISTIC, SENTEVAL = "logistic", "senteval"  # probes


_PROMPT = (
    "Put before every text of this role in a retrieval set, such as 'query: '. Empty: what the model declares in "
    "config_sentence_transformers.json, as encode_query and encode_document add it."
)


@dataclass(frozen=True)
class Options(Knobs):
    """What decides the scores of a task besides model and data."""

    text: str = knob(
        sts.RAW,
        title="Text of STS sets",
        titles={sts.RAW: "raw", sts.SENTEVAL: "SentEval's"},
        choices=(sts.RAW, sts.SENTEVAL),
        help="raw: the text as published. SentEval's: split into words and lower-cased, as in SentEval's files "
        "(`STS12/test_senteval.tsv`).",
    )
    probe: str = knob(
        LOGISTIC,
        title="Classifier of transfer tasks",
        choices=(LOGISTIC, SENTEVAL),
        titles={LOGISTIC: "logistic regression", SENTEVAL: "SentEval's MLP"},
        help="Trained on fixed vectors. SentEval's MLP is that of papers and takes minutes for each layer & pooling.",
    )
    seeds: tuple[int, ...] = knob(
        (1,),
        item=int,
        low=0,
        high=LARGEST_SEED,
        title="Seeds of the classifier",
        help="Whole numbers with commas between them, such as 1,2,3. The score is the mean over them.",
    )
    index: str = knob(
        FLAT,
        title="Search index",
        choices=(FLAT, IVF),
        titles={FLAT: "flat (exact)", IVF: "IVF (inverted file)"},
        help="flat compares a query with every document. IVF looks in the nearest lists only: faster, less exact.",
    )
    query_prompt: str | None = knob(
        None, title="Prompt of queries", metavar="TEXT", empty="as the model declares", help=_PROMPT
    )
    document_prompt: str | None = knob(
        None, title="Prompt of documents", metavar="TEXT", empty="as the model declares", help=_PROMPT
    )
    titles: tuple[str, ...] = knob(
        (),
        title="Layers & poolings of transfer, search and retrieval",
        flag="reading",
        metavar="TITLE",
        repeated=True,
        empty="all, but with SentEval's MLP the model default only",
        help="Fewer take less time. On scored pairs the whole grid is always scored. One layer & pooling can be typed, "
        "such as 'last of layer 3' or 'mean of layers 4-6'.",
    )
    again: bool = knob(
        False,
        title="Measure saved results again",
        help="Off: a saved result of the same model, data and settings is not measured again.",
    )
    online: bool = False

    @property
    def prompts(self) -> tuple[str | None, str | None]:
        """What is put before queries and documents; None stands for what the model declares."""
        return self.query_prompt, self.document_prompt


def stated(options: Options, settings: Settings) -> dict[str, Setting]:
    """Every setting that decides scores, by name."""
    every = {**options.values(), **settings.values()}
    return {
        name: Knob.text(value) if isinstance(value, tuple) else value
        for name, value in every.items()
        if name not in ("titles", "again")
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
