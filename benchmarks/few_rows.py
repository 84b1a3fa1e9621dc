"""Measure what the suggested settings gain on texts of few rows: kinds × rows × draws, on whole public test sets.

Each text is drawn from a public set and trained on as a file of one's own, with everything as suggested. What is
reported is the exported model against its base on test items that share no row with any draw. The sets are read from
STRATA_DATA. Some kinds and sizes alone, such as in another process: STRATA_KINDS=triplets STRATA_ROWS=20,60.
"""

from __future__ import annotations

import csv
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from explorer.__main__ import main as strata
from explorer.data import sources
from explorer.training.record import runs
from explorer.training.record.status import Status
from explorer.training.text_defaults import of_text

ROWS, DRAWS = (20, 60, 200, 1_000), (1, 2, 3)
Row = Sequence[str]


@dataclass(frozen=True)
class Public:
    """Rows of a public set to draw from, the method that is suggested for them, and rows to test on."""

    method: str
    columns: Row
    rows: Sequence[Row]
    tests: Sequence[str]  # named sets
    test_rows: Sequence[Row] = ()  # further rows of the set, tested on as a file


def main() -> bool:
    names = os.environ.get("STRATA_KINDS", "scored pairs,pairs,triplets,sentences").split(",")
    seen = os.environ.get("STRATA_ROWS")
    sizes = tuple(map(int, seen.split(","))) if seen else ROWS
    with tempfile.TemporaryDirectory() as home:
        os.environ["STRATA_RUNS"] = home
        for name in names:
            given = public(name)
            print(f"\n| {name}, rows | updates | seconds | gain: {' | '.join(_titles(given))} |")
            print("|---|---|---|---" + "|---" * (len(_titles(given)) - 1) + "|", flush=True)
            for rows in sizes:
                found = [measured(name, given, rows, draw, Path(home)) for draw in DRAWS]
                gains = [
                    f"{mean(one):+.2f} ({', '.join(f'{gain:+.2f}' for gain in one)})"
                    for one in zip(*(one["gains"] for one in found), strict=True)
                ]
                told = [", ".join(str(one[fact]) for one in found) for fact in ("updates", "seconds")]
                print(f"| {rows:,} | {' | '.join([*told, *gains])} |", flush=True)
    return False


def public(name: str) -> Public:
    """What is drawn and tested, by the kind of rows or by the set."""
    drawn = random.Random(7)
    if name == "scored pairs":
        rows = [(score, one, other) for score, one, other, *_ in table("STSB/train.tsv")]
        return Public("cosent", ("score", "sentence1", "sentence2"), rows, ["STS-B test"])
    if name == "pairs":
        rows = drawn.sample(found := [one[1:3] for one in table("QQP/dev.tsv") if one[0] == "1"], len(found))
        return Public("contrast", ("query", "passage"), rows[1_000:], ["STS-B test"], rows[:1_000])
    if name == "triplets":
        rows = drawn.sample(found := [one[:3] for one in table("SNLI/triplets_dev.tsv")], len(found))
        columns = ("anchor", "positive", "negative")
        return Public("contrast-hard", columns, rows[1_000:], ["STS-B test"], rows[:1_000])
    if name == "sentences":
        return Public("ct-in-batch", ("sentence",), [one[:1] for one in table("wiki/sentences.tsv")], ["STS-B test"])
    raise SystemExit(f"There is no kind '{name}'.")


def measured(name: str, given: Public, rows: int, draw: int, home: Path) -> dict[str, object]:
    """Updates, seconds, and the gain on each test set of a training on so many rows."""
    text = written(home / f"{name} {rows} {draw}.csv", given.columns, random.Random(draw).sample(given.rows, rows))
    tests = [*given.tests]
    if given.test_rows:
        tests.append(written(home / f"{name} test.csv", given.columns, given.test_rows))
    own = of_text(given.method, (text,)).sets_with(None) or (None, None)
    first = [own[1]] if own[1] in (sources.HELD_OUT, sources.CROSS_FITTED) else []
    asked = ["train", given.method, "--data", text, "--seed", str(draw), "--elsewhere", "none"]
    for test in (*first, *tests):
        asked += ["--test", test]
    with redirect_stdout(sys.stderr):
        failed = strata([*asked, "--name", f"{name} {rows} {draw}".replace(" ", "-")])
    if failed:
        raise SystemExit(f"{asked} failed")
    status = runs.find(f"{name} {rows} {draw}".replace(" ", "-")).status()
    verdict = status.verdict
    assert verdict is not None
    scored = [*filter(None, [verdict.test]), *verdict.more][len(first) :]
    found = {
        "rows": rows,
        "draw": draw,
        "updates": _updates(status),
        "seconds": round(status.seconds or 0),
        "gains": [one.difference or 0.0 for one in scored],
        "own": None if not first or verdict.test is None else verdict.test.difference,
        "nothing": status.facts.nothing is not None,
    }
    print(json.dumps({"kind": name, **found}), file=sys.stderr, flush=True)
    return found


def _updates(status: Status) -> int:
    """How many updates made the saved model; 0 if it equals its base."""
    result, folds = status.results[0], status.facts.folds
    if status.facts.nothing is not None:
        return 0
    if folds is None:
        return result.best_step or result.steps or 0
    return (result.steps or 0) // (folds.folds + 1) if folds.by_share else round(folds.chosen or 0)


def _titles(given: Public) -> list[str]:
    return [*given.tests, *(["the set's own rows"] if given.test_rows else [])]


def table(name: str) -> list[Row]:
    with (Path(os.environ["STRATA_DATA"]) / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def written(path: Path, columns: Row, rows: Iterable[Row]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return str(path)


if __name__ == "__main__":
    main()
