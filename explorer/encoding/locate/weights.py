"""Read weights files: the shapes of their tensors, the weights of one module, and a LoRA adapter to merge into a base.

An adapter is added as peft saves it: W + alpha / rank · B A. peft itself (merge_and_unload) computes the same weights,
to the last bit in all families that the tests build, if the adapter is whole. It is not used here, since it merges all
others too, with a warning at most: one that lacks a matrix, one whose names are of a model for a task (and then nothing
changes), NaN, pickles, and starts that change the base.
"""

from __future__ import annotations

import math
import re
import reprlib
import warnings
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import typed_json
from explorer.encoding.locate import configuration, families, layout
from explorer.encoding.locate.layout import ADAPTER, ADAPTER_PICKLE, ADAPTER_WEIGHTS
from explorer.errors import NotWeights, RemoteCodeRefused, UnsupportedModel, WeightsMissing

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel

# fields of adapter_config.json with which an adapter is more than this product, if they hold anything
_MORE = (
    *("alpha_pattern", "use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication", "target_parameters"),
    *("trainable_token_indices", "alora_invocation_tokens", "arrow_config", "kasa_config", "monteclora_config"),
)
# starts of an adapter that leave its base as it is, other than peft's default
_STARTS = ("gaussian", "eva", "orthogonal")
_PREFIX = "base_model.model."  # of every name in a file of peft
_MATRIX = re.compile(r"(.+)\.lora_([AB])\.weight")
_NEXT = "Merge the adapter into its base with peft (merge_and_unload), save that with save_pretrained, and load it."


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
        raise _not_weights(path, _what_is_there_instead(path) or _broken_off(path) or _refusal(error)) from error


def check_pickled(path: Path) -> None:
    """Refuse a .bin that torch did not write. A pickle is recognised here but never opened."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"PK" and not zipfile.is_zipfile(path):  # a zip file ends with its table of contents
        raise _not_weights(path, "it is truncated")
    if start[:2] != b"PK" and start[:1] != b"\x80":  # older releases of torch wrote a bare pickle
        raise _not_weights(path, _what_is_there_instead(path) or "torch did not write it")


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
        with any_protocol():
            state = torch.load(path, map_location="cpu", weights_only=True)
        return {name.removeprefix(prefix): each.float() for name, each in state.items() if name.startswith(prefix)}
    except Exception as error:
        raise refused(path) from error


@contextmanager
def any_protocol() -> Iterator[None]:
    """Leave out torch's warning about the protocol of a pickle: it reads the file, or the error says why not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Detected pickle protocol", UserWarning)
        yield


def of_module(place: Path, prefix: str, needed: tuple[str, ...] = ("weight",)) -> dict[str, Any]:
    """The tensors of a module's folder whose names start with a prefix, under the rest of the name."""
    path = next(iter(layout.weights(place)), None)
    found = {} if path is None else tensors(path, prefix)
    check_names(place, prefix, needed, found)
    check_finite(place, prefix, found)
    return found


def check_names(place: Path, prefix: str, needed: Iterable[str], names: Collection[str]) -> None:
    """Refuse the weights of a module if some are missing."""
    missing = [name for name in needed if name not in names]
    if missing:
        raise NotWeights(f"{place} holds no weights '{prefix}{missing[0]}'. Copy or download the folder again.")


def check_finite(place: Path, prefix: str, tensors: Mapping[str, Tensor]) -> None:
    """Refuse the weights of a module if a number in them is not finite: every vector after it would be lost."""
    wrong = [name for name, tensor in tensors.items() if not tensor.isfinite().all()]
    if wrong:
        raise NotWeights(
            f"'{prefix}{wrong[0]}' of {place} holds NaN or infinite numbers. Copy or download the folder again."
        )


def refused(path: Path) -> NotWeights:
    """The error for a pickle that torch refuses."""
    return _not_weights(path, "torch refuses it, since it is broken or holds code instead of weights")


def _what_is_there_instead(path: Path) -> str:
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


def check_adapter(place: Path) -> None:
    """Refuse an adapter that is not a complete LoRA in safetensors; no weight is read."""
    _stated(place)
    if not (place / ADAPTER_WEIGHTS).is_file():
        if (place / ADAPTER_PICKLE).is_file():
            raise NotWeights(
                f"{place} holds {ADAPTER_PICKLE}, a pickle, which may hold code. Strata reads adapters as "
                f"{ADAPTER_WEIGHTS} alone. Save the adapter again with a newer release of peft."
            )
        raise NotWeights(
            f"{place} has {ADAPTER}, but no {ADAPTER_WEIGHTS}. Copy or download it too, or remove {ADAPTER}."
        )
    shapes(place / ADAPTER_WEIGHTS)


def merge_adapter(model: PreTrainedModel, place: Path) -> None:
    """Add an adapter to the weights of a model in float32."""
    import torch

    stated, path = _stated(place), place / ADAPTER_WEIGHTS
    pairs: dict[str, dict[str, Tensor]] = {}
    whole: dict[str, Tensor] = {}
    for name, tensor in tensors(path).items():
        matrix = _MATRIX.fullmatch(name)
        if matrix:
            pairs.setdefault(matrix[1], {})[matrix[2]] = tensor
        else:
            whole[name.replace(".base_layer.", ".")] = tensor  # a bias beside an adapter
    parts, own = dict(model.named_modules()), dict(model.named_parameters())
    with torch.no_grad():
        for name, pair in pairs.items():
            layer = parts.get(_in_model(name, model, parts))
            if layer is not None or not _is_left_out(name, stated):
                _add(layer, pair, stated, name, path)
        for name, tensor in whole.items():
            found = own.get(_in_model(name, model, own))
            if found is not None and found.shape == tensor.shape:
                found.copy_(tensor)
            elif found is not None or not _is_left_out(name, stated):
                due = "the base has no such weight" if found is None else f"the base has {list(found.shape)}"
                raise _misfit(path, name, due, tensor)


def _stated(place: Path) -> configuration.Adapter:
    """Its configuration, or an error that names a field which Strata does not support."""
    path = place / ADAPTER
    stated = configuration.read(path, configuration.Adapter)
    if stated.peft_type != "LORA":
        kind = "no peft_type" if stated.peft_type is None else f"peft_type '{stated.peft_type}'"
        raise UnsupportedModel(f"{path} states {kind}. Strata merges adapters of type 'LORA'. {_NEXT}")
    code = stated.auto_mapping.get("parent_library") if isinstance(stated.auto_mapping, Mapping) else None
    if code is not None and str(code).partition(".")[0] not in ("transformers", "sentence_transformers"):
        raise RemoteCodeRefused(
            f"{path} names the Python module '{code}' for its base, which would run code that comes with the model. "
            "Strata never runs such code. Choose an adapter of a model that transformers itself can load."
        )
    if stated.init_lora_weights not in (True, False, None, *_STARTS):
        raise UnsupportedModel(
            f"{path} states init_lora_weights '{stated.init_lora_weights}', which changes the base too. Strata "
            f"supports true, false and {', '.join(_STARTS)}. {_NEXT}"
        )
    for name, value in configuration.settings(path).items():
        if name in _MORE and value:
            raise UnsupportedModel(
                f"{path} states {name} {reprlib.repr(value)}, which is more than W + alpha / rank · B A. Strata "
                f"supports adapters without it. {_NEXT}"
            )
    return stated


def _in_model(name: str, model: PreTrainedModel, known: Mapping[str, object]) -> str:
    """The name in a model, which may be the one that was adapted, the encoder inside it, or one around it."""
    name, around = name.removeprefix(_PREFIX), f"{model.base_model_prefix}."
    return next((one for one in (name, name.removeprefix(around), around + name) if one in known), name)


def _add(
    layer: nn.Module | None, pair: Mapping[str, Tensor], stated: configuration.Adapter, name: str, path: Path
) -> None:
    """Add an adapter to the weight of its layer, a linear one."""
    import torch
    from transformers.pytorch_utils import Conv1D

    weight = getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.dim() != 2 or isinstance(layer, torch.nn.Embedding):
        raise WeightsMissing(
            f"{path} adapts '{name}', which is no linear layer of the base. Write the model that the adapter was "
            f"trained on as 'base_model_name_or_path' in {path.with_name(ADAPTER)}."
        )
    transposed = isinstance(layer, Conv1D)  # its matrix is (in, out)
    out, inside = reversed(weight.shape) if transposed else weight.shape
    rank = len(pair["A"]) if stated.rank_pattern and "A" in pair else stated.r
    for which, due in (("A", [rank, inside]), ("B", [out, rank])):
        if which not in pair:
            raise NotWeights(f"{path} holds no weights '{name}.lora_{which}.weight'. Copy or download the file again.")
        if list(pair[which].shape) != due:
            why = f"rank {rank} in a layer of {inside} inputs and {out} outputs needs {due}"
            raise _misfit(path, f"{name}.lora_{which}.weight", why, pair[which])
    product = pair["B"] @ pair["A"] * (stated.lora_alpha / (math.sqrt(rank) if stated.use_rslora else rank))
    if not product.isfinite().all():
        raise NotWeights(f"{path} gives '{name}' values that are not numbers. Copy or download the file again.")
    weight += product.T if transposed else product


def _is_left_out(name: str, stated: configuration.Adapter) -> bool:
    """Whether a name is of a part that an encoder is loaded without: BERT's pooler, or a part for a task."""
    return "lora_" not in name and not {families.POOLER, *(stated.modules_to_save or ())}.isdisjoint(name.split("."))


def _misfit(path: Path, name: str, why: str, saved: Tensor) -> WeightsMissing:
    return WeightsMissing(
        f"{path} has '{name}' of shape {list(saved.shape)}, but {why}. Copy {ADAPTER} and {ADAPTER_WEIGHTS} of one "
        "adapter, and use the base that it was trained on."
    )
