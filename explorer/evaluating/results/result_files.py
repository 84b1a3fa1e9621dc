"""Write and read results in MTEB's layout: `results/<model>/<revision>/<task>.json`, which mteb's own loader reads.

`scores` holds what mteb knows, the model default alone, as shares of 1. `strata` holds the rest: the score of every
layer & pooling × 100, the setting, and what each item contributed, for paired tests.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import typed_json
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import COSTS, Items, Measured, Setting
from explorer.places import results_folder, write_whole

META = "model_meta.json"  # in every revision's folder, as mteb wants it
LOCAL = "local"  # the revision of a model that is not of the hub starts with this word
_ROOM = "Make room on that disk, or set STRATA_RESULTS to a folder that can be written to."
# what mteb calls a task whose pairs and metric are the same; SICK-R is another one there, with all 9,927 pairs
_IN_MTEB = {"STS-B": "STSBenchmark"} | {name: name for name in ("STS12", "STS13", "STS14", "STS15", "STS16")}


@dataclass(frozen=True)
class Origin:
    """How a tuned model was made; models with the same `recipe` differ by their seed alone."""

    method: str = ""
    base: str = ""
    recipe: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class Scored:
    """The model that was scored."""

    name: str
    revision: str  # the hub's commit, or `local-` and the start of the digest of its files
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one model on one task."""

    model: Scored
    measured: Measured
    key: str = ""  # of all that decides the scores; "" in older files


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

    model: Scored
    task: str
    split: str
    titles: tuple[str, ...]
    measures: tuple[str, ...]
    table: tuple[tuple[tuple[float | None, ...], ...], ...]
    seeds: tuple[int, ...]
    setting: Mapping[str, Setting] = field(default_factory=dict)
    items: _Items | None = None
    seconds: float = 0.0
    key: str = ""


def revision_of(digest: str, revision: str | None) -> str:
    """The revision of a model in a results folder."""
    return revision or f"{LOCAL}-{digest[:12]}"


def write(result: Result, folder: Path | None = None) -> Path:
    """Write a result atomically; an older one of the same model, revision and task is replaced."""
    path = path_of(result.model, result.measured.task, folder)
    meta = json.dumps({"name": result.model.name, "revision": result.model.revision}, ensure_ascii=False, indent=1)
    write_whole(path.parent / META, lambda file: file.write(meta.encode()), _ROOM)
    text = json.dumps(_as_mteb(result), ensure_ascii=False, indent=None, allow_nan=False)
    write_whole(path, lambda file: file.write(text.encode("utf-8", "surrogatepass")), _ROOM)
    return path


def path_of(model: Scored, task: str, folder: Path | None = None) -> Path:
    """The path of a result."""
    home = folder or results_folder()
    return home / _file_name(model.name) / _file_name(model.revision) / f"{_file_name(task)}.json"


def read_all(folder: Path | None = None) -> list[Result]:
    """Every readable result, by model and task; files that Strata did not write are left out."""
    paths = sorted((folder or results_folder()).glob("*/*/*.json"))
    return [result for path in paths if path.name != META and (result := read(path)) is not None]


def zipped(folder: Path | None = None) -> bytes:
    """Every file of the folder in one archive, with `results/` before its path."""
    home, archive = folder or results_folder(), io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for path in sorted(home.glob("*/*/*.json")):
            opened.write(path, Path("results") / path.relative_to(home))
    return archive.getvalue()


def read(path: Path) -> Result | None:
    """The result in a file; None if it is broken, or not of Strata."""
    try:
        parsed = typed_json.parsed(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except (OSError, ValueError):
        return None
    content = typed_json.read(_Content, parsed.get("strata") if isinstance(parsed, dict) else None)
    if content is None:
        return None
    try:
        table = np.array(content.table, dtype=np.float64)
    except (TypeError, ValueError):  # rows of different lengths
        return None
    if table.shape != (len(content.titles), len(content.measures), len(content.seeds)) or not table.size:
        return None
    measured = Measured(
        content.task,
        content.split,
        content.titles,
        content.measures,
        table,
        content.seeds,
        content.setting,
        _items(content.items),
        content.seconds,
    )
    return Result(content.model, measured, content.key)


def _items(stored: _Items | None) -> Items | None:
    if stored is None or (stored.gold is not None and len(stored.gold) != len(stored.values)):
        return None
    if any(not 0 <= at < len(stored.names) for at in stored.parts) or len(stored.parts) not in (0, len(stored.values)):
        return None
    gold = None if stored.gold is None else np.array(stored.gold, dtype=np.float64)
    parts = tuple(stored.names[at] for at in stored.parts)
    return Items(np.array(stored.values, dtype=np.float64), gold, parts, stored.digest)


def _as_mteb(result: Result) -> dict[str, Any]:
    measured = result.measured
    known = _IN_MTEB.get(measured.task)
    default = {name: _as_in_mteb(name, measured.score(MODEL_DEFAULT, name)) for name in measured.measures}
    score = {"main_score": default[measured.measures[0]], **default, "hf_subset": "default", "languages": ["eng-Latn"]}
    return {
        "task_name": known or measured.task,
        "dataset_revision": measured.items.digest[:12] if measured.items else "unknown",
        "mteb_version": None,
        "evaluation_time": measured.seconds,
        "kg_co2_emissions": None,
        "scores": {measured.split: [score]},
        "strata": _content(result),
    }


def _content(result: Result) -> dict[str, Any]:
    measured, items = result.measured, result.measured.items
    names = list(dict.fromkeys(items.parts)) if items else []
    places = {name: at for at, name in enumerate(names)}
    return {
        "model": asdict(result.model),
        "task": measured.task,
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
            "parts": [places[name] for name in items.parts],
            "digest": items.digest,
        },
        "seconds": measured.seconds,
        "key": result.key,
    }


def _numbers(values: NDArray[np.float64]) -> list[Any]:
    """Nested lists in which a missing number is null."""
    found = values.astype(object)
    found[np.isnan(values)] = None
    numbers: list[Any] = found.tolist()
    return numbers


def _as_in_mteb(measure: str, score: float) -> float | None:
    if not np.isfinite(score):
        return None
    return score if measure in COSTS else score / 100


def _file_name(name: str) -> str:
    """A name as mteb writes it into a path, without characters that a file name cannot have."""
    return re.sub(r"[^A-Za-z0-9 ()@._+-]", "-", name.replace("/", "__")).lstrip(".")[:150] or "model"
