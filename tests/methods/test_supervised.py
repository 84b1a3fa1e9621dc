"""Test SBERT on labelled pairs: its classifier, what is left of it afterwards, and which rows fit."""

import math

import pytest
import torch
from torch.nn import functional

from explorer import methods
from explorer.data import corpora
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import BadChoice, WrongColumns
from explorer.methods import PredictedClasses
from explorer.methods.supervised import with_difference
from explorer.training import recipe
from tests.methods.rows import FIRST, SECOND, vectors_of

THREE = ("contradiction", "entailment", "neutral")
LABELS = ["neutral", "entailment", "contradiction", "neutral"]


def made(base, **values):
    torch.manual_seed(0)
    return methods.load("sbert-nli")(base, values, THREE)


def test_the_loss_is_the_one_worked_out():
    one, other = torch.tensor([[1.0, 2]]), torch.tensor([[3.0, 1]])
    weight = torch.tensor([[0.1, 0, 0.2, 0, -0.1, 0.3], [0, 0.1, 0, -0.2, 0.4, 0], [0.3, -0.1, 0, 0.1, 0, 0.2]])
    bias = torch.tensor([0.1, 0, -0.1])
    assert with_difference(one, other).tolist() == [[1, 2, 3, 1, 2, 1]]
    scores = with_difference(one, other) @ weight.T + bias
    assert scores[0].tolist() == pytest.approx([0.9, 0.8, 0.3])
    losses = [functional.cross_entropy(scores, torch.tensor([label])).item() for label in range(3)]
    assert losses == pytest.approx([0.897576, 0.997576, 1.497576], abs=1e-6)
    assert (with_difference(other, one) @ weight.T + bias)[0].tolist() == pytest.approx([0.7, 0.5, 1.1])


def test_a_classifier_of_zeros_knows_nothing_and_teaches_the_encoder_nothing(base):
    method = made(base)
    assert method.classifier.weight.shape == (3, 3 * method.width)
    torch.nn.init.zeros_(method.classifier.weight)
    torch.nn.init.zeros_(method.classifier.bias)
    loss = method(FIRST, SECOND, LABELS)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(3))
    assert not any(weight.grad.any() for weight in base.model.parameters())
    assert method.classifier.weight.grad.any()


def test_the_number_of_a_class_is_immaterial(base):
    method = made(base).eval()
    before = method(FIRST, SECOND, LABELS).item()
    assert method(FIRST, SECOND, LABELS[::-1]).item() != pytest.approx(before)
    method.classes = (THREE[2], THREE[0], THREE[1])
    with torch.no_grad():
        for weights in (method.classifier.weight, method.classifier.bias):
            weights.copy_(weights[[2, 0, 1]])
    assert method(FIRST, SECOND, LABELS).item() == pytest.approx(before)


def test_the_classifier_is_no_part_of_the_trained_model(base):
    method = made(base, pooling="mean").eval()
    assert method.head().describe() == "mean of the last layer"
    assert not isinstance(method, PredictedClasses)
    assert not method.predicts()
    before = vectors_of(method, FIRST)
    with torch.no_grad():
        method.classifier.weight.add_(1)
    assert torch.equal(vectors_of(method, FIRST), before)


def test_rows_of_one_sentence_and_other_classes_are_refused(base, tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("label\ttext\n" + "".join(f"{'ab'[at % 2]}\ttext {at}\n" for at in range(20)), encoding="utf-8")
    rows, _ = corpora.corpus([str(path)], LABELLED_TEXTS, divide=False)
    with pytest.raises(WrongColumns, match=r"mine\.tsv has one sentence per row: SBERT compares two"):
        methods.load("sbert-nli").check_rows(rows)
    methods.load("classify").check_rows(rows)
    with pytest.raises(BadChoice, match="There is no class 'maybe'"):
        made(base)(FIRST, SECOND, ["maybe"] * 4)


def test_no_setting_is_shown_that_scores_predicted_classes():
    assert "validate_by" in recipe.knobs_of(methods.load("classify"))
    assert "validate_by" not in recipe.knobs_of(methods.load("sbert-nli"))
