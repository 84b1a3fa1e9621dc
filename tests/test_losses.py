"""Test the losses against values computed by hand, and those of two processes against one with all rows."""

import math
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from explorer import losses
from explorer.gathering import gathered
from tests.processes import in_a_group_of_two

C = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
H = torch.tensor([[1.0, 1.0], [-1.0, 1.0]])
VIEWS = torch.tensor([[[1.0, 1.0], [1.0, 0.0]], [[-1.0, 1.0], [0.0, 1.0]]])
HARD = torch.tensor([[1.0, -1.0], [0.0, 1.0]])
C3 = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
H3 = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]])


def cosine(one, other):
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


def term(positive, negatives, temperature):
    """-log of the share of the positive, by exponentials as the papers write them."""
    share = math.exp(positive / temperature)
    return -math.log(share / (share + sum(math.exp(negative / temperature) for negative in negatives)))


@pytest.mark.parametrize(
    ("loss", "golden"),
    [
        # with r = cos 45°: terms ln(1 + e^-r + e^-2r) and ln(2 + e^-r), each twice
        (losses.nt_xent(C, H, 1.0), 0.732602),
        (losses.nt_xent(C, H, 0.05), 0.346574),
        (losses.self_guided_1(C, H, 1.0), 0.732602),
        (losses.self_guided_2(C, H, 1.0), 0.455384),
        (losses.self_guided_3(C, VIEWS, 1.0), 0.662890),  # 1.087319 with one's own other views as negatives
        (losses.self_guided_3(C, VIEWS, 0.05), 0.174000),
        (losses.self_guided_3(C, VIEWS, 0.01), 0.173287),
        (losses.self_guided_2(C3, H3, 1.0), 0.933072),  # 0.550649 with one negative lost
        (losses.self_guided_1(C3, H3, 1.0), 1.441113),
        (losses.info_nce(C, H, 1.0), 0.455384),
        (losses.info_nce(C, H, 0.05), 0.346574),
        (losses.info_nce_hard(C, H, HARD, 1.0, 0.0), 1.141441),
        (losses.info_nce_hard(C, H, HARD, 1.0, 1.0), 1.633278),
        (losses.info_nce_hard(C, H, HARD, 0.05, 0.0), 3.278355),
        (losses.info_nce_hard(C, H, HARD, 0.05, 1.0), 4.086613),
    ],
)
def test_the_golden_values(loss, golden):
    assert loss.item() == pytest.approx(golden, abs=2e-6)


@pytest.fixture
def batch():
    chance = torch.Generator().manual_seed(0)
    c, h, hard = torch.randn(3, 5, 7, generator=chance)
    return c, h, hard, torch.randn(5, 4, 7, generator=chance)


FORMULAS = [
    lambda c, h, t: losses.nt_xent(c, h, t),
    lambda c, h, t: losses.self_guided_1(c, h, t),
    lambda c, h, t: losses.self_guided_2(c, h, t),
    lambda c, h, t: losses.self_guided_3(c, torch.stack([h, h.flip(1)], dim=1), t),
    lambda c, h, t: losses.info_nce_hard(c, h, h.flip(0), t, 0.0),
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_length_of_a_vector_does_not_matter(batch, formula):
    c, h, *_ = batch
    assert formula(c * 3.7, h * 0.2, 0.1).item() == pytest.approx(formula(c, h, 0.1).item(), abs=1e-5)


@pytest.mark.parametrize("formula", FORMULAS[:-1])  # the hard negatives of the last are other rows of the batch
def test_the_order_of_the_batch_does_not_matter(batch, formula):
    c, h, *_ = batch
    order = torch.tensor([3, 0, 4, 1, 2])
    assert formula(c[order], h[order], 0.1).item() == pytest.approx(formula(c, h, 0.1).item(), abs=1e-5)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_all_is_finite_at_a_temperature_of_a_thousandth(formula, dtype):
    c = torch.tensor([[1.0, 0.0], [1.0, 0.001]], dtype=dtype, requires_grad=True)
    h = torch.tensor([[-1.0, 0.0], [1.0, 0.0]], dtype=dtype, requires_grad=True)
    with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
        loss = formula(c, h, 0.001)
    loss.backward()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    assert torch.isfinite(c.grad).all()
    assert torch.isfinite(h.grad).all()


def test_opt2_is_exact_where_exponentials_overflow():
    c, h = torch.tensor([[1.0, 0.0], [1.0, 0.001]]), torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    assert losses.self_guided_2(c, h, 0.001).item() == pytest.approx(1000.0)  # terms 2000 and 0
    with pytest.raises(OverflowError, match="math range error"):
        math.exp(cosine(c[0].tolist(), h[1].tolist()) / 0.001)


def test_opt1_is_above_opt2_by_the_other_tuned_sentences(batch):
    c, h, *_ = (each.double().tolist() for each in batch)
    t, rows, apart = 0.1, range(5), []
    for i in rows:
        among_tuned = sum(math.exp(cosine(c[i], c[j]) / t) for j in rows if j != i)
        to_guides = sum(math.exp(cosine(c[i], h[j]) / t) for j in rows)
        apart.append(math.log(1 + among_tuned / to_guides))
    difference = losses.self_guided_1(*batch[:2], t) - losses.self_guided_2(*batch[:2], t)
    assert difference.item() == pytest.approx(sum(apart) / 5, rel=1e-4)


def test_rows_of_triplets_may_come_in_any_order_as_long_as_they_stay_whole(batch):
    c, h, hard, _ = batch
    order = torch.tensor([3, 0, 4, 1, 2])
    for weight in (0.0, 1.0):
        expected = losses.info_nce_hard(c, h, hard, 0.1, weight).item()
        whole = losses.info_nce_hard(c[order], h[order], hard[order], 0.1, weight).item()
        assert whole == pytest.approx(expected, abs=1e-5)
    torn = losses.info_nce_hard(c, h, hard[order], 0.1, 1.0).item()
    assert abs(torn - expected) > 1e-3, "with a weight it matters whose hard negative it is"


def test_a_weight_far_below_0_takes_away_ones_own_hard_negative_and_no_other(batch):
    c, h, hard, _ = batch
    slow_c, slow_h, slow_hard = (each.double().tolist() for each in (c, h, hard))
    rows, terms = range(5), []
    for i in rows:
        others = [cosine(slow_c[i], side[j]) for side in (slow_h, slow_hard) for j in rows if j != i]
        terms.append(term(cosine(slow_c[i], slow_h[i]), others, 0.1))
    found = losses.info_nce_hard(c, h, hard, 0.1, -1e4).item()
    assert found == pytest.approx(sum(terms) / 5, rel=1e-4)
    assert found > losses.info_nce(c, h, 0.1).item()


def test_vectors_that_are_all_alike_leave_the_number_of_candidates():
    alike = torch.ones(4, 3)
    views = torch.ones(4, 5, 3)
    for temperature in (0.01, 1.0):
        assert losses.nt_xent(alike, alike, temperature).item() == pytest.approx(math.log(7), abs=1e-4)
        assert losses.self_guided_1(alike, alike, temperature).item() == pytest.approx(math.log(7), abs=1e-4)
        assert losses.self_guided_2(alike, alike, temperature).item() == pytest.approx(math.log(4), abs=1e-4)
        assert losses.self_guided_3(alike, views, temperature).item() == pytest.approx(math.log(16), abs=1e-4)


def test_how_the_formulas_are_related(batch):
    c, h, hard, views = batch
    assert losses.nt_xent(c, h, 0.1).item() == pytest.approx(losses.nt_xent(h, c, 0.1).item(), abs=1e-5)
    both = (losses.self_guided_1(c, h, 0.1) + losses.self_guided_1(h, c, 0.1)) / 2
    assert losses.nt_xent(c, h, 0.1).item() == pytest.approx(both.item(), abs=1e-5)
    assert losses.self_guided_1(c, h, 0.1) > losses.self_guided_2(c, h, 0.1)
    one_view = losses.self_guided_3(c, h[:, None], 0.1)
    assert one_view.item() == pytest.approx(losses.self_guided_2(c, h, 0.1).item(), abs=1e-5)
    shuffled = losses.self_guided_3(c, views[:, [2, 0, 3, 1]], 0.1)
    assert shuffled.item() == pytest.approx(losses.self_guided_3(c, views, 0.1).item(), abs=1e-5)
    assert losses.info_nce_hard(c, h, hard, 0.1, 0.0) > losses.info_nce(c, h, 0.1)


def test_the_interaction_gives_the_values_worked_out_for_it():
    same, other = torch.tensor([[1.2]], requires_grad=True), torch.tensor([[0.4]], requires_grad=True)
    loss = losses.interaction(same, other)
    loss.backward()
    assert loss.item() == pytest.approx(0.371101, abs=1e-6)
    assert same.grad.item() == pytest.approx(-0.310026, abs=1e-6)
    assert other.grad.item() == pytest.approx(0.310026, abs=1e-6)
    assert losses.interaction(same, same).item() == pytest.approx(math.log(2), abs=1e-6)
    assert losses.interaction(same + 7, other + 7).item() == pytest.approx(loss.item(), abs=1e-6)


def test_the_other_readings_of_the_interaction_give_theirs_and_it_stays_finite_where_exponentials_do_not():
    same, other = torch.tensor([[1.0, -0.5]]), torch.tensor([[0.0, 0.5]])
    assert losses.interaction(same, other).item() == pytest.approx(0.813262, abs=1e-6)
    assert losses.interaction_by_class(same, other).item() == pytest.approx(0.337745, abs=1e-6)
    far = torch.tensor([[1000.0]])
    assert losses.interaction(-far, far).item() == 2000.0
    assert losses.interaction(far, -far).item() == 0.0


ROWS, WIDTH, OUT, LAYERS = 16, 6, 5, 3


def plain(rows: torch.Tensor) -> torch.Tensor:
    """The rows of every process; only the own ones have a gradient."""
    parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, rows.detach())
    parts[dist.get_rank()] = rows
    return torch.cat(parts)


def in_each_process(file: Path) -> None:
    """The losses and gradients of half the rows; the first process saves them."""
    share = ROWS // dist.get_world_size()
    mine = slice(dist.get_rank() * share, (dist.get_rank() + 1) * share)
    found = {"world": dist.get_world_size(), "numbers": gathered(torch.full((2, 1), float(dist.get_rank())))}
    for name, formula in CASES.items():
        for way, join in (("gathered", gathered), ("plain", plain)):
            weight = weights()
            loss = formula(rows()[0][mine], rows()[1][mine], weight, join)
            loss.backward()
            each = [torch.empty_like(loss) for _ in range(dist.get_world_size())]
            dist.all_gather(each, loss.detach())
            dist.all_reduce(weight.grad)
            found[name, way] = each, weight.grad / dist.get_world_size()
    if dist.get_rank() == 0:
        torch.save(found, file)


def rows() -> torch.Tensor:
    """(side, sentence, layer, width), the same in every process."""
    return torch.randn(2, ROWS, LAYERS, WIDTH, generator=torch.Generator().manual_seed(0))


def weights() -> torch.Tensor:
    return torch.randn(WIDTH, OUT, generator=torch.Generator().manual_seed(1)).requires_grad_()


def info_nce(one, other, weight, join):
    return losses.info_nce(join(one[:, 0] @ weight), join(other[:, 0] @ weight), 0.1)


def self_guided_3(one, other, weight, join):
    return losses.self_guided_3(join(one[:, 0] @ weight), join(other @ weight), 0.1)


def joined_twice(one, other, weight, join):
    """Both joined tensors are given one and the same gradient, which neither may change for the other."""
    return (join(one[:, 0] @ weight) + join(other[:, 0] @ weight)).tanh().square().sum()


CASES = {"info_nce": info_nce, "self_guided_3": self_guided_3, "joined_twice": joined_twice}


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("gathering")
    in_a_group_of_two(in_each_process, folder / "found", folder=folder)
    return torch.load(folder / "found")


def alone(name: str) -> tuple[float, torch.Tensor]:
    weight = weights()
    loss = CASES[name](*rows(), weight, gathered)
    loss.backward()
    return loss.item(), weight.grad


def test_every_process_sees_the_rows_of_all_in_order_of_rank(two_processes):
    assert two_processes["world"] == 2
    assert two_processes["numbers"].tolist() == [[0.0], [0.0], [1.0], [1.0]]


@pytest.mark.parametrize("name", CASES)
def test_two_times_eight_rows_are_as_good_as_sixteen_and_without_gradients_across_processes_only_the_loss_is(
    two_processes, name
):
    loss, gradient = alone(name)
    assert gradient.abs().max() > 0.01
    each, mean = two_processes[name, "gathered"]
    assert len(each) == 2
    assert [one.item() for one in each] == pytest.approx([loss, loss], rel=1e-6)
    assert torch.allclose(mean, gradient, rtol=1e-5, atol=1e-6)
    each, mean = two_processes[name, "plain"]
    assert [one.item() for one in each] == pytest.approx([loss, loss], rel=1e-6)
    assert (mean - gradient).abs().max() > 0.1 * gradient.abs().max()
    # each process learns from its own rows: together half of the gradient, and DDP averages
    assert torch.allclose(2 * mean, gradient, rtol=1e-5, atol=1e-6)


def test_the_loss_of_the_whole_is_not_the_mean_over_its_parts():
    weight = weights()
    whole = CASES["info_nce"](*rows(), weight, gathered)
    halves = [CASES["info_nce"](*rows()[:, half], weight, gathered) for half in (slice(0, 8), slice(8, 16))]
    assert abs(whole - sum(halves) / 2) > 0.01, "otherwise there is nothing to gather"


def test_alone_the_rows_are_the_rows():
    assert not torch.distributed.is_initialized()
    one = torch.randn(3, 2)
    assert gathered(one) is one
