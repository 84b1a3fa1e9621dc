"""Test SG, SG-OPT, BT and BT + SG-OPT against their formulas, sentence by sentence."""

import math

import pytest
import torch

from explorer import losses, methods
from tests.methods.rows import COLUMNS, FIRST, SECOND
from tests.methods.self_guided import every_case, made, slow_views
from tests.tiny_models import LAYERS, WIDTH


def slow_project(method, vectors):
    """Linear, GELU, linear, GELU, in float64."""
    if not method.projection:
        return vectors.double()
    for linear in (method.project[0], method.project[2]):
        vectors = vectors.double() @ linear.weight.double().T + linear.bias.double()
        vectors = vectors * (1 + torch.erf(vectors / math.sqrt(2))) / 2
    return vectors


def slow_read(method, sentences):
    return torch.cat([method.base.states([sentence]).hidden[-1][:, 0] for sentence in sentences])


def contrast_by_hand(method, name, columns, drawn):
    """The contrastive term; `drawn` is the layer that each sentence's view is of, where one is drawn."""
    views = slow_views(method, columns[-1])
    if name == "bt-sg-opt" and method.both_views:
        views = torch.cat([slow_views(method, columns[0]), views], dim=1)
    tuned, views = slow_project(method, slow_read(method, columns[0])), slow_project(method, views)
    one_view = torch.stack([view[layer] for view, layer in zip(views, drawn, strict=True)])
    if name == "bt":
        other = one_view if method.guided else slow_project(method, slow_read(method, columns[1]))
        return losses.nt_xent(tuned, other, method.temperature)
    if name == "sg":
        return losses.nt_xent(tuned, one_view, method.temperature)
    if name == "bt-sg-opt" or method.objective == "opt3":
        return losses.self_guided_3(tuned, views, method.temperature)
    formula = {"opt1": losses.self_guided_1, "opt2": losses.self_guided_2}[method.objective]
    return formula(tuned, one_view, method.temperature)


@every_case
@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_the_loss_is_the_formula_of_what_both_copies_say(base, name, values, temperature):
    method = made(name, base, temperature=temperature, **values).eval()
    columns = COLUMNS[method.eats]
    for seed in (1, 2):
        torch.manual_seed(seed)
        drawn = torch.randint(LAYERS + 1, (len(FIRST),)).tolist()
        expected = contrast_by_hand(method, name, columns, drawn).item()
        torch.manual_seed(seed)
        assert method(*columns).item() == pytest.approx(expected, rel=1e-4)


@every_case
def test_gradients_are_those_of_the_formula_through_both_sides(base, name, values):
    method = made(name, base, temperature=0.2, pull=0.0, **values).eval()
    columns = COLUMNS[method.eats]
    trained = [weight for weight in method.parameters() if weight.requires_grad]
    torch.manual_seed(1)
    drawn = torch.randint(LAYERS + 1, (len(FIRST),)).tolist()
    expected = torch.autograd.grad(contrast_by_hand(method, name, columns, drawn), trained)
    torch.manual_seed(1)
    found = torch.autograd.grad(method(*columns), trained)
    size = max(gradient.abs().max().item() for gradient in expected)
    assert size > 1e-3
    assert all(torch.allclose(one, other, atol=1e-4 * size) for one, other in zip(found, expected, strict=True))


@every_case
def test_without_the_projection_the_loss_is_that_of_the_vectors_themselves(base, name, values):
    method = made(name, base, temperature=0.05, projection=False, **values).eval()
    columns = COLUMNS[method.eats]
    torch.manual_seed(3)
    drawn = torch.randint(LAYERS + 1, (len(FIRST),)).tolist()
    expected = contrast_by_hand(method, name, columns, drawn).item()
    torch.manual_seed(3)
    assert method(*columns).item() == pytest.approx(expected, rel=1e-4)
    assert not list(method.project.parameters())
    one = torch.randn(2, WIDTH)
    assert torch.equal(method.sides(one, one[:, None])[0], one)
    with_one = made(name, base, temperature=0.05, **values).eval()
    torch.manual_seed(3)
    assert with_one(*columns).item() != pytest.approx(expected, rel=1e-3), "the projection matters"


@every_case
def test_gradients_reach_the_layers_and_the_projection_and_nothing_else(base, name, values):
    method = made(name, base, pull=0.0, **values)
    method(*COLUMNS[method.eats]).backward()
    for where, weight in method.named_parameters():
        learns = where.startswith(("base.model.encoder.", "project."))
        assert weight.requires_grad == learns, where
        assert (weight.grad is not None) == learns, where
        # a bias of the keys moves every score of a softmax alike
        assert not learns or weight.grad.any() or where.endswith("key.bias"), where
    assert any(where.startswith("guide.") for where, _ in method.named_parameters())
    assert any(where.startswith("base.model.embeddings.") for where, _ in method.named_parameters())


@every_case
def test_at_a_temperature_of_a_thousandth_all_is_finite_in_bfloat16(base, name, values):
    method = made(name, base, temperature=0.001, **values)
    with torch.autocast("cpu", torch.bfloat16):
        loss = method(*COLUMNS[method.eats])
    loss.backward()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    found = [weight.grad for weight in method.parameters() if weight.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in found)
    assert any(gradient.any() for gradient in found)


def test_bt_learns_through_both_sides(base):
    method = made("bt", base, pull=0.0).eval()
    tuned = method.tuned
    layers = list(base.model.encoder.parameters())

    def gradients(one, other):
        def held_back(sentences):
            sides = tuned(sentences).chunk(2)
            return torch.cat(
                [side if learns else side.detach() for side, learns in zip(sides, (one, other), strict=True)]
            )

        method.tuned = held_back
        found = torch.autograd.grad(method(FIRST, SECOND), layers)
        return torch.cat([gradient.flatten() for gradient in found])

    whole, of_one, of_other = gradients(True, True), gradients(True, False), gradients(False, True)
    assert of_one.norm() > 0.01 * whole.norm()
    assert of_other.norm() > 0.01 * whole.norm()
    assert torch.allclose(of_one + of_other, whole, atol=1e-4 * whole.abs().max().item())


def test_bt_sg_opt_on_the_sentences_themselves_is_sg_opt(base):
    plain, translated = made("sg-opt", base), made("bt-sg-opt", base)
    torch.manual_seed(5)
    expected = plain(FIRST)
    torch.manual_seed(5)
    assert translated(FIRST, FIRST).item() == expected.item(), "also with dropout: the guide has none"
    torch.manual_seed(5)
    assert translated(FIRST, SECOND).item() != expected.item()


def test_a_back_translation_is_read_by_the_guide_alone(base):
    method = made("bt-sg-opt", base).eval()
    seen, sides = [], method.sides
    method.sides = lambda tuned, views: seen.append((tuned, views)) or sides(tuned, views)
    assert "guitar" not in FIRST[0]
    for translated in (FIRST, ["no guitar", *FIRST[1:]]):
        method(FIRST, translated)
    (tuned, views), (tuned_after, views_after) = seen
    assert torch.equal(tuned, tuned_after)
    changed = [not torch.allclose(a, b, atol=1e-5) for a, b in zip(views, views_after, strict=True)]
    assert changed == [True, False, False, False]


def test_both_readings_give_twice_as_many_views(base):
    method = made("bt-sg-opt", base, both_views=True)
    seen, sides = [], method.sides
    method.sides = lambda tuned, views: seen.append(views.shape[1]) or sides(tuned, views)
    method(FIRST, SECOND)
    assert seen == [2 * (LAYERS + 1)]


def test_the_defaults_are_the_papers(base):
    for name in ("sg", "sg-opt", "bt", "bt-sg-opt"):
        kind = methods.load(name)
        found = {one.name: one.default for one in kind.knobs.values()}
        expected = {"temperature": 0.01, "pull": 0.1, "projection": True, "view_pooling": "max", "first_layer": 0}
        assert expected.items() <= found.items()
        assert not found["guide_dropout"]
        assert kind.knobs["pooling"].paper_value == "cls"
        schedule = kind.schedule
        assert (schedule.batch_size, schedule.epochs, schedule.steps, schedule.max_length) == (16, 1, 0, 128)
        assert (schedule.learning_rate, schedule.beta2, schedule.epsilon) == (5e-5, 0.9, 1e-6)
        assert (schedule.weight_decay, schedule.warmup, schedule.clip) == (0.01, 0.1, 1.0)
        assert (schedule.early_stop, schedule.endurance, schedule.evaluate_every) == ("drops", 10, 50)
    assert methods.load("sg-opt").knobs["objective"].default == "opt3"
