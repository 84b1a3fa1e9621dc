"""Join a saved result with what was measured since, and take a part of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import Measured


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
