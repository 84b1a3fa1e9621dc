"""Measure setfit, classify, batch-hard and the probe on the frozen encoder on few labelled texts of TREC and MR.

Train rows are drawn with so many of each class, 100 further rows choose the best checkpoint, and the test rows of TREC,
or 1,000 of MR that are in no draw, are predicted. The sets are read from STRATA_DATA.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from statistics import mean

from benchmarks.few_rows import DRAWS, Row, labelled
from explorer.__main__ import main as strata
from explorer.training.record import runs

SETS, EACH, METHODS = ("MR", "TREC"), (8, 64), ("classify", "setfit", "batch-hard")
CHOOSING = 100  # rows


def main() -> None:
    print("| set | of each class | probe | " + " | ".join(METHODS) + " | updates and seconds of each |")
    print("|---|---|---|" + "---|" * (len(METHODS) + 1), flush=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["STRATA_RUNS"] = str(Path(home) / "runs")
        for name in SETS:
            for each in EACH:
                found = [[_measured(_folder(Path(home), name, each, draw), one) for one in METHODS] for draw in DRAWS]
                probe = [of_draw[0][0] for of_draw in found]
                scores = [[of_draw[place][1] for of_draw in found] for place in range(len(METHODS))]
                took = ", ".join(of_method[2] for of_method in found[0])
                print(f"| {name} | {each} | {' | '.join(map(_words, [probe, *scores]))} | {took} |", flush=True)


def _words(scores: Sequence[float]) -> str:
    return f"{mean(scores):.1f} ({', '.join(f'{one:.1f}' for one in scores)})"


def _folder(home: Path, name: str, each: int, draw: int) -> Path:
    """A labelled set in a folder: train rows, rows that choose, and test rows."""
    rows, tested = labelled(name)
    rows = random.Random(draw).sample(rows, len(rows))
    classes = sorted({label for label, _ in rows})
    train = [row for label in classes for row in [one for one in rows if one[0] == label][:each]]
    others = [row for row in rows if row not in train]
    folder = home / f"{name} {each} {draw}"
    folder.mkdir(exist_ok=True)
    for part, of_part in (("train", train), ("dev", others[:CHOOSING]), ("test", tested)):
        _write(folder / f"{part}.tsv", of_part)
    return folder


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("\n".join(["label\ttext", *("\t".join(row) for row in rows)]) + "\n", encoding="utf-8")


def _measured(folder: Path, method: str) -> tuple[float, float, str]:
    """Accuracy of the probe and of the method, and what the training took."""
    name = f"{method} {folder.name}".replace(" ", "-")
    if not (Path(os.environ["STRATA_RUNS"]) / name).is_dir():
        asked = ["train", method, "--data", str(folder), "--elsewhere", "none", "--test", "none", "--name", name]
        with redirect_stdout(sys.stderr):
            failed = strata(asked)
        if failed:
            raise SystemExit(f"{asked} failed")
    status = runs.find(name).status()
    (result,) = status.results
    assert result.classes is not None, "labelled test rows are predicted"
    assert result.frozen is not None, "and by the frozen encoder"
    probe = result.frozen.verdict.before
    assert probe is not None
    print(name, probe, result.classes.accuracy, result.steps, round(status.seconds), file=sys.stderr, flush=True)
    return probe, result.classes.accuracy, f"{result.steps:,} and {status.seconds:.0f}"


if __name__ == "__main__":
    main()
