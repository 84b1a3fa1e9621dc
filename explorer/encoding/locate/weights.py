"""Read the header of a weights file: tensor names, shapes and sizes."""

from __future__ import annotations

import math
import reprlib
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import typed_json
from explorer.encoding.locate import layout
from explorer.errors import NotWeights

if TYPE_CHECKING:
    from torch import Tensor

_LONGEST_HEADER = 100_000_000  # the limit of the safetensors library
_BITS = {  # of a value; types that newer releases add are checked by the library alone
    **dict.fromkeys(("F64", "I64", "U64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2"), 8),
}


@dataclass(frozen=True)
class Entry:
    """A tensor in the header of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, ...]

    @property
    def is_possible(self) -> bool:
        """Whether its offsets are in order and leave room for just its shape."""
        if len(self.data_offsets) != 2 or min((*self.shape, *self.data_offsets)) < 0:
            return False
        start, end = self.data_offsets
        return start <= end and math.prod(self.shape) * _BITS.get(self.dtype, 0) in (0, 8 * (end - start))


@dataclass(frozen=True)
class Outline:
    """What is known of a weights file without its weights; of a pickle, which is not opened, its size alone."""

    values: int
    tensors: float  # of a pickle: infinite
    dimensions: frozenset[int]  # of a pickle: its values


def outline(path: Path, bytes_each: int = 4) -> Outline:
    """What a file holds; the values of a pickle are estimated from its size."""
    if path.suffix == ".safetensors":
        shapes = [entry.shape for entry in header(path).values()]
        return Outline(sum(map(math.prod, shapes)), len(shapes), frozenset(size for shape in shapes for size in shape))
    check_pickled(path)
    values = path.stat().st_size // bytes_each
    return Outline(values, math.inf, frozenset([values]))


def count(path: Path, bytes_each: int = 4) -> int:
    """The number of values in a file; for a pickle, estimated from its size."""
    return outline(path, bytes_each).values


def header(path: Path) -> dict[str, Entry]:
    """The tensors in a complete safetensors file, by name."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length) if length <= min(size, _LONGEST_HEADER) else b""
    try:
        stated = typed_json.parsed(text)
    except ValueError as error:
        raise _not_weights(path, _instead(path) or "its header cannot be read") from error
    if not isinstance(stated, dict):
        raise _not_weights(path, "its header is not a JSON object")
    entries = {name: _entry(path, name, one) for name, one in stated.items() if name != "__metadata__"}
    expected = 8 + length + max((entry.data_offsets[1] for entry in entries.values()), default=0)
    if size != expected:
        raise _not_weights(path, f"it has {size:,} bytes instead of {expected:,}: it is truncated")
    return entries


def _entry(path: Path, name: str, stated: object) -> Entry:
    found = typed_json.read(Entry, stated)
    if found is None:
        wrong = typed_json.misfit(Entry, stated) if isinstance(stated, dict) else "it is no JSON object"
        raise _not_weights(path, f"its header describes '{name}' wrongly: {wrong}")
    if not found.is_possible:
        raise _not_weights(
            path,
            f"its header gives '{name}' the shape {list(found.shape)} in {found.dtype}, but the bytes "
            f"{reprlib.repr(list(found.data_offsets))}",
        )
    return found


def check_pickled(path: Path) -> None:
    """Refuse a .bin that torch did not write. A pickle is recognised here but never opened."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"PK" and not zipfile.is_zipfile(path):  # a zip file ends with its table of contents
        raise _not_weights(path, "it is truncated")
    if start[:2] != b"PK" and start[:1] != b"\x80":  # older releases of torch wrote a bare pickle
        raise _not_weights(path, _instead(path) or "torch did not write it")


def tensors(path: Path, prefix: str = "") -> dict[str, Tensor]:
    """The tensors whose names start with `prefix`, under the rest of the name, in float32."""
    import torch

    if path.suffix == ".safetensors":
        from safetensors import SafetensorError, safe_open

        names = [name for name in header(path) if name.startswith(prefix)]
        try:
            with safe_open(path, framework="pt") as file:  # copied, since its tensors map the file
                return {name.removeprefix(prefix): file.get_tensor(name).to(torch.float32, copy=True) for name in names}
        except SafetensorError as error:
            raise _not_weights(path, f"safetensors refuses it ({str(error)[:200]})") from error
    check_pickled(path)
    try:  # weights_only: load tensors, refuse code in the pickle
        state = torch.load(path, map_location="cpu", weights_only=True)
        return {name.removeprefix(prefix): each.float() for name, each in state.items() if name.startswith(prefix)}
    except Exception as error:
        raise refused(path) from error


def refused(path: Path) -> NotWeights:
    """The error for a pickle that torch refuses."""
    return _not_weights(path, "torch refuses it, since it is broken or holds code instead of weights")


def _instead(path: Path) -> str:
    """Recognise failed downloads and clones in place of a weights file."""
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    if not start:
        return "it is empty"
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, a note in place of the weights (run 'git lfs pull')"
    return "it is a web page or other text" if start.startswith((b"<", b'{"')) else ""


def _not_weights(path: Path, reason: str) -> NotWeights:
    return NotWeights(f"{path} cannot be read as weights: {reason}. Copy or download the file again.")


def of_module(place: Path, prefix: str, needed: tuple[str, ...] = ("weight",)) -> dict[str, Any]:
    """The tensors of a module's folder whose names start with a prefix, under the rest of the name."""
    path = next(iter(layout.weights(place)), None)
    found = {} if path is None else tensors(path, prefix)
    check_names(place, prefix, needed, found)
    check_finite(place, prefix, found)
    return found


def check_names(place: Path, prefix: str, needed: Iterable[str], found: Collection[str]) -> None:
    """Refuse the weights of a module if some are missing."""
    missing = [name for name in needed if name not in found]
    if missing:
        raise NotWeights(f"{place} holds no weights '{prefix}{missing[0]}'. Copy or download the folder again.")


def check_finite(place: Path, prefix: str, found: Mapping[str, Tensor]) -> None:
    """Refuse the weights of a module if a number in them is not finite: every vector after it would be lost."""
    wrong = [name for name, tensor in found.items() if not tensor.isfinite().all()]
    if wrong:
        raise NotWeights(
            f"'{prefix}{wrong[0]}' of {place} holds NaN or infinite numbers. Copy or download the folder again."
        )
