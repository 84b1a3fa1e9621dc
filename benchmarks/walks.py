"""Measure clicks and seconds of four new users, each in a browser from a fresh start to what was wanted.

The visitor has 60 scored pairs of his own, drawn from STS-B train. Published sets are read from STRATA_DATA, and the
engineer's 2,000 queries from QQP there; a walk whose sets are not there is left out.
"""

from __future__ import annotations

import csv
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tests import live, walks

if TYPE_CHECKING:
    from playwright.sync_api import Page

SEED, PAIRS, QUERIES = 1, 60, 2_000
WIDTH, HEIGHT = 1280, 720


def main() -> None:
    if live.executable() is None:
        print("no browser: no walk was timed")
        return
    published = os.environ.get("STRATA_DATA", "")
    _timed("lecturer", "", walks.lecturer)
    if not (Path(published) / "STSB" / "test.tsv").is_file():
        print("left out: the researcher's walk needs STSB in the folder that STRATA_DATA names")
    else:
        with tempfile.TemporaryDirectory() as folder:
            pairs = _own_pairs(Path(published) / "STSB" / "train.tsv", Path(folder) / "my pairs.csv")
            _timed("visitor", "", lambda walk: walks.visitor(walk, pairs))
        _timed("researcher", published, walks.researcher, _short_plan)
    questions = Path(published) / "QQP" / "dev.tsv"
    if not questions.is_file():
        print("left out: the engineer's walk needs QQP in the folder that STRATA_DATA names")
        return
    with tempfile.TemporaryDirectory() as folder:
        queries = _written(questions, Path(folder) / "queries.csv")
        _timed("engineer", "", lambda walk: walks.engineer(walk, queries), gated=True)


def _timed(
    name: str,
    published: str,
    walked: Callable[[walks.Walk], None],
    shorten: Callable[[Page], None] = lambda page: None,
    *,
    gated: bool = False,
) -> None:
    """One walk with a server, a browser and folders of its own, and after it a gate on the command line."""
    with tempfile.TemporaryDirectory() as fresh, live.browser() as browser:
        kept = {one: f"{fresh}/{one}" for one in ("STRATA_CACHE", "STRATA_RUNS", "STRATA_RESULTS")}
        with live.server(STRATA_DATA=published, **kept) as address:
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(1_800_000)
            walk = walks.Walk(page, address, shorten=shorten)
            walked(walk)
        gate = _gate(Path(kept["STRATA_RUNS"]), kept) if gated else ""
    print(f"\n{name}\n| clicks | seconds since the last one | shown | it says |\n|---|---|---|---|")
    for one in walk.seen:
        print(f"| {one.clicks} | {one.seconds:.1f} | {one.what} | {one.text[:240]} |", flush=True)
    print(gate)


def _gate(runs: Path, kept: dict[str, str]) -> str:
    """The command that lets the trained model take the place of the base, its exit code, seconds and output."""
    (run,) = (folder.name for folder in runs.iterdir() if (folder / "recipe.yaml").is_file())
    words = ["compare", "all-MiniLM-L6-v2", f"run:{run}", "--on", f"test rows of run:{run}", "--on", "Sample search"]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "explorer", *words, "--fail-if-worse"],
        env=os.environ | kept,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    return f"{shlex.join(words)} --fail-if-worse: exit code {done.returncode} after {seconds:.1f} s\n{done.stdout}"


def _short_plan(page: Page) -> None:
    """Fifty steps and one seed of each method."""
    for label, value in (("Steps", "50"), ("Seeds", "1")):
        page.get_by_label(label, exact=True).fill(value)
        page.get_by_label(label, exact=True).press("Enter")
        live.settle(page)


def _own_pairs(train: Path, path: Path) -> Path:
    """Some scored pairs of a published set, as a file of a visitor's own."""
    with train.open(encoding="utf-8", newline="") as file:
        rows = [row[:3] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("score", "sentence1", "sentence2"), *random.Random(SEED).sample(rows, PAIRS)])
    return path


def _written(questions: Path, path: Path) -> Path:
    """Pairs of questions that mean the same, each question once, as queries with their passages."""
    with questions.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["label"] == "1"]
    random.Random(SEED).shuffle(rows)
    known: set[str] = set()
    chosen = []
    for row in rows:
        both = row["sentence1"], row["sentence2"]
        if len(set(both) - known) == len(both) and len(chosen) < QUERIES:
            known.update(both)
            chosen.append(both)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("query", "passage"), *chosen])
    return path
