"""Test every loss, its value and its gradient, against the formula of its paper in plain loops."""

import pytest
import torch

from explorer import losses
from tests.independent import formulas

ROWS, WIDTH, VIEWS = 5, 7, 3


@pytest.fixture
def sides():
    """Three sides (row, width) and views (row, view, width), in float64."""
    drawn = torch.Generator().manual_seed(0)
    three = torch.randn(3, ROWS, WIDTH, generator=drawn, dtype=torch.float64)
    views = torch.randn(ROWS, VIEWS, WIDTH, generator=drawn, dtype=torch.float64)
    return [each.clone().requires_grad_() for each in (*three, views)]


def assert_same(fast, slow, given, close=1e-9):
    """The same number with the same slopes."""
    assert fast.item() == pytest.approx(slow.item(), rel=close)
    found = torch.autograd.grad(fast, given, allow_unused=True)
    expected = torch.autograd.grad(slow, given, allow_unused=True)
    assert any(slope is not None and slope.abs().max() > 1e-4 for slope in expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.allclose(one, other, rtol=close, atol=close)


CONTRASTIVE = {
    "NT-Xent": (lambda c, h, z, v, t: losses.nt_xent(c, h, t), lambda c, h, z, v, t: formulas.nt_xent(c, h, t)),
    "opt1": (lambda c, h, z, v, t: losses.self_guided_1(c, h, t), lambda c, h, z, v, t: formulas.opt1(c, h, t)),
    "opt2": (lambda c, h, z, v, t: losses.self_guided_2(c, h, t), lambda c, h, z, v, t: formulas.opt2(c, h, t)),
    "opt3": (lambda c, h, z, v, t: losses.self_guided_3(c, v, t), lambda c, h, z, v, t: formulas.opt3(c, v, t)),
    "InfoNCE": (lambda c, h, z, v, t: losses.info_nce(c, h, t), lambda c, h, z, v, t: formulas.info_nce(c, h, t)),
    "ranking": (lambda c, h, z, v, t: losses.ranking(c, h, t), lambda c, h, z, v, t: formulas.ranking(c, h, t)),
    "ranking both ways": (
        lambda c, h, z, v, t: losses.ranking(c, h, t, symmetric=True),
        lambda c, h, z, v, t: formulas.ranking(c, h, t, symmetric=True),
    ),
    "ranking with hard negatives": (
        lambda c, h, z, v, t: losses.ranking(c, torch.cat([h, z]), t, symmetric=True),
        lambda c, h, z, v, t: formulas.ranking(c, [*h, *z], t, symmetric=True),
    ),
}


@pytest.mark.parametrize("temperature", [0.01, 0.05, 1.0])
@pytest.mark.parametrize("name", CONTRASTIVE)
def test_a_contrastive_loss_is_the_formula_of_its_paper(sides, name, temperature):
    fast, slow = CONTRASTIVE[name]
    assert_same(fast(*sides, temperature), slow(*sides, temperature), sides)


@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("weight", [0.0, 1.0, -2.0])
def test_a_loss_with_hard_negatives_is_equation_8(sides, weight, temperature):
    x, y, z, _ = sides
    fast = losses.info_nce_hard(x, y, z, temperature, weight)
    assert_same(fast, formulas.with_hard_negatives(x, y, z, temperature, weight), [x, y, z])


def test_a_ranking_leaves_out_what_is_no_negative(sides):
    x, y, z, _ = sides
    drawn = torch.Generator().manual_seed(1)
    there, back = (torch.rand(ROWS, count, generator=drawn) < 0.3 for count in (2 * ROWS, ROWS))
    for mask in (there, back):
        mask.fill_diagonal_(False)  # a positive stays
        assert mask.any()
    fast = losses.ranking(x, torch.cat([y, z]), 0.3, True, there, back)
    assert_same(fast, formulas.ranking(x, [*y, *z], 0.3, True, there.tolist(), back.tolist()), [x, y, z])


GUIDED = [(0.0, False, "ap aa pp"), (0.3, False, "ap aa"), (0.3, True, "ap pp"), (0.0, False, "ap")]


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize(("margin", "relative", "blocks"), GUIDED)
def test_gist_leaves_out_what_its_guide_finds_closer_than_the_positive(sides, columns, margin, relative, blocks):
    own = sides[:columns]
    guide = torch.randn(columns, ROWS, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64).unbind()
    how = {"anchors": "aa" in blocks, "positives": "pp" in blocks}
    left_out = losses.false_negatives(losses.guided_cosines(guide, **how), margin, relative)
    assert ROWS < left_out.sum() < left_out.numel() - 2 * ROWS
    fast = losses.guided_ranking(losses.guided_cosines(own, **how), 0.3, left_out)
    assert_same(fast, formulas.gist(own, guide, 0.3, margin, relative, blocks), own)


SCORES = [0.0, 0.4, 0.4, 1.0, 0.2]


@pytest.mark.parametrize("scale", [1.0, 5.0, 20.0])
def test_cosent_is_the_sum_over_every_two_rows(sides, scale):
    one, other, *_ = sides
    cosines = [formulas.cosine(a, b) for a, b in zip(one, other, strict=True)]
    fast = losses.cosent(losses.paired_cosines(one, other), torch.tensor(SCORES), scale)
    assert_same(fast, formulas.cosent(cosines, SCORES, scale), [one, other])


def test_a_similarity_of_angle_is_the_sum_over_the_complex_numbers_of_both_vectors(sides):
    one, other = (side[:, :6] for side in sides[:2])
    fast, slow = (
        losses.angle_similarities(one, other),
        [formulas.angle_similarity(*row) for row in zip(one, other, strict=True)],
    )
    assert_same((fast * fast).sum(), sum(each * each for each in slow), sides[:2])


def test_regressions_are_the_means_of_squares_of_cosines_vectors_and_similarities(sides):
    one, other, *_ = sides
    cosines = [formulas.cosine(a, b) for a, b in zip(one, other, strict=True)]
    fast = losses.cosine_regression(losses.paired_cosines(one, other), torch.tensor(SCORES, dtype=torch.float64))
    assert_same(fast, formulas.regression(cosines, SCORES), [one, other])
    one, other, *_ = sides
    assert_same(losses.vector_regression(one, other), formulas.vector_regression(one, other), [one, other])
    one, other = sides[0], sides[1]
    narrow = other[:, :3]
    fast, slow = losses.similarity_regression(one, narrow), formulas.similarity_regression(one, narrow)
    assert_same(fast, slow, [one, other])


@pytest.mark.parametrize("numbers", [1, WIDTH])
def test_the_interaction_is_equation_8_of_conisi(sides, numbers):
    same, other = (side[:, :numbers] for side in sides[:2])
    assert_same(losses.interaction(same, other), formulas.interaction(same, other), sides[:2], close=1e-5)


def test_the_interaction_by_class_is_a_softmax_over_two_classes_and_cosines_are_of_every_row_with_every_row(sides):
    same, other = (side[:, :2] for side in sides[:2])
    fast, slow = losses.interaction_by_class(same, other), formulas.interaction_by_class(same, other)
    assert_same(fast, slow, sides[:2], close=1e-5)
    one, other, *_ = sides
    slow = torch.stack([torch.stack([formulas.cosine(a, b) for b in other]) for a in one])
    assert torch.allclose(losses.cosines(one, other), slow, atol=1e-12)
    assert torch.allclose(losses.paired_cosines(one, other), slow.diagonal(), atol=1e-12)


@pytest.mark.parametrize("euclidean", [False, True])
@pytest.mark.parametrize("margin", [0.4, None])
@pytest.mark.parametrize("name", ["batch_hard", "semi_hard"])
def test_triplets_of_a_batch_are_those_of_loops_over_its_rows_but_for_rows_without_one(sides, name, margin, euclidean):
    vectors = torch.cat(sides[:2]).detach().requires_grad_()
    classes = [0, 0, 1, 1, 2, 0, 1, 3, 0, 1]  # two rows are the only ones of their class
    ours = losses.hardest_triplets if name == "batch_hard" else losses.semi_hard_triplets
    fast = ours(losses.distances(vectors, euclidean), torch.tensor(classes), margin)
    assert_same(fast, getattr(formulas, name)(vectors, classes, margin, euclidean), [vectors])


@pytest.mark.parametrize("ours", [losses.hardest_triplets, losses.semi_hard_triplets])
def test_a_batch_without_a_triplet_has_no_loss_and_a_gradient_of_zero(sides, ours):
    for classes in (range(ROWS), [1] * ROWS):
        for margin in (0.4, None):
            loss = ours(losses.distances(sides[0], euclidean=True), torch.tensor(classes), margin)
            assert loss.item() == 0
            (slope,) = torch.autograd.grad(loss, sides[0])
            assert not slope.any()


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_what_scores_of_candidates_teach_is_that_of_loops_over_rows(sides, temperature):
    student, teacher = (losses.candidate_scores(some) for some in (sides[:3], [side.detach() for side in sides[2::-1]]))
    slow = [[formulas.cosine(sides[0][i], side[i]) for side in sides[1:3]] for i in range(ROWS)]
    assert torch.allclose(student, torch.stack([torch.stack(row) for row in slow]), atol=1e-12)
    assert_same(losses.margin_regression(student, teacher), formulas.margin_mse(slow, teacher), sides[:3])
    student = losses.candidate_scores(sides[:3], dot=True)
    slow = [[(sides[0][i] * side[i]).sum() for side in sides[1:3]] for i in range(ROWS)]
    fast = losses.score_divergence(student, teacher, temperature)
    assert_same(fast, formulas.divergence(slow, teacher, temperature), sides[:3])


def test_orthogonality_is_that_of_every_two_rows_and_its_second_term_ends_at_that_of_random_vectors(sides):
    for at in range(2):
        crowded = sides[0] + 1
        assert_same(losses.orthogonality(crowded)[at], formulas.orthogonality(crowded)[at], [sides[0]])
    mean, moment = losses.orthogonality(torch.eye(5))
    assert mean == moment == 0
