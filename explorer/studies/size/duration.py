"""Estimate how long a picture of sizes takes, by doing some of each kind of work that it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
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

if TYPE_CHECKING:
    from explorer.data.text_sets import Sentences
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.scores.judge import Judge

TRIED = 256  # texts that are encoded: few would not fill their batches
TIMES = 2  # that each kind of work is timed: the fastest was disturbed least
NOISE = 1e-3  # between the vectors that stand for those of all texts


def seconds_of(
    encoder: Encoder, given: ItemSet, text: Sentences, options: sizes.SizeOptions, others: Sequence[Encoder] = ()
) -> Work[float | None]:
    """The seconds that `picture` takes of the same; None for a set whose judge has to be settled by vectors first."""
    from explorer.encoding.tune.editing import cut, stack

    where, judge = stack(encoder), judge_of(given, encoder)
    if not judge.is_settled:
        return None
    options = pictures.checked(options, encoder, where)
    fit_on = pictures.besides(text, judge)
    every = list(dict.fromkeys((*judge.texts, *fit_on)))
    step = max(1, len(every) // TRIED)
    some, total = sorted(every, key=len)[step // 2 :: step], 0.0
    for one in (encoder, *others):
        own = one is encoder
        layers, poolings = (options.layers, options.poolings) if own else ((), ())
        at = where if own else stack(one)
        fastest = np.inf
        for tried in (some[-1:], *[some] * TIMES):  # the first pass through a model is slower
            yield Progress("encoding some sentences", 0, 0)
            started = time.perf_counter()
            cells = list((yield from pictures.cells_of(one, at, tried, (), layers, poolings)))
            fastest = np.inf if len(tried) < len(some) else min(fastest, time.perf_counter() - started)
        total += fastest * len(every) / len(some)
        yield Progress("scoring some sizes", 0, 0)
        vectors, fitted_on = (_as_many(cells[-1][1], count) for count in (len(judge.texts), len(fit_on)))
        of_a_cell = partial(_scored, cells[-1][0], vectors, fitted_on, judge, options)
        *_, (_, items) = sizes_of_a_cell = of_a_cell()  # the first call also imports what fits projections
        total += len(cells) * _fastest(of_a_cell)
        compared = partial(judge.difference, judge.items(as_tensor(correlation.unit(vectors))), items)
        total += len(cells) * len(sizes_of_a_cell) * _fastest(compared)
    for one, lowest in ((encoder, min(options.layers)), *((one, None) for one in others)):
        yield Progress("timing the encoder", 0, 0)
        some, queries = pictures.timed_on(judge.sentences)
        last = pictures.depth(one)
        ends = [last] if lowest in (None, last) else [lowest, last]
        seconds = [_fastest(partial(pictures.one_round, cut(one, end), some, queries)) for end in ends]
        cuts = sorted({*options.layers, last}) if lowest is not None else [last]
        total += (pictures.ROUNDS + 1) * sum(np.interp(cuts, ends, seconds))
    return float(total)


def _scored(
    cell: pictures.Cell,
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
