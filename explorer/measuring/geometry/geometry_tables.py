"""What is to be said of the geometry of layers: which measures, what each means, and the rows of a table?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.measuring.geometry.cloud import NEIGHBOURS
from explorer.measuring.geometry.layer_geometry import Cloud, LayerGeometry
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.table_cells import Rows, rounded


@dataclass(frozen=True)
class Measure:
    """One number of a cloud: its name, what it is, and where it stands."""

    name: str
    meaning: str
    of: Callable[[Cloud], float]


MEASURES = (
    Measure(
        "mean cosine of two sentences",
        "Over all pairs of different sentences; near 1, all lie in a narrow cone.",
        lambda cloud: cloud.geometry.strangers,
    ),
    Measure(
        "share of the widest direction",
        "Of the variance; near 1, all differences lie on one line.",
        lambda cloud: cloud.geometry.first_direction,
    ),
    Measure(
        "share of the widest three",
        "Of the variance, in the three widest directions together.",
        lambda cloud: cloud.geometry.first_three,
    ),
    Measure("uniformity", "Lower is more spread out.", lambda cloud: cloud.geometry.uniformity),
    Measure("alignment", "Lower: pairs that people find alike lie closer.", lambda cloud: cloud.alignment),
    Measure(
        "hubness",
        f"Skewness of how often a sentence is among another's nearest {NEIGHBOURS}; 0 is even, "
        "above 1 a few are everybody's neighbour.",
        lambda cloud: cloud.geometry.hubness,
    ),
)

HOW_TO_READ = (
    "CKA is 1 where a layer of B is that of A, only turned, moved or scaled, and falls as sentences change neighbours. "
    "The shift is 1 less the mean cosine of a sentence's vector in A with that in B; it says something where B was "
    "tuned from A, since only then have they the same axes. Whether a change is for the better is for B - A to say."
)


def definition(found: LayerGeometry) -> str:
    """What the numbers are, on what they were taken."""
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
    """What cannot be said of these two, and why; empty where all can."""
    if len(found.sides) < 2:
        return ""
    layers = [len(side.layers) - 1 for side in found.sides]
    if not found.alike:
        return f"A has {layers[0]} layers and B {layers[1]}: no layer of one is a layer of the other."
    if not found.same_width:
        return (
            "The vectors of A and B are of different widths: they have no cosine, so there is no shift. CKA needs none."
        )
    return ""


def geometry_rows(found: LayerGeometry) -> Rows:
    """A row for every layer of every side, and one for the reading each stands for."""
    return [
        {"encoder": name, "reading": title, **{measure.name: rounded(measure.of(cloud), 5) for measure in MEASURES}}
        for name, side in zip("AB", found.sides, strict=False)
        for title, cloud in (
            *((f"{found.pooling} of layer {layer}", cloud) for layer, cloud in enumerate(side.layers)),
            (f"chosen: {side.reading.title}", side.chosen),
        )
    ]


def drift_rows(found: LayerGeometry, differences: Interval | None) -> Rows:
    """A row for every layer that both have; `differences` (layer) are those of the scores."""
    rows: Rows = []
    for layer, (alike, shift) in enumerate(zip(found.alike, found.shift, strict=True)):
        rows.append(
            {"reading": f"{found.pooling} of layer {layer}", "CKA": rounded(alike, 5), "shift": rounded(shift, 5)}
        )
        if differences is not None:
            told = {"difference": differences.difference, "low": differences.low, "high": differences.high}
            rows[-1] |= {name: rounded(values[layer], 4) for name, values in told.items()}
    return rows
