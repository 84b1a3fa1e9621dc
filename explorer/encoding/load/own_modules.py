"""Read the modules that only Strata exports: pooling over all layers, and flows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from explorer import typed_json
from explorer.encoding.load import weights
from explorer.encoding.locate import configuration
from explorer.encoding.read import pooling as heads
from explorer.encoding.read.flow import Flow
from explorer.encoding.read.flow_map import FlowMap
from explorer.encoding.read.layer_attention import ACTIVATIONS, NORMALISERS, LayerAttention
from explorer.encoding.read.layer_reading import MAPS, settings
from explorer.encoding.read.word_weights import WordWeights
from explorer.errors import NotWeights, UnsupportedModel

T = TypeVar("T")


def layer_reading(place: Path) -> tuple[tuple[str, ...], LayerAttention | WordWeights | None]:
    """The LayerReading of an export; its Python file is for other libraries and is not run."""
    stated = _settings(place / "config.json", configuration.LayerReading, "LayerReading")
    poolings, attention, words = stated.poolings, stated.attention, stated.words
    wrong = any(not heads.is_pooling(name) for name in poolings) or not (poolings or attention or words)
    wrong |= attention is not None and not _is_attention(attention)
    wrong |= words is not None and not _is_of(WordWeights(), words)
    if wrong:
        raise UnsupportedModel(f"{place / 'config.json'} is not a LayerReading of Strata. Export the model again.")
    if words is not None:
        return poolings, WordWeights(**words)
    if attention is None:
        return poolings, None
    found = weights.of_module(place, "", MAPS)
    return poolings, LayerAttention(**{name: found[name] for name in MAPS}, **attention)


def _is_attention(stated: Any) -> bool:
    choices = {
        "asks": tuple(heads.POOLINGS),
        "answers": tuple(heads.POOLINGS),
        "activation": ACTIVATIONS,
        "normaliser": NORMALISERS,
    }
    return (
        isinstance(stated, dict)
        and sorted(stated) == sorted(settings())
        and all(stated[name] in allowed for name, allowed in choices.items())
        and type(stated["first_layer"]) is int
    )


def _is_of(example: object, stated: Any) -> bool:
    """Whether settings have the names and types of an example."""
    kinds = {name: type(value) for name, value in vars(example).items()}
    return isinstance(stated, dict) and {name: type(value) for name, value in stated.items()} == kinds


def flow_map(place: Path) -> FlowMap:
    """Rebuild a flow from its sizes and weights."""
    path = place / "config.json"
    sizes = _settings(path, configuration.FlowSizes, "flow")
    unknown = sorted(set(configuration.settings(path)) - set(asdict(sizes)))
    if unknown:
        raise UnsupportedModel(f"{path} is not a flow of Strata: '{unknown[0]}' is unknown. Export the model again.")
    found = weights.of_module(place, "", ())
    shapes = {name: weight.shape for name, weight in found.items()}
    largest = max((size for shape in shapes.values() for size in shape), default=0)
    if sizes.levels * sizes.steps > len(shapes) or max(sizes.width, sizes.inner) > largest:
        raise _other_sizes(place, sizes)  # before the flow is built: it could take all memory
    flow = Flow(**asdict(sizes))
    expected = {name: weight.shape for name, weight in flow.state_dict().items()}
    weights.check_names(place, "", expected, found)
    if shapes != expected:
        raise _other_sizes(place, sizes)
    flow.load_state_dict(found)
    return FlowMap(flow.requires_grad_(False))


def _other_sizes(place: Path, sizes: configuration.FlowSizes) -> NotWeights:
    stated = ", ".join(f"{name} {size:,}" for name, size in asdict(sizes).items())
    return NotWeights(
        f"{place / 'model.safetensors'} has weights of other sizes than its settings ({stated}). Export the model "
        "again."
    )


def _settings(path: Path, kind: type[T], name: str) -> T:
    """The settings of a module of Strata."""
    stated = configuration.settings(path)
    wrong, found = typed_json.misfit(kind, stated), typed_json.read(kind, stated)
    if wrong is not None or found is None:
        raise UnsupportedModel(f"{path} is not a {name} of Strata: {wrong}. Export the model again.")
    return found
