"""Measure how close vectors are to given ones, apart from what was done to them last: cut, normalised, rounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.studies.serving import causes
from explorer.studies.serving.causes import Cause

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# of a vector's length: the largest difference of a number that float32 arithmetic explains. Libraries, processors and
# batches differ by 1e-7 to 5e-6
EXACT = 2e-5
# of a vector's length, by which arithmetic of few bits moves a vector: measured on encoders of 6 to 24 layers
ARITHMETIC = {3e-3: "float16 arithmetic, or TF32", 3e-2: "bfloat16 arithmetic"}
EVEN = 8.0  # rounding moves all vectors alike: none by more than so many times the median
NEAR = max(ARITHMETIC)  # a distance up to which two vectors are those of one setting
SAME_NORM = 0.02  # the largest share by which lengths differ that are taken for equal
FEWEST = 12  # vectors from which a scale for each dimension can be estimated
LARGEST_CODE = 127  # of int8
DECIMALS = range(2, 7)  # to which numbers are often rounded in JSON
_UNIT = 1e-9


@dataclass(frozen=True, eq=False)
class Grid:
    """The numbers that a format can hold, as far as given vectors show it: how far each may be from the exact one."""

    name: str = ""
    tolerance: Floats | float = 0.0  # (row, width)
    codes: bool = False  # whole numbers, whose scale is not known

    def rows(self, which: NDArray[np.intp]) -> Grid:
        """The same for some of the rows."""
        tolerance = self.tolerance if isinstance(self.tolerance, float) else self.tolerance[which]
        return replace(self, tolerance=tolerance)


@dataclass(frozen=True, eq=False)
class Closeness:
    """How close vectors are to given ones: arrays of sentences, and what was done to the given ones last."""

    causes: tuple[Cause, ...]
    cosines: Floats
    differences: Floats  # the largest of a number of each vector
    distances: Floats  # of each two vectors, as a share of their length
    equal: Flags  # up to the rounding of the arithmetic and of the format

    @property
    def share_equal(self) -> float:
        """The share of the sentences whose vectors are equal."""
        return float(self.equal.mean())

    @property
    def rank(self) -> tuple[float, float, float]:
        """Which of two is closer: by equal vectors, then by those that are near, then by the mean cosine."""
        return self.share_equal, float((self.distances <= NEAR).mean()), round(float(self.cosines.mean()), 2)

    def arithmetic(self) -> str:
        """The arithmetic of few bits that explains what is left of the differences; "" if none does."""
        largest = float(self.distances.max())
        return next((words for limit, words in ARITHMETIC.items() if self.is_even and largest <= limit), "")

    @property
    def is_even(self) -> bool:
        """Whether all vectors differ alike, as rounding makes them."""
        return float(self.distances.max()) <= EVEN * float(np.median(self.distances))


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1; a zero vector is unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))


def mean_cosine(pooled: NDArray[Any], given: Floats) -> float:
    """The mean cosine of vectors with given ones, which may have been cut to their first dimensions."""
    kept = pooled[:, : given.shape[1]].astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", kept, kept) * np.einsum("ij,ij->i", given, given))
    return float((np.einsum("ij,ij->i", kept, given) / np.maximum(lengths, _UNIT**2)).mean())


def closeness(
    pooled: NDArray[Any], normalises: bool, given: Floats, grid: Grid, *, as_declared: bool = False
) -> Closeness | None:
    """Compare given vectors with those that a model has before it normalises them; None if these are too narrow.

    `as_declared` lets them have no other length than the model declares.
    """
    whole, width = pooled.astype(np.float64), given.shape[1]
    if whole.shape[1] < width:
        return None
    kept = whole[:, :width]
    tolerance: Floats | float
    found = [causes.first_dimensions(width, whole.shape[1])] if width < whole.shape[1] else []
    if grid.codes:
        expected = unit(kept)
        given, tolerance = _of_codes(expected, given)
    else:
        measured = None if as_declared else np.linalg.norm(given, axis=1)
        lengths, cause = _lengths(whole, kept, normalises, measured)
        found += [cause] if cause else []
        expected, tolerance = unit(kept) * lengths[:, None], grid.tolerance
    return _compared(tuple(found), expected, given, tolerance, grid.name)


def _compared(
    found: tuple[Cause, ...], expected: Floats, given: Floats, tolerance: Floats | float, rounded: str
) -> Closeness:
    gaps = np.abs(given - expected)
    sizes = np.maximum(np.linalg.norm(expected, axis=1), _UNIT)
    equal = (gaps <= tolerance + EXACT * sizes[:, None]).all(axis=1)
    if rounded and (gaps > EXACT * sizes[:, None]).any():
        found = (*found, causes.rounding(f"rounding to {rounded}"))
    cosines = (unit(given) * unit(expected)).sum(axis=1)
    distances = np.linalg.norm(given - expected, axis=1) / sizes
    return Closeness(found, np.clip(cosines, -1, 1), gaps.max(axis=1) / sizes, distances, equal)


def _lengths(whole: Floats, kept: Floats, normalises: bool, measured: Floats | None) -> tuple[Floats, Cause | None]:
    """The lengths that explain the measured ones, by default those that the model declares, and the cause of others."""
    ones, (before, cut) = np.ones(len(whole)), (np.linalg.norm(one, axis=1) for one in (whole, kept))
    of_unit, is_cut = cut / np.where(before > 0, before, 1), kept.shape[1] < whole.shape[1]
    options: list[tuple[Floats, Cause | None]] = [(ones, None), (cut, causes.norm("no normalisation", True))]
    if normalises and is_cut:
        options = [(of_unit, None), (ones, causes.norm_after_cut()), options[1]]
    elif not normalises:
        once = f"normalised{' after the cut' * is_cut}, which the model does not do"
        options = [(cut, None), (ones, causes.norm(once, False))]
        options += [(of_unit, causes.norm("normalised before the cut, which the model does not do", False))] * is_cut
    if measured is None:
        return options[0]
    misfits = [_misfit(measured, lengths) for lengths, _ in options]
    likely = misfits[0] <= SAME_NORM and misfits[0] <= 10 * min(misfits) + 1e-4
    at = 0 if likely else int(np.argmin(misfits))
    if misfits[at] <= SAME_NORM:
        return options[at]
    usual = options[0][0]
    factor = float(np.median(measured / np.where(usual > 0, usual, 1)))
    if factor > 0 and _misfit(measured, factor * usual) <= SAME_NORM / 10:
        return factor * usual, causes.norm(f"vectors {factor:.4g} times as long", normalises)
    low, high = measured.min(), measured.max()
    return measured, causes.norm(f"vectors of other lengths ({low:.3g} to {high:.3g})", normalises)


def _misfit(measured: Floats, lengths: Floats) -> float:
    """The median share by which lengths differ: a few vectors may be wrong for another reason."""
    return float(np.median(np.abs(measured - lengths) / np.maximum(lengths, _UNIT)))


def grid_of(given: Floats) -> Grid:
    """The format whose numbers all given vectors have; without a name if they have those of float32 or more."""
    largest = float(np.abs(given).max(initial=0))
    if 1 < largest <= 255 and (given == given.round()).all():
        return Grid("8-bit whole numbers", codes=True)
    for decimals in DECIMALS:
        scaled = given * 10.0**decimals
        if np.allclose(scaled, scaled.round(), rtol=1e-6, atol=1e-4):
            return Grid(f"{decimals} decimals", 0.5 * 10.0**-decimals)
    single = given.astype(np.float32)
    if not (single.view(np.uint32) & 0xFFFF).any():
        return Grid("bfloat16", np.abs(given) * 2.0**-8)
    if (single == _half(single)).all():
        return Grid("float16", np.maximum(np.abs(given) * 2.0**-11, 2.0**-25))
    steps = _steps(given)
    return Grid() if steps is None else Grid("int8", np.broadcast_to(steps[:, None], given.shape) * 0.505)


def _half(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float16).astype(np.float32)


def _steps(given: Floats) -> Floats | None:
    """The step of each row of which all its numbers are whole multiples, 128 at most; None if there is none."""
    largest = np.abs(given).max(axis=1)
    levels = [np.unique(np.abs(row).astype(np.float32)).astype(np.float64) for row in given]
    gaps = np.array([np.diff(row, prepend=0.0)[1:].min(initial=np.inf) for row in levels])
    whole = np.round(largest / np.minimum(gaps, np.maximum(largest, _UNIT)))  # as many steps as the smallest gap shows
    tried = largest / LARGEST_CODE, np.full(len(given), largest.max() / LARGEST_CODE), largest / np.maximum(whole, 1)
    for steps in tried:
        multiples = given / np.maximum(steps, _UNIT)[:, None]
        if np.abs(multiples).max() <= LARGEST_CODE + 1.5 and np.allclose(multiples, multiples.round(), atol=2e-3):
            return steps
    return None


def _of_codes(expected: Floats, codes: Floats) -> tuple[Floats, Floats]:
    """Whole numbers as vectors of length 1, and how far each may be from the exact one.

    One scale for each vector is tried, then a scale and an offset for each dimension, as in `quantize_embeddings`.
    """
    norms = (codes**2).sum(axis=1)
    scales = ((expected * codes).sum(axis=1) / np.where(norms > 0, norms, 1))[:, None]
    one_scale = codes * scales, np.broadcast_to(np.abs(scales) * 0.55, codes.shape)
    if len(codes) < FEWEST:
        return one_scale
    centred = codes - codes.mean(axis=0)
    variances = (centred**2).sum(axis=0)
    slopes = (centred * expected).sum(axis=0) / np.where(variances > 0, variances, 1)
    of_dimensions = centred * slopes + expected.mean(axis=0), np.broadcast_to(np.abs(slopes) * 1.1, codes.shape)
    return min((one_scale, of_dimensions), key=lambda one: float(np.abs(one[0] - expected).mean()))
