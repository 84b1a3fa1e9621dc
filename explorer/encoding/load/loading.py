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
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING

from explorer.encoding.load import checking, declared, hardware, model_tokenizer, transformer
from explorer.encoding.locate import layout, model_names, weights
from explorer.encoding.read import attention as attentions
from explorer.errors import (
    BadChoice,
    ModelTooLarge,
    NotWeights,
    StrataError,
    UnsupportedModel,
    ran_out_of_memory,
)
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

ATTENTIONS = (attentions.SDPA, attentions.EAGER)
# while it builds a model, from_pretrained replaces functions of torch and transformers for the whole process, and two
# calls at once would restore each other's replacements. Hold this lock to build a model of transformers.
ONE_AT_A_TIME = threading.RLock()
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


def load(found: Found, precision: str = "auto", device: str = "auto", attention: str = attentions.SDPA) -> Encoder:
    """Load the encoder in a folder. `attention` 'eager' gives attention weights, and is slower."""
    for _ in importing():
        pass
    from explorer.encoding.read.encoder import Encoder

    if attention not in ATTENTIONS:
        raise BadChoice(f"'{attention}' is not a way to compute attention. Choose one of {', '.join(ATTENTIONS)}.")
    device = hardware.device(device)
    precision = hardware.precision(precision, device)
    folder = checking.check(found.folder)
    adapter = layout.adapter(found.folder)
    head = declared.head(layout.described_in(found.folder)) or declared.simcse_head(folder)
    limits = declared.limits(_first(declared.limits_in, adapter, folder))
    with in_words(found.name, folder):
        with ONE_AT_A_TIME:
            config = transformer.read_config(folder)
            tokenizer = model_tokenizer.load(_first(layout.vocabulary, adapter, folder))
            how = attentions.preferred(attention, precision, device)
            model = transformer.read(folder, config, how, adapter)
            model_tokenizer.check_vocabulary(tokenizer, model, found.name)
            if device == "cuda":
                checking.check_room(model.num_parameters(), precision, hardware.free_memory(device))
            transformer.settle(model, precision, device)
        head = head and head.to(device)
        transformer.try_out(model, tokenizer, head, found.name)
        max_length = model_tokenizer.max_length(model, tokenizer, limits.max_length)
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
    from explorer.encoding.read.encoder import tokenizer_errors

    try:
        with tokenizer_errors(f"of '{name}'"):
            yield
    except StrataError:
        raise
    except UnpicklingError as error:
        raise weights.refused(layout.weights(folder)[0]) from error
    except Exception as error:
        reason = str(error).strip().split("\n")[0][:300]
        if type(error).__name__ == "SafetensorError":
            raise NotWeights(f"The weights of '{name}' are broken ({reason}). Copy or download them again.") from error
        if ran_out_of_memory(error):
            raise ModelTooLarge(
                f"'{name}' does not fit in memory. Choose a smaller model, or close other programs."
            ) from error
        raise UnsupportedModel(
            f"transformers cannot build '{name}' from {folder} ({type(error).__name__}: {reason}). Choose another "
            "model, or save this one again with save_pretrained."
        ) from error
