"""Import torch and what of transformers every encoder needs: seconds, once in a process."""

from __future__ import annotations

import gc
import importlib
import threading

from explorer.progress import Progress, Work

# what an encoder and its tokenizer import in any case, in parts: between them a server can be stopped
_LIBRARIES = (
    "torch",
    "torch.distributed.tensor",
    "scipy.optimize",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.modeling_utils",
)
# transformers imports itself in circles: of two threads that import it at once, one may find modules half done
_ONE_AT_A_TIME = threading.Lock()


def load() -> None:
    """Import them all; wait while another thread does."""
    for _ in loading():
        pass


def loading() -> Work[None]:
    """Import them one after the other."""
    for done, library in enumerate(_LIBRARIES):
        yield Progress("importing torch and transformers", done, len(_LIBRARIES))
        with _ONE_AT_A_TIME:
            _import(library)


def _import(library: str) -> None:
    usual = gc.get_threshold()
    gc.set_threshold(100_000, *usual[1:])  # looking for garbage among all that stays takes a tenth of the time
    try:
        importlib.import_module(library)
    finally:
        gc.set_threshold(*usual)
