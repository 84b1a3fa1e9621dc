"""Runs in folds for tests: their rows, and what the training of each fold sees."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from explorer.data.sources import CROSS_FITTED
from explorer.training.loop.learner import Learner
from tests.trainings import WORDS, Place, new, train

FOLDS, STEPS = 3, 4
SHORT = 3  # steps of a fold in runs that are compared with themselves alone
# every epoch has all rows that a fold leaves: 16, in batches of 4
SETTINGS = {"steps": STEPS, "batch_size": 4, "evaluate_every": 1, "learning_rate": 1e-2, "pooling": "mean"}
RATES = {"contrast-hard": 3e-3}  # at which the folds differ in what is best, where it is another one
METHODS = {"cosent": "score,sentence1,sentence2", "contrast": "query,passage",
           "contrast-hard": "anchor,positive,negative"}  # fmt: skip


def rows_of(method: str, count: int = 24) -> list[tuple[str, ...]]:
    """Rows of which each two share their first sentence; of pairs, so that a query has two passages."""
    drawn, found = random.Random(6), []
    for number in range(count):
        first = found[-1][-2 if method == "contrast" else -3] if number % 2 and method == "contrast-hard" else ""
        words = drawn.sample(WORDS, 6)
        first = first or (found[-1][1 if method == "cosent" else 0] if number % 2 else " ".join(words))
        second = " ".join((*first.split()[: 1 + number % 5], *drawn.sample(WORDS, 3)))
        row = {"cosent": (f"{number % 5}", first, second), "contrast": (first, second)}
        found.append(row.get(method, (first, second, " ".join(drawn.sample(WORDS, 6)))))
    return found


def written(path: Path, method: str, rows: list[tuple[str, ...]]) -> str:
    path.write_text("\n".join([METHODS[method], *map(",".join, rows)]) + "\n", encoding="utf-8")
    return str(path)


def given(text: str, **settings) -> dict:
    return {"data": (text,), "dev": CROSS_FITTED, "test": CROSS_FITTED, "folds": FOLDS,
            "settings": SETTINGS | settings}  # fmt: skip


def seen_by(patch: pytest.MonkeyPatch) -> dict[int, list]:
    """The columns of each batch that is trained on, by the fold it is of; 0 is that of all rows."""
    seen, update = defaultdict(list), Learner.update

    def watched(learner):
        gradients = learner.gradients

        def of_batch(columns, share=1.0):
            seen[learner.prepared.fold].append(columns)
            return gradients(columns, share)

        learner.gradients = of_batch
        update(learner)
        del learner.gradients

    patch.setattr(Learner, "update", watched)
    return seen


def in_rows(batches) -> set[tuple[str, ...]]:
    """The rows of some batches, by their sentences."""
    return {
        tuple(cell for cell in row if isinstance(cell, str))
        for columns in batches
        for row in zip(*columns, strict=True)
    }


def texts(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cell for cell in row if not cell.isdigit())


def low_median(values):
    return sorted(values)[(len(values) - 1) // 2]


def in_folds(place: Place, folder: Path, method: str) -> SimpleNamespace:
    """A run in folds, what each training saw, and each fold again as a plain run on the rows that it saw."""
    rows, settings = rows_of(method), {"learning_rate": RATES.get(method, SETTINGS["learning_rate"])}
    text = written(folder / "text.csv", method, rows)
    with pytest.MonkeyPatch.context() as patch:
        seen = seen_by(patch)
        run = train(new(place, method, **given(text, **settings)))
    plain = {}
    for fold in range(FOLDS + 1):
        own = [row for row in rows if not fold or texts(row) in in_rows(seen[fold])]
        data = written(folder / f"fold-{fold}.csv", method, own)
        plain[fold] = train(
            new(place, method, data=(data,), test=None, settings=SETTINGS | settings | {"keep_steps": True})
        )
    return SimpleNamespace(method=method, rows=rows, text=text, run=run, seen=seen, plain=plain)
