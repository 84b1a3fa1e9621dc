"""Keep freed memory in the process during training, and return it to the system afterwards.

Every step frees its gradients and allocates as much again. By default glibc returns large blocks to the system, which
zeroes each page before it is used again: half the time of a step if the weights are large.
"""

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -2, -3, -4, -8  # the names in malloc.h


@contextmanager
def kept_while_training() -> Iterator[None]:
    """Keep freed memory in the process within this context; return it to the system afterwards."""
    gc.collect()
    gc.freeze()  # exclude existing objects from collection, which would block the pages for half a second
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_MMAP_MAX, 0)
        glibc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        glibc.mallopt(_TOP_PAD, 64 * 2**20)
    try:
        yield
    finally:
        give_back()  # while older objects are still excluded: only what training left is looked at
        gc.unfreeze()
        if glibc:  # glibc stops adapting a limit once it is set, so set it to where it would be by now
            glibc.mallopt(_MMAP_MAX, 65536)
            glibc.mallopt(_MMAP_THRESHOLD, 32 * 2**20)
            glibc.mallopt(_TRIM_THRESHOLD, 64 * 2**20)
            glibc.mallopt(_TOP_PAD, 128 * 2**10)


def one_arena() -> None:
    """Make a training thread share the main arena, since the arenas of threads hold at most 64 MB."""
    glibc = _glibc()
    if glibc:
        glibc.mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return unused memory to the system and to the GPU."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    glibc = _glibc()
    if glibc:
        glibc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
