"""Scores of a run's checkpoints, and their change since the first one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import chosen_prompts
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import OWN, Reading
from explorer.errors import BadChoice
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import LayerScores, score_rows
from explorer.measuring.scores.measure import Load, Settings, load_encoder, measure, resolved, shelf_key, stored_scores
from explorer.progress import Phase, Progress, Work, map_progress


@dataclass(frozen=True, eq=False)
class Change:
    """A step's scores minus those of the first: for every cell, for the model default if one is declared, and for the
    layers & poolings outside of the grid that were asked for."""

    grid: Interval
    own: Interval | None
    also: Mapping[Reading, Interval] = field(default_factory=dict)

    @property
    def widest(self) -> float:
        """The largest absolute difference; 0 if there is none."""
        every = [one.difference.ravel() for one in (self.grid, self.own) if one is not None]
        known = np.abs(np.concatenate(every))
        return float(known[np.isfinite(known)].max(initial=0.0))

    def of(self, reading: Reading, scores: LayerScores) -> Interval:
        """The difference of one layer & pooling; `scores` gives its position."""
        if reading == OWN:
            missing = np.asarray(np.nan)
            return self.own or Interval(missing, missing, missing)
        at = scores.place(reading)
        if at is None:
            return self.also[reading]
        return self.grid.at(at)


def score_steps(
    names: Sequence[str],
    pairs: GradedPairs,
    settings: Settings,
    load: Load = load_encoder,
    also: Sequence[Reading] = (),
    prompt: str | None = None,
) -> Work[tuple[LayerScores, ...]]:
    """Scores of every model by its name, also under layers & poolings outside of the grid; models with stored scores
    are not loaded. They read texts after a `prompt`, if one is chosen.

    All are of the device that `auto` stands for here: what is stored under it may be of another.
    """
    settings = resolved(settings)
    found: list[model_names.Found] = []
    for place, name in enumerate(names):
        yield Progress("reading the files of the models", place, len(names))
        found.append(chosen_prompts.after(model_names.find(name), prompt))
    known = {one.digest: stored_scores(shelf_key(one, pairs, settings)) for one in found}
    known = {digest: None if one is None or one.lacks(also) else one.only(also) for digest, one in known.items()}
    missing = {one.digest: one for one in found if known[one.digest] is None}
    for done, (digest, one) in enumerate(missing.items()):
        known[digest] = yield from _of_all(measure(one, pairs, settings, load, also=also), done, len(missing))
    every = tuple(scores for one in found if (scores := known[one.digest]) is not None)
    for place, scores in enumerate(every):
        yield Progress("correlating", place, len(every))
        score_rows(scores)  # computes and caches all correlations
    return every


def _of_all(work: Work[LayerScores], before: int, models: int) -> Work[LayerScores]:
    """The progress of one model as a part of all: each encodes the same tokens."""
    stage = f"{Phase.ENCODING_TOKENS.text()} with {models} models" if models > 1 else Phase.ENCODING_TOKENS

    def of_all(progress: Progress) -> Progress | None:
        if progress.stage is Phase.ENCODING_TOKENS:
            return Progress(stage, before * progress.total + progress.done, models * progress.total)
        return None if before else progress  # else the last progress is still right

    return map_progress(work, of_all)


def changes(scores: Sequence[LayerScores], metric: str, aggregate: str) -> Work[tuple[Change, ...]]:
    """Each minus the first, with intervals from the same resamples."""
    first = scores[0]
    found: list[Change] = []
    anything = Reading(first.rows[0], first.poolings[0])
    for place, now in enumerate(scores):
        yield Progress("bootstrap", place, len(scores))
        if now is first:  # 0 with an interval of 0; NaN without a score
            table, own_score = first.table(metric, aggregate), first.own_score(metric, aggregate)
            also = {one: _zero(first.score(one, metric, aggregate)) for one in first.also}
            found.append(Change(_zero(table), None if own_score is None else _zero(own_score), also))
            continue
        grid, own = Comparison(first, now, anything, anything).cells(metric, aggregate)
        if grid is None:
            raise BadChoice(
                f"The first model has {first.last} layers and another {now.last}: they are not from one run."
            )
        of_also = {one: Comparison(first, now, one, one).chosen(metric, aggregate) for one in first.also}
        found.append(Change(grid, own, of_also))
    return tuple(found)


def _zero(scores: NDArray[np.float64] | float) -> Interval:
    return Interval(*[np.asarray(scores) - scores] * 3)


def step_rows(steps: Sequence[int], scores: Sequence[LayerScores]) -> list[dict[str, object]]:
    """A row for every layer & pooling of every step, with every metric."""
    return [{"step": step, **row} for step, one in zip(steps, scores, strict=True) for row in score_rows(one)]
