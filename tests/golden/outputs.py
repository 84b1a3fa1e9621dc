"""Write the outputs of commands, and the files of runs."""

from __future__ import annotations

import csv
import hashlib
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from explorer.data import sample
from tests.evaluating.results_by_hand import write_set
from tests.golden.scrubbing import ROOT, scrubbed

TEXTS = (".json", ".jsonl", ".yaml", ".md", ".csv", ".html", ".txt", ".py", ".log")
# Words in capitals are replaced: files are in the folder of a golden run.
COMMANDS = """
methods.txt             methods
score.json              score BASE --sts sample EXACT --json
score-example.json      score TUNED --sts sample EXACT --json
compare.json            compare BASE TUNED --geometry EXACT --json
compare.txt             compare BASE TUNED EXACT --report PLACE/report.html
search.json             search "Where can I eat?" --model BASE --model TUNED EXACT --json
evaluate.json           evaluate BASE TUNED --task STS17 --task PLACE/scores.csv EXACT --json
evaluate.tex            evaluate BASE TUNED --task STS17 --task PLACE/scores.csv EXACT --latex
evaluate-search.json    evaluate BASE TUNED --task PLACE/queries.csv EXACT --json
evaluate-labels.json    evaluate BASE --task PLACE/labels.csv --reading "mean of layer 6" EXACT --json
shrink.json             shrink BASE SMALL EXACT --export PLACE/small --json
embed.txt               embed BASE sample --out PLACE/vectors EXACT
explain.json            explain "A man is playing." "A man is not playing." BASE TUNED --json
train-hard.json         train contrast-hard --model BASE --data "minimal pairs" SHORT HALVES EXACT --name hard --json
train-sg-opt.json       train sg-opt --model BASE --data sample SHORT HALVES EXACT --name sg-opt --json
train-cosent.json       train cosent --model BASE --data PLACE/scores.csv SHORT HALVES EXACT --name cosent --json
train-whitening.json    train whitening --model BASE --data sample HALVES EXACT --name whitening --json
plan.json               plan PLACE/golden.yaml --json
plan.tex                plan golden --table --latex
reproduce.md            reproduce sg-bert-7 --model BASE --data sample --seeds 1 FEW HALVES --markdown
export.txt              export hard PLACE/exported
"""
WORDS = {
    "BASE": "all-MiniLM-L6-v2",
    "TUNED": "run:example",
    "EXACT": "--precision float32 --device cpu",
    "SMALL": "--layers 3 --poolings mean --dimensions 64 --stored int8",
    "SHORT": "--set steps=4 --set batch_size=8 --set evaluate_every=2 --seed 1",
    "FEW": "--steps 2 --set batch_size=4",
    "HALVES": '--dev "Sample pairs, dev half" --test "Sample pairs, test half"',
}
PLAN = """\
methods: [simcse, ct]
models: [all-MiniLM-L6-v2]
data: [sample]
settings:
  steps: 2
  batch_size: 4
grid:
  learning_rate: [1.0e-05, 1.0e-04]
seeds: [1]
dev: Sample pairs, dev half
test: Sample pairs, test half
"""


def main(place: Path, out: Path) -> None:
    """Every command, then the files that they left."""
    _write_inputs(place)
    for line in COMMANDS.strip().splitlines():
        name, told = line.split(maxsplit=1)
        for word, instead in (WORDS | {"PLACE": str(place)}).items():
            told = told.replace(word, instead)
        print(told, file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "explorer", *shlex.split(told)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (out / name).write_text(scrubbed(done.stdout, place), encoding="utf-8")
    for folder in ("runs", "small", "exported", "vectors", "results"):
        _copy(place / folder, out / folder, place)
    _copy(ROOT / "explorer" / "data" / "examples", out / "examples", place)
    report = (place / "report.html").read_text(encoding="utf-8")
    (out / "report.html").write_text(scrubbed(report, place), encoding="utf-8")


def _write_inputs(place: Path) -> None:
    """Scored pairs, texts with labels, queries with passages, a plan, and a published set as long as it is."""
    texts = sample.sentences().texts
    pairs = list(pairwise(texts))[::2]
    scores = [(*pair, 5 * at % 6) for at, pair in enumerate(pairs[60:120])]
    _write(place / "scores.csv", ("sentence1", "sentence2", "score"), scores)
    _write(place / "queries.csv", ("query", "passage"), pairs[:60])
    _write(place / "labels.csv", ("text", "label"), [(text, len(text) > 45) for text in texts[:120]])
    (place / "golden.yaml").write_text(PLAN, encoding="utf-8")
    write_set(place / "data", "STS17_en/test.tsv", 250)


def _write(path: Path, head: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def _copy(folder: Path, out: Path, place: Path) -> None:
    """Texts without what differs each time, other files as their size and digest."""
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        copied = out / path.relative_to(folder)
        copied.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes()
        if path.suffix in TEXTS:
            copied.write_text(scrubbed(content.decode("utf-8"), place), encoding="utf-8")
        else:
            digest = hashlib.sha256(content).hexdigest()
            copied.with_name(f"{copied.name}.digest").write_text(f"{len(content)} {digest}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
