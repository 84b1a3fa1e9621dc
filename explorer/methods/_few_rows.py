"""Settings for a text of few rows: as measured, by the kind and the number of its rows; docs/results.md has the table.

The papers' batches and epochs are made for many thousands of rows. A text of some hundred would get an update or two.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.data.text_sets import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, SENTENCES, TRIPLETS, Kind
from explorer.knobs import Values
from explorer.methods._method import Method

ENOUGH = 60  # updates


@dataclass(frozen=True)
class FewRows:
    """The settings up to so many rows: a batch, the number of updates, and for suggested methods further settings."""

    most: int
    batch: int
    updates: int
    suggested: Values
    enough: int = ENOUGH  # updates of a method's own schedule, which then stays as it is


HALF: Values = {"blend": 0.5}  # of the base's weights and of the tuned ones: what few rows teach is not sure
CHOSEN: Values = {"blend": 0.0}  # by the dev set, which is large enough
RAISED: Values = {"learning_rate": 1e-4}  # a new layer is far from trained after some hundred updates at a usual rate
FEW, SOME, MANY = 100, 500, 5_000  # rows

TABLE: Mapping[Kind, tuple[FewRows, ...]] = {
    **dict.fromkeys(
        (SCORED_PAIRS, PAIRS, TRIPLETS),
        (FewRows(FEW, 8, 60, HALF), FewRows(SOME, 16, 100, HALF), FewRows(MANY, 32, 150, CHOSEN, 150)),
    ),
    # of many rows the best step comes early, with many negatives in a batch: evaluations have to be close to each other
    SENTENCES: (FewRows(FEW, 8, 60, HALF), FewRows(SOME, 16, 100, HALF), FewRows(MANY, 64, 60, CHOSEN)),
    LABELLED_TEXTS: (
        FewRows(FEW, 16, 100, RAISED),
        FewRows(SOME, 16, 150, RAISED),
        FewRows(MANY, 16, 300, RAISED, 300),
    ),
}
OTHERS = SENTENCES  # whose settings texts of other kinds have


def fitted_names(kind: type[Method]) -> frozenset[str]:
    """The settings that the number of rows may decide: a command states them, so that it needs no text to be exact."""
    if not kind.trains():
        return frozenset()
    rows = TABLE.get(kind.rows, TABLE[OTHERS])
    return frozenset({"batch_size", "steps"}).union(*(_further(kind, row) for row in rows))


def _further(kind: type[Method], row: FewRows) -> Values:
    """The further settings of a row, which were measured for methods that are suggested for any number of rows."""
    return row.suggested if kind.suggestion is not None and not kind.is_for_few() else {}


def few_rows(kind: type[Method], rows: int) -> dict[str, bool | int | float | str]:
    """The settings for so many rows; none if the method's own batches and epochs are made for as many.

    Where its own number of updates is large enough, but a batch takes more rows than there are, only the batch changes.
    Of pairs of rows an epoch has more than enough: they have the updates of the table. A method for few rows has a rate
    and a share of its own, which fit them.
    """
    usual, items = kind.schedule, kind.items({}, rows)
    row = next((one for one in TABLE.get(kind.rows, TABLE[OTHERS]) if rows <= one.most), None)
    if row is None or not kind.trains():
        return {}
    if usual.updates(items) >= row.enough and kind.rows_each == 1:
        return {} if items >= usual.batch_size else {"batch_size": fitting_batch(items)}
    settings: dict[str, bool | int | float | str] = {}
    if (batch := min(row.batch, usual.batch_size, fitting_batch(items))) != usual.batch_size:
        settings["batch_size"] = batch
    settings["steps"] = row.updates
    return settings | dict(_further(kind, row))


def unless_chosen(fitted: Values, chosen: Values) -> dict[str, bool | int | float | str]:
    """Of the settings for few rows those that leave what is chosen as it is; with `epochs` also the number of steps."""
    names = {*chosen, *(["steps"] if "epochs" in chosen else [])}
    return {name: value for name, value in fitted.items() if name not in names}


def fitting_batch(items: int) -> int:
    """The largest power of two of which so few rows or pairs fill at least two batches, and at least 2."""
    return max(2, 1 << max(1, items // 2).bit_length() - 1)
