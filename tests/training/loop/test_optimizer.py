"""Test the schedule: the learning rate, the weights that the optimiser changes, and early stopping."""

from itertools import pairwise

import pytest
import torch

from explorer import methods
from explorer.data.text_sets import SENTENCES
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Schedule, UncorrectedAdam
from explorer.methods._schedule import drops, since_best
from explorer.optimizers import UPDATE, UncorrectedAdamW, adamw, learning_rate

# 1,079 updates of 5e-5 at most, the first 108 of them climbing: the schedule of SG-BERT's code, by the 0-based update
PUBLISHED = {
    0: 0.0, 1: 4.629630e-07, 54: 2.5e-05, 107: 4.953704e-05, 108: 5e-05, 109: 4.994851e-05, 593: 2.502575e-05,
    1078: 5.149331e-08,
}  # fmt: skip


@pytest.fixture
def method(tiny_encoder):
    torch.manual_seed(0)
    return methods.load("sg-opt")(Tunable(tiny_encoder, 16), {"projection": False})


def made(method, schedule):
    return method.make_optimizer(method.groups(schedule), schedule)


@pytest.mark.parametrize("step", PUBLISHED)
def test_the_rate_of_an_update_is_the_published_one_which_climbs_an_update_earlier(step):
    climbs_to = range(1, 109)  # the published schedule counts from 0, so that its first update changes nothing
    if step:
        now = step - 1 if step in climbs_to else step
        assert learning_rate(now, 5e-5, 108, 1079) == pytest.approx(PUBLISHED[step], rel=1e-6)
    assert learning_rate(step, 5e-5, 108, 1079) > 0


def test_a_run_that_only_falls_begins_with_the_largest_rate_and_one_that_only_climbs_ends_with_it():
    for climb, rates in ((0, [1.0, 0.75, 0.5, 0.25]), (4, [0.25, 0.5, 0.75, 1.0])):
        assert [learning_rate(step, 1.0, climb, 4) for step in range(4)] == rates


def test_no_update_has_a_rate_of_0_and_no_warmup_is_longer_than_its_share():
    for total in range(1, 131):
        for share in (0.0, 0.05, 0.1, 0.29, 0.5, 1.0):
            schedule = Schedule(warmup=share)
            climb = schedule.warmup_updates(total)
            assert climb <= share * total + 1e-6 < climb + 1 + 1e-6
            for decay in ("linear", "none"):
                rates = [learning_rate(step, 1.0, climb, total, decay) for step in range(total)]
                assert min(rates) > 0
                assert max(rates) == 1.0


@pytest.mark.parametrize("name", [name for name in methods.names() if methods.load(name).trains()])
def test_the_only_update_of_a_method_has_its_whole_rate(name, tiny_encoder):
    kind = methods.load(name)
    if kind.rate is methods.Method.rate:
        for total in (1, 2, 9):
            assert kind.rate(None, 0, total, kind.schedule) == kind.schedule.learning_rate


def test_only_matrices_are_pulled_to_zero(method):
    optimizer = made(method, Schedule(weight_decay=0.01))
    decay = {id(weight): group["weight_decay"] for group in optimizer.param_groups for weight in group["params"]}
    told = {name: decay[id(weight)] for name, weight in method.named_parameters() if weight.requires_grad}
    spared = {name for name, value in told.items() if value == 0}
    assert spared == {name for name in told if name.endswith(".bias") or "LayerNorm" in name}
    assert {value for name, value in told.items() if name not in spared} == {0.01}
    assert any("LayerNorm.weight" in name for name in spared)
    assert 0 < len(spared) < len(told)


def test_without_bias_correction_an_update_is_that_of_bert_s_first_code():
    module = torch.nn.Linear(2, 1)
    groups = [{"params": list(module.parameters()), "weight_decay": 0.1}]
    optimizer = adamw(groups, 1e-2, beta2=0.99, epsilon=1e-3, corrected=False)
    weights = [weight.detach().double().clone() for weight in module.parameters()]
    means, squares = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    torch.manual_seed(0)
    for step in range(5):
        gradients = [torch.randn(weight.shape, dtype=torch.float64) for weight in weights]
        for weight, gradient in zip(module.parameters(), gradients, strict=True):
            weight.grad = gradient.float()
        optimizer.param_groups[0][UPDATE] = step
        optimizer.step()
        for at, gradient in enumerate(gradients):
            means[at] = 0.9 * means[at] + 0.1 * gradient
            squares[at] = 0.99 * squares[at] + 0.01 * gradient**2
            weights[at] = weights[at] - 1e-2 * (means[at] / (squares[at].sqrt() + 1e-3) + 0.1 * weights[at])
        for weight, expected in zip(module.parameters(), weights, strict=True):
            assert torch.allclose(weight.detach().double(), expected, atol=1e-6)


def test_the_early_steps_without_bias_correction_are_as_large_as_published():
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = adamw([{"params": [weight], "weight_decay": 0.0}], 1.0, epsilon=0.0, corrected=False)
    sizes = {}
    for step in range(5000):
        before = weight.item()
        weight.grad = torch.ones_like(weight)  # m / √v is 1 with bias correction
        optimizer.param_groups[0][UPDATE] = step
        optimizer.step()
        sizes[step + 1] = before - weight.item()
    assert max(sizes, key=sizes.__getitem__) == 12
    found = [sizes[number] for number in (1, 12, 100, 1000, 5000)]
    assert found == pytest.approx([3.162278, 6.568520, 3.240799, 1.257584, 1.003378], abs=1e-6)


def test_a_setting_of_some_methods_leaves_out_the_bias_correction(tiny_encoder):
    class Early(UncorrectedAdam):
        rows = SENTENCES
        schedule = Schedule()

        def loss(self, *columns):
            return self.encode(columns[0]).sum()

    for value in (True, False):
        method = Early(Tunable(tiny_encoder, 16), {"uncorrected_adam": value})
        assert isinstance(made(method, Schedule()), UncorrectedAdamW) == value


def test_settings_of_the_groups_are_as_before_after_an_update_without_bias_correction():
    weight = torch.zeros(1, requires_grad=True)
    optimizer = adamw([{"params": [weight], "weight_decay": 0.1}], 0.5, corrected=False)
    weight.grad = torch.ones_like(weight)
    optimizer.param_groups[0][UPDATE] = 3
    optimizer.step()
    group = optimizer.param_groups[0]
    assert (group["lr"], group["eps"], group["weight_decay"]) == (0.5, 1e-8, 0.1)


def test_what_is_frozen_is_not_touched_and_the_settings_of_the_schedule_reach_the_optimiser(method):
    held = {id(weight) for group in made(method, Schedule()).param_groups for weight in group["params"]}
    frozen = {name: weight for name, weight in method.named_parameters() if not weight.requires_grad}
    assert any(name.startswith("guide.") for name in frozen)
    assert any("embeddings" in name for name in frozen)
    assert not [name for name, weight in frozen.items() if id(weight) in held]
    assert held == {id(weight) for weight in method.parameters() if weight.requires_grad}
    for group in made(method, Schedule(learning_rate=3e-4, beta2=0.9, epsilon=1e-6)).param_groups:
        assert (group["lr"], group["betas"], group["eps"]) == (3e-4, (0.9, 0.9), 1e-6)


# reference for the rule of the code: with endurance 3 it stops at the 6th look, and the best is the 5th
LOOKS = [70.0, 69.0, 71.0, 70.0, 72.0, 71.0, 73.0]
NAN = float("nan")


def stops_at(scores, rule, endurance):
    """The number of the look, that of the base included, at which it is enough; None if it never is."""
    schedule = Schedule(early_stop=rule, endurance=endurance)
    return next((n for n in range(1, len(scores) + 1) if schedule.stops_early(scores[:n])), None)


def test_falls_are_counted_as_in_the_code_of_sg_bert_where_a_score_as_before_is_none():
    for base in (0.0, 99.0):
        assert stops_at([base, *LOOKS], "drops", 3) == 1 + 6
    assert max(range(6), key=LOOKS.__getitem__) == 4, "the best so far is the 5th"
    assert stops_at([0.0, *LOOKS], "no new best", 3) is None, "a patience that starts over would go on"
    assert drops([70.0, 70.0, 69.0, 69.0]) == 1


@pytest.mark.parametrize("endurance", [1, 2, 3, 4])
def test_a_fall_is_a_score_below_the_one_before(endurance):
    falls = [later < earlier for earlier, later in pairwise(LOOKS)]
    reached = [sum(falls[:number]) for number in range(len(falls) + 1)]
    expected = 1 + reached.index(endurance) + 1 if endurance in reached else None
    assert stops_at([0.0, *LOOKS], "drops", endurance) == expected


def test_patience_starts_over_at_a_new_best_which_neither_the_base_nor_a_missing_score_is():
    climbing = [90.0, 60.0, 59.0, 58.0, 61.0, 60.0, 60.0, 61.0]  # the base first
    assert stops_at(climbing, "no new best", 2) == 4
    assert stops_at(climbing, "no new best", 3) == 8, "as good as the best is no new best"
    assert stops_at(climbing, "no new best", 4) is None
    assert since_best(climbing[1:]) == 3
    assert since_best([NAN, 70.0, 69.0, NAN]) == 2
    assert since_best([NAN, NAN]) == 2
    assert stops_at([80.0, NAN, 70.0, 69.0, 68.0], "no new best", 2) == 5


def test_without_a_rule_it_is_never_enough():
    assert stops_at([70.0] + [1.0] * 50, "none", 1) is None
    assert stops_at([70.0] + [1.0] * 50, "no new best", 3) == 5
    assert not Schedule(early_stop="no new best", endurance=1).stops_early([])
    assert not Schedule(early_stop="drops", endurance=1).stops_early([])
