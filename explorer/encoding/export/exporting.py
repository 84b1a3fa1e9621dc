"""Export a tuned encoder as a folder that transformers and sentence-transformers open, in full or as a LoRA adapter.

The transformer is in the root of the folder, where transformers expects it; the modules that pool its states are in
subfolders, where sentence-transformers expects them. Their settings use the format of its releases before 5.4, which
later releases read too.

An adapter is the change of its weights as peft saves it, a hundredth of their size; the modules that pool its states
are written as they are.
"""

import copy
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from explorer.encoding.export import source_code
from explorer.encoding.load import loading
from explorer.encoding.load.declared import STATIC_POOLINGS
from explorer.encoding.load.static_embedding import StaticEncoder
from explorer.encoding.locate import configuration, families, layout, weights
from explorer.encoding.locate.layout import ADAPTER_WEIGHTS
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.layer_reading import LayerReading
from explorer.encoding.read.parts import LIBRARY
from explorer.encoding.read.pooling import POOLINGS, layers_of, switched
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.tune import adapters
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.places import whole_folder

_TYPES = f"{LIBRARY}models."
_FIRST_SWITCHES = 4  # the poolings of every release; releases before 2.3 fail at others
Factors = Mapping[str, tuple[Tensor, Tensor]]  # A (rank, inputs) and B (outputs, rank) of each linear layer
_LIMITS = "sentence_bert_config.json"
# the files of an export that say how a sentence is encoded, without the transformer and its vocabulary
_SETTINGS = ("modules.json", _LIMITS, "config_sentence_transformers.json")


def auto_class(encoder: Encoder) -> str:
    """The transformers class that opens an export of this encoder, or an error; call it before training.

    "" for static embeddings, which transformers does not open.
    """
    from transformers import MODEL_MAPPING

    if isinstance(encoder, StaticEncoder):
        return ""
    kind, settings = type(encoder.model), type(encoder.model.config)
    opened = MODEL_MAPPING.get(settings, ())
    if kind in (opened if isinstance(opened, (list, tuple)) else (opened,)):
        return "AutoModel"
    if any(kind.__name__ in row.encoders for row in families.FAMILIES):
        return kind.__name__
    raise UnsupportedModel(
        f"'{encoder.name}' cannot be fine-tuned: only its {kind.__name__} would be saved, and transformers and "
        "sentence-transformers would initialise the rest at random. Choose an encoder "
        f"{families.SUCH_AS}, or a T5."
    )


def export(
    tuned: Tunable,
    head: Head,
    folder: Path,
    card: str,
    base: Path | None,
    prompts: RolePrompts | None = None,
    files: Mapping[str, bytes] = MappingProxyType({}),
    precision: str = "float32",
    more: Callable[[Path], None] = lambda part: None,
) -> None:
    """Write a tuned encoder with its `head` to a new folder, atomically, with `card` as its README.md.

    `base` is the folder of the base model, if it still exists; `prompts` replace its prompts of queries and documents.
    `files` are written beside them, by name, and `more` writes what is made of all of these.
    """
    auto_class(tuned.encoder)
    check_head(tuned.encoder, head)
    with whole_folder(folder) as part:
        if isinstance(tuned.encoder, StaticEncoder):
            tuned.encoder.save(tuned.model, part)
        else:
            _write_transformer(tuned, base, part, precision, all_layers=not head.of_last_layer)
            _write_tokenizer(tuned.encoder, part)
        _write_modules(head.to("cpu"), tuned, part)
        _write_reading(tuned.encoder, part, prompts)
        for name, content in {**files, "README.md": card.encode()}.items():
            (part / name).write_bytes(content)
        more(part)


def check_head(encoder: Encoder, head: Head) -> None:
    """Refuse a pooling that cannot be exported; call it before training."""
    if isinstance(encoder, StaticEncoder) and (head.poolings != STATIC_POOLINGS or head.layers is not None):
        raise UnsupportedModel(
            f"'{encoder.name}' is static embeddings, whose vector is the mean of the token vectors, and "
            f"{head.facts().stages[0]} cannot be exported. Set pooling to '{STATIC_POOLINGS[0]}' or 'model default', "
            f"or choose a transformer, {families.SUCH_AS}."
        )


def _write_tokenizer(encoder: Encoder, part: Path) -> None:
    tokenizer = encoder.tokenizer()
    if tokenizer.is_fast:  # it would save its last truncation and padding as settings
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    for how_it_was_found in ("is_local", "local_files_only"):
        tokenizer.init_kwargs.pop(how_it_was_found, None)
    tokenizer.save_pretrained(part)
    path = part / "tokenizer_config.json"
    written = configuration.settings(path)
    if written.get("tokenizer_class") == "TokenizersBackend":  # its name since transformers 5; all know the other
        _write_settings(path, written | {"tokenizer_class": "PreTrainedTokenizerFast"})


def _write_transformer(tuned: Tunable, base: Path | None, part: Path, precision: str, *, all_layers: bool) -> None:
    model = tuned.plain()
    state: dict[str, Tensor] = {}
    # of the pooling layer of the base, which was not trained: else opening the export warns of random weights
    if base is not None and families.without_pooler(type(tuned.model)):
        own = f"{families.POOLER}."
        for path in layout.weights(layout.transformer(base)):
            for prefix in (own, f"{model.base_model_prefix}.{own}"):  # the latter if saved for a task
                state |= {own + name: value for name, value in weights.tensors(path, prefix).items()}
    state |= {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    for name, value in state.items():
        state[name] = value.to(getattr(torch, precision)) if value.is_floating_point() else value
    with loading.quiet():
        model.save_pretrained(part, state_dict=state)
    settings = copy.deepcopy(model.config)
    settings.dtype = precision  # the precision in which transformers loads the weights
    settings.output_hidden_states = all_layers
    vars(settings).pop("auto_map", None)  # names Python files of the base, which are not copied
    settings.save_pretrained(part)


def _write_modules(head: Head, tuned: Tunable, part: Path) -> None:
    """Write modules.json, and a folder for each module with settings."""
    static = isinstance(tuned.encoder, StaticEncoder)
    if static:
        reading = []
    elif head.has_layer_reading:
        reading = [LayerReading.module]
    else:
        reading = [*[f"{_TYPES}WeightedLayerPooling"] * (not head.of_last_layer), f"{_TYPES}Pooling"]
    steps = [step.module for step in head.dense]
    first = families.STATIC_MODULE if static else "Transformer"
    types = [f"{_TYPES}{first}", *reading, *steps, *[f"{_TYPES}Normalize"] * head.normalize]
    kinds = [one.rpartition(".")[2] for one in types]
    places = ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds[1:], start=1))]
    lines = [
        {"idx": number, "name": str(number), "path": place, "type": written}
        for number, (written, place) in enumerate(zip(types, places, strict=True))
    ]
    _write_settings(part / "modules.json", lines)
    for place in places[1 : 1 + len(reading)]:
        _write_reading_of_layers(place.partition("_")[2], head, tuned, part / place)
    for name, source in source_code.of_head(head).items():
        (part / name).write_text(source, encoding="utf-8")
    # Normalize, the last, has no settings
    for step, place in zip(head.dense, places[1 + len(reading) :], strict=False):
        (part / place).mkdir()
        step.save(str(part / place))


def _write_reading_of_layers(kind: str, head: Head, tuned: Tunable, place: Path) -> None:
    pooled = tuned.encoder.default_head.roles.pooled  # whether prompts are
    if kind == "LayerReading":
        place.mkdir()
        LayerReading(head.poolings, head.layers, pooled).save(str(place))
        return
    names, layers = zip(*map(layers_of, head.poolings), strict=True)
    if kind == "Pooling":
        switches = {pooling.switch: pooling.name in names for pooling in switched()}
        if names == tuple(pooling.name for pooling in switched() if switches[pooling.switch]):
            on = {name: on for place, (name, on) in enumerate(switches.items()) if on or place < _FIRST_SWITCHES}
            written: dict[str, Any] = {"word_embedding_dimension": tuned.width, **on}
        else:  # switches allow one order only; this format keeps any order, from release 5.4 on
            modes = [POOLINGS[name].library for name in names]
            written = {"embedding_dimension": tuned.width, "pooling_mode": modes}
        _write_settings(place / "config.json", written if pooled else {**written, "include_prompt": False})
        return
    shares = torch.zeros(tuned.layers + 1)
    shares[list(layers[0])] = 1.0
    sizes = {"word_embedding_dimension": tuned.width, "layer_start": 0, "num_hidden_layers": tuned.layers}
    _write_settings(place / "config.json", sizes)
    save_file({"layer_weights": shares}, place / "model.safetensors", {"format": "pt"})


def _write_reading(encoder: Encoder, part: Path, own: RolePrompts | None) -> None:
    """Settings of sentence-transformers: length limit, lowercasing, prompt and similarity."""
    # the encoder's limit, not that of the training
    if not isinstance(encoder, StaticEncoder):
        limits = {"max_seq_length": encoder.max_length, "do_lower_case": encoder.lower_case}
        _write_settings(part / _LIMITS, limits)
    prompt, roles = encoder.default_head.prompt, own or encoder.default_head.roles
    # under all names, since encode_query and encode_document ignore the default
    prompts = {"query": roles.query or prompt, "document": roles.document or prompt, "sentence": prompt}
    stated = {
        "prompts": prompts if any(prompts.values()) else {},
        "default_prompt_name": "sentence" if prompt else None,
        "similarity_fn_name": "cosine",
    }
    _write_settings(part / "config_sentence_transformers.json", stated)


def _write_settings(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@torch.no_grad()
def adapter_factors(base: nn.Module, tuned: nn.Module, rank: int) -> Factors:
    """The product B A of this rank that is closest to the change of each linear layer that changed, in half precision.

    Eckart and Young 1936: it keeps the largest singular values. Both factors have the same share of them, so that
    neither leaves the range of half precision.
    """
    before, after, found = dict(base.named_parameters()), adapters.effective(tuned), {}
    for name in adapters.targeted(base, adapters.ALL_LINEAR):
        change = after[f"{name}.weight"].float() - before[f"{name}.weight"].float()
        if not change.any():
            continue
        left, values, right = torch.linalg.svd(change, full_matrices=False)
        share = values[:rank].sqrt()
        found[name] = ((share[:, None] * right[:rank]).half(), (left[:, :rank] * share).half())
    return found


@torch.no_grad()
def apply_adapter(tuned: nn.Module, base: nn.Module, adapter: Factors) -> None:
    """Give a model the weights of its base with an adapter; whatever else was trained is the base's again.

    A model that was trained as an adapter keeps its own, of the same rank, with these factors.
    """
    before, after, adapted = dict(base.named_parameters()), adapters.plain_weights(tuned), dict(adapters.adapted(tuned))
    for name, weight in after.items():
        weight.copy_(before[name])
    for name, (inner, outer) in adapter.items():
        if name in adapted:
            adapters.set_factors(adapted[name], inner.float(), outer.float())
        else:
            after[f"{name}.weight"].add_(outer.float() @ inner.float())


def save_adapter(adapter: Factors, base: str, exported: Path, folder: Path, share: float = 1.0) -> None:
    """Write a model as an adapter of its base, by its name on the hub, with the modules of its export.

    `share` is how much of the adapter is in the model.
    """
    from peft import LoraConfig

    for path in exported.rglob("*"):
        inside = path.relative_to(exported)
        if path.is_file() and (len(inside.parts) > 1 or path.name in _SETTINGS or path.suffix == ".py"):
            (folder / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / inside)
    if configuration.settings(exported / "config.json").get("output_hidden_states"):
        # the base's config.json, which is not this model's, does not ask for the states of all layers
        limits = configuration.settings(folder / _LIMITS) | {"config_args": {"output_hidden_states": True}}
        _write_settings(folder / _LIMITS, limits)
    rank = max(len(inner) for inner, _ in adapter.values())
    # the product is scaled by lora_alpha / rank: factors in half precision that were scaled would be rounded again
    scaled = cast(int, rank if share == 1 else rank * share)  # any number, whatever peft states
    config = LoraConfig(r=rank, lora_alpha=scaled, base_model_name_or_path=base, inference_mode=True)
    config.target_modules = sorted(adapter)  # given above, it would be a set, which has another order in each process
    config.save_pretrained(str(folder))
    tensors = {
        f"base_model.model.{name}.lora_{which}.weight": factor.contiguous()
        for name, pair in adapter.items()
        for which, factor in zip("AB", pair, strict=True)
    }
    save_file(tensors, folder / ADAPTER_WEIGHTS, {"format": "pt"})
