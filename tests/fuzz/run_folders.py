"""Cases of run folders: a file of a finished run is changed, then the run is listed, read and shown."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

from explorer.places import examples_folder
from explorer.training.record import runs
from tests.fuzz import mutants
from tests.fuzz.pages import shown

_SHOWN = 4  # one case in so many is shown on pages, which takes a hundred times as long as reading


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change a file or two of a run, and read them as the commands and pages do."""
    drawn = Random(seed)
    os.environ["STRATA_RUNS"] = str(place)
    shutil.copytree(examples_folder() / "example", place / "mutant")
    small = [place / "mutant" / name for name in ("status.json", "metrics.jsonl", "recipe.yaml", "README.md")]
    model = [path for path in (place / "mutant").rglob("*.*") if path.suffix in (".json", ".npy") and path.is_file()]
    for path in drawn.sample(sorted({*small[:3], *drawn.sample(sorted(model), 3)}), drawn.choice((1, 1, 2))):
        path.write_bytes(_changed(drawn, path))
    if drawn.random() < 0.3:
        shutil.copytree(place / "mutant", place / mutants.OTHER_BYTES)
    for run in runs.every():
        run.status().as_json()
        run.metrics()
        run.log_tail()
        run.stop_requested()
    runs.collect()
    if seed % _SHOWN == 0:
        shown("train", run="mutant")
        shown("replay", replayed="mutant")
    runs.find("mutant").recipe()


def _changed(drawn: Random, path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix not in (".json", ".jsonl") or drawn.random() < 0.2:
        return mutants.of_bytes(drawn, data, 4000)
    if path.suffix == ".json":
        return mutants.text_of(drawn, mutants.of_json(drawn, json.loads(data))).encode("utf-8", "surrogatepass")
    lines: list[Any] = [json.loads(line) for line in data.splitlines()]
    changed = mutants.of_json(drawn, lines, times=3)
    rows = changed if isinstance(changed, list) else [changed]
    return "".join(mutants.text_of(drawn, row) + "\n" for row in rows).encode("utf-8", "surrogatepass")
