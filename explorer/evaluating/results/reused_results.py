"""Find a saved result that serves a request, so that nothing is measured twice, and join it with what was added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from explorer.data.kinds import digest_of
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import Measured
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, Scored

# a new version if the meaning of scores changes, such as by another list of C, so that old results are not reused
VERSION = "1"


def key(model: str, decisive: Iterable[object]) -> str:
    """The key of a result, known before anything is encoded: the digest of the model and all that decides scores.

    Layers & poolings are no part of it: a result with more of them serves a request for fewer.
    """
    return digest_of(("result", VERSION, model, *(repr(one) for one in decisive)))


def saved(model: Scored, task: str, wanted: str) -> Result | None:
    """The saved result of a model on a task, if it has this key; older files have none."""
    found = result_files.read(result_files.path_of(model, task))
    if found is None or found.key != wanted or (found.model.name, found.measured.task) != (model.name, task):
        return None
    return replace(found, model=model)


def joined(old: Measured, new: Measured, order: Sequence[str]) -> Measured:
    """The layers & poolings of two results with one key, in this order, others before the model default; where both
    have one, the new scores count."""
    if (old.measures, old.seeds) != (new.measures, new.seeds):
        return new
    rows = {of.titles[at]: of.table[at] for of in (old, new) for at in range(len(of.titles))}
    places = {title: place for place, title in enumerate(order)} | {MODEL_DEFAULT: len(rows) + len(order)}
    titles = tuple(sorted(rows, key=lambda title: places.get(title, len(order))))
    return replace(new, titles=titles, table=np.array([rows[title] for title in titles]))


def narrowed(measured: Measured, titles: Iterable[str]) -> Measured:
    """The result with these layers & poolings and the model default alone."""
    wanted = {*titles, MODEL_DEFAULT}
    places = [place for place, title in enumerate(measured.titles) if title in wanted]
    return replace(measured, titles=tuple(measured.titles[at] for at in places), table=measured.table[places])
