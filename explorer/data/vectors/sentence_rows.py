"""Read sentences of a file on disk by their rows, and find the rows of sentences among millions, by sorted hashes.

Where two hashes agree, the sentences are compared, as written. One that is not there is also found in a row whose
sentence differs in spaces alone: texts that are read from tables have single spaces between words and none around them.
"""

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from explorer.data.tables.text_rows import squeezed

Keys = NDArray[np.uint64]
Rows = NDArray[np.int64]


def encoded(text: str) -> bytes:
    """A sentence as it is stored; a lone surrogate, which UTF-8 lacks, becomes a question mark."""
    return text.encode("utf-8", "replace")


def keys_of(texts: Iterable[bytes]) -> Keys:
    """A hash of each sentence."""
    return np.frombuffer(b"".join(blake2b(text, digest_size=8).digest() for text in texts), dtype="<u8")


class KeyList:
    """Collects the hashes of sentences, block by block."""

    def __init__(self) -> None:
        self._exact: list[Keys] = []
        self._loose: list[Keys] = []
        self._rows: list[int] = []  # of the loose ones
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """Add the sentences of the next rows."""
        self._exact.append(keys_of(map(encoded, texts)))
        others = [(row, form) for row, text in enumerate(texts, self._count) if (form := squeezed(text)) != text]
        self._loose.append(keys_of(encoded(form) for _, form in others))
        self._rows += [row for row, _ in others]
        self._count += len(texts)

    def sorted(self) -> tuple[Keys, Rows]:
        """The hashes in their order, with the row of each; of equal ones, those as written are first."""
        keys = np.concatenate([*self._exact, *self._loose])
        rows = np.concatenate([np.arange(self._count, dtype=np.int64), np.array(self._rows, dtype=np.int64)])
        order = np.argsort(keys, kind="stable")
        return keys[order], rows[order]


@dataclass(frozen=True, eq=False)
class SentenceRows:
    """The hashes of all sentences in order, and their rows."""

    keys: Keys
    rows: Rows

    def candidates(self, sentences: Sequence[str]) -> Iterator[list[int]]:
        """For each sentence the rows that may hold it, first those as written, each in their order."""
        wanted = keys_of(map(encoded, sentences))
        starts, ends = (np.searchsorted(self.keys, wanted, side=side) for side in ("left", "right"))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield self.rows[start:end].tolist()


@dataclass(frozen=True, eq=False)
class StoredSentences:
    """Sentences on disk, by their rows; nothing of them is read before it is used."""

    text_bytes: mmap.mmap | bytes  # all sentences in UTF-8, one after the other
    ends: Rows  # of each sentence in them
    by_sentence: SentenceRows

    def __len__(self) -> int:
        return len(self.ends)

    def text(self, row: int) -> str:
        """The sentence of a row."""
        start = int(self.ends[row - 1]) if row else 0
        return self.text_bytes[start : int(self.ends[row])].decode("utf-8")

    def texts(self, rows: Sequence[int]) -> tuple[str, ...]:
        """The sentences of some rows."""
        return tuple(self.text(int(row)) for row in rows)

    def place_of(self, sentence: str) -> int | None:
        """The first row with this sentence; None if there is none."""
        return next(iter(self.rows_of((sentence,))[0]), None)

    def rows_of(self, sentences: Sequence[str]) -> list[list[int]]:
        """The rows with each of some sentences as written, else with other spaces; none for an empty sentence."""
        found = self._rows_of(sentences)
        others = [at for at, rows in enumerate(found) if not rows]
        for at, rows in zip(others, self._rows_of([squeezed(sentences[at]) for at in others], squeezed), strict=True):
            found[at] = rows
        return found

    def _rows_of(self, sentences: Sequence[str], form: Callable[[str], str] = str) -> list[list[int]]:
        """The rows whose text has the form that a sentence is."""
        candidates = zip(sentences, self.by_sentence.candidates(sentences), strict=True)
        return [[row for row in rows if text and form(self.text(row)) == text] for text, rows in candidates]
