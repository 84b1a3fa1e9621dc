"""Test that commands score pairs with two labels by average precision first, and by another metric if it is named."""

import random

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.metrics import average_precision_score

from tests.tiny_models import LAYERS
from tests.trainings import WORDS


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A file of pairs with labels 0 and 1, its rows and the labels."""
    drawn, rows = random.Random(3), []
    for number in range(80):
        words, others, shared = drawn.sample(WORDS, 6), drawn.sample(WORDS, 6), number % 6
        rows.append((int(shared > 2), " ".join(words), " ".join(words[:shared] + others[shared:])))
    path = tmp_path_factory.mktemp("labels") / "labels.tsv"
    path.write_text("\n".join(["score\tsentence1\tsentence2", *("\t".join(map(str, row)) for row in rows)]))
    return path, rows


def precision_of(model, rows):
    """Average precision × 100 by sentence-transformers and scikit-learn."""
    encoder = SentenceTransformer(str(model), device="cpu")
    one, two = (encoder.encode([row[side] for row in rows], normalize_embeddings=True) for side in (1, 2))
    return 100 * average_precision_score([row[0] for row in rows], (one.astype(np.float64) * two).sum(axis=1))


def test_compare_and_the_gate_judge_labels_by_average_precision(place, other, labelled, answered):
    path, rows = labelled
    before, after = (precision_of(model, rows) for model in (place.model, other))
    (of_gate,) = answered("compare", place.model, other, "--on", path, "--fail-if-worse", "--by", 100, "--json")["sets"]
    assert of_gate["measure"] == "average precision"
    found = answered("compare", place.model, other, "--on", path, "--json")
    assert found["metric"] == "average precision"
    assert found["verdict"]["before"]["score"] == pytest.approx(before, abs=1e-2)
    assert found["verdict"]["after"]["score"] == pytest.approx(after, abs=1e-2)
    assert (
        answered("compare", place.model, other, "--on", path, "--metric", "spearman", "--json")["metric"] == "Spearman"
    )


def test_score_prints_average_precision_first_and_has_all_metrics(place, labelled, done, answered):
    path, rows = labelled
    assert "average precision × 100 on 80 pairs" in done("score", place.model, "--sts", path)[0]
    assert "Pearson × 100 on 80 pairs" in done("score", place.model, "--sts", path, "--metric", "pearson")[0]
    assert "Spearman × 100 on 240 pairs" in done("score", place.model)[0]
    readings = answered("score", place.model, "--sts", path, "--json")["readings"]
    (first,) = [one for one in readings if one["reading"] == f"mean of layer {LAYERS}"]
    assert list(first)[3:] == ["average precision", "F1", "best accuracy", "spearman", "pearson"]
    assert first["average precision"] == pytest.approx(precision_of(place.model, rows), abs=1e-2)


def test_evaluate_reports_average_precision_as_the_main_score(place, labelled, done, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    path, rows = labelled
    out, _ = done("evaluate", place.model, "--task", path)
    assert f"{precision_of(place.model, rows):.2f}" in out
