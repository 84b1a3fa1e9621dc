"""The parts of heads, one file each; the folder is the list.

A part is a step, which maps vectors, or a pooling of states, which makes them from the states of all layers. Its file
has one class, with what it is called (`words`, and `title` with its settings) and how it is saved, and a function
`opened`, which loads it from a folder that anyone may have written: it checks every setting and size before it builds
anything, and returns None or raises an error if one is wrong. A step that sentence-transformers lacks, and every
pooling of states, is exported together with its source: the class and everything it uses, without Strata.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from explorer.encoding.locate import configuration

if TYPE_CHECKING:
    from torch import Tensor

LIBRARY = "sentence_transformers."
LAYER_READING = ("poolings", "include_prompt")  # the fields of a LayerReading besides its pooling of states


class HeadStep(Protocol):
    """A map of vectors (sentence, width), after the pooling; a module of its own in an export."""

    words: ClassVar[str]
    module: ClassVar[str]  # its type in modules.json: of the library, or `file.Class` of the export

    def __call__(self, vectors: Tensor, /) -> Tensor:
        """Map vectors (sentence, width)."""

    @property
    def takes(self) -> int | None:
        """The width of the vectors that it maps; None for any."""

    def width(self, given: int) -> int:
        """The width of its vectors, for vectors of this width."""

    def settings(self) -> dict[str, Any]:
        """Its settings, as JSON has them."""

    def to(self, device: str, /) -> Self:
        """A copy on a device."""

    def save(self, folder: str) -> None:
        """Save settings and weights in an existing folder."""


class StatePooling(Protocol):
    """A pooling of the states of all layers; a field of the export's LayerReading."""

    words: ClassVar[str]
    saved_as: ClassVar[str]  # the field's name

    def __call__(self, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from states (layer, sentence, token, width) and a mask."""

    def width(self, states: int) -> int:
        """The width of its vectors, for states of this width."""

    def to(self, device: str) -> Self:
        """A copy on a device."""

    def settings(self) -> dict[str, Any]:
        """Its settings, as they are saved."""

    def tensors(self) -> dict[str, Tensor]:
        """Its weights by name."""

    @classmethod
    def made(cls, settings: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Self:
        """A pooling from its saved settings and weights."""


@dataclass(frozen=True)
class Listed:
    """A part as its file states it: its class, and `module` of a step or `saved_as` of a pooling of states."""

    file: str
    kind: str
    words: str
    module: str = ""
    saved_as: str = ""
    title: str = ""  # its words with {settings}; the words alone if a part states none

    def opened(self, *what: Any) -> Any:
        """Load the part from a folder, and for a pooling of states its settings; its file is imported."""
        return importlib.import_module(f"{__name__}.{self.file}").opened(*what)


@cache
def listed() -> tuple[Listed, ...]:
    """Every part, from the text of the files: importing them would load torch."""
    files = sorted((file for folder in __path__ for file in Path(folder).glob("[!_]*.py")), key=lambda file: file.stem)
    found = []
    for file in files:
        for kind in ast.parse(file.read_text(encoding="utf-8")).body:
            texts = {
                ast.unparse(line.target): str(line.value.value)
                for line in (kind.body if isinstance(kind, ast.ClassDef) else ())
                if isinstance(line, ast.AnnAssign) and isinstance(line.value, ast.Constant)
            }
            if isinstance(kind, ast.ClassDef) and "words" in texts:
                own = {name: texts[name] for name in ("words", "module", "saved_as", "title") if name in texts}
                found.append(Listed(file.stem, kind.name, **own))
    return tuple(found)


def steps() -> dict[str, Listed]:
    """Steps by the last name of their type in modules.json."""
    return {part.kind: part for part in listed() if part.module}


def state_poolings() -> dict[str, Listed]:
    """Poolings of states by their field in a LayerReading."""
    return {part.saved_as: part for part in listed() if part.saved_as}


def stated(path: Path) -> dict[str, Any]:
    """The poolings of states in the config.json of a LayerReading, with their settings."""
    fields = configuration.settings(path)
    return {name: value for name, value in fields.items() if name not in LAYER_READING and value is not None}
