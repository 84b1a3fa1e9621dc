"""Read a dataclass from parsed JSON: a field of another type than declared keeps its default."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_UNFIT = object()  # not None, which a field may allow


def read(kind: type[T], stated: object) -> T | None:
    """The dataclass that an object states; None if it is no object, or lacks a field without a default.

    Fields that the dataclass does not have are ignored: a newer version may have written them.
    """
    if not isinstance(stated, Mapping):
        return None
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    given = {name: _fitted(hints[name], stated[name]) for name in hints if name in stated}
    fitting = {name: value for name, value in given.items() if value is not _UNFIT}
    required = {field.name for field in dataclasses.fields(kind) if _has_no_default(field)}  # type: ignore[arg-type]  # T is one
    return kind(**fitting) if required <= set(fitting) else None


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    stated = typing.get_type_hints(kind)
    return {field.name: stated[field.name] for field in dataclasses.fields(kind)}


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fitted(hint: Any, value: object) -> Any:
    """The value as the type of a field; _UNFIT if it is of another type."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return next((found for one in inside if (found := _fitted(one, value)) is not _UNFIT), _UNFIT)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        found = read(hint, value)
        return _UNFIT if found is None else found
    if origin is tuple:
        items = [_fitted(inside[0], item) for item in value] if isinstance(value, list) else [_UNFIT]
        return _UNFIT if any(item is _UNFIT for item in items) else tuple(items)
    if origin is not None and issubclass(origin, Mapping):
        values = {name: _fitted(inside[1], one) for name, one in value.items()} if isinstance(value, dict) else None
        return _UNFIT if values is None or any(one is _UNFIT for one in values.values()) else values
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value if hint is Any or type(value) is hint else _UNFIT
