"""Vectors in a .npy file, mapped into memory, with a text file of one sentence a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from explorer.data.tables import streamed_text
from explorer.data.vectors.vector_files import AT_ONCE, Block, Numbers, VectorFiles, check_shape
from explorer.errors import DataError, UnreadableFile


class NpyFile(VectorFiles):
    """The two files; a pickle in the first is never opened."""

    def __init__(self, path: Path, text: Path | None = None) -> None:
        self._path, self._text = path, text or path.with_suffix(".txt")
        vectors = self.mapped()
        check_shape(path.name, vectors.shape, vectors.dtype)
        if not self._text.is_file():
            raise UnreadableFile(
                f"{path.name} needs its sentences, and there is no file {self._text}. Write them there, one a line "
                "in the order of the vectors; `search` takes another file with --text."
            )
        self.name, self.files, self.dtype = path.name, (path, self._text), vectors.dtype
        self.rows, self.width = vectors.shape

    def mapped(self) -> Numbers:
        """The vectors; the system reads the parts that are used."""
        try:
            found = np.load(self._path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise UnreadableFile(f"{self._path} cannot be read: {error.strerror or error}.") from None
        except (ValueError, EOFError, BadZipFile) as error:
            raise self._unreadable(str(error)) from None
        if not isinstance(found, np.ndarray):
            raise self._unreadable("it is an archive of several arrays")
        return found

    def blocks(self) -> Iterator[Block]:
        """All rows in order; an error if the text has more lines or fewer."""
        vectors, sentences = self.mapped(), (text for _, text in streamed_text.sentences(self._text))
        for start in range(0, self.rows, AT_ONCE):
            some = vectors[start : start + AT_ONCE]
            texts = list(islice(sentences, len(some)))
            if len(texts) < len(some):
                raise self._other_count(start + len(texts))
            yield Block(some, texts)
        more = sum(1 for _ in sentences)
        if more:
            raise self._other_count(self.rows + more)

    def _other_count(self, lines: int) -> DataError:
        return DataError(
            f"{self._path.name} has {self.rows:,} vectors, but {self._text.name} has {lines:,} lines. Each line has to "
            "be the sentence of one vector, in the same order."
        )

    def _unreadable(self, reason: str) -> DataError:
        if "ickle" in reason or "Python objects" in reason:
            return DataError(
                f"{self._path.name} holds Python objects, which are never unpickled. Save the vectors as numbers: "
                "numpy.save(path, numpy.stack(vectors).astype('float32'))."
            )
        reason = reason.partition("\n")[0][:120]
        return UnreadableFile(f"{self._path.name} is not a .npy file ({reason}). Write it with numpy.save.")
