"""Test the pooling that a method trains: the model default, a chosen one, or the paper's."""

import pytest
import torch
from torch.nn import functional

from explorer import methods
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods.self_guided import SelfGuided
from tests.methods.rows import COLUMNS, FIRST, vectors_of

# distil trains another encoder than the one whose pooling it is: see test_distil.py
POOLED = [name for name in methods.names() if "pooling" in methods.load(name).knobs and name != "distil"]
WIDTH_OUT = 20


def dense(width: int) -> Dense:
    drawn = torch.Generator().manual_seed(2)
    return Dense(torch.randn(WIDTH_OUT, width, generator=drawn) / width**0.5, torch.zeros(WIDTH_OUT), "Tanh")


@pytest.fixture
def declaring(base, monkeypatch):
    """An encoder whose makers declare a head, and what it starts from."""

    def make(head: Head) -> Tunable:
        monkeypatch.setattr(base.encoder, "head", head)
        return base

    return make


def by_hand(base: Tunable, sentence: str, prompt: str, step: Dense) -> torch.Tensor:
    """mean → dense → tanh → length 1, of the prompt and the sentence, with a tokenizer that knows of no prompt."""
    ids = base.encoder.tokenizer()(prompt + sentence, truncation=True, max_length=64, return_tensors="pt")["input_ids"]
    mean = base.model(input_ids=ids).last_hidden_state[0].mean(0)
    return functional.normalize(torch.tanh(step.weight @ mean + step.bias), dim=0)


def test_every_method_that_trains_a_pooling_starts_with_the_model_default():
    assert {"sg", "sg-opt", "bt", "bt-sg-opt", "simcse", "simcse-sup", "simcse-hard", "diffcse"} < set(POOLED)
    assert {"conisi-s", "conisi-o1", "conisi-o2", "contrast", "contrast-hard"} < set(POOLED)
    for name in POOLED:
        knob = methods.load(name).knobs["pooling"]
        assert knob.default == "model default"
        assert knob.choices == ("model default", "cls", "mean", "max")


@pytest.mark.parametrize("name", POOLED)
def test_a_model_that_declares_nothing_is_read_by_its_first_token(base, name):
    method = methods.load(name)(base)
    assert method.base_head() == Head(("cls",))
    assert method.head().poolings == ("cls",)


@pytest.mark.parametrize("name", POOLED)
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_pooling_that_is_chosen_is_of_the_last_layer_alone(declaring, name, pooling):
    method = methods.load(name)(declaring(Head(("mean",), (dense(32),), normalize=True)), {"pooling": pooling})
    assert method.base_head() == Head((pooling,))
    assert method.head().poolings == (pooling,)


@pytest.mark.parametrize("name", POOLED)
def test_the_model_default_is_the_whole_declared_head_with_the_prompt_once(declaring, name):
    step = dense(32)
    base = declaring(Head(("mean",), (step,), normalize=True, prompt="the dog: ", remark="as somebody reads it"))
    method = methods.load(name)(base)
    head = method.base_head()
    assert (head.poolings, head.normalize, head.prompt, head.remark) == (("mean",), True, "", "")
    assert head.dense[0].weight is step.weight
    with torch.no_grad():
        read = method.eval().encode(FIRST, head)
        for row, sentence in enumerate(FIRST):
            assert torch.allclose(read[row], by_hand(base, sentence, "the dog: ", step), atol=1e-5)
    assert head.width(base.width) == WIDTH_OUT
    assert vectors_of(method, FIRST).shape == (len(FIRST), WIDTH_OUT)


@pytest.mark.parametrize("name", POOLED)
def test_the_declared_maps_are_not_trained_and_what_is_below_them_is(declaring, name):
    step = dense(32)
    before = step.weight.clone()
    base = declaring(Head(("mean",), (step,), normalize=True))
    method = methods.load(name)(base)
    trained = [weight for weight in method.parameters() if weight.requires_grad]
    assert not any(weight is step.weight for weight in trained)
    method(*COLUMNS[method.rows]).backward()
    assert all(weight.grad is not None and torch.isfinite(weight.grad).all() for weight in trained)
    assert any(weight.grad.any() for name, weight in base.model.named_parameters() if weight.requires_grad)
    assert not step.weight.requires_grad
    assert torch.equal(step.weight, before)


@pytest.mark.parametrize("name", POOLED)
def test_several_poolings_side_by_side_are_trained_or_refused_with_a_way_out(declaring, name):
    base = declaring(Head(("cls", "mean")))
    kind = methods.load(name)
    if issubclass(kind, SelfGuided):
        with pytest.raises(BadChoice, match="Set pooling to mean or cls"):
            kind(base)
    else:
        assert vectors_of(kind(base), FIRST).shape == (len(FIRST), 2 * base.width)
    method = kind(base, {"pooling": "mean"} if issubclass(kind, SelfGuided) else {})
    assert torch.isfinite(method(*COLUMNS[method.rows]))


@pytest.mark.parametrize("name", ["simcse-sup", "simcse-hard"])
@pytest.mark.parametrize("keep_head", [True, False])
def test_the_dense_layer_that_is_trained_stays_or_not(declaring, name, keep_head):
    step = dense(32)
    method = methods.load(name)(declaring(Head(("mean",), (step,), normalize=True)), {"keep_head": keep_head})
    assert len(method.head().dense) == 1 + keep_head
    assert method.head().dense[0].weight is step.weight
    assert method.head().normalize
    assert method.base_head().dense == method.base_head().dense[:1]
    method(*COLUMNS[method.rows]).backward()
    assert all(weight.grad.any() for weight in (method.dense.weight, method.dense.bias)), "it is trained either way"
