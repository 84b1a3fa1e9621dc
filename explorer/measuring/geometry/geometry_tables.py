"""Measures of embedding geometry, with their meaning and table rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.measuring.geometry.layer_geometry import Cloud, LayerGeometry
from explorer.measuring.geometry.vector_geometry import NEIGHBOURS
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.table_cells import Rows, rounded

OTHER_DEPTH = "A has {} layers and B {}: their layers do not correspond."


@dataclass(frozen=True)
class Measure:
    """A measure: its name, its meaning, and how to get it."""

    name: str
    meaning: str
    of: Callable[[Cloud], float]


MEASURES = (
    Measure(
        "mean cosine of two sentences",
        "Similarity of random pairs (anisotropy), from -1 to 1. Near 0 is good; near 1, all vectors are in a narrow "
        "cone.",
        lambda cloud: cloud.geometry.strangers,
    ),
    Measure(
        "share of the widest direction",
        "Share of the variance in the first principal component, from 0 to 1. Lower is better; near 1, vectors differ "
        "along one line only.",
        lambda cloud: cloud.geometry.first_direction,
    ),
    Measure(
        "share of the widest three",
        "Share of the variance in the first three principal components, from 0 to 1. Lower is better.",
        lambda cloud: cloud.geometry.first_three,
    ),
    Measure(
        "uniformity",
        "How evenly vectors are spread, at most 0. Lower is better.",
        lambda cloud: cloud.geometry.uniformity,
    ),
    Measure(
        "alignment",
        "Mean squared distance of positive pairs, from 0 to 4. Lower is better.",
        lambda cloud: cloud.alignment,
    ),
    Measure(
        "hubness",
        f"Skewness of how often a sentence is among another's nearest {NEIGHBOURS}. Near 0 is good; above 1, a few "
        "sentences (hubs) are neighbours of many.",
        lambda cloud: cloud.geometry.hubness,
    ),
)

HOW_TO_READ = (
    "CKA is from 0 to 1: 1 if a layer of B is a rotation, translation and scaling of A's, lower as neighbours change. "
    "The shift is 1 minus the mean cosine of a sentence's vectors in A and B, 0 if nothing changed; it is meaningful "
    "only if B was tuned from A. Neither says whether a change is better or worse: see B - A."
)


def definition(found: LayerGeometry) -> str:
    """Define the measures, and name the sentences they were measured on."""
    told = f"{found.sentences:,} distinct sentences of {found.pairs:,} pairs"
    if found.pairs < found.of_pairs:
        told += f", drawn from {found.of_pairs:,} (seed {found.seed})"
    count = found.sentences
    return (
        f"{told}. Vectors are normalised to length 1. Alignment: mean squared distance of the {found.close:,} pairs "
        f"graded {found.close_from:g} or more. Uniformity: log of the mean of exp(-2 d²) over all "
        f"{count * (count - 1) // 2:,} pairs of sentences."
    )


def not_comparable(found: LayerGeometry) -> str:
    """The reason why two sides cannot be compared; "" if they can."""
    if len(found.sides) < 2:
        return ""
    layers = [len(side.layers) - 1 for side in found.sides]
    if not found.alike:
        return OTHER_DEPTH.format(*layers)
    if not found.same_width:
        return (
            "The vectors of A and B have different dimensions, so there is no cosine and no shift. CKA is still "
            "defined."
        )
    return ""


def geometry_rows(found: LayerGeometry) -> Rows:
    """A row for every layer of every side, and one for the chosen layer & pooling of each."""
    return [
        {
            "encoder": name,
            "layer & pooling": title,
            **{measure.name: rounded(measure.of(cloud), 5) for measure in MEASURES},
        }
        for name, side in zip("AB", found.sides, strict=False)
        for title, cloud in (
            *((f"{found.pooling} of layer {layer}", cloud) for layer, cloud in enumerate(side.layers)),
            (f"chosen: {side.reading.title}", side.chosen),
        )
    ]


def drift_rows(found: LayerGeometry, differences: Interval | None) -> Rows:
    """A row for every common layer; `differences` (layer) are those of the scores."""
    rows: Rows = []
    for layer, (alike, shift) in enumerate(zip(found.alike, found.shift, strict=True)):
        rows.append(
            {
                "layer & pooling": f"{found.pooling} of layer {layer}",
                "CKA": rounded(alike, 5),
                "shift": rounded(shift, 5),
            }
        )
        if differences is not None:
            told = {"difference": differences.difference, "low": differences.low, "high": differences.high}
            rows[-1] |= {name: rounded(values[layer], 4) for name, values in told.items()}
    return rows
