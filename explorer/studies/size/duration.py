"""Estimate how long a picture of sizes takes, by doing some of each kind of work that it does."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.set_items import ItemSet
from explorer.evaluating.encoded import as_tensor
from explorer.evaluating.kinds import judge_of
from explorer.measuring.scores import correlation
from explorer.progress import Progress, Work
from explorer.studies.size import picture as pictures
from explorer.studies.size import points as sizes
from explorer.studies.size.smaller_vectors import Vectors
from explorer.studies.size.weight_formats import Cell, InOnnx, InTorch

if TYPE_CHECKING:
    from explorer.data.text_sets import Sentences
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.scores.judge import Judge

TRIED = 256  # texts that are encoded: few would not fill their batches
TIMES = 2  # that each kind of work is timed: the fastest was disturbed least
NOISE = 1e-3  # between the vectors that stand for those of all texts


def seconds_of(
    encoder: Encoder,
    given: ItemSet,
    text: Sentences,
    options: sizes.SizeOptions,
    others: Sequence[Encoder] = (),
    words: Sentences | None = None,
) -> Work[float | None]:
    """The seconds that `picture` takes of the same; None for a set whose judge has to be settled by vectors first."""
    judge = judge_of(given, encoder)
    if not judge.is_settled:
        return None
    started = time.perf_counter()
    fewer = yield from pictures.with_words(encoder, words)
    total = 0.0 if words is None else time.perf_counter() - started
    with tempfile.TemporaryDirectory(prefix="strata-") as folder:
        forms, options = pictures.forms_of(encoder, fewer, options, others, (), Path(folder))
        fit_on = pictures.besides(text, judge)
        for form in forms:
            total += yield from _of_scores(form, judge, fit_on, options)
            total += yield from _of_speed(form, judge)
        started = time.perf_counter()
        yield from pictures.memories(forms[: len(forms) - len(others)], judge.sentences, Path(folder))
        total += time.perf_counter() - started
    return total


def _of_scores(form: InTorch, judge: Judge, fit_on: Sequence[str], options: sizes.SizeOptions) -> Work[float]:
    """The seconds that encoding with a form and scoring its sizes take."""
    every = list(dict.fromkeys((*judge.texts, *fit_on)))
    step = max(1, len(every) // TRIED)
    some = sorted(every, key=len)[step // 2 :: step]
    seconds = []
    for tried in (some[-1:], *[some] * TIMES):  # the first pass is slower: it writes files, and prepares the model
        yield Progress("encoding some sentences", 0, 0)
        started = time.perf_counter()
        cells = list((yield from form.cells(tried)))
        seconds.append(time.perf_counter() - started)
    first, *others = seconds
    total = min(others) * len(every) / len(some) + (first if isinstance(form, InOnnx) else 0)
    yield Progress("scoring some sizes", 0, 0)
    vectors, fitted_on = (_as_many(cells[-1][1], count) for count in (len(judge.texts), len(fit_on)))
    of_a_cell = partial(_scored, cells[-1][0], vectors, fitted_on, judge, options)
    *_, (_, items) = sizes_of_a_cell = of_a_cell()  # the first call also imports what fits projections
    total += len(cells) * _fastest(of_a_cell)
    compared = partial(judge.difference, judge.items(as_tensor(correlation.unit(vectors))), items)
    return total + len(cells) * len(sizes_of_a_cell) * _fastest(compared)


def _of_speed(form: InTorch, judge: Judge) -> Work[float]:
    """The seconds that cutting an encoder and timing its cuts take."""
    yield Progress("timing the encoder", 0, 0)
    some, queries = pictures.timed_on(judge.sentences)
    ends = sorted({form.depths[0], form.depths[-1]})
    seconds = []
    for end in ends:
        started = time.perf_counter()
        cut = form.cut(end)
        cutting = time.perf_counter() - started
        seconds.append(cutting + (pictures.ROUNDS + 1) * _fastest(partial(pictures.one_round, cut, some, queries)))
    return float(sum(np.interp(form.depths, ends, seconds)))


def _scored(
    cell: Cell,
    vectors: Vectors,
    fit_on: Vectors,
    judge: Judge,
    options: sizes.SizeOptions,
) -> list[tuple[sizes.Size, pictures.Floats]]:
    return list(pictures.scored(cell, vectors, fit_on, judge, options, reference=False))


def _as_many(vectors: Vectors, count: int) -> Vectors:
    """So many vectors like these: those of more texts take as long to be scored."""
    random = np.random.default_rng(0)
    repeated = np.resize(vectors, (count, vectors.shape[1]))
    many: Vectors = (repeated + NOISE * random.standard_normal(repeated.shape)).astype(np.float32)
    return many


def _fastest(work: Callable[[], object]) -> float:
    found = []
    for _ in range(TIMES):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return min(found)
