"""Test BSL and CERT: what follows and what is trained, the queue, the rates, and values worked out by hand."""

import pytest
import torch

from explorer import losses, methods
from explorer.methods import follow
from explorer.methods.momentum_copies import predictor
from explorer.progress import finish
from tests.methods.rows import FIRST, SECOND


def test_bsl_compares_a_prediction_with_the_other_sentence():
    one, other = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    first, second = torch.tensor([[1.0, 1.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [3.0, 3.0]])
    crossed = losses.bootstrapped(one, second) + losses.bootstrapped(other, first)
    assert crossed.item() == pytest.approx(2.0, abs=1e-6)
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
    query, key, queue = (
        torch.tensor(rows, dtype=torch.float64) for rows in ([[1, 0]], [[0.6, 0.8]], [[0, 1], [-1, 0]])
    )
    assert losses.with_queue(query, key, queue, 1.0).item() == pytest.approx(0.560020, abs=1e-6)
    assert losses.with_queue(query, key, queue, 0.07).item() == pytest.approx(1.894240e-04, abs=1e-8)


def test_the_rate_of_an_epoch_of_cert_is_half_a_cosine(base):
    method = methods.load("cert")(base, {"queue_size": 4})
    rates = [method.rate(epoch * 10, 500, method.schedule) for epoch in (0, 1, 25, 49)]
    assert rates[:3] == pytest.approx([4e-5, 3.996053e-05, 2e-5], rel=1e-6)
    assert 0 < rates[3] < 1e-7
    assert method.rate(19, 500, method.schedule) == rates[1], "the same within an epoch"


def made(name, base, **values):
    torch.manual_seed(0)
    return methods.load(name)(base, values)


def updated(method, rate=0.1):
    weights = [weight for weight in method.parameters() if weight.requires_grad]
    method(FIRST, SECOND).backward()
    with torch.no_grad():
        for weight in weights:
            weight.sub_(rate * weight.grad)
            weight.grad = None
    method.after_update()


@pytest.mark.parametrize("name", ["bsl", "cert"])
def test_the_copy_has_no_gradient_begins_as_the_encoder_and_moves_by_momentum_alone(name, base):
    method = made(name, base, momentum=0.9)
    pairs = list(zip(method.target.model.parameters(), method.base.model.parameters(), strict=True))
    assert all(torch.equal(*pair) for pair in pairs)
    before = [follows.clone() for follows, _ in pairs]
    updated(method)
    for start, (follows, own) in zip(before, pairs, strict=True):
        assert follows.grad is None
        assert torch.allclose(follows, 0.9 * start + 0.1 * own, atol=1e-6)
    assert any(not torch.equal(start, follows) for start, (follows, _) in zip(before, pairs, strict=True))


def test_the_loss_of_bsl_is_zero_only_where_predictions_are_parallel_to_the_targets(base):
    method = made("bsl", base, predictors=1, predictor_width=1).eval()
    method.predict = torch.nn.Identity()
    assert method(FIRST, FIRST).item() == pytest.approx(0.0, abs=1e-5)
    assert method(FIRST, SECOND).item() > 1e-3


def test_bsl_says_how_far_it_is_from_collapsing(base):
    method = made("bsl", base, predictors=1, predictor_width=1)
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
    method = made("cert", base, queue_size=4)
    method.eval()
    method.training = True  # keys are written in training; without dropout they can be foretold

    def keys(rows):
        with torch.no_grad():
            vectors = method.key_project(method.encode_by_target(rows, method.before_normalising))
        return torch.nn.functional.normalize(vectors, dim=-1)

    for rows in (SECOND[:2], SECOND[2:], FIRST[:2]):
        method(FIRST[:2], rows)
    assert torch.allclose(method.queue, torch.cat([keys(SECOND[2:]), keys(FIRST[:2])]), atol=1e-5)


def test_the_queue_is_as_it_was_where_nothing_is_trained(base):
    method = made("cert", base, queue_size=4).eval()
    before = method.queue.clone()
    method(FIRST, SECOND)
    assert torch.equal(method.queue, before)


def test_the_queue_holds_at_most_half_of_the_rows(base):
    method = made("cert", base)
    assert len(method.queue) == 6720
    finish(method.fit([f"sentence {number}" for number in range(80)]))  # of 40 rows
    assert len(method.queue) == 20


def test_a_key_is_the_copys_even_in_the_first_step(base):
    method = made("cert", base, queue_size=4).eval()
    query = method.project(method.encode(FIRST, method.before_normalising))
    key = method.key_project(method.encode_by_target(FIRST, method.before_normalising))
    assert torch.allclose(query, key, atol=1e-5)
