"""Cases of trainings on 1 to 60 rows of every kind, with settings at their ends: each is refused first, or learns."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields as fields_of
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import torch
from safetensors.torch import load_file

from explorer.__main__ import _options
from explorer.commands.train import _recipe
from explorer.errors import Diverged, StrataError
from explorer.methods import knobs_of, load, names
from explorer.progress import finish
from explorer.run_folder import METRICS, RECIPE, STATUS, Evaluation, TrainingStep
from explorer.training import recipe_file, running
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED
from tests import trainings
from tests.fuzz.cases import Fault

MOST_STEPS = 40  # of a training whose steps a person sets; those of a text are as many as its defaults have
LONG = 250  # updates of all trainings of a case, beyond which it is not tried
ENDS: Mapping[str, Sequence[str]] = {
    "batch_size": ("2", "2", "3", "8", "4096"),
    "steps": ("0", "1", "2", "9", str(MOST_STEPS)),
    "epochs": ("1", "2", "5", "100"),
    "learning_rate": ("0", "1e-7", "1e-7", "1e-3", "1e-2", "1e3"),
    "warmup": ("0", "0.1", "0.5", "1", "1"),
    "decay": ("linear", "none"),
    "clip": ("0", "1e-3", "1"),
    "blend": ("0", "0", "1", "0.01", "0.5", "0.3000001"),
    "keep_base": ("on", "on", "off"),
    "evaluate_every": ("1", "7", "1000000"),
    "early_stop": ("none", "drops", "no new best"),
    "endurance": ("1", "1000"),
    "accumulate": ("1", "2", "5", "1024"),
    "rows": ("1", "4", "25 %", "100 %", "61"),
    "lora_rank": ("0", "1", "256"),
    "max_length": ("3", "16", "8192"),
    "weight_decay": ("0", "1"),
    "keep_steps": ("on", "off"),
    "keep_duplicates": ("on", "off"),
    "no_duplicates": ("on", "off"),
    "select_by": ("dev", "held-out triplets", "both"),
    "validate_by": ("accuracy", "macro F1", "Matthews"),
    "iterations": ("1", "20"),
    "pooling": ("mean", "cls", "max"),
}
NEXT = (
    "set",
    "add",
    "use",
    "choose",
    "lower",
    "raise",
    "give",
    "name",
    "train",
    "write",
    "make",
    "leave",
    "cut",
    "keep",
    "run",
    "correct",
    "pass",
    "restore",
    "download",
    "remove",
    "check",
    "spell",
    "allowed",
    "needed",
    "start",
)  # fmt: skip  words of which every refusal has one


UNTRAINED = {"Transformer", "Pooling", "Normalize", "WeightedLayerPooling"}  # modules without trained weights


def prepare(folder: Path) -> None:
    """Make a base model, and a dev and a test set."""
    trainings.furnish(folder)


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Train a random method on a random tiny text, and check what it says of itself."""
    drawn, home = Random(seed), place / "runs"
    with ExitStack() as shared:
        for context in (trainings.few_probes(), trainings.in_no_time()):
            shared.enter_context(context)
        shared.enter_context(mock.patch.dict(os.environ, {"STRATA_RUNS": str(home)}))
        shared.enter_context(mock.patch("explorer.methods.self_guided.PROJECTION", 8))
        words = _words(drawn, trainings.Place(folder), place)
        try:
            recipe = _recipe(_options(words))
            _check_recipe(recipe)
            if _updates(recipe) > LONG:
                return
            run = runs.new(recipe, "tiny")
            finish(running.or_nothing(run, running.train(run)))
        except Diverged:
            pass  # its folder has the last good state
        except StrataError as error:
            _check_refused(str(error), words, home)
            raise
        else:
            _check_finished(run, trainings.Place(folder), words)


def _words(drawn: Random, shared: trainings.Place, place: Path) -> list[str]:
    kind = drawn.choice(sorted(TEXTS))
    text = place / "text.csv"
    count = drawn.choice((1, 2, 3, 4, 6, 8, 10, 20, 20, 60, 60))
    text.write_text("\n".join(TEXTS[kind](drawn, count)), encoding="utf-8")
    method = drawn.choice([name for name in names() if load(name).rows.name in FITTING[kind] and not _needs(name)])
    words = ["train", method, "--model", str(shared.model), "--data", str(text), "--device", "cpu"]
    words += ["--precision", drawn.choice(("float32", "float32", "auto"))]
    own = ("held-out rows", "cross-fitted rows") if kind != "sentences" or drawn.random() < 0.1 else ()
    sets = drawn.choice(("own", "own", "own", "named", "named", "no test", *own))
    if sets in ("named", "no test"):
        words += ["--dev", str(shared.dev), "--test", str(shared.test) if sets == "named" else "none"]
    elif sets != "own":
        words += ["--dev", sets, "--test", sets]
    words += ["--folds", "2"] if drawn.random() < 0.7 else []
    words += ["--seed", "1", "--seed", "2"] if drawn.random() < 0.1 else []
    words += ["--elsewhere", "none"]
    free = sorted(ENDS.keys() & knobs_of(load(method)).keys())
    for name in drawn.sample(free, min(len(free), drawn.choice((0, 1, 2, 3, 4)))):
        words += ["--set", f"{name}={drawn.choice(ENDS[name])}"]
    if drawn.random() < 0.2:
        words.append(drawn.choice(("--as-in-paper", "--preset=quick")))
    if drawn.random() < 0.3:  # else a training on few rows has as many updates as fit them
        words += ["--set", f"steps={drawn.choice(ENDS['steps'])}"] * ("steps" in free)
    return words


def _needs(method: str) -> bool:
    """Whether a method needs another model, or WordNet."""
    return method.startswith("conisi") or any(knob.masked_model for knob in load(method).knobs.values())


def _phrase(drawn: Random) -> str:
    return " ".join(drawn.choices(trainings.WORDS, k=drawn.randint(1, 9)))


def _rows(drawn: Random, count: int, width: int) -> list[list[str]]:
    """Rows of so many sentences: all different, or one again and again, or with a sentence that many rows share."""
    rows = [[_phrase(drawn) for _ in range(width)] for _ in range(count)]
    shapes = ("repeated", "one row", "shared", "same", "chained")
    shape = drawn.choice(shapes) if drawn.random() < 0.4 else "apart"
    if shape == "repeated":
        rows = [drawn.choice(rows[: max(1, count // 3)]) for _ in rows]
    if shape == "one row":
        rows = [rows[0] for _ in rows]
    if shape == "shared":
        rows = [[rows[0][0], *row[1:]] if drawn.random() < 0.7 else row for row in rows]
    if shape == "same":
        rows = [[row[0]] * width for row in rows]
    if shape == "chained":
        rows = [[rows[at - 1][-1], *row[1:]] if at else row for at, row in enumerate(rows)]
    return rows


def _sentences(drawn: Random, count: int) -> list[str]:
    return ["sentence", *(row[0] for row in _rows(drawn, count, 1))]


def _pairs(drawn: Random, count: int) -> list[str]:
    return ["query,passage", *(",".join(row) for row in _rows(drawn, count, 2))]


def _triplets(drawn: Random, count: int) -> list[str]:
    return ["anchor,positive,negative", *(",".join(row) for row in _rows(drawn, count, 3))]


def _scored(drawn: Random, count: int) -> list[str]:
    scores = drawn.choice((("0", "1"), ("0", "1", "2", "3", "4", "5"), ("0.5", "4.25", "3"), ("5",)))
    rows = _rows(drawn, count, 2)
    return ["score,sentence1,sentence2", *(",".join([drawn.choice(scores), *row]) for row in rows)]


def _labelled(drawn: Random, count: int) -> list[str]:
    width = drawn.choice((1, 1, 2))
    labels = ("yes",) if drawn.random() < 0.1 else drawn.choice((("yes", "no"), ("yes", "no"), ("a", "b", "c")))
    header = ["label,text", "label,sentence1,sentence2"][width - 1]
    lonely = drawn.random() < 0.2  # a class of one row
    named = ["lonely" if lonely and not at else drawn.choice(labels) for at in range(count)]
    return [header, *(",".join([label, *row]) for label, row in zip(named, _rows(drawn, count, width), strict=True))]


TEXTS: Mapping[str, Callable[[Random, int], list[str]]] = {
    "sentences": _sentences,
    "pairs": _pairs,
    "triplets": _triplets,
    "graded pairs": _scored,
    "labelled texts": _labelled,
}
FITTING = {kind: (kind, kind, "sentences", "pairs") if kind == "triplets" else (kind,) for kind in TEXTS}


def _updates(recipe: Recipe) -> int:
    """How many updates a case has at most, with as many rows as a text can have."""
    if not recipe.kind.trains():
        return 0
    most = recipe.schedule().updates(recipe.kind.items(recipe.settings, 60))
    return most * len(recipe.seeds) * (recipe.folds + 1 if recipe.is_cross_fitted else 1)


def _check_recipe(recipe: Recipe) -> None:
    """Refuse a recipe that its command or its file does not give again."""
    again = _recipe(_options(trainings.words_of(recipe))), recipe_file.from_yaml(recipe.as_yaml(), "the recipe")
    for other, where in zip(again, ("command", "file"), strict=True):
        fields = [field.name for field in fields_of(recipe) if field.name != "folds" or recipe.is_cross_fitted]
        changed = [(name, getattr(recipe, name), getattr(other, name)) for name in fields
                   if getattr(other, name) != getattr(recipe, name)]  # fmt: skip
        if changed:
            raise Fault(f"another recipe comes from its {where}: {changed}")


def _check_refused(message: str, words: Sequence[str], home: Path) -> None:
    """Refuse a refusal after a folder was made, or one that does not say what to do."""
    if home.is_dir() and (left := [path.name for path in home.iterdir()]):
        raise Fault(f"refused, but {left} is there: {message} {words[6:]}")
    if not set(re.findall(r"[a-z]+", message.lower())) & set(NEXT):
        raise Fault(f"no next step: {message}")
    _check_words(message, words)


def _check_words(text: str, words: Sequence[str]) -> None:
    if found := re.search(r".{0,80}(?<![\d,.])0 rows.{0,80}", text):
        raise Fault(f"{found[0]!r} of a text that has rows: {words[6:]}")


def _check_finished(run: Run, place: trainings.Place, words: Sequence[str]) -> None:
    status, recipe = run.status(), run.recipe()
    if status.state != FINISHED or not run.has_model:
        raise Fault(f"it ended {status.state}, {'with' if run.has_model else 'without'} a model: {words[6:]}")
    for name in (STATUS, RECIPE, METRICS):
        text = (run.folder / name).read_text(encoding="utf-8")
        if re.search(r"\b(NaN|Infinity|nan|inf)\b", text):
            raise Fault(f"{name} holds a number that is none: {words[6:]}")
    card = (run.folder / "README.md").read_text(encoding="utf-8")
    for text in (card, run.log_tail(1000), json.dumps(status.as_json())):
        _check_words(text, words)
    lines = run.metrics()
    steps = [line for line in lines if isinstance(line, TrainingStep)]
    if recipe.kind.trains() and (not steps or not all(line.rate > 0 for line in steps)):
        raise Fault(f"an update without a rate, of {len(steps)}: {words[6:]}")
    _check_evaluations([line for line in lines if isinstance(line, Evaluation)], len(status.results), words)
    if recipe.trains_encoder:
        _check_learned(run, place, card, words)


def _check_evaluations(lines: Sequence[Evaluation], seeds: int, words: Sequence[str]) -> None:
    if len({(line.number, line.stage, line.step) for line in lines}) != len(lines):
        raise Fault(f"one step of a seed is evaluated twice: {words[6:]}")
    if any(line.dev is not None and math.isinf(line.dev) for line in lines):
        raise Fault(f"an infinite score: {words[6:]}")


def _check_learned(run: Run, place: trainings.Place, card: str, words: Sequence[str]) -> None:
    """Compare all weights with those of the base, and what the run says of that."""
    nothing, equal = run.status().facts.nothing, _is_base(run, place)
    if equal != (nothing is not None):
        said = "says that nothing was learned" if nothing else "says nothing of it"
        raise Fault(f"its weights {'equal' if equal else 'differ from'} the base's, and the run {said}: {words[6:]}")
    if nothing is None:
        return
    plain = " ".join(re.sub(r"[*\\]", "", card).split())
    if not nothing.reason or not nothing.next_step or nothing.reason not in plain:
        raise Fault(f"the card does not say why nothing was learned ({nothing.reason!r}): {words[6:]}")
    if any(verdict.difference is not None for verdict in run.status().verdict.by_use.values()):
        raise Fault(f"a difference between equal models: {words[6:]}")


def _is_base(run: Run, place: trainings.Place) -> bool:
    """Whether the saved model is the base to the bit: no module is added, and every weight that both have is equal."""
    modules: list[dict[str, Any]] = json.loads((run.model / "modules.json").read_text(encoding="utf-8"))
    added = {one["type"].rsplit(".", 1)[-1] for one in modules} - UNTRAINED
    before, after = (load_file(folder / "model.safetensors") for folder in (place.model, run.model))
    shared = before.keys() & after.keys()
    return not added and len(shared) > 10 and all(torch.equal(before[name], after[name]) for name in shared)
