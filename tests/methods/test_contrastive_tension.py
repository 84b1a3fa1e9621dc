"""Test Contrastive Tension: pairs and groups, the two copies, RMSprop's steps, and values worked out by hand."""

import pytest
import torch

from explorer import losses, methods
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import contrastive_tension as ct
from tests.independent.models import NO_DROPOUT
from tests.methods.rows import FIRST, MANY, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

ONE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
OTHER = torch.tensor([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])
SAME = torch.tensor([True, False, False])
# the vectors of the toy example of self-guided contrastive learning
TUNED = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
GUIDE = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])


def test_the_loss_is_the_mean_over_pairs_of_a_logistic_loss_of_dot_products():
    counted = torch.ones(3)
    assert losses.tension(ONE, OTHER, SAME, counted).item() == pytest.approx(0.646595, abs=1e-6)
    unit = torch.nn.functional.normalize
    assert losses.tension(unit(ONE), unit(OTHER), SAME, counted).item() == pytest.approx(0.636536, abs=1e-6), "cosines"
    without_last = torch.tensor([1.0, 1.0, 0.0])
    assert losses.tension(ONE, OTHER, SAME, without_last).item() == pytest.approx(0.313262, abs=1e-6)


def test_in_a_batch_it_is_infonce_in_both_directions():
    dot = losses.tension_in_batch(TUNED, GUIDE, 1.0, dot=True)
    assert dot.item() == pytest.approx(0.410038, abs=1e-6)
    assert losses.tension_in_batch(TUNED, GUIDE, 20.0).item() == pytest.approx(0.346574, abs=1e-6)


def test_the_first_steps_of_rmsprop_are_those_of_keras(tiny_encoder):
    method = methods.load("ct")(Tunable(tiny_encoder, 16))
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = method.make_optimizer([{"params": [weight], "weight_decay": 0.0}], method.schedule)
    steps = []
    for _ in range(3):
        weight.grad = torch.full_like(weight, 2.0)
        before = weight.item()
        optimizer.step()
        steps.append(before - weight.item())
    assert steps == pytest.approx([3.162277e-05, 2.294157e-05, 1.920947e-05], rel=1e-6)


def test_the_learning_rate_falls_four_times(tiny_encoder):
    method = methods.load("ct")(Tunable(tiny_encoder, 16))
    rates = [method.rate(step, 5000, method.schedule) for step in (0, 499, 500, 1000, 1500, 2000, 4999)]
    assert rates == pytest.approx([1e-5, 1e-5, 8e-6, 6e-6, 4e-6, 2e-6, 2e-6])


def test_a_batch_of_thirty_has_two_positives_and_fourteen_pairs_of_fresh_sentences():
    roles, pairs = ct.grouped_pairs(30, 7)
    assert pairs.shape == (2, 16)
    assert pairs[0, (pairs[0] == pairs[1]).nonzero()].flatten().tolist() == [0, 15]
    different = pairs[:, pairs[0] != pairs[1]].flatten().tolist()
    assert len(different) == len(set(different)) == 28, "no sentence is used twice"
    for firsts, seconds in pairs.T.tolist():
        assert roles[firsts] in (ct.BOTH, ct.ONE)
        assert roles[seconds] in (ct.BOTH, ct.OTHER)


@pytest.mark.parametrize("total", range(2, 40))
def test_every_row_of_a_batch_of_any_size_is_used(total):
    _, pairs = ct.grouped_pairs(total, 3)
    assert set(pairs.flatten().tolist()) == set(range(total))


def test_a_sentence_that_occurs_twice_is_no_pair_of_different_sentences(base):
    method = methods.load("ct")(base, {"negatives": 1})
    twice = [FIRST[0], FIRST[1], FIRST[1]]
    vectors = method.encode_by(method.base, twice[:1])
    alone = torch.nn.functional.softplus(-(vectors * vectors).sum())
    assert method(twice).item() == pytest.approx(alone.item(), rel=1e-5)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """An encoder without dropout."""
    return encoder_of(save_tiny("bert", tmp_path_factory.mktemp("calm"), **NO_DROPOUT))


def parted(calm, name):
    """Whether the copies, which begin as one, differ after an update."""
    torch.manual_seed(0)
    method = methods.load(name)(Tunable(calm, 32), {"dropout": False})
    assert torch.equal(method.encode_by(method.base, FIRST), method.encode_by(method.other, FIRST))
    optimizer = method.make_optimizer(method.groups(method.schedule), method.schedule)
    method(MANY[:16]).backward()
    optimizer.step()
    return not torch.equal(method.encode_by(method.base, FIRST), method.encode_by(method.other, FIRST))


def test_the_copies_begin_as_one_and_part_in_training(calm):
    assert parted(calm, "ct")


def test_in_a_batch_the_copies_need_dropout_to_part(calm):
    assert not parted(calm, "ct-in-batch")
    assert methods.load("ct-in-batch").knobs["dropout"].default


@pytest.mark.parametrize("name", ["ct", "ct-in-batch"])
def test_dropout_is_that_of_both_copies(base, name):
    for value in (False, True):
        method = methods.load(name)(base, {"dropout": value})
        for copy in (method.base, method.other):
            twice = [method.encode_by(copy, FIRST) for _ in range(2)]
            assert torch.equal(*twice) == (not value)


def test_the_copy_that_is_chosen_is_read(base):
    method = methods.load("ct")(base)
    with torch.no_grad():
        method.other.model.embeddings.word_embeddings.weight.mul_(2)
    before = vectors_of(method, FIRST)
    method.candidate = "second copy"
    assert method.exported is method.other
    assert not torch.allclose(vectors_of(method, FIRST), before)
    method.candidate = "first copy"
    assert torch.equal(vectors_of(method, FIRST), before)
