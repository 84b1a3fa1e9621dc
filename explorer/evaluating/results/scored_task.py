"""A task as results identify it, and what was measured of a model on it.

A task is its kind, the digest of its data and every setting that decides its scores; it has a label in tables. Measured
are a score for every layer & pooling, and what each item contributed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.graded import sts
from explorer.data.text_sets import digest_of
from explorer.encoding.load import chosen_prompts
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.knobs import LARGEST_SEED, Knob, Knobs, knob
from explorer.measuring.neighbours.vector_index import FLAT, IVF
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import measures_of
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.progress import Progress

# a new version if the meaning of scores changes, such as by another list of C, so that old results are not reused
VERSION = "2"
Setting = str | int | float | bool | None
EVALUATED = Settings()
LOGISTIC, SENTEVAL = "logistic", "senteval"  # probes
NO_SCORE = "no score"  # of a result: why it has none
MTEB = "mteb"  # in place of a prompt: by the task's name, else by its type
COSTS = ("ms per query", "index MB")  # measures that are no scores: in units of their own, and lower is better
_PROMPT = (
    "Put before every text of this role in a retrieval set: a text, such as 'query: ', or a name in the model's table "
    "of prompts. Empty: what the model declares in "
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
        least=1,
        distinct=True,
        title="Seeds of the classifier",
        help="Whole numbers with commas between them, such as 1,2,3. The score is the mean over them.",
    )
    prompt: str | None = knob(
        None,
        title="Prompt",
        metavar="NAME|TEXT",
        empty=chosen_prompts.OWN,
        help=f"{chosen_prompts.ABOUT} {MTEB}: what the model's table has under the name of the task, such as "
        "STSBenchmark, else of its type: STS, Classification, PairClassification, Clustering or Retrieval, with -query "
        "and -document.",
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
    windows: bool = knob(
        False,
        title="Windows of long passages",
        help="Of queries and passages: a passage with more tokens than the maximum length is read in overlapping "
        "windows, of which the most similar to a query counts. Off: what is beyond the maximum length is not read.",
    )
    titles: tuple[str, ...] = knob(
        (),
        title="Layers & poolings of transfer, search and retrieval",
        flag="reading",
        metavar="TITLE",
        repeated=True,
        empty="all; of transfer and clustering, which fit a classifier or clusters for each, the model default only",
        help="Fewer take less time. On scored pairs the whole grid is always scored. 'all' is every layer & pooling; "
        "one can be typed, such as 'last of layer 3' or 'mean of layers 4-6'.",
    )
    corpus: str | None = knob(
        None,
        title="Corpus of passages",
        metavar="FILE|FOLDER",
        empty="the passages of the task",
        help="Of queries and passages: search the queries among the passages of this file or folder, too. A passage "
        "that equals one of the task is the same document.",
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
    every = {**options.by_name(), **settings.by_name()}
    return {
        name: Knob.text(value) if isinstance(value, tuple) else value
        for name, value in every.items()
        if name not in ("titles", "corpus", "again")  # the corpus is part of the data
    }


STS, TRANSFER, RETRIEVAL, SEARCH = "sts", "transfer", "retrieval", "search"  # kinds of tasks
PAIR_CLASSIFICATION, CLUSTERING = "pair classification", "clustering"
OF_ENCODING = ("max_length", "precision", "device")  # settings that matter to all of them
FINE_TUNING, GLUE, RUN_TEST = "fine-tuning", "glue", "run's test set"  # results with the settings of a training
USUAL = {name: value for name, value in stated(Options(), EVALUATED).items() if name not in ("seeds", "device")}
_KINDS = {FINE_TUNING: "fine-tuned", RUN_TEST: "as scored by runs"}
_WORDS: Mapping[str, Callable[[str], str]] = {  # of settings whose value says what it is
    "text": lambda text: f"{Options.knobs['text'].titles.get(text, text)} text",
    "probe": lambda probe: Options.knobs["probe"].titles.get(probe, probe),
    "index": lambda index: f"{index.upper()} index",
    "precision": str,
    "device": str,
    "prompt": lambda text: "prompts as MTEB chooses them" if text == MTEB else f"after the prompt {text!r}",
    "windows": lambda text: "in windows" if text == str(True) else "cut passages",
}


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


def labels(tasks: Sequence[ScoredTask]) -> dict[str, str]:
    """The label of each task, by its digest; no two are alike."""
    every = {task.digest: task for task in tasks}
    found = {digest: ("", _notes(task)) for digest, task in every.items()}  # the folder before a name, notes behind it

    def text(digest: str, folder: str, notes: Iterable[str]) -> str:
        behind = ", ".join(dict.fromkeys(notes))
        return f"{folder}{every[digest].name}" + (f" ({behind})" if behind else "")

    for step in ("folder", "path", "kind", "settings", "data"):
        alike: dict[str, list[str]] = {}
        for digest, parts in found.items():
            alike.setdefault(text(digest, *parts), []).append(digest)
        for group in alike.values():
            differ = _differing([every[digest].settings for digest in group])
            longer = {}
            for digest in group if len(group) > 1 else ():
                task, (folder, notes) = every[digest], found[digest]
                longer[digest] = {
                    "folder": (_last_folders(task.folder, 1), notes),
                    "path": (_last_folders(task.folder, 2), notes),
                    "kind": (folder, (*notes, *filter(None, [_KINDS.get(task.kind)]))),
                    "settings": (folder, (*notes, *_stated(task, differ))),
                    "data": (folder, (*notes, task.data[:8])),
                }[step]
            if len({text(digest, *parts) for digest, parts in longer.items()}) > 1:
                found |= longer
    return {digest: text(digest, *parts) for digest, parts in found.items()}


def _notes(task: ScoredTask) -> tuple[str, ...]:
    """What is not as usual."""
    tuned = [_KINDS[FINE_TUNING]] if task.kind == FINE_TUNING else []
    unusual = (
        "other prompts" if name in ("query_prompt", "document_prompt") else _setting_in_words(name, value)
        for name, value in task.unusual.items()
    )
    return (*tuned, *unusual)


def _last_folders(folder: str, parts: int) -> str:
    return f"{'/'.join(folder.split('/')[-parts:])}/" if folder else ""


def _differing(every: Sequence[Mapping[str, Setting]]) -> list[str]:
    """The settings that have several values."""
    names = dict.fromkeys(name for settings in every for name in settings)
    return [name for name in names if len({repr(settings.get(name)) for settings in every}) > 1]


def _stated(task: ScoredTask, names: Iterable[str]) -> list[str]:
    """Settings in words, of those that the task has."""
    return [_setting_in_words(name, task.settings[name]) for name in names if name in task.settings]


def _setting_in_words(name: str, value: Setting) -> str:
    if name in _WORDS:
        return _WORDS[name](str(value))
    named = name.replace("max_", "maximum ").replace("_", " ")
    return f"the model's {named}" if value is None else f"{named} {value!r}" if "prompt" in name else f"{named} {value}"


def varying(tasks: Sequence[ScoredTask]) -> dict[str, str]:
    """The settings of each task, by its digest, in which tasks of its kind differ; "" for what runs scored."""
    kinds = {task.kind: [one for one in tasks if one.kind == task.kind] for task in tasks if task.kind != RUN_TEST}
    differ = {kind: _differing([one.settings for one in of_kind]) for kind, of_kind in kinds.items()}
    return {task.digest: ", ".join(_stated(task, differ.get(task.kind, ()))) for task in tasks}


def described(task: ScoredTask) -> str:
    """What the scores of a task depend on besides the model, for a tooltip."""
    where = [f"{task.folder}/{task.name}"] if task.folder else []
    every = [_setting_in_words(name, value) for name, value in task.settings.items()]
    return "; ".join([*where, *every, f"data {task.data[:8]}"])


@dataclass(frozen=True, eq=False)
class Items:
    """What a paired test of two models needs of each item, under the model default."""

    values: NDArray[np.float64]  # (item): a cosine, 1 for a correct label, a reciprocal rank
    gold: NDArray[np.float64] | None = None  # (item): human scores, if the metric is a correlation with them
    parts: tuple[str, ...] = ()  # the sub-corpus of each item
    digest: str = ""  # of the items: models are compared only on the same ones


@dataclass(frozen=True)
class QueryChoice:
    """The layer & pooling that half of the queries choose, and scores × 100 on the other half."""

    title: str
    score: float
    default_score: float  # of the model default
    difference: float
    low: float  # of the difference, 95 % CI
    high: float

    @property
    def shown_difference(self) -> float:
        """The difference of both scores as they are shown."""
        return in_words.gap(self.default_score, self.score)


@dataclass(frozen=True)
class QueryIntervals:
    """The 95 % CI of the model default on a retrieval set, and the choice if every layer & pooling was scored."""

    low: float
    high: float
    choice: QueryChoice | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """The scores × 100 of one model on one task, and costs in their units; NaN where there is none."""

    split: str  # "test"; "all" for folds over the whole set
    titles: tuple[str, ...]  # of every layer & pooling: "mean of layer 6", …, "model default"
    measures: tuple[str, ...]  # "spearman", "pearson", …; the first is the main one
    table: NDArray[np.float64]  # (layer & pooling, measure, seed)
    seeds: tuple[int, ...] = (0,)  # of what is drawn, such as a classifier's first weights
    setting: Mapping[str, Setting] = field(default_factory=dict)  # what else decides the scores
    items: Items | None = None
    seconds: float = 0.0
    intervals: QueryIntervals | None = None  # of a retrieval set
    # the 95 % CI of each measure under the model default, where it is known
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cut: CutTexts | None = None  # texts that are longer than what is read of them, where they are counted

    def score(self, title: str = MODEL_DEFAULT, measure: str | None = None) -> float:
        """The mean over seeds of a measure, by default the main one; NaN for what was not measured."""
        if title not in self.titles:
            return float("nan")
        return float(self.table[self.titles.index(title), self.measures.index(measure or self.measures[0])].mean())


def ends(found: Iterable[tuple[str, tuple[float, float] | None]]) -> dict[str, tuple[float, float]]:
    """The intervals that there are, by measure, rounded as they are stored."""
    return {name: (round(one[0], 4), round(one[1], 4)) for name, one in found if one is not None}


def agreement_ends(
    gold: NDArray[np.float64], cosines: NDArray[np.float64], parts: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """The intervals of every measure of scored pairs."""
    measures = measures_of(gold, parts)
    return ends((name, bootstrap.agreement_ends(gold, cosines, parts, *one)) for name, one in measures.items())


@dataclass(frozen=True, eq=False)
class SoFar(Progress):
    """Progress of long work with what is measured so far, so that it can be kept if the work is stopped."""

    measured: Measured = field(kw_only=True)
