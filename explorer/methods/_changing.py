"""What a training changes: weights, buffers, and the random states; to save them, and to leave them as they were."""

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from explorer.encoding.tune.adapters import plain_weights
from explorer.encoding.tune.tunable import Tunable
from explorer.methods._method import Method


def changing(method: Method) -> dict[str, Tensor]:
    """Every weight and buffer that training may change, each once: not those of constant parts or beside adapters."""
    fixed = {id(tensor) for part in method.constant() for tensor in (*part.parameters(), *part.buffers())}
    with_adapters = [part.model for part in method.modules() if isinstance(part, Tunable) and part.adapters]
    fixed |= {id(weight) for model in with_adapters for weight in plain_weights(model).values()}
    kept = {**dict(method.named_parameters()), **kept_buffers(method)}
    return {name: tensor for name, tensor in kept.items() if id(tensor) not in fixed}


def kept_buffers(method: Method) -> dict[str, Tensor]:
    """The buffers of a method that change in training, such as running means and counts."""
    saved = method.state_dict(keep_vars=True)
    return {name: value for name, value in method.named_buffers() if name in saved}


def sow(seed: int) -> None:
    """Seed torch's random numbers."""
    torch.manual_seed(seed)


def random_states() -> dict[str, Tensor]:
    """The states of torch's random numbers, by device."""
    states = {"cpu": torch.get_rng_state()}
    # else nothing was drawn there, and asking would take memory of the GPU
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # as torch states it
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def set_random_states(states: Mapping[str, Tensor]) -> None:
    """Restore the states of torch's random numbers."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])


@contextmanager
def untouched(method: Method) -> Iterator[None]:
    """Restore buffers, attributes of the method and random states afterwards; weights are not to change."""
    states = random_states()
    buffers = {name: value.clone() for name, value in kept_buffers(method).items()}
    attributes = _attributes(method)
    try:
        yield
    finally:
        for name, value in kept_buffers(method).items():
            if value.shape != buffers[name].shape:  # a queue that grows
                value.resize_(buffers[name].shape)
            value.copy_(buffers[name])
        for name in _attributes(method):
            delattr(method, name)
        vars(method).update(attributes)
        set_random_states(states)


def _attributes(method: Method) -> dict[str, object]:
    """What a method notes, but for weights and buffers, such as the vectors of the update under way."""
    of_torch = vars(nn.Module())
    noted = {name: value for name, value in vars(method).items() if name not in of_torch}
    return {name: copy.copy(value) if isinstance(value, list | dict | set) else value for name, value in noted.items()}
