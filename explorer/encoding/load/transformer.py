"""Load the transformer of a folder, complete: no weight is initialised at random."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.encoding.load import checking, merging
from explorer.encoding.locate import families, layout
from explorer.encoding.read import attention as attentions
from explorer.errors import NotWeights, RemoteCodeRefused, UnsupportedModel, WeightsMissing

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from explorer.encoding.read.head import Head

# transformers would put an adapter of the same folder beside the weights; with this it looks for one where none can be
NO_ADAPTER = {"subfolder": layout.ADAPTER}


def read_config(folder: Path) -> PreTrainedConfig:
    """The type and the sizes of a folder's transformer."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def read(folder: Path, config: PreTrainedConfig, attention: str, adapter: Path | None = None) -> PreTrainedModel:
    """Load the transformer of a folder in float32, with an adapter merged; of an encoder-decoder model, the encoder."""
    kind = _class(config, folder)
    how = attentions.supported(kind, attention)
    # a pooler is trained for another task, or random if missing
    model = opened(kind, folder, config, adapter, attn_implementation=how, **families.without_pooler(kind))
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    return model


def opened(
    kind: Any, folder: Path, config: PreTrainedConfig, adapter: Path | None = None, **options: Any
) -> PreTrainedModel:
    """Load a model of a class from this disk in float32, without running its code or initialising weights at random.

    `adapter` is the folder of one to be merged into its weights.
    """
    import torch

    with quiet(), checking.bounded(folder):
        model, report = kind.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, by name
            adapter_kwargs=NO_ADAPTER,
            **options,
        )
    found: PreTrainedModel = model
    _check_report(report, found, folder, config)
    if adapter is not None:
        merging.merge(found, adapter)
    return found


def settle(model: PreTrainedModel, precision: str, device: str) -> None:
    """Move a model to its precision and device, and freeze it."""
    import torch

    # copies, since from_pretrained maps the file, and truncating a mapped file kills the process. Cast here and not by
    # from_pretrained, which changes the default dtype of every thread; weights only, since rotary tables need float32
    for weight in model.parameters():
        weight.data = weight.data.to(getattr(torch, precision), copy=True)
    for table in model.buffers():
        table.data = table.data.clone()
    model.to(device).eval().requires_grad_(False)


def try_out(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, head: Head | None, name: str) -> None:
    """Encode one word, to refuse models that need images or do not return every layer."""
    import torch

    from explorer.encoding.read.encoder import every_layer

    ids = torch.tensor([tokenizer("a")["input_ids"] or [tokenizer.pad_token_id]], device=model.device)
    try:
        with torch.no_grad():
            hidden = every_layer(model, input_ids=ids)
            shapes = {tuple(states.shape) for states in hidden}
            if head is not None:
                head([states.float() for states in hidden], torch.ones_like(ids, dtype=torch.bool))
        fits = len(hidden) == model.config.num_hidden_layers + 1 and shapes == {(*ids.shape, model.config.hidden_size)}
    except (TypeError, ValueError, AttributeError, RuntimeError, IndexError) as error:
        raise UnsupportedModel(
            f"'{name}' ({type(model).__name__}) cannot encode a sentence ({type(error).__name__}: {error}). Choose a "
            "text encoder."
        ) from error
    if not fits:
        raise UnsupportedModel(
            f"'{name}' ({type(model).__name__}) does not return one state per token for each of its layers. Choose "
            f"a text encoder {families.SUCH_AS}."
        )
    if not torch.isfinite(hidden[-1]).all():
        raise NotWeights(f"'{name}' returns values that are not numbers: its weights are damaged. Download it again.")


def _class(config: PreTrainedConfig, folder: Path) -> Any:
    """The class to load: for T5 and similar models the encoder, which may be saved without the decoder."""
    from transformers import MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING

    for mapping in (MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING):
        if type(config) in mapping:
            found = mapping[type(config)]
            return found[0] if isinstance(found, (list, tuple)) else found
    raise UnsupportedModel(
        f"{folder} holds a '{config.model_type}', for which transformers has no plain encoder. Choose a text encoder "
        f"{families.SUCH_AS}."
    )


def _check_report(report: dict[str, Any], model: PreTrainedModel, folder: Path, config: PreTrainedConfig) -> None:
    """Refuse a model with weights that are missing or of another shape."""
    owners = {name: type(model.get_submodule(name.rpartition(".")[0])).__name__ for name in report["missing_keys"]}
    # sinusoidal positions are computed: the files of WMT19 do not hold them
    missing = sorted(
        name for name, owner in owners.items() if families.POOLER not in name and "Sinusoidal" not in owner
    )
    misfits = sorted(f"{name} {list(found)} for {list(due)}" for name, found, due in report["mismatched_keys"])
    if (missing or misfits) and "AutoModel" in (getattr(config, "auto_map", None) or {}):
        raise RemoteCodeRefused(
            f"{folder} calls itself '{config.model_type}', but its weights fit only the Python code that comes with "
            "it. Strata never runs such code. Choose a model that transformers itself can load."
        )
    if missing:
        raise WeightsMissing(
            f"{folder} lacks {len(missing)} of the model's weights ({_first(missing)}): they would be initialised at "
            "random. Save the whole model with save_pretrained, under the weight names of its class."
        )
    if misfits:
        raise WeightsMissing(
            f"{folder} has {len(misfits)} weights of another shape than its config.json says ({_first(misfits)}). "
            "Copy the config.json that was saved with the weights."
        )


def _first(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars and reports on the server's terminal; errors are raised."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
