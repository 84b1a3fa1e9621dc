"""Load an encoder from its folder, with errors that say what is wrong.

SentenceTransformer(folder) computes the same vectors, to the last bit in 10 of the 14 families that the tests build and
under every head that it knows; the tests compare them. It is not what loads, since it encodes with random numbers where
weights are missing, and with a thousand layers if config.json states these beside the weights of two. It also runs the
decoder of a BART, encodes no GPT-2, Llama or Qwen2 without a padding token, opens no adapter that was saved without a
tokenizer, and is imported in 1.4 s on top of the 2.9 s of torch and transformers (of one core).
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from explorer import errors
from explorer.encoding.load import checking, declared, hardware, model_tokenizer
from explorer.encoding.locate import families, layout, model_names, stored_vectors, weights
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import attention as attentions
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head

ATTENTIONS = (attentions.SDPA, attentions.EAGER)
# while it builds a model, from_pretrained replaces functions of torch and transformers for the whole process, and two
# calls at once would restore each other's replacements. Hold this lock to build a model of transformers.
ONE_AT_A_TIME = threading.RLock()
# what is in use, by model, precision, device and attention: a page and a training share its weights
_LOADED: WeakValueDictionary[tuple[Found, str, str, str], Encoder] = WeakValueDictionary()
# what an encoder and its tokenizer import in any case, which takes seconds, once in a process; in parts, between which
# a server can be stopped
LIBRARIES = (
    "torch",
    "torch.distributed.tensor",
    "scipy.optimize",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.modeling_utils",
)
# transformers imports itself in circles: of two threads that import it at once, one may find modules half done
_IMPORTING = threading.Lock()


def importing() -> Work[None]:
    """Import torch and what of transformers every encoder needs; wait while another thread does."""
    for done, library in enumerate(LIBRARIES):
        yield Progress("importing torch and transformers", done, len(LIBRARIES))
        with _IMPORTING:
            usual = gc.get_threshold()
            gc.set_threshold(100_000, *usual[1:])  # looking for garbage among all that stays takes a tenth of the time
            try:
                importlib.import_module(library)
            finally:
                gc.set_threshold(*usual)


def load(model: Found, precision: str = "auto", device: str = "auto", attention: str = attentions.SDPA) -> Encoder:
    """Load the encoder in a folder, or share the one that is loaded; 'eager' gives attention weights, and is slower."""
    if model.prompt is not None:
        model_names.check_same(model)
        return load(model.files, precision, device, attention).after_prompt(model.prompt, model.digest)
    stored_vectors.refuse(model.folder, model.name)
    for _ in importing():
        pass
    if attention not in ATTENTIONS:
        raise errors.BadChoice(
            f"'{attention}' is not a way to compute attention. Choose one of {', '.join(ATTENTIONS)}."
        )
    device = hardware.device(device)
    precision = hardware.precision(precision, device)
    folder = checking.check(model.folder)
    how = attentions.preferred(attention, precision, device)
    key = (model, precision, device, how)
    with in_words(model.name, folder), ONE_AT_A_TIME:
        encoder = _LOADED.get(key) or _load(model, folder, precision, device, how)
        model_names.check_same(model)
        _LOADED[key] = encoder
    return encoder


def _load(located: Found, folder: Path, precision: str, device: str, attention: str) -> Encoder:
    """Load what is in the folder of a transformer, and around it."""
    from explorer.encoding.load import static_embedding
    from explorer.encoding.read.encoder import Encoder

    head = declared.head(layout.described_in(located.folder)) or declared.simcse_head(folder)
    if head and located.name.partition("@")[0] in families.LEAVE_PROMPTS_OUT:
        head = replace(head, roles=replace(head.roles, pooled=False))
    static, lower_case = layout.is_static(located.folder), False
    kind = static_embedding.StaticEncoder if static else Encoder
    if static:
        model, tokenizer, most = static_embedding.opened(folder)
    else:
        model, tokenizer, most, lower_case = _transformer(located, folder, attention)
    model_tokenizer.check_vocabulary(tokenizer, model, located.name)
    if device == "cuda":
        checking.check_room(model.num_parameters(), precision, hardware.free_memory(device))
    settle(model, precision, device)
    head = head and head.to(device)
    misfit = head and head.misfit(model.config.hidden_size)
    if misfit:
        raise errors.NotWeights(
            f"The modules of '{located.name}' do not fit together: {misfit}. Copy or download the folder again."
        )
    _try_out(model, tokenizer, head, located.name)
    encoder = kind(
        name=located.name,
        digest=located.digest,
        model=model,
        tokenizer=tokenizer,
        max_length=most,
        head=head,
        lower_case=lower_case,
        precision=precision,
        device=device,
        folder=folder,
        poolings=declared.poolings(located.folder),
    )
    if encoder.default_head.prompt:
        encoder.check_room("default", encoder.default_head.prompt, encoder.max_length)
    return encoder


def _transformer(
    located: Found, folder: Path, attention: str
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, int, bool]:
    """The transformer in a folder, its tokenizer, the most tokens of a sentence, and whether texts are lowercased."""
    adapter = layout.adapter(located.folder)
    limits = declared.limits(_first(declared.limits_in, adapter, folder))
    config = read_config(folder)
    vocabulary = _first(layout.vocabulary, adapter, folder)
    tokenizer = model_tokenizer.load(vocabulary, config if vocabulary == folder else None)
    model = _read(folder, config, attention, adapter)
    most = model_tokenizer.max_length(model, tokenizer, limits.max_seq_length)
    return model, tokenizer, most, bool(limits.do_lower_case)


def _first(has: Callable[[Path], object], adapter: Path | None, folder: Path) -> Path:
    """The folder of an adapter if it has something of its own, else that of the transformer."""
    return adapter if adapter is not None and has(adapter) else folder


@contextmanager
def in_words(name: str, folder: Path) -> Iterator[None]:
    """Turn an error of transformers or torch into one that names the next step."""
    from explorer.encoding.read.tokenising import tokenizer_errors

    try:
        with tokenizer_errors(f"of '{name}'"), weights.any_protocol():
            yield
    except errors.StrataError:
        raise
    except UnpicklingError as error:
        raise weights.refused(layout.weights(folder)[0]) from error
    except Exception as error:
        reason = str(error).strip().split("\n")[0][:300]
        if type(error).__name__ == "SafetensorError":
            raise errors.NotWeights(
                f"The weights of '{name}' are broken ({reason}). Copy or download them again."
            ) from error
        if errors.ran_out_of_memory(error):
            raise errors.ModelTooLarge(
                f"'{name}' does not fit in memory. Choose a smaller model, or close other programs."
            ) from error
        raise errors.UnsupportedModel(
            f"transformers cannot build '{name}' from {folder} ({type(error).__name__}: {reason}). Choose another "
            "model, or save this one again with save_pretrained."
        ) from error


def read_config(folder: Path) -> PreTrainedConfig:
    """The type and the sizes of a folder's transformer."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def _read(folder: Path, config: PreTrainedConfig, attention: str, adapter: Path | None) -> PreTrainedModel:
    """Load the transformer of a folder in float32, with an adapter merged; of an encoder-decoder model, the encoder."""
    from transformers import MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING

    # for T5 and similar models the first has the encoder, which may be saved without the decoder
    mappings = (MODEL_FOR_TEXT_ENCODING_MAPPING, MODEL_MAPPING)
    kind: Any = next((mapping[type(config)] for mapping in mappings if type(config) in mapping), None)
    if kind is None:
        raise errors.UnsupportedModel(
            f"{folder} holds a '{config.model_type}', for which transformers has no plain encoder. Choose a text "
            f"encoder {families.SUCH_AS}."
        )
    kind = kind[0] if isinstance(kind, (list, tuple)) else kind
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

    with quiet(), checking.bounded(folder), nothing_drawn():
        model, report = kind.from_pretrained(
            folder,
            config=config,
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, by name
            # it would put an adapter of the same folder beside the weights; so it looks for one where none can be
            adapter_kwargs={"subfolder": layout.ADAPTER},
            **options,
        )
    _check_report(model, report, folder, config)
    if adapter is not None:
        weights.merge_adapter(model, adapter)
    loaded: PreTrainedModel = model
    return loaded


def _check_report(model: PreTrainedModel, report: dict[str, Any], folder: Path, config: PreTrainedConfig) -> None:
    """Refuse a model whose weights are not all in its files, by what transformers reports of loading them."""
    owners = {name: type(model.get_submodule(name.rpartition(".")[0])).__name__ for name in report["missing_keys"]}
    # sinusoidal positions are computed: the files of WMT19 do not hold them
    missing = sorted(
        name for name, owner in owners.items() if families.POOLER not in name and "Sinusoidal" not in owner
    )
    misfits = sorted(f"{name} {list(saved)} for {list(due)}" for name, saved, due in report["mismatched_keys"])
    if (missing or misfits) and "AutoModel" in (getattr(config, "auto_map", None) or {}):
        raise errors.RemoteCodeRefused(
            f"{folder} calls itself '{config.model_type}', but its weights fit only the Python code that comes with "
            "it. Strata never runs such code. Choose a model that transformers itself can load."
        )
    if missing:
        raise errors.WeightsMissing(
            f"{folder} lacks {len(missing)} of the model's weights ({_few(missing)}): they would be initialised at "
            "random. Save the whole model with save_pretrained, under the weight names of its class."
        )
    if misfits:
        raise errors.WeightsMissing(
            f"{folder} has {len(misfits)} weights of another shape than its config.json says ({_few(misfits)}). "
            "Copy the config.json that was saved with the weights."
        )


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """Initialise no weight of the device 'meta': torch takes as long for these, which have no values, as for others."""
    from torch.nn import init

    def unless_meta(initialise: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda tensor, *args, **options: tensor if tensor.is_meta else initialise(tensor, *args, **options)

    usual = {name: getattr(init, name) for name in ("normal_", "uniform_", "kaiming_uniform_", "ones_", "zeros_")}
    vars(init).update({name: unless_meta(initialise) for name, initialise in usual.items()})
    try:
        yield
    finally:
        vars(init).update(usual)


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


def _try_out(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, head: Head | None, name: str) -> None:
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
        raise errors.UnsupportedModel(
            f"'{name}' ({type(model).__name__}) cannot encode a sentence ({type(error).__name__}: {error}). Choose a "
            "text encoder."
        ) from error
    if not fits:
        raise errors.UnsupportedModel(
            f"'{name}' ({type(model).__name__}) does not return one state per token for each of its layers. Choose "
            f"a text encoder {families.SUCH_AS}."
        )
    if not torch.isfinite(hidden[-1]).all():
        raise errors.NotWeights(
            f"'{name}' returns values that are not numbers: its weights are damaged. Download it again."
        )


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars and reports on the server's terminal; errors are raised."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # of the logger: where CI is set, transformers hands its lines on to other handlers
    try:
        yield
    finally:
        logging.set_verbosity(level)
