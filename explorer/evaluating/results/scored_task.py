"""A task as results identify it: kind, digest of its data, every setting that decides its scores, and its label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
_KINDS = {FINE_TUNING: "fine-tuned", RUN_TEST: "as scored by runs"}
_WORDS: Mapping[str, Callable[[str], str]] = {  # of settings whose value says what it is
    "text": lambda text: f"{Options.knobs['text'].titles.get(text, text)} text",
    "probe": lambda probe: Options.knobs["probe"].titles.get(probe, probe),
    "index": lambda index: f"{index.upper()} index",
    "precision": str,
    "device": str,
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


@dataclass(frozen=True)
class _Label:
    task: ScoredTask
    notes: tuple[str, ...]  # behind the name
    folder: str = ""  # before it

    def __str__(self) -> str:
        notes = f" ({', '.join(self.notes)})" if self.notes else ""
        return f"{self.folder}{self.task.name}{notes}"

    def with_notes(self, *notes: str) -> _Label:
        return replace(self, notes=(*self.notes, *(note for note in notes if note not in self.notes)))


def labels(tasks: Sequence[ScoredTask]) -> dict[str, str]:
    """The label of each task, by its digest; no two are alike."""
    found = {task.digest: _Label(task, _notes(task)) for task in tasks}
    for lengthened in (_by_folder, _by_path, _by_kind, _by_settings, _by_data):
        alike: dict[str, list[_Label]] = {}
        for label in found.values():
            alike.setdefault(str(label), []).append(label)
        for group in alike.values():
            longer = lengthened(group) if len(group) > 1 else group
            if len(set(map(str, longer))) > 1:
                found |= {label.task.digest: label for label in longer}
    return {digest: str(label) for digest, label in found.items()}


def varying(tasks: Sequence[ScoredTask]) -> dict[str, str]:
    """The settings of each task, by its digest, in which tasks of its kind differ; "" for what runs scored."""
    kinds = {task.kind: [one for one in tasks if one.kind == task.kind] for task in tasks if task.kind != RUN_TEST}
    differ = {kind: _differing([one.settings for one in of_kind]) for kind, of_kind in kinds.items()}
    return {task.digest: ", ".join(_stated(task, differ.get(task.kind, ()))) for task in tasks}


def described(task: ScoredTask) -> str:
    """What the scores of a task depend on besides the model, for a tooltip."""
    where = [f"{task.folder}/{task.name}"] if task.folder else []
    every = [_in_full(name, value) for name, value in task.settings.items()]
    return "; ".join([*where, *every, f"data {task.data[:8]}"])


def _by_folder(group: Sequence[_Label]) -> list[_Label]:
    return [replace(label, folder=_end(label.task.folder, 1)) for label in group]


def _by_path(group: Sequence[_Label]) -> list[_Label]:
    return [replace(label, folder=_end(label.task.folder, 2)) for label in group]


def _end(folder: str, parts: int) -> str:
    return f"{'/'.join(folder.split('/')[-parts:])}/" if folder else ""


def _by_kind(group: Sequence[_Label]) -> list[_Label]:
    return [label.with_notes(*filter(None, [_KINDS.get(label.task.kind)])) for label in group]


def _by_settings(group: Sequence[_Label]) -> list[_Label]:
    differ = _differing([label.task.settings for label in group])
    return [label.with_notes(*_stated(label.task, differ)) for label in group]


def _differing(every: Sequence[Mapping[str, Setting]]) -> list[str]:
    """The settings that have several values."""
    names = dict.fromkeys(name for settings in every for name in settings)
    return [name for name in names if len({repr(settings.get(name)) for settings in every}) > 1]


def _by_data(group: Sequence[_Label]) -> list[_Label]:
    return [label.with_notes(label.task.data[:8]) for label in group]


def _stated(task: ScoredTask, names: Iterable[str]) -> list[str]:
    """Settings in words, of those that the task has."""
    return [_in_full(name, task.settings[name]) for name in names if name in task.settings]


def _notes(task: ScoredTask) -> tuple[str, ...]:
    """What is not as usual, each thing once."""
    tuned = [_KINDS[FINE_TUNING]] if task.kind == FINE_TUNING else []
    unusual = ("other prompts" if "prompt" in name else _in_full(name, value) for name, value in task.unusual.items())
    return tuple(dict.fromkeys((*tuned, *unusual)))


def _in_full(name: str, value: Setting) -> str:
    if name in _WORDS:
        return _WORDS[name](str(value))
    named = name.replace("max_", "maximum ").replace("_", " ")
    return f"the model's {named}" if value is None else f"{named} {value!r}" if "prompt" in name else f"{named} {value}"
