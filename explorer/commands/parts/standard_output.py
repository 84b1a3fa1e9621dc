"""Write results on standard output: whatever its encoding, and with an error in one line if it takes no more."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from explorer.errors import NotWritable

ESCAPED = "strata.escaped"  # the name of the way to write what an encoding lacks


class _Output:
    """A stream that remembers its first error, since some who write to it do not tell."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.trouble: OSError | None = None

    def write(self, text: str) -> int:
        """Write text."""
        return int(self._tried(self._stream.write, text))

    def flush(self) -> None:
        """Write what is held back."""
        self._tried(self._stream.flush)

    def _tried(self, do: Any, *arguments: str) -> Any:
        try:
            return do(*arguments)
        except OSError as error:
            self.trouble = self.trouble or error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def checked() -> Iterator[None]:
    r"""Write what the encoding lacks as in JSON, such as \u00b1; raise an error for what could not be written."""
    stream: TextIO | None = sys.stdout
    if stream is None:  # it is closed
        yield
        return
    output, before = _Output(stream), stream.errors
    _escape(stream, ESCAPED)
    sys.stdout = output  # print asks for no more than it has
    try:
        yield
    except OSError as error:
        if error is not output.trouble:
            raise
    finally:
        sys.stdout = stream
        with suppress(OSError):
            output.flush()  # here, since at the end of Python nobody hears of it
        if output.trouble is not None:  # what is held back would be written at the end of Python
            with suppress(OSError), Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
        with suppress(OSError):
            _escape(stream, before)
    if output.trouble is not None and not isinstance(output.trouble, BrokenPipeError):  # `head` has had enough
        raise NotWritable(
            f"Standard output cannot be written to: {output.trouble.strerror or output.trouble}. Make room there, and "
            "give the command again: what it has saved is not done twice."
        )


def _escape(stream: TextIO, how: str | None) -> None:
    """Change what becomes of characters that the encoding lacks."""
    if isinstance(stream, io.TextIOWrapper) and not stream.closed:
        stream.reconfigure(errors=how)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(ESCAPED, _escaped)
