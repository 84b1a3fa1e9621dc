"""Passes of an encoder in training that are captured once for each shape, and then repeated without Python.

A GPU computes a pass over a few thousand tokens, with its gradient, in less time than Python takes to start its kernels
one after the other. Captured as CUDA graphs, all of them start at once. What a method does with the states of the
encoder is not captured: it may be anything, also what depends on their values.

A captured pass reads and writes tensors that stay in their place: the token ids of a batch are copied there, and
gradients are added to tensors that are the gradients of the weights from then on.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from explorer.encoding.tune.cuda_graphs import CAPTURES, Capture

if TYPE_CHECKING:
    from explorer.encoding.tune.tunable import Tunable

SWITCH = "STRATA_CUDA_GRAPHS"  # the environment variable that turns them off
SEEN = 2  # passes of a shape before it is captured: the first ones load kernels and choose algorithms
MOST_TOKENS = 16384  # of a pass that is captured: more keep a GPU busy while Python starts the next kernels
MOST_PASSES = 8  # of a batch that are captured: each has memory of its own
MOST_SHAPES = 64
ROUNDING = 1e-2  # of states and gradients, as a share of their norm: bfloat16 rounds by up to 4e-3
ROOM = 0.25  # the share of a GPU's memory that stays free: a captured pass keeps its memory
CAPTURED = (
    "repeats passes over {} sentences of up to {} tokens as CUDA graphs, and those of other sizes from the third on"
)
NOT_CAPTURED = "computes passes of the encoder without CUDA graphs: {}"
OFF = f"{SWITCH} is off"
NO_ROOM = "too little of the GPU's memory is free"


class Gradients:
    """The gradients of weights, in tensors that stay in their place."""

    def __init__(self) -> None:
        self._places: dict[nn.Parameter, Tensor] = {}

    def place(self, weight: nn.Parameter) -> Tensor:
        """The tensor of a weight."""
        if weight not in self._places:
            self._places[weight] = torch.zeros_like(weight, requires_grad=False)
        return self._places[weight]

    def put(self, weights: Iterable[nn.Parameter]) -> None:
        """Have each of these weights its gradient in its place: what it has already, or zeros."""
        empty, filled, found = [], [], []
        for weight in weights:
            place = self._places[weight]
            if weight.grad is None:
                empty.append(place)
            elif weight.grad is not place:
                filled.append(place)
                found.append(weight.grad)
            weight.grad = place
        if empty:
            torch._foreach_zero_(empty)
        if filled:
            torch._foreach_copy_(filled, found)


Reach = Sequence[Sequence[nn.Parameter]]  # the weights that each state depends on


class CapturedPass:
    """A pass of one shape: where its token ids are put, where its states are found, and what repeats it."""

    def __init__(
        self, of: Tunable, given: Sequence[Tensor], capture: Capture, gradients: Gradients | None, reach: Reach
    ) -> None:
        """Of an encoder, on token ids, their mask and perhaps types; without `gradients` it has no backward pass."""
        self._reach = reach
        self._reached: dict[tuple[int, ...], list[nn.Parameter]] = {}  # by the states that have a gradient
        self._given = [one.clone() for one in given]
        self._gradients = gradients
        weights = dict(of.named_parameters()) if gradients else {}
        trained = {name: weight for name, weight in weights.items() if weight.requires_grad}
        # other tensors on the same numbers, to which nothing is tied that happened before
        doubles = {name: weight.detach().requires_grad_() for name, weight in trained.items()}

        def forward() -> tuple[Tensor, ...]:
            with torch.set_grad_enabled(gradients is not None), uncached():
                found: tuple[Tensor, ...] = functional_call(of, doubles, tuple(self._given)).hidden
            return found

        self._forward, self.states = capture(forward)
        self._followed = [state.requires_grad for state in self.states]  # others come before everything that is trained
        if gradients is not None:
            self._back(capture, doubles, trained, gradients)
        self.states = tuple(state.detach() for state in self.states)

    def _back(
        self, capture: Capture, doubles: Mapping[str, Tensor], trained: Mapping[str, nn.Parameter], kept: Gradients
    ) -> None:
        """Capture the backward pass, from the gradients of all states to those of the weights."""
        self._upper = [torch.zeros_like(state) for state in self.states]
        self._zero = [True] * len(self._upper)
        places = {name: kept.place(weight) for name, weight in trained.items()}
        pairs = [(state, upper) for state, upper in zip(self.states, self._upper, strict=True) if state.requires_grad]
        ends, uppers = zip(*pairs, strict=True)

        def backward() -> None:
            with torch.autocast(ends[0].device.type, enabled=False):  # as every backward pass
                found = torch.autograd.grad(ends, list(doubles.values()), uppers, allow_unused=True)
            reached = {name: one for name, one in zip(doubles, found, strict=True) if one is not None}
            torch._foreach_add_([places[name] for name in reached], list(reached.values()))

        self._backward, _ = capture(backward)

    def repeat(self, given: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The states of other token ids of the same shape, until the next call."""
        for place, one in zip(self._given, given, strict=True):
            place.copy_(one)
        self._forward()
        if self._gradients is None:
            return self.states
        found: tuple[Tensor, ...] = _Repeated.apply(self, torch.empty(0, requires_grad=True))  # type: ignore[no-untyped-call]  # as torch states it
        return found

    def add_gradients(self, given: Sequence[Tensor | None]) -> None:
        """Add the gradients of the weights that follow from those of the states; None is a state that is not used."""
        assert self._gradients is not None
        used = tuple(number for number, one in enumerate(given) if one is not None)
        if used not in self._reached:
            self._reached[used] = list(dict.fromkeys(weight for number in used for weight in self._reach[number]))
        for number, (upper, one) in enumerate(zip(self._upper, given, strict=True)):
            if one is not None:
                upper.copy_(one)
            elif not self._zero[number]:
                upper.zero_()
            self._zero[number] = one is None
        self._gradients.put(self._reached[used])  # another weight has no gradient, and stays as it is in a step
        self._backward()


class _Repeated(torch.autograd.Function):
    """The states of a captured pass, whose gradients go back into it."""

    @staticmethod
    def forward(context: Any, captured: CapturedPass, _: Tensor) -> tuple[Tensor, ...]:
        """The states; the second argument is there so that they are followed."""
        context.captured = captured
        context.set_materialize_grads(False)
        found = tuple(state.detach() for state in captured.states)
        followed = zip(found, captured._followed, strict=True)
        context.mark_non_differentiable(*(state for state, is_followed in followed if not is_followed))
        return found

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[None, None]:
        """Nothing for the arguments: the gradients of the weights are in their places."""
        context.captured.add_gradients(gradients)
        return None, None


class CapturedPasses:
    """The captured passes of a training, and why others are not captured."""

    def __init__(
        self, encoders: Iterable[Tunable], device: str, has_room: Callable[[], bool] = lambda: True, reason: str = ""
    ) -> None:
        """`has_room` says whether enough memory is free; a `reason` is why nothing is captured."""
        captures = device in CAPTURES
        self._encoders, self._device = list(encoders) if captures and not reason else [], device
        self._has_room = has_room
        self._trained = {encoder: bool(encoder.own_weights()) for encoder in self._encoders}
        self._gradients = Gradients()
        self._seen: Counter[tuple[object, ...]] = Counter()
        self._captured: dict[tuple[object, ...], CapturedPass] = {}
        self._captures: list[Capture] = []  # of the first pass of a batch, of the second, and so on
        self._proved: dict[tuple[Tunable, bool], Reach] = {}
        self._place = 0  # of the next pass in its batch
        self._refused = False
        self._news: list[str] = []
        self._said: set[str] = set()
        if reason and captures:
            self.leave_out(reason)

    @property
    def count(self) -> int:
        """How many passes are captured."""
        return len(self._captured)

    @property
    def seen_before(self) -> int:
        """How many passes of a shape are not captured; 0 if none ever is."""
        return SEEN if self._encoders else 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        """The passes and the backward pass of one batch."""
        self._place = 0
        for encoder in self._encoders:
            encoder.captured = self
        try:
            yield
        finally:
            for encoder in self._encoders:
                encoder.captured = None

    def news(self) -> list[str]:
        """What is to be said since the last time: that passes are repeated now, or why some are not."""
        found, self._news = self._news, []
        return found

    def leave_out(self, reason: str) -> None:
        """Say why a pass is not captured."""
        self._say(NOT_CAPTURED.format(reason))

    def states(self, of: Tunable, given: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
        """The states of token ids, their mask and perhaps types; None where the pass is not captured (yet)."""
        place = self._place
        self._place += 1
        if self._refused or place >= MOST_PASSES or given[0].numel() > MOST_TOKENS:
            return None
        with_gradient = torch.is_grad_enabled() and self._trained[of]
        autocast = torch.is_autocast_enabled(self._device), torch.get_autocast_dtype(self._device)
        key = (of, place, given[0].shape, len(given), with_gradient, of.model.training, *autocast)
        if key not in self._captured:
            self._seen[key] += 1
            early = self._seen[key] <= SEEN or len(self._captured) == MOST_SHAPES
            if early or not self._capture(key, with_gradient, given):
                return None
        return self._captured[key].repeat(given)

    def _capture(self, key: tuple[Any, ...], with_gradient: bool, given: Sequence[Tensor]) -> bool:
        """Capture a pass, if there is room for it; if it fails, nothing is captured any more."""
        if not self._has_room():
            self.leave_out(NO_ROOM)
            return False
        of, place = key[:2]
        of.captured = None  # what is captured is a plain pass
        try:
            while len(self._captures) <= place:
                self._captures.append(CAPTURES[self._device]())
            if (of, with_gradient) not in self._proved:
                self._proved[of, with_gradient] = proved(of, given, CAPTURES[self._device](), with_gradient)
            gradients, reach = self._gradients if with_gradient else None, self._proved[of, with_gradient]
            found = CapturedPass(of, given, self._captures[place], gradients, reach)
        except Exception as error:  # noqa: BLE001 (whatever it is, the training goes on without)
            self._refused = True
            self._captured.clear()  # they give back their memory
            self.leave_out(_reason(error))
            return False
        finally:
            of.captured = self
        self._captured[key] = found
        self._say(CAPTURED.format(*given[0].shape), once=CAPTURED)
        return True

    def _say(self, what: str, once: str = "") -> None:
        if (once or what) not in self._said:
            self._said.add(once or what)
            self._news.append(what)


def proved(of: Tunable, given: Sequence[Tensor], capture: Capture, with_gradient: bool) -> Reach:
    """The weights that each state depends on, or an error: if a captured pass does not give the states and gradients of
    a plain one, without dropout."""
    modes = [(part, part.training) for part in of.modules()]
    weights = [weight for weight in of.parameters() if weight.requires_grad]
    before = [weight.grad for weight in weights]
    of.eval()
    try:
        plain: tuple[Tensor, ...] = functional_call(of, {}, tuple(given)).hidden
        reach = [_reached(state, weights) for state in plain] if with_gradient else []
        expected = _gradients_of(plain, weights) if with_gradient else []
        plain = tuple(state.detach() for state in plain)  # before other memory is taken
        captured = CapturedPass(of, given, capture, Gradients() if with_gradient else None, reach)
        states = captured.repeat(given)
        gradients = _gradients_of(states, weights) if with_gradient else []
        if not (_alike(states, plain) and _alike(gradients, expected)):
            raise RuntimeError("a captured pass does not give the states and gradients of a plain one")
        return reach
    finally:
        for weight, gradient in zip(weights, before, strict=True):
            weight.grad = gradient
        for part, mode in modes:
            part.training = mode


def _reached(state: Tensor, weights: Sequence[nn.Parameter]) -> list[nn.Parameter]:
    """The weights that a state depends on."""
    if not state.requires_grad:
        return []
    found = torch.autograd.grad(state.sum(), weights, allow_unused=True, retain_graph=True)
    return [weight for weight, gradient in zip(weights, found, strict=True) if gradient is not None]


def _gradients_of(states: Sequence[Tensor], weights: Sequence[nn.Parameter]) -> list[Tensor]:
    """The gradients of weights that follow from some of the states."""
    for weight in weights:
        weight.grad = None
    ends = [state for state in states if state.requires_grad]
    torch.autograd.backward(ends, [state.detach().cos() for state in ends])
    return [weight.grad.clone() for weight in weights if weight.grad is not None]


def _alike(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Whether tensors are the same but for rounding, all of them together: some gradients are nothing but rounding."""
    if len(some) != len(others):
        return False
    apart = sum(
        (one.detach() - other.detach()).double().square().sum() for one, other in zip(some, others, strict=True)
    )
    size = sum(other.detach().double().square().sum() for other in others)
    return bool(apart <= ROUNDING**2 * size)


def _reason(error: BaseException) -> str:
    """The first line of the error that was the first: torch raises another one where a capture ends."""
    while error.__context__ is not None:
        error = error.__context__
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def off() -> bool:
    """Whether they are turned off."""
    return os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "no", "false")


@contextmanager
def uncached() -> Iterator[None]:
    """Let autocast convert weights where they are used: what it keeps is gone when a captured pass is repeated."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)
