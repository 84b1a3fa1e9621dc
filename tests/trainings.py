"""Short trainings for tests: a tiny encoder that distinguishes sentences, few rows, steps of milliseconds."""

from __future__ import annotations

import os
import random
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest import mock

import torch
from safetensors.torch import load_file
from torch import Tensor

from explorer.data import sample
from explorer.data.text_sets import PAIRS, TRIPLETS
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.head import Head
from explorer.methods import load
from explorer.progress import Progress, finish
from explorer.run_folder import Evaluation, TrainingStep
from explorer.training import running
from explorer.training.loop import estimate, training_texts
from explorer.training.loop import learner as learners
from explorer.training.loop.judging import under_heads
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.runs import Run
from tests.device import DEVICE
from tests.spoiling import configure, reweigh
from tests.tiny_models import SENTENCES, save_tiny, tiny_tokenizer

ROWS = 24
FEW_SHARES = 0.3, 0.7, 1.0
TOKENS = 17  # in sentences of probe packs
FEW_PROBES = "STRATA_TEST_FEW_PROBES"  # for the processes of a test
TIMED = {name: getattr(estimate, name) for name in ("_step_seconds", "_evaluating")}  # for an estimate as users get it
WORDS = sorted({word for sentence in SENTENCES for word in sentence.lower().split()} - {"a", "no"})
# small enough to be quick; the projection of the self-guided methods is a thousand times the tiny encoder
# what is trained is kept, however low it scores: on a few made-up rows the base may score best
SETTINGS = {"batch_size": 4, "steps": 6, "learning_rate": 1e-3, "max_length": 16, "keep_base": False}


@dataclass(frozen=True)
class Place:
    """A folder with a base model, text to learn from, and pairs to judge by."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "tiny"

    @property
    def text(self) -> Path:
        return self.folder / "text.csv"

    @property
    def triplets(self) -> Path:
        return self.folder / "triplets.csv"

    @property
    def dev(self) -> Path:
        return self.folder / "dev.csv"

    @property
    def test(self) -> Path:
        return self.folder / "test.csv"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"


def furnish(folder: Path, dropout: float = 0.1) -> Place:
    """All of it, in a folder."""
    place = Place(folder)
    save_tiny("bert", place.model)
    configure(place.model / "config.json", hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    reweigh(place.model, _farther_apart)
    drawn = random.Random(0)
    place.text.write_text("\n".join(["sentence", *_phrases(drawn, ROWS)]) + "\n", encoding="utf-8")
    rows = zip(*(_phrases(drawn, ROWS) for _ in range(3)), strict=True)
    place.triplets.write_text("\n".join(["anchor,positive,negative", *map(",".join, rows)]) + "\n", encoding="utf-8")
    for path, pairs in ((place.dev, 12), (place.test, 9)):
        path.write_text("\n".join(["score,sentence1,sentence2", *graded_lines(drawn, pairs)]) + "\n", encoding="utf-8")
    return place


def _farther_apart(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights as they are made up leave every [CLS] almost the same; ten times as large, they do not."""
    return {
        name: weight * 10 if "encoder." in name and weight.dim() > 1 else weight for name, weight in weights.items()
    }


def _phrases(drawn: random.Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(drawn.choices(WORDS, k=drawn.randint(2, 9)))] = None
    return list(found)


def scored_pairs(folder: Path, count: int) -> str:
    """Scored pairs in a file: half of them are the test half, three eighths the train part."""
    path = folder / "pairs.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *graded_lines(random.Random(3), count)]), encoding="utf-8")
    return str(path)


def labelled_splits(folder: Path, rows: Sequence[str]) -> Path:
    """Labelled texts in a folder of three splits: each classifier is fitted once, and not in ten folds."""
    folder.mkdir()
    for at, split in enumerate(("train", "dev", "test")):
        (folder / f"{split}.tsv").write_text("\n".join(["label\ttext", *rows[at::3], ""]), encoding="utf-8")
    return folder


def graded_lines(drawn: random.Random, count: int) -> list[str]:
    """Pairs that share from none to four of their five words, graded by how many they share.

    Not all five: cosines of 1 are equal or not by the last bit, and a score that hangs on it is none to compare.
    """
    rows = []
    for number in range(count):
        words, others = drawn.sample(WORDS, 5), drawn.sample(WORDS, 5)
        shared = round(4 * number / (count - 1))
        rows.append(f"{shared},{' '.join(words)},{' '.join(words[:shared] + others[shared:])}")
    return rows


def solved_pairs(place: Place, path: Path, count: int = 12) -> Path:
    """A file of pairs whose gold scores are the cosines of the base, which therefore has a Spearman of 100 on them."""
    rows = [line.split(",") for line in graded_lines(random.Random(5), count)]
    encoder = loading.load(model_names.find(str(place.model)), precision="float32", device="cpu")
    sides = ([row[side] for row in rows] for side in (1, 2))
    one, other = (finish(under_heads(encoder, texts, [Head(("mean",))], ""))[0] for texts in sides)
    cosines = torch.nn.functional.cosine_similarity(one, other).tolist()
    lines = [f"{cosine!r},{first},{second}" for cosine, (_, first, second) in zip(cosines, rows, strict=True)]
    path.write_text("\n".join(["score,sentence1,sentence2", *lines]), encoding="utf-8")
    return path


def recipe(place: Place, method: str = "sg-opt", **changes: Any) -> Recipe:
    """A short run of a method; `settings` are added to those that keep it short."""
    data = place.triplets if load(method).rows in (PAIRS, TRIPLETS) else place.text
    quick = SETTINGS | ({"projection": False} if method.startswith("sg") else {})
    quick = quick if load(method).trains() else {}
    given = {"model": str(place.model), "data": (str(data),), "dev": str(place.dev), "test": str(place.test)}
    given |= {"precision": "float32", "device": DEVICE, "elsewhere": ()}  # more texts than all others
    return Recipe(method, **(given | changes | {"settings": quick | changes.get("settings", {})}))


def words_of(recipe: Recipe) -> list[str]:
    """The words of the command line that make the same run."""
    return shlex.split(recipe.command())[3:]


@contextmanager
def in_no_time() -> Iterator[None]:
    """On tiny matrices a second thread is only waited for, and there is next to nothing to collect or to give back."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    idle = SimpleNamespace(**{name: lambda: None for name in ("collect", "freeze", "unfreeze")})
    with (
        mock.patch("explorer.fair_share.gc", idle),
        mock.patch("explorer.fair_share.trim"),
        mock.patch("accelerate.utils.memory.gc", idle),
        untimed(),
    ):
        yield
    torch.set_num_threads(threads)


def timed_once() -> AbstractContextManager[object]:
    """One batch and few texts are timed for the estimate of a run, as by commands and the app in their processes."""
    return mock.patch.multiple(estimate, BATCHES=1, TIMES=1, TRIED=4)


def untimed() -> AbstractContextManager[object]:
    """An estimate of a run counts its memory, and times nothing: a tenth of a short run is steps to time them."""
    return mock.patch.multiple(estimate, _step_seconds=lambda learner: 0.01, _evaluating=lambda learner: (0.001, 0.01))


@cache
def _of_like_lengths(pack: sample.Pack) -> list[tuple[str, ...]]:
    """First and second sentences of a pack, those first that have about as many tokens as those of other packs."""
    count = tiny_tokenizer()
    pairs = list(zip(pack.first, pack.second, strict=True))
    far = [sum(abs(len(ids) - TOKENS) for ids in count([*pair]).input_ids) for pair in pairs]
    return list(zip(*(pairs[row] for row in sorted(range(len(pairs)), key=far.__getitem__)), strict=True))


@contextmanager
def loaded_once() -> Iterator[None]:
    """Load a model once: runs train copies of it, and to load it takes a fifth of a tiny training."""
    with mock.patch.object(loading, "load", cache(loading.load)):
        yield


@contextmanager
def few_probes(pairs: int = 3) -> Iterator[None]:
    """Probe packs of so many pairs: a run encodes all packs twice, each length of sentences in a batch of its own."""
    few = tuple(
        replace(pack, first=first[:pairs], second=second[:pairs])
        for pack, first, second in ((pack, *_of_like_lengths(pack)) for pack in sample.judged_packs())
    )
    with (
        mock.patch("explorer.data.sample.judged_packs", return_value=few),
        mock.patch.dict(os.environ, {FEW_PROBES: str(pairs)}),
    ):
        yield


def few_shares() -> AbstractContextManager[object]:
    """Few shares of the tuned weights are tried in place of ten: each is an evaluation, in every fold."""
    return mock.patch.object(learners, "SHARES", FEW_SHARES)


def in_two_folds() -> AbstractContextManager[object]:
    """Cross-fitted rows are divided into two folds, however many are asked for: each is a training."""
    divide = training_texts.divide
    return mock.patch.object(training_texts, "divide", lambda corpus, wanted: divide(corpus, 2))


@contextmanager
def few_probes_shown(pairs: int = 20) -> Iterator[None]:
    """The first so many pairs of each probe pack, for pages and comparisons, which encode all under each model."""
    few = tuple(replace(pack, first=pack.first[:pairs], second=pack.second[:pairs]) for pack in sample.probe_packs())
    with mock.patch("explorer.data.sample.probe_packs", return_value=few):
        yield


@contextmanager
def paced(seconds: float = 0.05, pause: Callable[[float], object] = time.sleep) -> Iterator[None]:
    """Steps after pauses: a run that is to be under way while a test goes on leaves the processor to it."""
    update = Learner.update

    def after_a_pause(learner: Learner) -> None:
        pause(seconds)
        update(learner)

    with mock.patch.object(Learner, "update", after_a_pause):
        yield


def new(place: Place, method: str = "sg-opt", name: str = "", **changes: Any) -> Run:
    """A run of such a recipe, waiting."""
    return runs.new(recipe(place, method, **changes), name, place.runs)


def learner(place: Place, method: str = "sg-opt", **settings: Any) -> Learner:
    """What learns by such a recipe, before its first update."""
    return Learner(finish(prepare(recipe(place, method, settings=settings))), 1, World("float32", DEVICE))


def train(run: Run, tell: Callable[[Progress], object] = lambda progress: None) -> Run | None:
    """Train it to the end, or go on with it."""
    return finish(running.train(run), tell)


def weights(run: Run) -> dict[str, Tensor]:
    """Of its model."""
    return load_file(run.model / "model.safetensors")


def looks(run: Run, number: int = 1) -> dict[int, float]:
    """The development score of each step that was looked at, of one of its seeds."""
    return {line.step: line.dev for line in run.metrics() if line.number == number and isinstance(line, Evaluation)}


def losses(run: Run, number: int = 1) -> dict[int, float]:
    """The loss of each step, of one of its seeds."""
    return {line.step: line.loss for line in run.metrics() if line.number == number and isinstance(line, TrainingStep)}


def command(
    arguments: Sequence[str], told: Path, environment: Mapping[str, str] = MappingProxyType({}), save_every: float = 60
) -> None:
    """What `python -m explorer` does, in a process that writes what it says to a file."""
    from explorer.__main__ import main
    from explorer.training.loop import loop

    os.environ.update(environment)
    loop.SAVE_EVERY = save_every
    torch.set_num_threads(1)
    with told.open("w", encoding="utf-8") as file, redirect_stdout(file), redirect_stderr(file):
        sys.exit(main(arguments))


def texts_of(path: Path) -> tuple[list[str], list[str], list[float]]:
    """First and second sentences and grades of a file of graded pairs, read by hand."""
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return [row[1] for row in rows], [row[2] for row in rows], [float(row[0]) for row in rows]


def spearman(one: Tensor, other: Tensor, gold: Sequence[float]) -> float:
    """Spearman × 100 of the cosines of two sides with the grades, by scipy."""
    from scipy.stats import spearmanr

    cosines = [float(torch.nn.functional.cosine_similarity(a, b, dim=0)) for a, b in zip(one, other, strict=True)]
    return 100 * float(spearmanr(cosines, gold).statistic)
