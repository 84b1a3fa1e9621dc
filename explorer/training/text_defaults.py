"""What a training has by default for its text, where nobody has chosen: dev set and test set, and settings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from explorer.data import corpora, sources
from explorer.errors import SetNotFound
from explorer.knobs import Values
from explorer.methods import few_rows, load


@dataclass(frozen=True)
class TextDefaults:
    """The rows that a text has for a method, the sets that belong to them, and the settings for so few of them."""

    rows: int  # 0 if they are not known
    sets: corpora.Sets | None  # a dev set and a test set; None if the text has none
    settings: Values
    held_out: bool  # whether rows can be held out as a test set

    def sets_with(self, dev: str | None, *, staged: bool = False) -> corpora.Sets | None:
        """The sets of a training whose dev set may be stated, and which may have stages.

        Then no rows are cross-fitted, since they choose, too, and each fold would need a model of every stage.
        """
        if self.sets is None or sources.CROSS_FITTED not in self.sets or dev == sources.CROSS_FITTED:
            return self.sets
        if dev:
            return (dev, sources.HELD_OUT) if self.held_out else None
        return unfolded(self.sets) if staged else self.sets


def unfolded(sets: corpora.Sets) -> corpora.Sets:
    """The same with rows that are held out in place of cross-fitted ones."""
    dev, test = (sources.HELD_OUT if name == sources.CROSS_FITTED else name for name in sets)
    return dev, test


def of_text(
    method: str, data: Sequence[str], columns: Mapping[str, str] | None = None, *, online: bool = False
) -> TextDefaults:
    """The defaults of a method for a text; an error if the text cannot be read, or has no rows for it.

    Of a published set that is not at hand, which whoever trains on it is told, they have no settings.
    """
    stamps = tuple(map(corpora.stamp, data))
    return _of_text(method, tuple(data), tuple(sorted((columns or {}).items())), online, stamps)


@lru_cache(maxsize=256)  # every row of a plan asks, and every rerun of its page
def _of_text(
    method: str,
    data: tuple[str, ...],
    columns: tuple[tuple[str, str], ...],
    online: bool,
    stamps: tuple[Hashable, ...],
) -> TextDefaults:
    kind = load(method)
    try:
        corpus, _ = corpora.corpus(data, kind.rows, dict(columns), online=online, divide=False)
    except SetNotFound:  # its sets are known by their names
        return TextDefaults(0, corpora.matching_sets(data, kind.rows), {}, kind.rows.is_judged)
    sets = corpora.matching_sets(data, kind.rows, corpus if kind.trains() else None, labels=kind.predicts())
    return TextDefaults(len(corpus), sets, few_rows(kind, len(corpus)), kind.rows.is_judged)
