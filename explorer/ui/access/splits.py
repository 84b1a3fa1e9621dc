"""Scores on the dev set and the test set of the sidebar's evaluation set: its splits, or halves of it."""

from dataclasses import dataclass, replace

import numpy as np

from explorer.data.graded import sets
from explorer.evaluating.kinds import item_scores
from explorer.evaluating.tasks import retrieval
from explorer.measuring.scores import layer_scores
from explorer.ui.access import cached_texts, set_choice, sidebar_choice


@dataclass(frozen=True)
class ScoredSet:
    """A dev set or a test set with its scores."""

    name: str
    count: int  # of pairs, or of queries, triplets or rows
    scores: layer_scores.LayerScores
    measured: tuple[object, ...]


def dev_and_test(
    scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice
) -> tuple[ScoredSet, ScoredSet] | None:
    """Both splits of the chosen set, scored; None if it has none, or they are not scored yet."""
    if isinstance(scored.scores, item_scores.ItemScores):
        return _halves_of_items(scored)
    given = choice.evaluation_set
    names = sets.dev_and_test(given)
    if names is None:
        return None
    if given.is_divided:  # the sample, or an uploaded set: a half has some of the scores of the whole
        if given.kind == sets.SetKind.UPLOADED and cached_texts.why_not_split(given):
            return None
        whole = scored if given.whole == given else sidebar_choice.scored(replace(choice, evaluation_set=given.whole))
        if whole is None or whole.graded is None:
            return None
        rows_of = whole.graded.rows_of
        first, second = (
            ScoredSet(one.name, len(one), whole.scores.of_pairs(rows_of(one)), (*whole.measured, one.digest))
            for one in map(cached_texts.graded_pairs, names)
        )
        return first, second
    other = next(one for one in names if one.piece != (given.piece or "test"))
    if not set_choice.on_this_disk(other):
        return None
    partner = sidebar_choice.scored(replace(choice, evaluation_set=other))
    if partner is None:
        return None  # progress is shown
    both = [ScoredSet(one.pairs.name, len(one.pairs), one.scores, one.measured) for one in (scored, partner)]
    dev, test = both[::-1] if other == names[0] else both
    return dev, test


def _halves_of_items(scored: sidebar_choice.ModelScores) -> tuple[ScoredSet, ScoredSet] | None:
    """Two halves of the queries, triplets or rows, drawn by their text; None of so few that an interval is empty."""
    texts = next(iter(scored.pairs.text_columns.values()))
    first = retrieval.half(texts)
    if min(first.sum(), (~first).sum()) < retrieval.LEAST:
        return None
    names = f"one half of {scored.pairs.name}", "the other half"
    dev, test = (
        ScoredSet(name, len(rows), scored.scores.of_pairs(rows), (*scored.measured, name))
        for name, rows in zip(names, (np.flatnonzero(first).tolist(), np.flatnonzero(~first).tolist()), strict=True)
    )
    return dev, test


def is_measured_now(choice: sidebar_choice.Choice) -> bool:
    """Whether the other split of the chosen set is on this disk, so that `dev_and_test` waits for its scores."""
    given = choice.evaluation_set
    names = sets.dev_and_test(given)
    if names is None or given.is_divided:
        return False
    return all(map(set_choice.on_this_disk, names))
