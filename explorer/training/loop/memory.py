"""How does memory stay quick while a run trains, and come back when it ends?

Every step frees its gradients and takes as much again. By default glibc hands large pieces back to the system, which
blanks each page before it gives it out again: half the time of a step where the weights are large.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -2, -3, -4, -8  # the names in malloc.h


@contextmanager
def kept_while_training() -> Iterator[None]:
    """Memory that is freed in here stays with the process; afterwards it goes back to the system."""
    gc.collect()
    gc.freeze()  # what is there stays: to look through it again and again holds up the pages for half a second
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_MMAP_MAX, 0)
        glibc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        glibc.mallopt(_TOP_PAD, 64 * 2**20)
    try:
        yield
    finally:
        gc.unfreeze()
        give_back()
        if glibc:  # where glibc's own limits, which move no more once they are set, would have gone by now
            glibc.mallopt(_MMAP_MAX, 65536)
            glibc.mallopt(_MMAP_THRESHOLD, 32 * 2**20)
            glibc.mallopt(_TRIM_THRESHOLD, 64 * 2**20)
            glibc.mallopt(_TOP_PAD, 128 * 2**10)


def one_arena() -> None:
    """Before a thread that trains is started: it shares the main arena, since those of threads hold 64 MB at most."""
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Everything nobody holds any more, to the system and to the GPU."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    glibc = _glibc()
    if glibc:
        glibc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library, where it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
