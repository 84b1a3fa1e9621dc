"""Test methods with two copies of the encoder, Contrastive Tension, BSL and CERT: pairs, queues and rates."""

import pytest
import torch

from explorer import losses, methods
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import contrastive_tension as ct
from explorer.methods import follow
from explorer.methods.momentum_copies import predictor
from explorer.progress import finish
from tests.independent.models import NO_DROPOUT
from tests.methods.rows import FIRST, MANY, SECOND, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

ONE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
OTHER = torch.tensor([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0]])
SAME = torch.tensor([True, False, False])
# the vectors of the toy example of self-guided contrastive learning
TUNED = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
GUIDE = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])


def test_losses_of_pairs_of_a_batch_and_of_a_queue_are_those_worked_out():
    counted = torch.ones(3)
    assert losses.tension(ONE, OTHER, SAME, counted).item() == pytest.approx(0.646595, abs=1e-6)
    unit = torch.nn.functional.normalize
    assert losses.tension(unit(ONE), unit(OTHER), SAME, counted).item() == pytest.approx(0.636536, abs=1e-6), "cosines"
    assert losses.tension(ONE, OTHER, SAME, torch.tensor([1.0, 1.0, 0.0])).item() == pytest.approx(0.313262, abs=1e-6)
    assert losses.tension_in_batch(TUNED, GUIDE, 1.0, dot=True).item() == pytest.approx(0.410038, abs=1e-6)
    assert losses.tension_in_batch(TUNED, GUIDE, 20.0).item() == pytest.approx(0.346574, abs=1e-6)


def test_the_first_steps_of_rmsprop_are_those_of_keras_and_the_learning_rate_falls_four_times(tiny_encoder):
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


def test_the_copies_begin_as_one_and_part_in_training_but_in_a_batch_only_by_dropout(calm):
    assert parted(calm, "ct")
    assert not parted(calm, "ct-in-batch")
    assert methods.load("ct-in-batch").knobs["dropout"].default


@pytest.mark.parametrize("name", ["ct", "ct-in-batch"])
def test_dropout_is_that_of_both_copies(base, name):
    for value in (False, True):
        method = methods.load(name)(base, {"dropout": value})
        for copy in (method.base, method.other):
            assert torch.equal(*[method.encode_by(copy, FIRST) for _ in range(2)]) == (not value)


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


def test_bsl_compares_a_prediction_with_the_other_sentence():
    one, other = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    first, second = torch.tensor([[1.0, 1.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [3.0, 3.0]])
    assert (losses.bootstrapped(one, second) + losses.bootstrapped(other, first)).item() == pytest.approx(2.0, abs=1e-6)
    same = losses.bootstrapped(one, first) + losses.bootstrapped(other, second)
    assert same.item() == pytest.approx(1.171573, abs=1e-6), "not this one"


def test_a_copy_follows_as_a_moving_average():
    follows, own = torch.nn.Linear(1, 1, bias=False).double(), torch.nn.Linear(1, 1, bias=False).double()
    torch.nn.init.constant_(follows.weight, 1.0)
    torch.nn.init.constant_(own.weight, 2.0)
    follow([follows], [own], 0.999)
    assert follows.weight.item() == pytest.approx(1.001)
    for _ in range(999):
        follow([follows], [own], 0.999)
    assert follows.weight.item() == pytest.approx(1.632305, abs=1e-6)


def test_cert_finds_its_key_among_those_of_the_queue():
    query, key, queue = (torch.tensor(one, dtype=torch.float64) for one in ([[1, 0]], [[0.6, 0.8]], [[0, 1], [-1, 0]]))
    assert losses.with_queue(query, key, queue, 1.0).item() == pytest.approx(0.560020, abs=1e-6)
    assert losses.with_queue(query, key, queue, 0.07).item() == pytest.approx(1.894240e-04, abs=1e-8)


def test_the_rate_of_an_epoch_of_cert_is_half_a_cosine(base):
    method = methods.load("cert")(base, {"queue_size": 4})
    rates = [method.rate(epoch * 10, 500, method.schedule) for epoch in (0, 1, 25, 49)]
    assert rates[:3] == pytest.approx([4e-5, 3.996053e-05, 2e-5], rel=1e-6)
    assert 0 < rates[3] < 1e-7
    assert method.rate(19, 500, method.schedule) == rates[1], "the same within an epoch"


@pytest.mark.parametrize("name", ["bsl", "cert"])
def test_the_copy_has_no_gradient_begins_as_the_encoder_and_moves_by_momentum_alone(name, base):
    method = seeded(name, base, momentum=0.9)
    pairs = list(zip(method.target.model.parameters(), method.base.model.parameters(), strict=True))
    assert all(torch.equal(*pair) for pair in pairs)
    before = [follows.clone() for follows, _ in pairs]
    weights = [weight for weight in method.parameters() if weight.requires_grad]
    method(FIRST, SECOND).backward()
    with torch.no_grad():
        for weight in weights:
            weight.sub_(0.1 * weight.grad)
            weight.grad = None
    method.after_update()
    for start, (follows, own) in zip(before, pairs, strict=True):
        assert follows.grad is None
        assert torch.allclose(follows, 0.9 * start + 0.1 * own, atol=1e-6)
    assert any(not torch.equal(start, follows) for start, (follows, _) in zip(before, pairs, strict=True))


def test_the_loss_of_bsl_is_zero_only_where_predictions_are_parallel_and_it_says_how_far_it_is_from_collapsing(base):
    method = seeded("bsl", base, predictors=1, predictor_width=1).eval()
    method.predict = torch.nn.Identity()
    assert method(FIRST, FIRST).item() == pytest.approx(0.0, abs=1e-5)
    assert method(FIRST, SECOND).item() > 1e-3
    method = seeded("bsl", base, predictors=1, predictor_width=1)
    assert method.remark() == ""
    method([FIRST[0]] * 4, [FIRST[0]] * 4)
    assert "0.0" in method.remark()
    method(FIRST, SECOND)
    assert f"({method.width**-0.5:.4f} if directions are uniform" in method.remark()


def test_the_chain_of_the_released_code_has_as_many_weights_as_published():
    with torch.device("meta"):
        chain = [predictor(768, 7680) for _ in range(3)]
    assert sum(weight.numel() for one in chain for weight in one.parameters()) == 212_431_104


def test_new_keys_take_the_place_of_the_oldest(base):
    method = seeded("cert", base, queue_size=4)
    method.eval()
    method.training = True  # keys are written in training; without dropout they can be foretold

    def keys(rows):
        with torch.no_grad():
            vectors = method.key_project(method.encode_by_target(rows, method.before_normalising))
        return torch.nn.functional.normalize(vectors, dim=-1)

    for rows in (SECOND[:2], SECOND[2:], FIRST[:2]):
        method(FIRST[:2], rows)
    assert torch.allclose(method.queue, torch.cat([keys(SECOND[2:]), keys(FIRST[:2])]), atol=1e-5)


def test_the_queue_holds_at_most_half_of_the_rows_and_stays_where_nothing_is_trained(base):
    method = seeded("cert", base, queue_size=4).eval()
    before = method.queue.clone()
    method(FIRST, SECOND)
    assert torch.equal(method.queue, before)
    method = seeded("cert", base)
    assert len(method.queue) == 6720
    finish(method.fit([f"sentence {number}" for number in range(80)]))  # of 40 rows
    assert len(method.queue) == 20


def test_a_key_is_the_copys_even_in_the_first_step(base):
    method = seeded("cert", base, queue_size=4).eval()
    query = method.project(method.encode(FIRST, method.before_normalising))
    key = method.key_project(method.encode_by_target(FIRST, method.before_normalising))
    assert torch.allclose(query, key, atol=1e-5)
