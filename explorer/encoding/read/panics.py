"""Turn errors of the tokenizers library into a model error: plain Exceptions, and panics, which are none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from explorer.errors import TokenizerMissing


@contextmanager
def in_words(tokenizer: str) -> Iterator[None]:
    """Run code of a tokenizer, which is named in the error. An interrupt or the end of the process is no panic."""
    try:
        yield
    except BaseException as error:
        # PanicException is of pyo3, which exports no such name
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        said = " ".join(str(error).split())[:200]
        raise TokenizerMissing(
            f"The tokenizer {tokenizer} is damaged: the tokenizers library broke off ({said}). Copy or download its "
            "files again."
        ) from error
