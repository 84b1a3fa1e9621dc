"""Read weights files: the shapes of their tensors without the weights, and the weights of one module."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import typed_json
from explorer.encoding.locate import configuration, layout
from explorer.errors import NotWeights

if TYPE_CHECKING:
    from torch import Tensor


def outline(path: Path, bytes_each: int = 4) -> list[tuple[int, ...]]:
    """The shapes of the tensors in a file; a pickle, which is not opened, counts as one of as many values as fit."""
    if path.suffix == ".safetensors":
        return list(shapes(path).values())
    check_pickled(path)
    return [(path.stat().st_size // bytes_each,)]


def shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor in a complete safetensors file, by name; the library checks that they fill the file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118  no mapping
    except SafetensorError as error:
        raise _not_weights(path, _instead(path) or _broken_off(path) or _refusal(error)) from error


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

        names = [name for name in shapes(path) if name.startswith(prefix)]
        try:
            with safe_open(path, framework="pt") as file:  # copied, since its tensors map the file
                return {name.removeprefix(prefix): file.get_tensor(name).to(torch.float32, copy=True) for name in names}
        except SafetensorError as error:
            raise _not_weights(path, _refusal(error)) from error
    check_pickled(path)
    try:  # weights_only: load tensors, refuse code in the pickle
        state = torch.load(path, map_location="cpu", weights_only=True)
        return {name.removeprefix(prefix): each.float() for name, each in state.items() if name.startswith(prefix)}
    except Exception as error:
        raise refused(path) from error


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


def _broken_off(path: Path) -> str:
    """Recognise a download that broke off; the library says of it only that the file is not fully covered."""
    size = path.stat().st_size
    with path.open("rb") as file, suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
        length = int.from_bytes(file.read(8), "little")
        stated = typed_json.parsed(file.read(min(length, configuration.LARGEST)))
        due = 8 + length + max(one["data_offsets"][1] for name, one in stated.items() if name != "__metadata__")
        if size < due:
            return f"it has {size:,} bytes instead of {due:,}: it is truncated"
    return ""


def _refusal(error: Exception) -> str:
    return f"safetensors refuses it ({str(error)[:200]})"


def _not_weights(path: Path, reason: str) -> NotWeights:
    return NotWeights(f"{path} cannot be read as weights: {reason}. Copy or download the file again.")
