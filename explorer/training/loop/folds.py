"""Train in folds: every row is judged by a model that was not trained on it, and then all rows are trained on.

Each fold tries several checkpoints, or several shares of the tuned weights, on its own rows. The folds choose for the
saved model: the median of the best numbers of updates, or the share with the best mean score, since every fold tries
the same ones. A row is judged by the model of its fold at what the other folds choose, so that no row chooses what it
is judged by.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import eq
from statistics import mean, median_low

import numpy as np

from explorer.data import corpora
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import Corpus
from explorer.evaluating.probes.class_rows import RowsJudge
from explorer.evaluating.probes.class_scores import class_scores
from explorer.measuring.scores.judge import Floats, Judge
from explorer.methods import Feed
from explorer.progress import Work
from explorer.training.loop import preparing
from explorer.training.loop.judging import NO_ROWS, JudgedRows
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import FoldScores
from explorer.training.loop.preparing import Prepared
from explorer.training.loop.training_texts import drawn_count

PROBED = 100  # items of the rows whose vectors are saved while all rows are trained on


def items_of(given: ItemSet, corpus: Corpus, fold: Sequence[int]) -> list[int]:
    """The places of the items of a fold in the set of all rows: the rows themselves, or those of their queries."""
    if not isinstance(given, RetrievalSet):
        return list(fold)
    queries = {corpus.texts[0][row] for row in fold}
    return [place for place, query in enumerate(given.queries) if query in queries]


def prepare(
    whole: Prepared, number: int, seed: int, finished: Sequence[FoldScores], *, mine: bool = True
) -> Work[Prepared]:
    """What the training of a fold needs, counted from 1, or that of all rows, which is the last."""
    corpus = whole.corpus
    held = () if number > len(whole.folds) else whole.folds[number - 1]
    own = replace(whole, corpus=trained_rows(whole, number), folds=())
    rows, summaries = yield from preparing.rows_of(own, [seed], mine=mine)
    dev = _judge(whole, items_of(whole.texts.dev, corpus, held)) if held else probed(whole)
    held_rows = corpus.taken(held) if held else None
    recipe = replace(whole.recipe, settings={**whole.recipe.settings, "steps": updates(whole)})
    return replace(
        own,
        recipe=recipe,
        corpus=corpus,
        rows=rows,
        dev=dev,
        reports=summaries,
        texts=replace(whole.texts, dev_rows=held_rows),
        fold=number if held else 0,
        until=None if held or not by_steps(whole) else round(chosen(whole, finished)),
    )


def probed(whole: Prepared) -> Judge:
    """The items whose vectors are saved while all rows are trained on."""
    return _judge(whole, range(min(PROBED, len(whole.texts.dev))))


def _judge(whole: Prepared, items: Sequence[int]) -> Judge:
    """How some items of the set of all rows are scored."""
    return preparing.judge_of(whole.texts.dev.taken(items), whole.texts, whole.encoder, whole.prompts)


def trained_rows(whole: Prepared, number: int) -> Corpus:
    """The rows that are trained on for a fold, counted from 1: those of the others; after the last fold, all rows."""
    if number > len(whole.folds):
        return whole.corpus
    rows = whole.corpus.taken(sorted(set(range(len(whole.corpus))).difference(whole.folds[number - 1])))
    return replace(rows, name=f"{rows.name} without the rows of fold {number} of {len(whole.folds)}")


def check(whole: Prepared, learner: Learner) -> None:
    """Refuse a fold without whose rows the others fill no batch, before the first one is trained."""
    sampler, world = learner.method.sampler(), learner.world
    for number in range(1, len(whole.folds) + 1):
        rows = trained_rows(whole, number)
        drawn = corpora.drawn(rows, drawn_count(whole.recipe, rows), learner.seed)
        Feed(drawn, learner.schedule, learner.seed, world.rank, world.size, sampler).batch(0)


def updates(whole: Prepared) -> int:
    """How many updates every training has, whatever its fold: as many as the smallest one would have."""
    recipe, fewest = whole.recipe, len(whole.corpus) - max(map(len, whole.folds))
    rows = drawn_count(recipe, whole.corpus.taken(range(fewest)))
    return recipe.schedule().updates(recipe.kind.items(recipe.settings, rows))


def by_steps(whole: Prepared) -> bool:
    """Whether the folds choose the number of updates; if not, they choose the share of the tuned weights."""
    return whole.recipe.schedule().blend == 1


def chosen(whole: Prepared, finished: Sequence[FoldScores], without: int | None = None) -> float:
    """What the folds choose, but for one of them; of two numbers of updates in the middle the lower one.

    Of shares that are equally good the largest: a small one hides what was trained.
    """
    counted = [one for place, one in enumerate(finished) if place != without]
    if by_steps(whole):
        return median_low([one.best for one in counted])
    scores = mean_scores(counted)
    return max(scores, key=lambda share: (scores[share], share)) if scores else counted[0].tried[-1]


def mean_scores(finished: Sequence[FoldScores]) -> dict[float, float]:
    """The mean score × 100 over the folds of each share; none if a fold's rows are too few for a score."""
    shares: dict[float, float] = {}
    for place, share in enumerate(finished[0].tried):
        known = [score for one in finished if (score := one.scores[place]) is not None]
        if len(known) == len(finished):
            shares[share] = mean(known)
    return shares


def pooled(whole: Prepared, finished: Sequence[FoldScores], items: Sequence[Floats]) -> Floats:
    """What each item of the set of all rows gets from the model of its fold, at what the other folds choose.

    `items` has, for each fold, what its items got from everything that was tried (tried, item): of labelled rows the
    number of the predicted class.
    """
    found = np.full(len(whole.dev), math.nan)
    for place, (one, of_fold) in enumerate(zip(finished, items, strict=True)):
        # a fold that was stopped early has tried less
        at = max(0, bisect_right(one.tried, chosen(whole, finished, without=place)) - 1)
        found[items_of(whole.texts.dev, whole.corpus, whole.folds[place])] = of_fold[at]
    return found


def tried_by_all(whole: Prepared, items: Sequence[Floats]) -> list[Floats]:
    """What each item of the set of all rows gets from the model of its fold, for everything that all folds tried."""
    found = np.full((min(map(len, items)), len(whole.dev)), math.nan)
    for place, of_fold in enumerate(items):
        found[:, items_of(whole.texts.dev, whole.corpus, whole.folds[place])] = of_fold[: len(found)]
    if isinstance(whole.dev, RowsJudge):
        labels = whole.corpus.labels
        words = [whole.dev.words(numbers) for numbers in found]
        return [np.array([*map(eq, labels, one)], dtype=np.float64) for one in words]
    return list(found)


def finish(learner: Learner, steps: int) -> Work[tuple[FoldScores, Floats]]:
    """What a fold tried, and what each of its items got (tried, item); the run has taken so many `steps` by now."""
    schedule, dev = learner.schedule, learner.prepared.dev
    if not learner.shares:
        tried, items = zip(*learner.judged, strict=True)
        scores, best = learner.scores, tried[-1] if learner.best_step is None else learner.best_step
    else:
        shares = (*([0.0] if schedule.keep_base and learner.starts_as_base else []), *learner.shares)
        learner.restore_best()  # of a run that was resumed while it tried shares
        set_share = learner.mixer()
        found = yield from learner.tried(shares, dev, set_share)
        blends = [one for one, _ in found]
        items = tuple(one for _, one in found if one is not None)
        tried, scores = shares, [one.score for one in blends]
        best = learner.best_blend(blends, set_share).alpha
    known = tuple(None if math.isnan(score) else score for score in scores)
    return FoldScores(steps, len(items[0]), tuple(map(float, tried)), known, float(best)), np.stack(items)


@dataclass(frozen=True)
class FoldOutcome:
    """What the folds say of the model that is trained on all rows, whose weights are in place."""

    known: dict[str, Floats]  # what each row gets, by use of the set of all rows
    share: float | None = None  # of the tuned weights; None if the folds chose the number of updates
    rows: JudgedRows = NO_ROWS  # of labelled rows


def outcome(whole: Prepared, learner: Learner, finished: Sequence[FoldScores], items: Sequence[Floats]) -> FoldOutcome:
    """Blend what is trained on all rows, if the folds have chosen a share, and say what each row gets."""
    best = chosen(whole, finished)
    if learner.shares:
        learner.mixer()(best)
    judged, rows = pooled(whole, finished, items), NO_ROWS
    if isinstance(whole.dev, RowsJudge):
        labels, words = whole.corpus.labels, whole.dev.words(judged)
        rows = JudgedRows(class_scores(labels, words), tuple(zip(labels, words, strict=True)))
        judged = np.array([label == word for label, word in rows.predicted], dtype=np.float64)
    return FoldOutcome(dict.fromkeys(whole.cross_fitted, judged), best if learner.shares else None, rows)
