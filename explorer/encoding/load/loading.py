"""Load an encoder from its folder, with errors that say what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING

from explorer.encoding.load import checking, declared, hardware, libraries, tokenizing, transformer
from explorer.encoding.locate import layout, model_names, weights
from explorer.encoding.read import attention as attentions
from explorer.encoding.read import panics
from explorer.errors import (
    BadChoice,
    ModelError,
    ModelTooLarge,
    NotWeights,
    StrataError,
    UnsupportedModel,
    ran_out_of_memory,
)

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

ATTENTIONS = (attentions.SDPA, attentions.EAGER)
# while it builds a model, from_pretrained replaces functions of torch and transformers for the whole process, and two
# calls at once would restore each other's replacements. Hold this lock to build a model of transformers.
ONE_AT_A_TIME = threading.RLock()


def load(found: Found, precision: str = "auto", device: str = "auto", attention: str = attentions.SDPA) -> Encoder:
    """Load the encoder in a folder. `attention` 'eager' gives attention weights, and is slower."""
    libraries.load()
    from explorer.encoding.load import modules
    from explorer.encoding.read.encoder import Encoder

    if attention not in ATTENTIONS:
        raise BadChoice(f"'{attention}' is not a way to compute attention. Choose one of {', '.join(ATTENTIONS)}.")
    device = hardware.device(device)
    precision = hardware.precision(precision, device)
    folder = checking.check(found.folder)
    adapter = layout.adapter(found.folder)
    head = modules.head(layout.described_in(found.folder)) or modules.simcse_head(folder)
    limits = modules.limits(_first(modules.limits_in, adapter, folder))
    with in_words(found.name, folder):
        with ONE_AT_A_TIME:
            config = transformer.read_config(folder)
            tokenizer = tokenizing.tokenizer(_first(layout.vocabulary, adapter, folder))
            how = attentions.preferred(attention, precision, device)
            model = transformer.read(folder, config, how, adapter)
            tokenizing.check_vocabulary(tokenizer, model, found.name)
            if device == "cuda":
                checking.check_room(model.num_parameters(), precision, hardware.free_memory(device))
            transformer.settle(model, precision, device)
        head = head and head.to(device)
        transformer.try_out(model, tokenizer, head, found.name)
        max_length = tokenizing.max_length(model, tokenizer, limits.max_length)
    model_names.check_same(found)
    return Encoder(
        name=found.name,
        digest=found.digest,
        model=model,
        tokenizer=tokenizer,
        max_length=max_length,
        head=head,
        lower_case=limits.lower_case,
        precision=precision,
        device=device,
        folder=folder,
        poolings=declared.poolings(found.folder),
    )


def _first(has: Callable[[Path], object], adapter: Path | None, folder: Path) -> Path:
    """The folder of an adapter if it has something of its own, else that of the transformer."""
    return adapter if adapter is not None and has(adapter) else folder


@contextmanager
def in_words(name: str, folder: Path) -> Iterator[None]:
    """Turn an error of transformers or torch into one that names the next step."""
    try:
        with panics.in_words(f"of '{name}'"):
            yield
    except StrataError:
        raise
    except Exception as error:
        raise _meaning(error, name, folder) from error


def _meaning(error: Exception, name: str, folder: Path) -> ModelError:
    said = str(error).strip().split("\n")[0][:300]
    if isinstance(error, UnpicklingError):
        return weights.refused(layout.weights(folder)[0])
    if type(error).__name__ == "SafetensorError":
        return NotWeights(f"The weights of '{name}' are broken ({said}). Copy or download them again.")
    if ran_out_of_memory(error):
        return ModelTooLarge(f"'{name}' does not fit in memory. Choose a smaller model, or close other programs.")
    return UnsupportedModel(
        f"transformers cannot build '{name}' from {folder} ({type(error).__name__}: {said}). Choose another model, or "
        "save this one again with save_pretrained."
    )
