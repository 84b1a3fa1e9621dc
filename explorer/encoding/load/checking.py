"""Check that a folder is a complete encoder before it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer import in_words
from explorer.encoding.load import hardware, merging, sizes
from explorer.encoding.locate import configuration, families, layout, weights
from explorer.errors import (
    ModelTooLarge,
    NotAModelFolder,
    NotWeights,
    RemoteCodeRefused,
    TokenizerMissing,
    UnsupportedModel,
)

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
HEADROOM = 1.2  # sentences need memory beside the weights


def check(folder: Path, free: float | None = None) -> Path:
    """Refuse what cannot be loaded into `free` bytes; return the folder of the transformer.

    Weights are counted in float32, since they are loaded so whatever precision follows.
    """
    place = _transformer(folder)
    adapter = layout.adapter(folder)
    for path in (*_inside(folder), *_inside(place), *(_inside(adapter) if adapter else [])):
        configuration.check_regular(path)
    config = _config(place)
    check_type(place, config)
    if adapter is not None:
        merging.check(adapter)
    if not layout.vocabulary(place) and not (adapter and layout.vocabulary(adapter)):
        raise TokenizerMissing(
            f"{place} has no tokenizer: it holds {layout.contents(place)}. Copy the tokenizer's files there too, "
            "for example tokenizer.json or vocab.txt; without them every word would be unknown."
        )
    check_room(count(place, config), "float32", hardware.free_memory() if free is None else free)
    sizes.check(place / "config.json", config, lambda: sizes.largest_dimension(layout.weights(place)))
    return place


def check_type(place: Path, config: dict[str, Any]) -> None:
    """Refuse a model type that transformers does not know, in particular one that needs its own code."""
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    kind = config["model_type"]
    if kind in CONFIG_MAPPING:
        return
    if "auto_map" in config:
        raise RemoteCodeRefused(
            f"The model type '{kind}' in {place} is not part of transformers {__version__}: it would run Python "
            "code that comes with the model. Strata never runs such code. Choose a model of a type transformers "
            f"has, {families.SUCH_AS}."
        )
    raise UnsupportedModel(
        f"transformers {__version__} does not know the model type '{kind}' in {place}. A newer release may: "
        "pip install --upgrade transformers. Or choose another model."
    )


def check_room(numbers: int, precision: str, free: float) -> None:
    """Refuse a model whose weights would not fit into `free` bytes."""
    needed = numbers * BYTES[precision] * HEADROOM
    if needed > free:
        raise ModelTooLarge(
            f"A model of {numbers / 1e6:,.0f} million weights needs about {in_words.size(needed)} in {precision}; "
            f"only {in_words.size(free)} are free. Choose a smaller model, close other programs, or use a machine with "
            "more memory."
        )


def count(place: Path, config: dict[str, Any]) -> int:
    """Count the numbers in the weights; refuse a file that cannot be weights."""
    files = layout.weights(place)
    if not files:
        raise NotWeights(
            f"{place} has no weights: it holds {layout.contents(place)}. Strata reads model.safetensors or "
            "pytorch_model.bin, in one file or in shards. Copy or download the weights too."
        )
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise NotWeights(
            f"{place} lacks {len(missing)} of the {len(files)} files its weights are split into, the first being "
            f"{missing[0]}. Copy or download them too."
        )
    each = BYTES.get(str(config.get("dtype") or config.get("torch_dtype")), 4)
    return sum(weights.count(path, each) for path in files)


def _transformer(folder: Path) -> Path:
    declared = layout.modules(folder)
    if declared and declared[0].kind != "Transformer":
        raise UnsupportedModel(
            f"{folder} starts with a module '{declared[0].kind}'. Strata analyses the layers of transformers: "
            "choose a model whose first module is a Transformer."
        )
    return layout.transformer(folder)


def _config(place: Path) -> dict[str, Any]:
    if not (place / "config.json").is_file():
        layout.refuse(place)
    config = configuration.settings(place / "config.json")
    stated = configuration.checked(place / "config.json", configuration.ModelConfig, config)
    if stated.model_type is None:
        raise NotAModelFolder(
            f"{place / 'config.json'} does not say which model it is: it has no 'model_type'. Copy the config.json "
            "that was saved with the weights."
        )
    return config


def _inside(place: Path) -> list[Path]:
    return list(place.iterdir()) if place.is_dir() else []
