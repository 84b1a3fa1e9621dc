"""A store of computed numbers as a test sees it: what decides its numbers, what does not, and what it answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

Draw = Callable[[Random], Any]


@dataclass
class Desk:
    """A folder to work in, pytest's monkeypatch, and a number for each input that differs in what decides."""

    folder: Path
    patch: Any
    numbers: dict[Hashable, int] = field(default_factory=dict)
    answers: dict[Hashable, Hashable] = field(default_factory=dict)  # by the key that they were first computed for

    def put(self, path: str | Path, content: str, seconds: int = 1) -> Path:
        """A file whose time of modification says nothing, as after `cp -p`; it takes the place of an older one."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name("new")
        new.write_text(content, encoding="utf-8")
        os.utime(new, (seconds, seconds))
        new.replace(file)
        return file

    def keep(self, path: str, content: str) -> Path:
        """The same, but a file that has this content already stays as it is."""
        file = self.folder / path
        return file if file.is_file() and file.read_text(encoding="utf-8") == content else self.put(path, content)


@dataclass(frozen=True)
class Store:
    """How to draw each part of an input, those that decide the number and those that do not, and what is answered.

    `entry` gives the key of an input, or what was computed for it. Where it writes `number` into the real store, `read`
    reads what is stored there, after all inputs were written.
    """

    decides: Mapping[str, Draw]
    idle: Mapping[str, Draw]
    entry: Callable[[Desk, Any], Hashable]
    read: Callable[[Desk, Any], int] | None = None
    bases: int = 8  # inputs that are drawn, of each of which every part is drawn anew once


@dataclass(frozen=True)
class Guard:
    """Work that was begun with an input and goes on with the same only."""

    decides: Mapping[str, Draw]
    idle: Mapping[str, Draw]
    begin: Callable[[Desk, Any], object]
    goes_on: Callable[[Desk, Any], bool]
    bases: int = 2


def drawn(store: Store | Guard, random: Random) -> Iterator[tuple[str, Any]]:
    """Inputs, each followed by one for every part, named, that differs from it in this part alone."""
    parts = {**store.decides, **store.idle}
    for _ in range(store.bases):
        base = {name: draw(random) for name, draw in parts.items()}
        yield "", SimpleNamespace(**base)
        for name, draw in parts.items():
            other = next(value for _ in range(100) if repr(value := draw(random)) != repr(base[name]))
            yield name, SimpleNamespace(**{**base, name: other})


def decided(store: Store | Guard, given: Any) -> Hashable:
    """All that decides the number of an input."""
    return tuple(repr(getattr(given, name)) for name in store.decides)
