"""Smaller encoders that are trained in place of being cut: the runs that made one, and when to train one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from explorer import in_words, places, run_folder
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.studies.size.points import Picture, Point
from explorer.training.record import runs
from explorer.training.record import status as statuses

LOSS = 1.0  # points × 100 that a cut has to lose, for training to be worth its time


@dataclass(frozen=True)
class CutLoss:
    """An encoder that is cut after a layer, and what that loses."""

    layers: int
    best: Point
    lost: float  # points × 100


def of_base(base: Found) -> tuple[str, ...]:
    """The models with fewer layers that finished runs trained from this one, by name, newest first."""
    return tuple(run_folder.model_name(run.name) for run in runs.every() if _is_smaller(run, base))


def _is_smaller(run: runs.Run, base: Found) -> bool:
    if not run.has_model or run.status().state != statuses.FINISHED:
        return False
    try:
        of_run = _base_digest(run, places.stamp(run.folder / run_folder.RECIPE))
        return of_run == base.digest and layout.last_layer(run.model) < layout.last_layer(base.folder)
    except (StrataError, OSError):  # lists of runs say what is wrong with it
        return False


@lru_cache(maxsize=1024)  # a form asks for all runs each time that it is drawn
def _base_digest(run: runs.Run, _stamp: tuple[int, ...]) -> str:
    return str(run.recipe().made_with.get("model_digest") or "")


def worth_training(picture: Picture) -> CutLoss | None:
    """The least cut, of at most half of the layers, that loses more than a point; None if there is none.

    None as well if the picture has another encoder with so few layers, which is perhaps trained already.
    """
    whole = picture.whole
    half = -(-whole.size.layers // 2)
    best: dict[int, Point] = {}
    for point in picture.points:
        size = point.size
        only_cut = size == replace(whole.size, layers=size.layers, pooling=size.pooling)
        if point.model == whole.model and only_cut and 0 < size.layers <= half:
            best[size.layers] = max(point, best.get(size.layers, point), key=lambda one: one.score)
    trained = {point.size.layers for point in picture.points if point.model != whole.model}
    losses = [CutLoss(layers, point, in_words.gap(point.score, whole.score)) for layers, point in best.items()]
    worth = [one for one in losses if one.lost > LOSS and one.layers not in trained]
    return max(worth, key=lambda one: one.layers, default=None)
