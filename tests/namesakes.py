"""Files of one name in several folders, and what scipy makes of each without Strata."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from scipy.stats import spearmanr
from transformers import AutoModel, AutoTokenizer

from explorer.data import sample

FOLDERS = ("a", "b", "c")
PAIRS = 40


def write(home: Path, name: str = "test.tsv", folders: tuple[str, ...] = FOLDERS) -> list[Path]:
    """A file of scored pairs in each folder; no two hold the same pairs."""
    pairs = sample.pairs()
    rows = list(zip(pairs.gold, pairs.first, pairs.second, strict=True))
    paths = []
    for place, folder in enumerate(folders):
        path = home / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        some = random.Random(place).sample(rows, PAIRS)
        text = "\n".join(["score\tsentence1\tsentence2", *("\t".join(map(str, row)) for row in some)])
        path.write_text(text + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def outside_score(model: Path, path: Path, pooling: str = "mean") -> float:
    """Spearman's ρ × 100 of gold scores with cosines of the last layer, by transformers and scipy alone."""
    _, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    tokenizer, encoder = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).eval()
    sides = []
    for side in (1, 2):
        tokens = tokenizer(
            [row[side] for row in rows], padding=True, truncation=True, max_length=64, return_tensors="pt"
        )
        with torch.no_grad():
            states = encoder(**tokens).last_hidden_state.double()
        real = tokens["attention_mask"].double()[..., None]
        sides.append(states[:, 0] if pooling == "cls" else (states * real).sum(1) / real.sum(1))
    cosines = torch.nn.functional.cosine_similarity(*sides)
    return 100 * spearmanr([float(row[0]) for row in rows], cosines).statistic
