"""Test SG, SG-OPT, BT and BT + SG-OPT: which side is encoded by which copy, and what is trained."""

import torch

from tests.methods.rows import COLUMNS, FIRST, SECOND
from tests.methods.self_guided import every_case, made
from tests.tiny_models import LAYERS, WIDTH


@every_case
def test_without_the_projection_the_vectors_themselves_are_compared(base, name, values):
    method = made(name, base, projection=False, **values)
    assert not list(method.project.parameters())
    one = torch.randn(2, WIDTH)
    assert torch.equal(method.sides(one, one[:, None])[0], one)


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


def test_the_views_of_the_release_are_those_of_the_original_alone(base):
    method, plain = made("bt-sg-opt", base, original_views=True).eval(), made("sg-opt", base).eval()
    assert method(FIRST, SECOND).item() == plain(FIRST).item()


def test_both_readings_give_twice_as_many_views(base):
    method = made("bt-sg-opt", base, both_views=True)
    seen, sides = [], method.sides
    method.sides = lambda tuned, views: seen.append(views.shape[1]) or sides(tuned, views)
    method(FIRST, SECOND)
    assert seen == [2 * (LAYERS + 1)]
