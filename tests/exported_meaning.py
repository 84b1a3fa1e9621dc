"""What cosines of an exported folder mean, by sentence-transformers and scikit-learn alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from explorer.data.text_sets import GradedPairs


def check(folder: Path, dev: GradedPairs, test: GradedPairs) -> dict:
    """Compare `similarity.json` with cosines of the folder as others open it; its content."""
    known = json.loads((folder / "similarity.json").read_text(encoding="utf-8"))
    model = SentenceTransformer(str(folder), device="cpu")

    texts = list(dict.fromkeys((*dev.first, *dev.second, *test.first, *test.second)))
    vectors = model.encode(texts).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = dict(zip(texts, vectors, strict=True))
    cosines = [np.array([rows[a] @ rows[b] for a, b in zip(one.first, one.second, strict=True)]) for one in (dev, test)]
    lowest = 0.2 * min(dev.gold) + 0.8 * max(dev.gold)  # the top fifth of the range
    matches = [np.array(one.gold) >= lowest for one in (dev, test)]
    for place, use in enumerate(("dev", "test")):
        assert known[use]["matches"] == matches[place].sum(), use
    found = IsotonicRegression(out_of_bounds="clip").fit(cosines[0], matches[0]).predict(cosines[1])
    ours = known["reliability"]["isotonic"]
    assert ours["brier_score"] == pytest.approx(brier_score_loss(matches[1], found), abs=2e-4)
    shares, means = calibration_curve(matches[1], found, n_bins=10)
    assert [one["matches"]["value"] for one in ours["bins"]] == pytest.approx(shares, abs=2e-3)
    assert [one["predicted"] for one in ours["bins"]] == pytest.approx(means, abs=2e-3)
    chosen = np.interp(cosines[1], known["probability"]["cosine"], known["probability"]["probability"])
    brier = known["reliability"][known["probability"]["curve"]]["brier_score"]
    assert brier == pytest.approx(brier_score_loss(matches[1], chosen), abs=1e-4)
    vectors = vectors[: len({*dev.first, *dev.second})]
    every = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    for cosine in np.quantile(every, [0.1, 0.5, 0.9, 0.99]):
        share = np.interp(cosine, known["random_pairs"]["cosine"], known["random_pairs"]["share"])
        assert share == pytest.approx((every >= cosine).mean(), abs=0.01)
    return known
