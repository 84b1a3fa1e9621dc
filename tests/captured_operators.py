"""Capture work on a processor as a GPU does: what is computed once is computed again, on the same tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from explorer.methods import random_states, set_random_states

Found = TypeVar("Found")


class CapturedOperators:
    """What `CudaGraphs` is on a GPU: the operators of torch that work consists of, in their order."""

    captured = 0  # works, of all tests; a test looks at the difference

    def __call__(self, work: Callable[[], Found]) -> tuple[Callable[[], None], Found]:
        """What computes all operators again, into the tensors that they gave the first time."""
        before = random_states()
        with _Operators() as operators:
            found = work()
        operators.undo()  # a GPU computes nothing while it captures
        set_random_states(before)
        CapturedOperators.captured += 1
        return operators.repeat, found


class _Operators(TorchDispatchMode):
    """Keeps every operator with the tensors that it was given and that it gave."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[tuple[Any, tuple[Any, ...], dict[str, Any], list[Tensor]]] = []
        self._made: set[int] = set()  # storages
        self._changed: dict[int, tuple[Tensor, Tensor]] = {}  # tensors that were there before, and what they held

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        for tensor in _written(function, arguments, keywords):
            if tensor.untyped_storage().data_ptr() not in self._made:
                self._changed.setdefault(id(tensor), (tensor, tensor.clone()))
        result = function(*arguments, **keywords)
        given = [one for one in tree_leaves(result) if _is_tensor(one)]
        views = any(one.alias_info is not None for one in function._schema.returns)
        writes = function._schema.is_mutable
        if writes or not views:  # a view shows what its tensor holds by then
            self._kept.append((function, arguments, keywords, [] if writes else given))
        if not (writes or views):
            self._made |= {one.untyped_storage().data_ptr() for one in given}
        return result

    @torch.no_grad()
    @torch.autocast("cpu", enabled=False)  # it has converted what is kept
    def repeat(self) -> None:
        for function, arguments, keywords, places in self._kept:
            result = function(*arguments, **keywords)
            for place, one in zip(places, (one for one in tree_leaves(result) if _is_tensor(one)), strict=False):
                place.data.copy_(one)

    @torch.no_grad()
    def undo(self) -> None:
        """Forget all results, and give tensors that were there before what they held."""
        for _, arguments, keywords, places in self._kept:
            given = {one.untyped_storage().data_ptr() for one in tree_leaves((arguments, keywords)) if _is_tensor(one)}
            for place in places:
                if place.is_floating_point() and place.untyped_storage().data_ptr() not in given:
                    place.data.fill_(torch.nan)
        for tensor, held in self._changed.values():
            tensor.data.copy_(held)


def _is_tensor(one: object) -> bool:
    return isinstance(one, Tensor)


def _written(function, arguments, keywords) -> list[Tensor]:
    """The tensors that an operator changes in place."""
    found = []
    for number, one in enumerate(function._schema.arguments):
        if one.alias_info is not None and one.alias_info.is_write:
            value = keywords.get(one.name, arguments[number] if number < len(arguments) else None)
            found += [leaf for leaf in tree_leaves(value) if _is_tensor(leaf)]
    return found
