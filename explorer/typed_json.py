"""Read a dataclass from JSON: a field of another type than declared keeps its default, or is found by `misfit`.

A field with `least` in its metadata takes numbers from that one on. With `READS` there it is text in JSON, or a list of
texts: that function makes the value of a text, and `str` makes the text of a value.

pydantic would read a status in 0.02 ms in place of 0.45, but needs 66 ms before the first one, to be imported and to
prepare the type, where 2 ms are enough here. It also refuses a whole status for one field that does not fit, and its
errors are no sentences for people.
"""

import dataclasses
import json
import re
import reprlib
import types
import typing
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from explorer.errors import BadChoice

T = TypeVar("T")

READS = "reads"
MOST_DIGITS = 300  # of a whole number
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # in a text, perhaps half of a pair

_UNFIT = object()  # not None, which a field may allow
_WORDS = {  # one of a type, and several
    str: ("text", "text"),
    bool: ("true or false", "true or false"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    types.NoneType: ("null", "null"),
    Any: ("anything", "anything"),
}


def parsed(text: str | bytes) -> Any:
    """The value that a JSON text states; ValueError if it is broken, or cannot be computed with or shown."""
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        value = _DECODER.decode(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except UnicodeEncodeError as error:
        raise ValueError("half of a surrogate pair") from error


def _whole(text: str) -> int:
    """A whole number, if it can be computed with: float() and, above 4,300 digits, int() refuse larger ones."""
    digits = len(text.removeprefix("-"))
    if digits > MOST_DIGITS:
        raise ValueError(f"a number of {digits:,} digits")
    return int(text)


_DECODER = json.JSONDecoder(parse_int=_whole)


def read(kind: type[T], stated: object) -> T | None:
    """The dataclass that an object states; None if it is no object, lacks a field without a default, or is refused.

    Fields that the dataclass does not have are ignored: a newer version may have written them.
    """
    if not isinstance(stated, Mapping):
        return None
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    # mypy does not know that T is a dataclass
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    names = {name: _name(field) for name, field in fields.items()}
    given = {name: _value(fields[name], hints[name], stated[names[name]]) for name in hints if names[name] in stated}
    fitting = {name: value for name, value in given.items() if value is not _UNFIT}
    try:
        return kind(**fitting) if _required(kind) <= set(fitting) else None
    except BadChoice:  # settings that check themselves
        return None


def read_each(kind: type[T], stated: Iterable[object]) -> list[T]:
    """The dataclasses that objects state; without those of which `read` makes none."""
    return [found for one in stated if (found := read(kind, one)) is not None]


def field_as(name: str) -> Any:
    """A field, None by default, that has another name in JSON than in Python."""
    return dataclasses.field(default=None, metadata={"written": name})


def written(value: Any) -> Any:
    """What `read` reads: dataclasses as objects, tuples as lists, and fields under their names in JSON."""
    if value is None or isinstance(value, str | int | float):  # most values: a status is written twice a second
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _written(field, getattr(value, field.name)) for name, field in _members(type(value))}
    if isinstance(value, Mapping):
        return {name: written(one) for name, one in value.items()}
    return list(map(written, value)) if isinstance(value, list | tuple) else value


def lines(value: Mapping[str, Any]) -> str:
    """An object as JSON with a line for each of its values: to indent it deeper takes Python three times as long."""
    inside = (f" {json.dumps(name, ensure_ascii=False)}: {json.dumps(one, ensure_ascii=False)}"
              for name, one in value.items())  # fmt: skip
    return "{\n" + ",\n".join(inside) + "\n}"


def _written(field: "dataclasses.Field[Any]", value: Any) -> Any:
    """The value of a field as JSON holds it."""
    if value is None or field.metadata.get(READS, str) is str:
        return written(value)
    return list(map(str, value)) if isinstance(value, tuple) else str(value)


def _value(field: "dataclasses.Field[Any]", hint: Any, given: object) -> Any:
    """The value that JSON states of a field; _UNFIT if it is of another type."""
    reads, is_list = field.metadata.get(READS, str), typing.get_origin(hint) is tuple
    if reads is str or given is None:
        return _fitted(hint, given)
    texts = given if is_list else [given]
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        return _UNFIT
    return tuple(map(reads, texts)) if is_list else reads(given)


def _name(field: "dataclasses.Field[Any]") -> str:
    """The name of a field in JSON."""
    name: str = field.metadata.get("written", field.name)
    return name


def misfit(kind: type[Any], stated: Mapping[str, object]) -> str | None:
    """Which field of an object is the first that does not fit its dataclass; None if `read` takes over every value."""
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    for field in dataclasses.fields(kind):
        hint, least, name = hints[field.name], field.metadata.get("least"), _name(field)
        if name not in stated:
            if field.name in _required(kind):
                return f"it has no '{name}', which must be {in_words(hint, least)}"
            continue
        given = stated[name]
        value = _fitted(hint, given, whole=True)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is _UNFIT or (number and least is not None and not value >= least):
            return f"its '{name}' is {reprlib.repr(given)}, which must be {in_words(hint, least)}"
    return None


def in_words(hint: Any, least: float | None = None, several: bool = False) -> str:
    """A type as a phrase: `a list of text, or null`, `a whole number of at least 1`."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [in_words(one, least, several) for one in inside]
        # a comma ends a phrase such as "a list of text"
        long = any(typing.get_origin(one) or (least is not None and one in (int, float)) for one in inside)
        return (", or " if long else " or ").join(parts)
    if origin is tuple:
        return f"{'lists' if several else 'a list'} of {in_words(inside[0], several=True)}"
    if origin is not None and issubclass(origin, Mapping):
        return f"{'objects' if several else 'an object'} of {in_words(inside[1], several=True)}"
    words = _WORDS.get(hint, ("an object", "objects"))[several]
    return words if least is None or hint not in (int, float) else f"{words} of at least {least:g}"


@cache
def _members(kind: type[Any]) -> "tuple[tuple[str, dataclasses.Field[Any]], ...]":
    """Every field with its name in JSON."""
    return tuple((_name(field), field) for field in dataclasses.fields(kind))


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """The type of every field."""
    stated = typing.get_type_hints(kind)
    return {field.name: stated[field.name] for field in dataclasses.fields(kind)}


def _required(kind: type[Any]) -> frozenset[str]:
    """The fields without a default."""
    none = dataclasses.MISSING
    return frozenset(
        field.name for field in dataclasses.fields(kind) if field.default is none and field.default_factory is none
    )


def _fitted(hint: Any, value: object, whole: bool = False) -> Any:
    """The value as the type of a field; _UNFIT if it is of another type, or if `whole` and a part of it is."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return next((found for one in inside if (found := _fitted(one, value, whole)) is not _UNFIT), _UNFIT)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        found = read(hint, value)  # None for what is no object, which `misfit` is not asked about
        return _UNFIT if found is None or (whole and misfit(hint, value)) else found  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next((one for one in hint if one.value == value), _UNFIT)
    if origin is tuple:
        items = [_fitted(inside[0], item, whole) for item in value] if isinstance(value, list) else [_UNFIT]
        return _UNFIT if any(item is _UNFIT for item in items) else tuple(items)
    if origin is not None and issubclass(origin, Mapping):
        values = (
            {name: _fitted(inside[1], one, whole) for name, one in value.items()} if isinstance(value, dict) else None
        )
        return _UNFIT if values is None or any(one is _UNFIT for one in values.values()) else values
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value if hint is Any or type(value) is hint else _UNFIT
