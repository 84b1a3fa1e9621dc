"""Store what each item of an evaluation set gets from a model, so that no model is scored on a set twice."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from explorer.data.text_sets import digest_of
from explorer.errors import NotWritable
from explorer.measuring.scores.judge import Floats, Judge
from explorer.places import cache_folder, write_whole

VERSION = "2"  # a new one if the meaning of an item changes, so that stored ones are not used

logger = logging.getLogger(__name__)


def item_key(model: str, judge: Judge, head: str, device: str, max_length: int) -> str:
    """The key of what each item gets from a model, in float32, under a head that `head` names unambiguously."""
    of_judge = type(judge).__name__, judge.measure, judge.digest, str(len(judge.texts)), *judge.texts
    return digest_of(("items", VERSION, model, *of_judge, head, device, str(max_length)))


def kept_items(key: str) -> Floats | None:
    """What each item gets, if it is stored; None if missing or broken."""
    try:
        found: Floats = np.load(_path(key), allow_pickle=False)
    except (OSError, EOFError, ValueError):
        return None
    return found


def keep_items(key: str, items: Floats) -> None:
    """Store what each item gets; where nothing can be stored, the next run scores the model again."""
    try:
        write_whole(_path(key), lambda file: np.save(file, items))
    except NotWritable as error:
        logger.warning("The scores were not stored. %s", error)


def _path(key: str) -> Path:
    return cache_folder() / "items" / f"{key}.npy"
