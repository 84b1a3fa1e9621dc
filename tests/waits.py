"""Count what would make a GPU wait, on a machine without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest import mock

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

FAR = "meta"  # a device that computes nothing, in place of a GPU
_INDEXING = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)
_FETCHED = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "unique_dim", "_unique2")
_COPIES = ("_to_copy", "copy_")


class Waits(TorchDispatchMode):
    """Counts what makes a GPU wait: a number fetched, a tensor copied to the host, places of a mask looked for.

    If a part is `far_away`, also copies to it that are waited for, and operators of tensors on both devices.
    """

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()
        self.device = device
        self.found: list[str] = []
        self._numbers = _FromTheHost(self.found)

    def __enter__(self) -> Waits:
        self._numbers.__enter__()
        return super().__enter__()

    def __exit__(self, *why: object) -> None:
        super().__exit__(*why)
        self._numbers.__exit__(*why)

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        result = function(*arguments, **keywords)
        name = function.overloadpacket.__name__
        places = arguments[1] if name in ("index", "index_put_", "index_put") else ()
        by_mask = any(place is not None and place.dtype in (torch.bool, torch.uint8) for place in places)
        tensors = [*_tensors((arguments, keywords))]
        given = {one.device.type for one in tensors}
        if (by_mask or name in _FETCHED) and given == {self.device}:
            self.found.append(name)
        shared = name not in _COPIES and any(one.dim() == 0 for one in tensors if one.device.type == "cpu")
        if name in _COPIES:
            given |= {one.device.type for one in _tensors(result)}
        at_once = keywords.get("non_blocking") or (name == "copy_" and True in arguments[2:])
        if len(given) > 1 and not shared and not at_once:
            self.found.append(f"{name} of {' and '.join(sorted(given))}")
        return result


class _FromTheHost(TorchFunctionMode):
    """Finds numbers of Python that are sent to the far device, unlike tensors always with a wait."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        if function is torch.tensor and torch.device(keywords.get("device") or "cpu").type == FAR:
            self.found.append("tensor")
        if function in _INDEXING and arguments[0].device.type == FAR:
            places = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
            self.found += ["list as index" for place in places if isinstance(place, list)]
        return function(*arguments, **keywords)


def _tensors(values: object) -> Iterator[torch.Tensor]:
    """What an operator is given, or gives: faster than torch's own walk, which takes longer than most operators."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, dict):
        yield from _tensors([*values.values()])
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


@contextmanager
def far_away(module: nn.Module) -> Iterator[None]:
    """Move a module to a device that is not this processor; numbers cannot be fetched from it."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)  # as on a GPU, a weight stays the same object
    try:
        module.to(FAR)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
    with mock.patch("torch.autocast", return_value=nullcontext()):  # which does not know that device
        yield
