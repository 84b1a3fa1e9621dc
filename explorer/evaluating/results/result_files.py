"""Write and read results, each in a file of its own key, in the layout that mteb's own loader reads.

A result is `results/<model>/<revision>/experiments/<key>/<task>.json`: two that differ in the model's files, the data
or a setting never share a file, whatever they are called. That of a published task under the usual settings is written
to `results/<model>/<revision>/<task>.json` too, where mteb looks by default; Strata does not read it. `scores` holds
what mteb knows, the model default alone, as shares of 1. `strata` holds the rest: the score of every layer & pooling
× 100, the task, and what each item contributed, for paired tests.
"""

import io
import json
import re
import zipfile
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import places, typed_json
from explorer.data.text_sets import digest_of
from explorer.evaluating.results import mteb_scores
from explorer.evaluating.results.scored_task import Items, Measured, QueryIntervals, ScoredTask, Setting
from explorer.measuring.sentences.cut_texts import CutTexts

META = "model_meta.json"  # in every folder of results, as mteb wants it
EXPERIMENTS = "experiments"  # what mteb calls results under settings of their own
KEY = 16  # digits of a key in a path
LONGEST = 150  # characters of a name in a path
LOCAL = "local"  # the revision of a model that is not of the hub starts with this word
_ROOM = "Make room on that disk, or set STRATA_RESULTS to a folder that can be written to."


@dataclass(frozen=True)
class Origin:
    """How a tuned model was made; models with the same `recipe` differ by their seed alone."""

    method: str = ""
    base: str = ""
    recipe: str = ""
    seed: int | None = None
    nothing: bool = False  # nothing was learned: its weights equal the base's
    row: str = ""  # of the plan or the paper's table that it was trained for


@dataclass(frozen=True)
class ScoredModel:
    """The model that was scored."""

    name: str
    revision: str  # the hub's commit, or `local-` and the start of the digest
    digest: str  # of its files; "" if they are gone
    origin: Origin = field(default_factory=Origin)
    folder: str = ""  # the end of the path to a folder that was given, which tells two of one name apart

    @property
    def identity(self) -> str:
        """What tells it from every other model: its digest; without one its name."""
        return self.digest or self.name


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one model on one task."""

    model: ScoredModel
    task: ScoredTask
    measured: Measured

    @property
    def key(self) -> str:
        """The digest of all that decides the scores."""
        return self.task.key(self.model.digest)


@dataclass(frozen=True)
class _Items:
    values: tuple[float | None, ...] = ()
    gold: tuple[float, ...] | None = None
    names: tuple[str, ...] = ()  # of sub-corpora, and the number of that of each item
    parts: tuple[int, ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class _Content:
    """What a file holds under `strata`."""

    model: ScoredModel
    task: ScoredTask
    split: str
    titles: tuple[str, ...]
    measures: tuple[str, ...]
    table: tuple[tuple[tuple[float | None, ...], ...], ...]
    seeds: tuple[int, ...]
    setting: Mapping[str, Setting] = field(default_factory=dict)
    items: _Items | None = None
    seconds: float = 0.0
    intervals: QueryIntervals | None = None
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cut: CutTexts | None = None


def revision_of(digest: str, revision: str | None) -> str:
    """The revision of a model in a results folder."""
    return revision or f"{LOCAL}-{digest[:12]}"


def write(result: Result, folder: Path | None = None) -> Path:
    """Write a result atomically; an older one with the same key is replaced."""
    path = path_of(result.model, result.task, folder)
    content = _as_mteb(result)
    meta = json.dumps({"name": result.model.name, "revision": result.model.revision}, ensure_ascii=False, indent=1)
    contents = {path: content}
    if not result.task.folder and not result.task.unusual and mteb_scores.of_mteb(result.task) is not None:
        for_mteb = path.parents[2] / f"{_file_name(content['task_name'])}.json"
        contents[for_mteb] = mteb_scores.with_other_subsets(content, for_mteb)
    for place, of_place in contents.items():
        _write(place.parent / META, meta)
        _write(place, json.dumps(of_place, ensure_ascii=False, indent=None, allow_nan=False))
    return path


def _write(path: Path, text: str) -> None:
    places.write_whole(path, lambda file: file.write(text.encode("utf-8", "surrogatepass")), _ROOM)


def path_of(model: ScoredModel, task: ScoredTask, folder: Path | None = None) -> Path:
    """The path of a result; if an equal task has one under another name, that path."""
    key = task.key(model.digest)[:KEY]
    home = (folder or places.results_folder()) / _file_name(model.name) / _file_name(model.revision) / EXPERIMENTS / key
    return next(_results_in(home, "*.json"), home / f"{_file_name(task.name)}.json")


def saved(model: ScoredModel, task: ScoredTask) -> Result | None:
    """The saved result of a model on a task, whatever both are called there; None if there is none."""
    key = task.key(model.digest)
    others = _results_in(places.results_folder(), f"*/*/{EXPERIMENTS}/{key[:KEY]}/*.json")
    found = (read(path) for path in chain([path_of(model, task)], others))
    return next((replace(one, model=model, task=task) for one in found if one is not None and one.key == key), None)


def read_all(folder: Path | None = None) -> tuple[tuple[Result, ...], tuple[Path, ...]]:
    """Every result, by model and task, and the files that cannot be read; those of other programs are left out."""
    found: list[Result] = []
    unreadable: list[Path] = []
    for path in _paths(folder):
        try:
            result = _read(path)
        except (OSError, ValueError):
            unreadable.append(path)
        else:
            found += [result] if result else []
    return tuple(found), tuple(unreadable)


def stamp() -> Hashable:
    """A value that changes with any result."""
    return tuple((str(path), places.stamp(path)) for path in _paths() if path.exists())


def zipped(folder: Path | None = None) -> bytes:
    """Every file of the folder in one archive, with `results/` before its path."""
    home, archive = folder or places.results_folder(), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for path in sorted((*home.glob("*/*/*.json"), *home.glob(f"*/*/{EXPERIMENTS}/*/*.json"))):
            if places.is_utf8(path):
                opened.write(path, Path("results") / path.relative_to(home))
    return archive.getvalue()


def _paths(folder: Path | None = None) -> list[Path]:
    home = places.readable(
        folder or places.results_folder(), "Check its permissions, or set STRATA_RESULTS to another folder."
    )
    return sorted(_results_in(home, f"*/*/{EXPERIMENTS}/*/*.json"))


def _results_in(folder: Path, pattern: str) -> Iterator[Path]:
    return (path for path in folder.glob(pattern) if path.name != META and places.is_utf8(path))


def read(path: Path) -> Result | None:
    """The result in a file; None if it is broken, or not of Strata."""
    try:
        return _read(path)
    except (OSError, ValueError):
        return None


def _read(path: Path) -> Result | None:
    """The result in a file, None if it is not of Strata; a ValueError if it is broken."""
    parsed = typed_json.parsed(path.read_text(encoding="utf-8", errors="surrogatepass"))
    if not isinstance(parsed, dict) or "strata" not in parsed:
        return None
    content = typed_json.read(_Content, parsed["strata"])
    if content is None:
        raise ValueError("of another type")
    try:
        table = np.array(content.table, dtype=np.float64)
    except TypeError as error:
        raise ValueError("a score is of another type") from error
    if table.shape != (len(content.titles), len(content.measures), len(content.seeds)) or not table.size:
        raise ValueError("scores are missing")
    stored, items = content.items, None
    if stored is not None:
        count = len(stored.values)
        known = all(0 <= at < len(stored.names) for at in stored.parts)
        if known and len(stored.parts) in (0, count) and (stored.gold is None or len(stored.gold) == count):
            gold = None if stored.gold is None else np.array(stored.gold, dtype=np.float64)
            parts = tuple(stored.names[at] for at in stored.parts)
            items = Items(np.array(stored.values, dtype=np.float64), gold, parts, stored.digest)
    measured = Measured(
        content.split,
        content.titles,
        content.measures,
        table,
        content.seeds,
        content.setting,
        items,
        content.seconds,
        content.intervals,
        content.ends or _main_ends(content),
        content.cut,
    )
    return Result(content.model, content.task, measured)


def _main_ends(content: _Content) -> dict[str, tuple[float, float]]:
    """The interval that a result of an earlier version has: that of the main measure of a retrieval set."""
    found = content.intervals
    return {} if found is None else {content.measures[0]: (found.low, found.high)}


def _as_mteb(result: Result) -> dict[str, Any]:
    measured, task = result.measured, result.task
    return {
        "task_name": mteb_scores.task_name(task),
        "dataset_revision": measured.items.digest[:12] if measured.items else "unknown",
        "mteb_version": None,
        "evaluation_time": measured.seconds,
        "kg_co2_emissions": None,
        "scores": {measured.split: [mteb_scores.scores(task, measured)]},
        "strata": _content(result),
    }


def _content(result: Result) -> dict[str, Any]:
    measured, items = result.measured, result.measured.items
    names = list(dict.fromkeys(items.parts)) if items else []
    place = {name: at for at, name in enumerate(names)}
    return {
        "model": asdict(result.model),
        "task": asdict(result.task),
        "split": measured.split,
        "titles": measured.titles,
        "measures": measured.measures,
        "table": _numbers(measured.table),
        "seeds": measured.seeds,
        "setting": dict(measured.setting),
        "items": items
        and {
            "values": _numbers(items.values),
            "gold": None if items.gold is None else _numbers(items.gold),
            "names": names,
            "parts": [place[name] for name in items.parts],
            "digest": items.digest,
        },
        "seconds": measured.seconds,
        "intervals": measured.intervals and asdict(measured.intervals),
        "ends": dict(measured.ends),
        "cut": measured.cut and asdict(measured.cut),
    }


def _numbers(values: NDArray[np.float64]) -> list[Any]:
    """Nested lists in which a missing number is null."""
    found = values.astype(object)
    found[np.isnan(values)] = None
    numbers: list[Any] = found.tolist()
    return numbers


def _file_name(name: str) -> str:
    """A name as mteb writes it into a path; one with other characters, or too long, ends in a digest of it."""
    written = name.replace("/", "__")
    plain = re.sub(r"[^A-Za-z0-9 ()@._+-]", "-", written).lstrip(".")[:LONGEST]
    return plain if plain and plain == written else f"{plain}-{digest_of((name,))[:8]}"
