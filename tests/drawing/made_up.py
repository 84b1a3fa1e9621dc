"""Made-up data for the tests of figures: scores and geometry of two encoders, with texts of any kind."""

from __future__ import annotations

import numpy as np

from explorer.data.text_sets import GradedPairs
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.head_facts import HeadFacts, PooledLayers
from explorer.encoding.read.pooling import LAST, OWN, parse, rows
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_report import Findings
from explorer.measuring.geometry.layer_geometry import LayerGeometry
from explorer.measuring.geometry.vector_geometry import Geometry
from explorer.measuring.scores.layer_scores import LayerScores

NASTY = (
    "<script>alert(1)</script>",
    "**bold** `code` $x$ <img src=x onerror=alert(1)>",
    "שלום </td></table> & &amp; \"quoted\" 'so'",
    "one\nline\n\nand another 🦊",
    "x" * 5000,
    "half a pair \ud83e of surrogates",
)
CLS = HeadFacts((PooledLayers("cls", (LAST,)),))


def pairs(count: int = 60) -> GradedPairs:
    """Pairs with a nasty text in every other place."""
    first = tuple(NASTY[place // 2 % 6] + f" {place}" if place % 2 else f"plain {place}" for place in range(count))
    gold = tuple(round(5 * place / (count - 1), 2) for place in range(count))
    return GradedPairs("<b>set</b> & more", first, first[::-1], gold, ("",) * count, ("<i>a</i>", "b") * (count // 2))


def scores(gold: tuple[float, ...], seed: int, last: int = 2) -> LayerScores:
    """Cosines that follow the grades more or less; those of [CLS] in layer 0 are all the same."""
    random = np.random.default_rng(seed)
    shape = len(rows(last)), 3, len(gold)
    cosines = (np.array(gold) * 0.1 + random.normal(size=shape) * 0.25).astype(np.float32)
    cosines[0, 0] = 1
    own = (np.array(gold) * 0.1 + random.normal(size=len(gold)) * 0.1).astype(np.float32)
    told = {"precision": "float32", "device": "cpu", "max_length": 64, "truncated": 3, "sentences": 99, "seconds": 1.0}
    told |= {"own_title": "<i>own</i> title", "gold": np.array(gold), "parts": ("",) * len(gold)}
    return LayerScores(rows=rows(last), cosines=cosines, own=own, **told)


def geometry(last: tuple[int, int] = (2, 2)) -> LayerGeometry:
    """Numbers drawn at random; nothing is known of B's layer 0."""
    random = np.random.default_rng(0)
    missing = Geometry(1.0, *[float("nan")] * 2, 0.0, float("nan"), 60, 0.0)
    one, other = (
        tuple(Geometry(*random.uniform(0, 1, 5), 60, float(random.uniform(0, 1))) for _ in range(layers + 1))
        for layers in last
    )
    sides = (one, (missing, *other[1:])), (parse(f"mean of layer {last[0]}", last[0]), OWN), (one[-1], one[0])
    moved = [tuple(random.uniform(0, 1, last[0] + 1)) if last[0] == last[1] else () for _ in range(2)]
    counts = {"sentences": 60, "pairs": 60, "of_pairs": 60, "close": 13, "close_from": 4.0, "seed": 0}
    return LayerGeometry("mean", *sides, *moved, **counts)


def findings(looked: LayerGeometry | None = None, last: tuple[int, int] = (2, 2)) -> Findings:
    """All of it."""
    graded = pairs()
    one, other = (scores(graded.gold, seed, layers) for seed, layers in enumerate(last))
    comparison = Comparison(one, other, parse(f"mean of layer {last[0]}", last[0]), OWN, resamples=60)
    found = tuple(Found(name, None, name * 4) for name in ("<b>one</b>", "run:'other\""))
    return Findings(found, graded, comparison, comparison.differences(), "Spearman", "all", looked)
