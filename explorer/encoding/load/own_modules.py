"""Read the modules that only Strata exports: pooling over all layers, and flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.encoding.load import weights
from explorer.encoding.locate import layout
from explorer.encoding.read import pooling as heads
from explorer.encoding.read.flow import Flow
from explorer.encoding.read.flow_map import FlowMap
from explorer.encoding.read.layer_attention import ACTIVATIONS, NORMALISERS, LayerAttention
from explorer.encoding.read.layer_reading import MAPS, settings
from explorer.encoding.read.word_weights import WordWeights
from explorer.errors import NotWeights, UnsupportedModel


def layer_reading(place: Path, stated: dict[str, Any]) -> tuple[tuple[str, ...], LayerAttention | WordWeights | None]:
    """The LayerReading of an export; its Python file is for other libraries and is not run."""
    poolings, attention, words = tuple(stated.get("poolings", ())), stated.get("attention"), stated.get("words")
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
    sizes = layout.settings(place / "config.json")
    wrong = sorted(sizes) != ["inner", "levels", "steps", "width"]
    if wrong or not all(type(size) is int and 0 < size < 100_000 for size in sizes.values()):
        raise UnsupportedModel(f"{place / 'config.json'} is not a flow of Strata. Export the model again.")
    flow = Flow(**sizes)
    found = weights.of_module(place, "", tuple(flow.state_dict()))
    expected = {name: weight.shape for name, weight in flow.state_dict().items()}
    if {name: weight.shape for name, weight in found.items()} != expected:
        raise NotWeights(
            f"{place / 'model.safetensors'} has weights of other sizes than its settings. Export the model again."
        )
    flow.load_state_dict(found)
    return FlowMap(flow.requires_grad_(False))
