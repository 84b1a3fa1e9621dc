"""Labels of tasks in a table: the name, what is unusual and, where two would be alike, in what they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from explorer.evaluating.measured import Setting
from explorer.evaluating.results.scored_task import FINE_TUNING, RUN_TEST, Options, ScoredTask

_KINDS = {FINE_TUNING: "fine-tuned", RUN_TEST: "as scored by runs"}
_WORDS: Mapping[str, Callable[[str], str]] = {  # of settings whose value says what it is
    "text": lambda text: f"{Options.knobs['text'].titles.get(text, text)} text",
    "probe": lambda probe: Options.knobs["probe"].titles.get(probe, probe),
    "index": lambda index: f"{index.upper()} index",
    "precision": str,
    "device": str,
}


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
