"""Change JSON and bytes at random, the same way for the same seed."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

DEEP = "a value that is replaced by brackets, each in the one before"
LONG = "a value that is replaced by thousands of digits"
AGAIN = " stated again"  # end of a name that is left out, so that the name is there twice
OTHER_BYTES = os.fsdecode(b"bad\xff")  # a name that is not UTF-8
NO_USER = "~nosuch/x"
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 1000, 2**31, 2**32 + 1, 2**63, -(2**63), 10**6, 10**9, 10**18, 10**30,
    10**299, 10**300, 10**308, 10**309, -(10**400), 10**4000, LONG, NO_USER, OTHER_BYTES,
    0.0, -0.5, 1.5, 1e-12, 1e300, float("nan"), float("inf"), float("-inf"),
    "", " ", "0", "-1", "1e9", "text", "two\nlines", "\0", "\ud800", "é" * 40, "x" * 5000, "../..", "/etc/hosts",
    [], {}, [[]], [None], [1, 2], ["a", "b"], {"a": 1}, {"": None}, DEEP,
)  # fmt: skip


def of_json(drawn: Random, value: Any, times: int = 0) -> Any:
    """A copy of a JSON value with one to three changes: of a value, its type, its size, its depth, or its place."""
    changed = [copy.deepcopy(value)]  # so that the whole can be replaced too
    for _ in range(times or drawn.choice((1, 1, 1, 2, 3))):
        holders = list(_holders(changed))
        if not holders:
            break
        holder = drawn.choice(holders[1:] or holders) if drawn.random() < 0.97 else holders[0]
        key = drawn.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        _change(drawn, holder, key, holders)
    return changed[0] if changed else None


def text_of(drawn: Random, value: Any) -> str:
    """A JSON value as text; what stands for deep brackets, long numbers and repeated names becomes these."""
    brackets, digits = drawn.choice((50, 900, 50_000)), drawn.choice((400, 4301, 50_000))
    text = json.dumps(value).replace(json.dumps(DEEP), "[" * brackets + "]" * brackets)
    return text.replace(json.dumps(LONG), "9" * digits).replace(AGAIN, "")


def of_bytes(drawn: Random, data: bytes, most: int | None = None) -> bytes:
    """A copy of bytes with some changed, left out, repeated or put in; only the first `most` if given."""
    mutant = bytearray(data)
    for _ in range(drawn.choice((1, 1, 2, 8))):
        end = min(len(mutant), most or len(mutant))
        place, length = drawn.randrange(end + 1), drawn.choice((1, 1, 2, 9, 100))
        way = drawn.randrange(6)
        if way <= 1 and place < end:
            mutant[place] = drawn.randrange(256)
        elif way == 2:
            del mutant[place : place + length]
        elif way == 3:
            mutant[place:place] = mutant[place : place + length]
        elif way == 4:
            mutant[place:place] = drawn.choice(
                (b"\0", b"\xff\xfe", b'"', b"\n", b"[" * 2000, b"9" * 400, b"\x80", b",")
            )
        elif drawn.random() < 0.3:
            del mutant[place:]
    return bytes(mutant)


def _holders(value: Any) -> Iterator[Any]:
    """Every object and list that is not empty, from the outermost on."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


def _change(drawn: Random, holder: Any, key: Any, holders: list[Any]) -> None:
    now, way = holder[key], drawn.randrange(11)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[drawn.choice(("", "x", f"{key} ", str(key).upper(), "__metadata__"))] = holder.pop(key)
    elif way == 10 and isinstance(holder, dict):
        holder[f"{key}{AGAIN}"] = copy.deepcopy(drawn.choice((now, *ODD)))
    elif way == 2:
        holder[key] = drawn.choice(([now], {"a": now}, str(now), [now] * 3))
    elif way == 3 and isinstance(now, int | float) and abs(now) < 1e300:
        holder[key] = drawn.choice((-now, now + 1, now - 1, now * 1000, now / 3, now * 10**9))
    elif way == 4:
        other = drawn.choice(holders)
        others = list(other.values()) if isinstance(other, dict) else list(other)
        holder[key] = copy.deepcopy(drawn.choice(others)) if others else None
    else:
        holder[key] = copy.deepcopy(drawn.choice(ODD))
