"""Test the encoder between a base and tuned models against weights that transformers alone blends."""

import pytest
import torch
from transformers import AutoModel

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.flow_map import Flow, FlowMap
from explorer.encoding.tune.blending import Blending
from explorer.errors import BadChoice, UnsupportedModel
from tests.tiny_models import FAMILIES, SENTENCES, WIDTH, save_tiny


def encoder(folder, kind="bert", **how):
    return load(of_folder(folder.name, save_tiny(kind, folder, **how)), precision="float32", device="cpu")


def vectors(one):
    (_, (found,)), *_ = one.under_heads(SENTENCES[:1], (one.default_head,))
    return found


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    home = tmp_path_factory.mktemp("blend")
    return tuple(encoder(home / f"seed{seed}", seed=seed) for seed in range(3))


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_weight_of_a_blend_is_the_one_that_is_computed_by_hand(kind, tmp_path):
    base, tuned = (encoder(tmp_path / f"{kind}{seed}", kind, seed=seed) for seed in (0, 1))
    found = dict(Blending(base, [tuned]).at(0.3).model.named_parameters())
    before, after = (dict(one.model.named_parameters()) for one in (base, tuned))
    assert set(found) == set(before)
    for name, weight in found.items():
        by_hand = 0.7 * before[name].double() + 0.3 * after[name].double()
        assert torch.allclose(weight.double(), by_hand, atol=1e-7), name


def test_a_blend_encodes_as_a_model_of_transformers_with_such_weights(ends):
    base, tuned, _ = ends
    by_hand = AutoModel.from_pretrained(base.folder)
    other = AutoModel.from_pretrained(tuned.folder).state_dict()
    by_hand.load_state_dict({name: torch.lerp(own, other[name], 0.6) if own.is_floating_point() else own
                             for name, own in by_hand.state_dict().items()})  # fmt: skip
    ids = torch.tensor(base.tokens(SENTENCES[:1]).ids)
    with torch.no_grad():
        expected = by_hand(input_ids=ids).last_hidden_state.mean(1)
    assert torch.allclose(vectors(Blending(base, [tuned]).at(0.6)), expected, atol=1e-6)


def test_both_ends_are_exact_and_neither_model_changes(ends):
    base, tuned, _ = ends
    before = [vectors(one).clone() for one in (base, tuned)]
    blending = Blending(base, [tuned])
    found = [vectors(blending.at(alpha)) for alpha in (0, 1, 0.5)]
    assert torch.equal(found[0], before[0])
    assert torch.equal(found[1], before[1])
    assert not torch.allclose(found[2], before[0], atol=1e-3)
    assert all(torch.equal(vectors(one), own) for one, own in zip((base, tuned), before, strict=True))
    assert len({blending.digest(alpha) for alpha in (0, 0.5, 1)} | {base.digest, tuned.digest}) == 5


def test_of_several_tuned_models_the_mean_of_their_weights_is_blended(ends):
    base, one, other = ends
    found = dict(Blending(base, [one, other]).at(1).model.named_parameters())
    first, second = (dict(each.model.named_parameters()) for each in (one, other))
    for name, weight in found.items():
        assert torch.allclose(weight, (first[name] + second[name]) / 2, atol=1e-7), name


def headed(one, head):
    """An encoder with another head; it shares everything else."""
    found = Blending(one, [one]).at(1)
    found.head = head
    return found


def test_the_layer_and_pooling_is_that_of_the_tuned_model_and_its_weights_are_blended_too(ends):
    base, tuned, _ = ends
    dense = [Dense(torch.full((4, WIDTH), value), torch.zeros(4), "Tanh") for value in (1.0, 3.0)]
    one, other = (headed(end, Head(("mean",), (part,))) for end, part in zip((base, tuned), dense, strict=True))
    blending = Blending(one, [other])
    assert torch.equal(blending.at(0.5).default_head.dense[0].weight, torch.full((4, WIDTH), 2.0))
    assert blending.same_head
    cls = Blending(base, [headed(tuned, Head(("cls",)))])
    assert not cls.same_head
    assert cls.at(0).default_head.poolings == ("cls",)


@pytest.mark.parametrize("alpha", [-0.1, 1.01, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(ends, alpha):
    with pytest.raises(BadChoice, match=r"is not between 0 \(the base\) and 1 \(the tuned model\)"):
        Blending(*ends[:1], ends[1:2]).at(alpha)


def test_models_of_other_shapes_are_refused_with_the_reason(ends, tmp_path):
    base, tuned, _ = ends
    dense = Head(("mean",), (Dense(torch.ones(4, WIDTH), None, "Tanh"),))
    flow = Head(("mean",), (FlowMap(Flow(WIDTH)),))
    cases = {
        "the one is a bert, the other a roberta": (base, encoder(tmp_path / "roberta", "roberta")),
        "the one has 2 layers, the other 1": (base, encoder(tmp_path / "short", num_hidden_layers=1)),
        r"their weights differ in shape \(": (base, encoder(tmp_path / "thin", intermediate_size=8)),
        "they split a text into different tokens": (base, encoder(tmp_path / "lower", lower=True)),
        "the pooling of the other has weights that the one lacks": (base, headed(tuned, dense)),
        r"cannot be blended \(a flow\)": (headed(base, flow), headed(tuned, flow)),
    }
    for why, (one, other) in cases.items():
        with pytest.raises(UnsupportedModel, match=f"cannot be blended: .*{why}.*Choose a base and a model"):
            Blending(one, [other])
