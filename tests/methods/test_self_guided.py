"""Test SG, SG-OPT, BT and BT + SG-OPT: which copy encodes which side, regularisation, views and projection."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from explorer import methods
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods import self_guided
from tests.methods.rows import COLUMNS, FIRST, SECOND, seeded
from tests.tiny_models import LAYERS, WIDTH

PUBLISHED = self_guided.PROJECTION  # before the tests make it small
ALL = [
    ("sg", {}),
    ("sg-opt", {"objective": "opt1"}),
    ("sg-opt", {"objective": "opt2"}),
    ("sg-opt", {"objective": "opt3"}),
    ("bt", {}),
    ("bt", {"guided": True}),
    ("bt-sg-opt", {}),
    ("bt-sg-opt", {"both_views": True}),
    ("bt-sg-opt", {"original_views": True}),
]
every_case = pytest.mark.parametrize(
    ("name", "values"), ALL, ids=[" ".join(map(str, (a, *b.values()))) for a, b in ALL]
)


def slow_pool(tokens, how):
    """Tokens (token, width) of one sentence without padding."""
    columns = list(zip(*tokens.tolist(), strict=True))
    return [max(column) if how == "max" else sum(column) / len(column) for column in columns]


def slow_views(method, sentences):
    """(sentence, view, width): each sentence is read alone, so there is no padding to go wrong."""
    found = []
    for sentence in sentences:
        hidden = method.guide.states([sentence]).hidden
        layers = range(method.first_layer, LAYERS + 1)
        found.append([slow_pool(hidden[layer][0], method.view_pooling) for layer in layers])
    return torch.tensor(found)


@every_case
def test_without_the_projection_the_vectors_themselves_are_compared(base, name, values):
    method = seeded(name, base, projection=False, **values)
    assert not list(method.project.parameters())
    one = torch.randn(2, WIDTH)
    assert torch.equal(method.sides(one, one[:, None])[0], one)


@every_case
def test_gradients_reach_the_layers_and_the_projection_and_nothing_else(base, name, values):
    method = seeded(name, base, pull=0.0, **values)
    method(*COLUMNS[method.rows]).backward()
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
    method = seeded(name, base, temperature=0.001, **values)
    with torch.autocast("cpu", torch.bfloat16):
        loss = method(*COLUMNS[method.rows])
    loss.backward()
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    found = [weight.grad for weight in method.parameters() if weight.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in found)
    assert any(gradient.any() for gradient in found)


def test_bt_learns_through_both_sides(base):
    method = seeded("bt", base, pull=0.0).eval()
    tuned = method.tuned
    layers = list(base.model.encoder.parameters())

    def gradients(one, other):
        def held_back(sentences):
            sides = tuned(sentences).chunk(2)
            return torch.cat([one if learns else one.detach() for one, learns in zip(sides, (one, other), strict=True)])

        method.tuned = held_back
        found = torch.autograd.grad(method(FIRST, SECOND), layers)
        return torch.cat([gradient.flatten() for gradient in found])

    whole, of_one, of_other = gradients(True, True), gradients(True, False), gradients(False, True)
    assert of_one.norm() > 0.01 * whole.norm()
    assert of_other.norm() > 0.01 * whole.norm()
    assert torch.allclose(of_one + of_other, whole, atol=1e-4 * whole.abs().max().item())


def test_bt_sg_opt_on_the_sentences_themselves_is_sg_opt(base):
    plain, translated = seeded("sg-opt", base), seeded("bt-sg-opt", base)
    torch.manual_seed(5)
    expected = plain(FIRST)
    torch.manual_seed(5)
    assert translated(FIRST, FIRST).item() == expected.item(), "also with dropout: the guide has none"
    torch.manual_seed(5)
    assert translated(FIRST, SECOND).item() != expected.item()


def test_a_back_translation_is_read_by_the_guide_alone(base):
    method = seeded("bt-sg-opt", base).eval()
    seen, sides = [], method.sides
    method.sides = lambda tuned, views: seen.append((tuned, views)) or sides(tuned, views)
    assert "guitar" not in FIRST[0]
    for translated in (FIRST, ["no guitar", *FIRST[1:]]):
        method(FIRST, translated)
    (tuned, views), (tuned_after, views_after) = seen
    assert torch.equal(tuned, tuned_after)
    changed = [not torch.allclose(a, b, atol=1e-5) for a, b in zip(views, views_after, strict=True)]
    assert changed == [True, False, False, False]


def test_views_of_the_release_are_those_of_the_original_alone_and_both_readings_give_twice_as_many(base):
    method, plain = seeded("bt-sg-opt", base, original_views=True).eval(), seeded("sg-opt", base).eval()
    assert method(FIRST, SECOND).item() == plain(FIRST).item()
    method = seeded("bt-sg-opt", base, both_views=True)
    seen, sides = [], method.sides
    method.sides = lambda tuned, views: seen.append(views.shape[1]) or sides(tuned, views)
    method(FIRST, SECOND)
    assert seen == [2 * (LAYERS + 1)]


@every_case
def test_at_the_start_nothing_pulls_and_afterwards_the_sum_of_squares_does(base, name, values):
    method = seeded(name, base, pull=0.1, **values).eval()
    start = method.regularisation()
    start.backward()
    pulled = list(method.base.model.encoder.parameters())
    assert start.item() == 0
    assert all(torch.equal(weight.grad, torch.zeros_like(weight)) for weight in pulled)
    before = [weight.detach().clone() for weight in pulled]
    with torch.no_grad():
        for number, weight in enumerate(pulled):
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(number)), alpha=0.01)
    apart = zip(pulled, before, strict=True)
    squares = sum(
        (a - b) ** 2 for own, old in apart for a, b in zip(own.view(-1).tolist(), old.view(-1).tolist(), strict=True)
    )
    assert squares > 0.1
    assert method.regularisation().item() == pytest.approx(0.1 * squares, rel=1e-4)
    torch.manual_seed(1)
    held = method(*COLUMNS[method.rows])
    method.pull = 0.0
    torch.manual_seed(1)
    assert (held - method(*COLUMNS[method.rows])).item() == pytest.approx(0.1 * squares, rel=1e-3)
    assert method.regularisation() == 0


def test_the_pull_of_the_golden_weights(base):
    method = seeded("sg", base, pull=0.1)
    guide = torch.tensor([1.0, 2.0]), torch.tensor([0.0])
    own = torch.tensor([1.5, 1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    method.trained_and_start = lambda: list(zip(own, guide, strict=True))
    held = method.regularisation()
    (held / 0.1).backward()
    assert held.item() == pytest.approx(0.525)  # 0.1 × 5.25; a mean would be 1.75, a root 2.291288
    assert torch.allclose(own[0].grad, torch.tensor([1.0, -2.0]))
    assert torch.allclose(own[1].grad, torch.tensor([4.0]))


def test_the_gradient_of_the_pull_is_the_one_autograd_finds(base):
    method = seeded("sg", base, pull=0.7)
    chance = torch.Generator().manual_seed(0)
    shapes = [(3, 4), (5,), (1,), (2, 3, 2)]
    own = [torch.randn(shape, generator=chance).requires_grad_() for shape in shapes]
    guide = [torch.randn(shape, generator=chance) for shape in shapes]
    method.trained_and_start = lambda: list(zip(own, guide, strict=True))
    by_autograd = sum(((a - b) ** 2).sum() for a, b in zip(own, guide, strict=True))
    expected = torch.autograd.grad(3 * 0.7 * by_autograd, own)
    held = method.regularisation()
    assert held.item() == pytest.approx(0.7 * by_autograd.item(), rel=1e-5)
    for found, exact in zip(torch.autograd.grad(3 * held, own), expected, strict=True):
        assert torch.allclose(found, exact, rtol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert method.regularisation().item() == held.item(), "in float32 whatever the precision"


@pytest.mark.parametrize("how", ["max", "mean"])
@pytest.mark.parametrize("first", range(LAYERS + 1))
def test_views_are_the_pooled_layers_from_the_first_one_on_whatever_the_padding(base, how, first):
    method = seeded("sg", base, view_pooling=how, first_layer=first)
    views = method.views(FIRST)
    assert views.shape == (len(FIRST), LAYERS + 1 - first, WIDTH)
    assert torch.allclose(views, slow_views(method, FIRST), atol=1e-5)
    assert len({len(numbers) for numbers in base.encoder.tokens(FIRST).ids}) > 1, "otherwise there is no padding"


def test_a_first_layer_above_the_last_is_refused(base):
    with pytest.raises(BadChoice, match=rf"first_layer cannot be 3: this encoder has the layers 0 to {LAYERS}\."):
        seeded("sg", base, first_layer=LAYERS + 1)


def test_the_guide_stays_as_the_encoder_was(base):
    method = seeded("sg", base)
    views = method.views(FIRST)
    with torch.no_grad():
        for weight in base.parameters():
            weight.add_(0.1)
    assert torch.equal(method.views(FIRST), views)
    assert not views.requires_grad


def test_the_guide_has_dropout_only_where_it_is_asked_for(base):
    for expected in (False, True):
        method = seeded("sg", base, guide_dropout=expected)
        assert method.base.model.training, "the trained copy has dropout"
        assert {part.training for part in method.guide.modules()} == {expected}
        assert torch.equal(method.views(FIRST), method.views(FIRST)) != expected
        method.train()
        assert {part.training for part in method.guide.modules()} == {expected}
        method.eval()
        assert not any(part.training for part in method.modules())
        assert torch.equal(method.views(FIRST), method.views(FIRST))


def test_a_view_is_drawn_from_every_layer_for_each_sentence_by_itself(base):
    method = seeded("sg", base)
    named = torch.arange(LAYERS + 1.0).expand(300, -1)[:, :, None] + torch.zeros(WIDTH)  # a view is its layer's number
    torch.manual_seed(0)
    drawn = method.sampled(named)
    assert drawn.shape == (300, WIDTH)
    counts = torch.bincount(drawn[:, 0].long(), minlength=LAYERS + 1).tolist()
    assert len(counts) == LAYERS + 1
    assert min(counts) > 70, "300 draws, evenly from 3"
    assert not torch.equal(method.sampled(named), drawn), "anew each time"
    torch.manual_seed(0)
    assert torch.equal(method.sampled(named), drawn)
    rows = torch.arange(300.0)[:, None, None].expand(-1, LAYERS + 1, WIDTH)
    assert torch.equal(method.sampled(rows), rows[:, 0]), "everyone's view is their own"


@pytest.fixture
def as_published(small_projection, monkeypatch):
    monkeypatch.setattr(self_guided, "PROJECTION", PUBLISHED)


def test_the_projection_is_made_up_as_the_release_does_and_of_its_size(base, as_published):
    method = seeded("sg", base)
    assert [type(part) for part in method.project] == [nn.Linear, nn.GELU, nn.Linear, nn.GELU]
    for linear in (method.project[0], method.project[2]):
        assert linear.weight.std().item() == pytest.approx(0.02, rel=0.02)
        assert abs(linear.weight.mean().item()) < 2e-4
        assert not linear.bias.any()
    with torch.device("meta"):
        for width, count in ((768, 19_931_136), (1024, 20_979_712)):  # BERT-base, BERT-large
            assert sum(weight.numel() for weight in self_guided.projection_head(width).parameters()) == count


def test_both_sides_of_every_case_go_through_one_head(base):
    tuned, views = seeded("sg-opt", base).sides(torch.ones(2, WIDTH), torch.ones(2, 3, WIDTH))
    assert views.shape == (2, 3, tuned.shape[1])
    assert torch.allclose(views, tuned[:, None].expand(-1, 3, -1), atol=1e-6)
    assert tuned.requires_grad


def test_sg_trains_the_layers_of_bert_base_and_the_projection(as_published):
    with torch.device("meta"):
        model = BertModel(BertConfig(), add_pooling_layer=False)
        encoder = SimpleNamespace(model=model, max_length=512, width=768, default_head=Head(("mean",)))
        method = methods.load("sg")(Tunable(encoder, 128))
    counts = {True: 0, False: 0}
    for weight in method.parameters():
        counts[weight.requires_grad] += weight.numel()
    assert counts[True] == 85_054_464 + 19_931_136
    assert counts[False] == 23_837_184 + (85_054_464 + 23_837_184)  # the embeddings, and the frozen copy
