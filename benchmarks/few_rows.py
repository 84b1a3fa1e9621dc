"""Measure what the suggested settings gain on texts of few rows: kinds × rows × draws, on whole public test sets.

Each text is drawn from a public set and trained on as a file of one's own, with everything as suggested. What is
reported is the exported model against its base on test items that share no row with any draw. Of labelled texts that is
the accuracy of the exported encoder and its layer, against that of a logistic layer on the base; both are computed with
sentence-transformers and scikit-learn from the folder alone. The sets are read from STRATA_DATA. Some kinds and sizes
alone, such as in another process: STRATA_KINDS=triplets STRATA_ROWS=20,60.
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
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.encoding.locate import lookup, model_names
from explorer.methods import suggested
from explorer.training.record import runs
from explorer.training.record.status import Status
from explorer.training.saved_model import CLASSIFIER
from explorer.training.text_defaults import of_text

ROWS, DRAWS = (20, 60, 200, 1_000), (1, 2, 3)
LABELLED, TESTED = ("TREC", "MR"), 1_000
Row = Sequence[str]


@dataclass(frozen=True)
class Public:
    """Rows of a public set to draw from, the method that is suggested for them, and rows to test on."""

    method: str  # "" for the one that is suggested for as many rows
    columns: Row
    rows: Sequence[Row]
    tests: Sequence[str]  # named sets
    test_rows: Sequence[Row] = ()  # further rows of the set, tested on as a file


def main() -> bool:
    names = os.environ.get("STRATA_KINDS", "scored pairs,pairs,triplets,sentences,TREC,MR").split(",")
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
    if name in LABELLED:
        rows, tested = labelled(name)
        return Public("", ("label", "text"), rows, (), tested)
    if name == "sentences":
        return Public("ct-in-batch", ("sentence",), [one[:1] for one in table("wiki/sentences.tsv")], ["STS-B test"])
    raise SystemExit(f"There is no kind '{name}'.")


def labelled(name: str) -> tuple[list[Row], list[Row]]:
    """Labelled rows to draw from, and those to test on: of TREC its test rows, of a set without a split 1,000 rows."""
    if name == "TREC":
        return [row[:2] for row in table("TREC/train.tsv")], [row[:2] for row in table("TREC/test.tsv")]
    rows = random.Random(7).sample(every := [row[:2] for row in table(f"{name}/all.tsv")], len(every))
    return rows[TESTED:], rows[:TESTED]


def measured(name: str, given: Public, rows: int, draw: int, home: Path) -> dict[str, object]:
    """Updates, seconds, and the gain on each test set of a training on so many rows."""
    drawn = random.Random(draw).sample(given.rows, rows)
    text = written(home / f"{name} {rows} {draw}.csv", given.columns, drawn)
    tests = [*given.tests]
    if given.test_rows and name not in LABELLED:
        tests.append(written(home / f"{name} test.csv", given.columns, given.test_rows))
    method = given.method or suggested(LABELLED_TEXTS, 1, rows)
    own = of_text(method, (sources.text(text),)).sets_with(None) or (None, None)
    first = [str(own[1])] if own[1] and own[1].is_own_rows else []
    asked = ["train", method, "--data", text, "--seed", str(draw), "--elsewhere", "none"]
    for test in (*first, *tests):
        asked += ["--test", test]
    with redirect_stdout(sys.stderr):
        failed = strata([*asked, "--name", f"{name} {rows} {draw}".replace(" ", "-")])
    if failed:
        raise SystemExit(f"{asked} failed")
    run = runs.find(f"{name} {rows} {draw}".replace(" ", "-"))
    status, verdict = run.status(), run.status().verdict
    assert verdict is not None
    scored = [*filter(None, [verdict.test]), *verdict.more][len(first) :]
    gains = [one.difference or 0.0 for one in scored]
    if name in LABELLED:
        gains = [accuracy(run.model, drawn, given.test_rows) - accuracy(None, drawn, given.test_rows)]
    found = {
        "rows": rows,
        "draw": draw,
        "updates": _updates(status),
        "seconds": round(status.seconds or 0),
        "method": method,
        "gains": gains,
        "own": None if not first or verdict.test is None else verdict.test.difference,
        "nothing": status.facts.nothing is not None,
    }
    print(json.dumps({"kind": name, **found}), file=sys.stderr, flush=True)
    return found


def accuracy(folder: Path | None, drawn: Sequence[Row], tested: Sequence[Row]) -> float:
    """Of test rows, by an exported encoder and its layer; without a folder by the base, whose layer all rows fit."""
    from safetensors import safe_open
    from sentence_transformers import SentenceTransformer
    from sklearn.linear_model import LogisticRegression

    labels, texts = zip(*tested, strict=True)
    if folder is None or not (folder / CLASSIFIER).exists():  # nothing was learned: it is the base
        encoder = SentenceTransformer(str(model_names.find(lookup.BUNDLED).folder), device="cpu")
        known, given = zip(*drawn, strict=True)
        layer = LogisticRegression(max_iter=2000).fit(encoder.encode(list(given)), known)
        found = list(layer.predict(encoder.encode(list(texts))))
    else:
        with safe_open(folder / CLASSIFIER, "np") as file:
            weight, bias = file.get_tensor("weight"), file.get_tensor("bias")
            classes = json.loads(file.metadata()["classes"])
        vectors = SentenceTransformer(str(folder), device="cpu").encode(list(texts))
        found = [classes[place] for place in (vectors @ weight.T + bias).argmax(1)]
    return 100 * mean(one == label for one, label in zip(found, labels, strict=True))


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
