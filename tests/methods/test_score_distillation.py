"""Test margin-MSE and KL distillation against sentence-transformers' losses, their teachers and their students."""

from functools import partial

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published
from sentence_transformers.util import pairwise_cos_sim

from explorer import losses, methods
from explorer.data.text_sets import SCORED_TRIPLETS
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, StrataError
from tests import named_texts, trainings
from tests.independent import formulas
from tests.methods.rows import FIRST, SECOND, THIRD, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

ROWS = (FIRST, SECOND, THIRD)
NAMES = ("margin-mse", "distil-kl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of three layers, and a RoBERTa, whose tokens are others."""
    place = tmp_path_factory.mktemp("teachers")
    save_tiny("bert", place / "bert", num_hidden_layers=3)
    save_tiny("roberta", place / "roberta")
    return place


def made(folder, name, **values):
    return seeded(name, Tunable(encoder_of(folder / "bert"), 64), **values)


@pytest.mark.parametrize("dot", [False, True])
@pytest.mark.parametrize("columns", [3, 5])
@pytest.mark.parametrize("temperature", [None, 0.5, 1.0])
def test_loss_and_gradient_are_those_of_sentence_transformers(columns, temperature, dot):
    drawn = torch.Generator().manual_seed(0)
    sides = [torch.randn(6, 7, generator=drawn, dtype=torch.float64).requires_grad_() for _ in range(columns)]
    teacher = torch.randn(6, columns - 1, generator=drawn, dtype=torch.float64)
    how = {} if dot else {"similarity_fct": pairwise_cos_sim}
    if temperature is None:
        theirs, ours = published.MarginMSELoss(None, **how), losses.margin_regression
    else:
        theirs = published.DistillKLDivLoss(None, temperature=temperature, **how)
        ours = partial(losses.score_divergence, temperature=temperature)
    expected = theirs.compute_loss_from_embeddings(sides, teacher)
    loss = ours(losses.candidate_scores(sides, dot), teacher)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    for one, other in zip(torch.autograd.grad(loss, sides), torch.autograd.grad(expected, sides), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-6)
        assert other.abs().max() > 1e-3


def scores(vectors, similarity):
    """(row, candidate), one at a time."""
    anchors, *others = vectors.double().chunk(3)
    alike = formulas.cosine if similarity == "cosine" else lambda one, other: (one * other).sum()
    return torch.stack(
        [torch.stack([alike(anchor, side[row]) for side in others]) for row, anchor in enumerate(anchors)]
    )


@pytest.mark.parametrize("similarity", ["cosine", "dot product"])
@pytest.mark.parametrize("teacher", ["the base", "roberta"])
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_of_the_scores_of_teacher_and_student_as_they_are_used(folder, name, teacher, similarity):
    other = teacher != "the base"
    values = {"teacher": str(folder / teacher)} if other else {}
    method = made(folder, name, similarity=similarity, **values).eval()
    assert method.base.layers == (3 if other else 2)
    texts = [text for column in ROWS for text in column]
    encoder = encoder_of(folder / (teacher if other else "bert"))
    states = [encoder.states([text]) for text in texts]
    taught = scores(torch.cat([Head(("mean",))(each.hidden, each.mask) for each in states]), similarity)
    student = scores(vectors_of(method, texts), similarity)
    slow = formulas.margin_mse if name == "margin-mse" else partial(formulas.divergence, temperature=1.0)
    assert method(*ROWS).item() == pytest.approx(slow(student, taught).item(), rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_a_student_of_all_layers_needs_another_teacher(folder, name):
    with pytest.raises(BadChoice, match=r"keep_layers cannot be 3: 'tiny' has 3 layers, .* Choose 1 to 2, or 0"):
        made(folder, name, keep_layers=3)
    method = made(folder, name, teacher=str(folder / "roberta"))
    assert method.base.layers == 3
    assert method.base_head() == method.head() == Head(("mean",))
    assert methods.load(name).named_models(method.by_name()) == {"teacher": str(folder / "roberta")}
    cut = made(folder, name, teacher=str(folder / "roberta"), keep_layers=1)
    assert (cut.base.layers, cut.base_head().poolings) == (1, ("mean of layer 1",))


MARGINS = [0.75, -0.25, 0.5, 0.125]


@pytest.mark.parametrize("name", NAMES)
def test_scores_in_the_text_are_learned_as_by_sentence_transformers_and_no_teacher_is_loaded(folder, name):
    method = made(folder, name, teacher="column").double().eval()
    assert (method.base.layers, method.constant(), hasattr(method, "frozen_guide")) == (3, (), False)
    assert methods.load(name).named_models(method.by_name()) == {}
    found = method(*ROWS, MARGINS)
    sides = [torch.cat([method.encode([text]) for text in column]) for column in ROWS]
    margins = torch.tensor(MARGINS, dtype=torch.float64)
    negative = torch.tensor([0.1, 0.7, -0.2, 0.3], dtype=torch.float64)
    both = torch.stack([margins + negative, negative], dim=1)
    library = published.MarginMSELoss if name == "margin-mse" else published.DistillKLDivLoss
    weights = [weight for weight in method.base.parameters() if weight.requires_grad]
    for labels in (both, margins) if name == "margin-mse" else (both,):
        theirs = library(None, similarity_fct=pairwise_cos_sim).compute_loss_from_embeddings(sides, labels)
        assert found.item() == pytest.approx(theirs.item(), abs=1e-6)
        assert found.item() > 1e-3
        gradients = (torch.autograd.grad(loss, weights, retain_graph=True) for loss in (found, theirs))
        one, other = (torch.cat([each.flatten() for each in gradient]) for gradient in gradients)
        assert torch.allclose(one, other, rtol=0, atol=1e-6)
        assert other.abs().max() > 1e-3


def rows_of(place, headings, cells, name="scored.csv"):
    """The triplets of a place with more columns, in a file."""
    first, *lines = place.triplets.read_text(encoding="utf-8").splitlines()
    rows = [f"{line},{cells(number)}" for number, line in enumerate(lines)]
    path = place.folder / name
    path.write_text("\n".join([f"{first},{headings}", *rows]), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("scored"))


def test_both_scores_and_their_difference_are_read_alike_and_rows_without_one_are_dropped(place):
    both = rows_of(place, "score_positive,score_negative", lambda n: f"{n / 8},{'' if n == 3 else -n / 4}")
    one = rows_of(place, "my margin", lambda n: f"{3 * n / 8 if n != 3 else 'none'}", "margins.csv")
    texts = [tuple(line.split(",")) for line in place.triplets.read_text(encoding="utf-8").splitlines()[1:]]
    expected = [(*row, 3 * number / 8) for number, row in enumerate(texts) if number != 3]
    for file, columns, why in ((both, {}, "missing"), (one, {"margin": "my margin"}, "score is text")):
        found, (report,) = named_texts.corpus((file,), SCORED_TRIPLETS, columns)
        assert list(zip(*found.columns, strict=True)) == expected
        assert why in str(report)
        assert (report.rows_kept, report.score_range) == (len(texts) - 1, (0.0, 3 * (len(texts) - 1) / 8))
        assert list(zip(*found.texts, strict=True)) == [row[:3] for row in expected]
        assert found.kind.pairs_up


@pytest.mark.parametrize(
    ("headings", "cell", "message"),
    [
        ("other", "1", r"mine\.csv has no teacher scores: .* Its columns: anchor, .* set teacher to an encoder"),
        ("score_positive", "0.5", r"mine\.csv has no teacher scores: score_positive and score_negative, or margin"),
        ("margin", "high", r"'margin' holds classes \(high\), not scores"),
        ("margin", "", r"every score in 'margin' is missing"),
    ],
)
def test_scores_that_are_missing_or_no_numbers_are_refused(place, headings, cell, message):
    file = rows_of(place, headings, lambda _: cell, "mine.csv")
    with pytest.raises(StrataError, match=message):
        named_texts.corpus((file,), SCORED_TRIPLETS)


def test_text_that_ships_has_no_teacher_scores():
    with pytest.raises(StrataError, match="sample cannot give triplets with teacher scores: it has no teacher scores"):
        named_texts.corpus(("sample",), SCORED_TRIPLETS)
