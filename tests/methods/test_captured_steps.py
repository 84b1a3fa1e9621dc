"""Test passes that are captured and repeated: every method and family learns from them what it learns without."""

from unittest import mock

import pytest
import torch

from explorer import methods
from explorer.encoding.tune import captured_passes
from explorer.encoding.tune.adapters import ALL_LINEAR, Lora
from explorer.encoding.tune.captured_passes import CapturedPass, CapturedPasses, Gradients, proved
from explorer.encoding.tune.tunable import CHANGED, Tunable
from tests.captured_operators import CapturedOperators
from tests.device import DEVICE
from tests.methods.rows import FIRST, columns_of, descend
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, save_tiny

pytestmark = pytest.mark.device

NEVER = 10**9
EDITING = {"consert", "diffcse", "layer-attention-diffcse"}  # the latter two change embeddings in one of their passes


@pytest.fixture(autouse=True)
def captures(monkeypatch):
    """A processor captures, too, and at once."""
    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", CapturedOperators)


def stepped(method, seen):
    """The losses of four batches, each after a step, and what was said of its passes."""
    passes = CapturedPasses([part for part in method.modules() if isinstance(part, Tunable)], DEVICE)
    losses, columns = [], columns_of(method)
    torch.manual_seed(5)
    with mock.patch.object(captured_passes, "SEEN", seen):
        for turn in range(4):
            with passes.batch():
                losses += descend(method, [column[turn:] + column[:turn] for column in columns], 1)
    return torch.tensor(losses), passes.news()


def test_every_method_learns_from_repeated_passes_what_it_learns_without(trained):
    before = {name: weight.detach().clone() for name, weight in trained.named_parameters()}
    with methods.untouched(trained):
        expected, said = stepped(trained, NEVER)
    assert len(said) == (trained.name in EDITING)
    with torch.no_grad():
        for name, weight in trained.named_parameters():
            weight.copy_(before[name])
    seen, said = stepped(trained, 0)
    torch.testing.assert_close(seen, expected, atol=1e-5, rtol=1e-5)
    left_out = [captured_passes.NOT_CAPTURED.format(CHANGED)] * (trained.name in EDITING)
    assert [one for one in said if "without" in one] == left_out
    assert (len(said) > len(left_out)) == (trained.name != "consert")


def test_a_pass_with_other_heads_each_time_is_not_captured(base):
    method = methods.load("mirror-bert")(base, {"noise": "drop heads"}).to(DEVICE)
    assert stepped(method, 0)[1] == [captured_passes.NOT_CAPTURED.format(CHANGED)]
    method.noise = "dropout"
    assert stepped(method, 0)[1] != [captured_passes.NOT_CAPTURED.format(CHANGED)]


@pytest.mark.parametrize(
    ("precision", "adapters"),
    [("float32", Lora(2, 4.0, ALL_LINEAR)), ("bfloat16", None)],
    ids=["adapters in float32", "whole in bfloat16"],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_states_and_gradients_that_it_has_without(family, adapters, precision, tmp_path):
    """With dropout, on other rows than those it was captured with, from every layer or the last one."""
    base = Tunable(encoder_of(save_tiny(family, tmp_path / family)), 32, adapters).to(DEVICE).train()
    ids, mask = base.encoder.padded(base.encoder.tokens(FIRST, 32).ids, DEVICE, 32)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=precision == "bfloat16"):
        capture = captured_passes.CAPTURES[DEVICE]
        reach = proved(base, (ids, mask), capture(), with_gradient=True)
        captured = CapturedPass(base, (ids, mask), capture(), Gradients(), reach)

    def found(states, layers):
        torch.manual_seed(2)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=precision == "bfloat16"):
            hidden = states(ids.flip(0), mask.flip(0))
        sum(hidden[layer].float().sin().sum() for layer in layers if hidden[layer].requires_grad).backward()
        gradients = {name: weight.grad.clone() for name, weight in base.named_parameters() if weight.grad is not None}
        base.zero_grad()
        return [state.detach().clone() for state in hidden], gradients

    followed = [state.requires_grad for state in base(ids, mask).hidden]
    assert [state.requires_grad for state in captured.repeat((ids, mask))] == followed
    for layers in (range(base.layers + 1), [-1], [1, -1], [1]):
        states, gradients = found(lambda *given: base(*given).hidden, layers)
        again, others = found(lambda *given: captured.repeat(given), layers)
        close = {"atol": 1e-6, "rtol": 1e-5} if precision == "float32" else {"atol": 1e-3, "rtol": 1e-2}
        torch.testing.assert_close(again, states, **close)
        assert others.keys() == gradients.keys() != set(), "a weight above the layers with a loss has none"
        for name, gradient in others.items():
            torch.testing.assert_close(gradient, gradients[name], **close, msg=lambda text, of=name: f"{of}: {text}")


def test_gradients_are_added_to_those_that_are_there_and_stay_in_their_place(tiny_encoder):
    base = Tunable(tiny_encoder, 32).to(DEVICE)
    ids, mask = base.encoder.padded(base.encoder.tokens(FIRST, 32).ids, DEVICE)
    capture = captured_passes.CAPTURES[DEVICE]
    reach = proved(base, (ids, mask), capture(), with_gradient=True)
    captured = CapturedPass(base, (ids, mask), capture(), Gradients(), reach)
    base(ids, mask).hidden[-1].sin().sum().backward()
    once = {name: weight.grad.clone() for name, weight in base.named_parameters() if weight.grad is not None}
    captured.repeat((ids, mask))[-1].sin().sum().backward()
    places = {name: weight.grad for name, weight in base.named_parameters() if weight.grad is not None}
    captured.repeat((ids, mask))[-1].sin().sum().backward()
    for name, gradient in once.items():
        torch.testing.assert_close(places[name], 3 * gradient, atol=1e-5, rtol=1e-5)
    base.zero_grad()
    captured.repeat((ids, mask))[-1].sin().sum().backward()
    for name, gradient in once.items():
        assert base.get_parameter(name).grad is places[name]
        torch.testing.assert_close(places[name], gradient, atol=1e-5, rtol=1e-5)


@pytest.fixture
def seen_at_once(monkeypatch):
    monkeypatch.setattr(captured_passes, "SEEN", 0)


@pytest.fixture
def given(tiny_encoder):
    """A trainable encoder with dropout, and the token ids, mask and types of some sentences."""
    base = Tunable(tiny_encoder, 32).to(DEVICE).train()
    ids, mask = base.encoder.padded(base.encoder.tokens(FIRST, 32).ids, DEVICE)
    return base, ids, mask, (torch.arange(ids.shape[1], device=DEVICE) > 3).long().expand_as(ids)


def test_passes_of_one_shape_that_differ_otherwise_are_captured_apart(given, seen_at_once):
    base, ids, mask, types = given
    passes = CapturedPasses([base], DEVICE)

    def found():
        """Two passes with a gradient, and one each with types, in bfloat16, without a gradient, and without dropout."""
        torch.manual_seed(4)
        states = [base(ids, mask), base(ids.flip(0), mask.flip(0)), base(ids, mask, types)]
        with torch.autocast(DEVICE, torch.bfloat16):
            states.append(base(ids, mask))
        with torch.no_grad():
            states.append(base(ids, mask))
        base.eval()
        states.append(base(ids, mask))
        base.train()
        assert [one.hidden[-1].requires_grad for one in states] == [True] * 4 + [False, True]
        return [one.hidden[-1].detach() for one in states]

    expected = found()
    for _ in range(2):
        with passes.batch():
            torch.testing.assert_close(found(), expected, atol=1e-6, rtol=1e-5)
        assert passes.count == 6
    for how in (torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16)):  # in the place of the first one
        with how, passes.batch():
            base(ids, mask)
    with passes.batch():
        base(ids, mask, types)
        base.eval()
    with passes.batch():
        torch.testing.assert_close(base(ids, mask).hidden[-1], expected[-1], atol=1e-6, rtol=1e-5)
    assert passes.count == 10


def test_an_encoder_that_is_not_trained_has_no_gradients_to_capture(given, seen_at_once):
    base, ids, mask, _ = given
    passes = CapturedPasses([base.requires_grad_(False).eval()], DEVICE)
    with passes.batch():
        found = base(ids, mask).hidden
    assert (passes.count, found[-1].requires_grad) == (1, False)
    torch.testing.assert_close(found, base(ids, mask).hidden, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(
    ("limit", "value", "count"), [("MOST_TOKENS", 50, 0), ("MOST_PASSES", 1, 1), ("MOST_SHAPES", 1, 1)]
)
def test_no_more_are_captured_than_the_limits_say(limit, value, count, given, seen_at_once, monkeypatch):
    base, ids, mask, _ = given
    assert ids.numel() > 50
    passes = CapturedPasses([base], DEVICE)
    with passes.batch():
        for _ in range(2):
            base(ids, mask)
    assert passes.count == 2
    monkeypatch.setattr(captured_passes, limit, value)
    passes = CapturedPasses([base], DEVICE)
    with passes.batch():
        for _ in range(2):
            base(ids, mask)
    assert passes.count == count


def test_after_a_failure_nothing_is_captured_and_what_was_is_given_back(given, seen_at_once, monkeypatch):
    base, ids, mask, _ = given
    passes = CapturedPasses([base], DEVICE)
    with passes.batch():
        base(ids, mask)
    assert passes.count == 1

    def refused(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(captured_passes, "CapturedPass", refused)
    with passes.batch():
        base(ids[:2], mask[:2])
    assert passes.count == 0
    assert passes.news()[1:] == [captured_passes.NOT_CAPTURED.format("ZeroDivisionError")]
    monkeypatch.undo()
    with passes.batch():
        base(ids, mask)
    assert passes.count == 0


@pytest.mark.parametrize("gradients", [None, Gradients()], ids=["without gradients", "with gradients"])
def test_weights_that_change_are_read_anew_also_where_autocast_had_converted_them_before(gradients, given):
    base, ids, mask, _ = given
    with torch.autocast(DEVICE, torch.bfloat16):
        base.eval()(ids, mask)
        captured = CapturedPass(base, (ids, mask), captured_passes.CAPTURES[DEVICE](), gradients, ())
    with torch.no_grad():
        for weight in base.parameters():
            weight.mul_(1.5)
    with torch.autocast(DEVICE, torch.bfloat16):
        expected = base(ids, mask).hidden[-1]
    torch.testing.assert_close(captured.repeat((ids, mask))[-1], expected, atol=1e-3, rtol=1e-2)


def test_two_encoders_and_sizes_in_turn_do_not_write_into_one_another(tiny_encoder, seen_at_once):
    """Memory of a graph that computes in that of another one shows in the gradients, which only a GPU can find."""
    both = [Tunable(tiny_encoder, 32).to(DEVICE).train() for _ in range(2)]
    tokens = both[0].encoder.tokens(FIRST, 32).ids
    sizes = [both[0].encoder.padded(tokens[:count], DEVICE, width) for count in (4, 2, 3) for width in (24, 32)]
    passes = CapturedPasses(both, DEVICE)

    def gradients(ids, mask):
        torch.manual_seed(6)
        states = [of(ids, mask).hidden[-1] for of in (*both, both[0])]
        with torch.no_grad():
            states.append(both[1](ids, mask).hidden[-1])
        (states[0] * states[1] + states[2] * states[3]).sin().sum().backward()
        found = {
            (number, name): weight.grad.clone()
            for number, of in enumerate(both)
            for name, weight in of.named_parameters()
            if weight.grad is not None
        }
        for of in both:
            of.zero_grad()
        return found

    for _ in range(2):
        for ids, mask in sizes:
            expected = gradients(ids, mask)
            with passes.batch():
                seen = gradients(ids, mask)
            for name, gradient in expected.items():
                torch.testing.assert_close(
                    seen[name], gradient, atol=1e-5, rtol=1e-4, msg=lambda text, of=name: f"{of}: {text}"
                )
    assert passes.count == 4 * len(sizes)
