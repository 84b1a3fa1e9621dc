"""Divide the sentences of texts into shards of fixed size, and read the sentences of one shard.

A text file of one sentence per line is read twice and never held in memory: once to find where each shard begins, and
once shard by shard. Tables and published sets are read whole. Rows are numbered from 0, in the order of the texts;
sentences that occur several times are kept, those without a word are left out. Those of files stay as they are
written, with every space, tab and line end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from explorer import in_words, places
from explorer.data import corpora, sources, text_sets
from explorer.data.tables import files, text_files, text_rows
from explorer.errors import BadChoice, DataError, TooFewRows, UnreadableFile
from explorer.progress import Progress, Work

REPORT = 50_000  # sentences between two progress reports
LARGEST_SHARD = 10_000_000  # rows; those of a shard are in memory together when it is written
AT_ONCE = 4096  # sentences that are added to a digest at once


@dataclass(frozen=True)
class TextSource:
    """A source of sentences: a file, or the name of a set; `columns` are corrections by role, for tables."""

    source: str
    columns: tuple[tuple[str, str], ...] = ()
    online: bool = False

    @property
    def path(self) -> Path | None:
        """The file; None for a set."""
        return places.given_path(self.source) if sources.is_file(self.source) else None

    @property
    def stamp(self) -> tuple[int, ...]:
        """Size of the file, and what else tells whether it is the same; (0,) for a set."""
        with suppress(OSError, ValueError):  # reading it says what is wrong
            return places.stamp(self.path) if self.path else (0,)
        return (0,)


@dataclass(frozen=True)
class Shard:
    """Rows with consecutive numbers, and where the first of them is."""

    number: int
    start: int  # number of its first row
    rows: int
    text: int  # of the corpus
    place: text_files.Place
    digest: str  # of its sentences
    size: int  # bytes of its sentences


@dataclass(frozen=True)
class ShardedCorpus:
    """The sentences of texts, divided into shards."""

    texts: tuple[TextSource, ...]
    stamps: tuple[tuple[int, ...], ...]
    rows: int
    empty: int  # rows of the texts without a word; they are left out
    digest: str  # of all sentences, independent of the shards
    shards: tuple[Shard, ...]


def indexed(texts: Sequence[TextSource], rows_per_shard: int) -> Work[ShardedCorpus]:
    """Read all texts once, to divide them into shards."""
    if not texts:
        raise BadChoice("No text is named. Give a file, a set such as 'STS-B', or 'sample'.")
    stamps = tuple(text.stamp for text in texts)
    total, whole, shards = sum(size for size, *_ in stamps), hashlib.sha256(), list[Shard]()
    rows, part = 0, _Part()
    # the reader of tables has left out those without a word already
    empty = sum(_read(text, text.stamp)[1] for text in texts if not _is_streamed(text))
    for text, place, sentence in _from(texts):
        if rows % REPORT == 0:
            before = sum(size for size, *_ in stamps[:text])
            yield Progress("reading the text", min(before + place.offset, total), total, "bytes")
        if not sentence:
            empty += 1
            continue
        if not part.rows:
            part = _Part(text, place)
        part.take(sentence)
        rows += 1
        if part.rows == rows_per_shard:
            shards.append(part.shard(len(shards), rows, whole))
            part = _Part()
        elif part.rows % AT_ONCE == 0:
            part.digest(whole)
    if part.rows:
        shards.append(part.shard(len(shards), rows, whole))
    if not rows:
        named = ", ".join(sources.shown(text.source) for text in texts)
        raise TooFewRows(f"{named} has no sentence. Choose a text with at least one.")
    return ShardedCorpus(tuple(texts), stamps, rows, empty, whole.hexdigest(), tuple(shards))


def sentences(corpus: ShardedCorpus, shard: Shard) -> tuple[str, ...]:
    """The sentences of a shard; an error if they are no longer those that were indexed."""
    found: list[str] = []
    for _, _, sentence in _from(corpus.texts, shard.text, shard.place):
        if len(found) == shard.rows:
            break
        if sentence:
            found.append(sentence)
    if text_sets.digest_of(found) != shard.digest:
        raise changed(corpus)
    return tuple(found)


def check_unchanged(corpus: ShardedCorpus) -> Work[None]:
    """Refuse texts that have changed since they were indexed; a file with another stamp is read again to find out."""
    now = tuple(text.stamp for text in corpus.texts)
    if now == corpus.stamps:
        return
    sizes = [[size for size, *_ in stamps] for stamps in (corpus.stamps, now)]
    if sizes[0] == sizes[1] and (yield from indexed(corpus.texts, LARGEST_SHARD)).digest == corpus.digest:
        return
    raise changed(corpus)


def changed(corpus: ShardedCorpus) -> DataError:
    """The error for texts that are no longer those that were indexed."""
    now = (text.stamp for text in corpus.texts)
    which = [
        f"{sources.shown(text.source)} ({then[0]:,} bytes at the start, {at[0]:,} now)"
        for text, then, at in zip(corpus.texts, corpus.stamps, now, strict=True)
        if then != at
    ] or [sources.shown(text.source) for text in corpus.texts]
    return DataError(
        f"The text changed while it was embedded: {', '.join(which)}. Embed a copy that does not change, "
        "into another folder."
    )


class _Part:
    """A shard while its sentences are read."""

    def __init__(self, text: int = 0, place: text_files.Place = text_files.FIRST) -> None:
        self.text, self.place, self.rows, self.size = text, place, 0, 0
        self._sha = hashlib.sha256()
        self._pieces: list[bytes] = []

    def take(self, sentence: str) -> None:
        """Add a sentence."""
        encoded = sentence.encode("utf-8", "surrogatepass")
        self._pieces += len(encoded).to_bytes(8, "little"), encoded  # as `digest_of` takes them
        self.rows += 1
        self.size += len(encoded)

    def digest(self, whole: hashlib._Hash) -> None:
        """Add the last sentences to the digests of this shard and of the corpus; many at once, which is quicker."""
        joined = b"".join(self._pieces)
        self._sha.update(joined)
        whole.update(joined)
        self._pieces.clear()

    def shard(self, number: int, end: int, whole: hashlib._Hash) -> Shard:
        """The shard, of which the last row is that before `end`."""
        self.digest(whole)
        return Shard(number, end - self.rows, self.rows, self.text, self.place, self._sha.hexdigest(), self.size)


def _from(
    texts: Sequence[TextSource], first: int = 0, place: text_files.Place = text_files.FIRST
) -> Iterator[tuple[int, text_files.Place, str]]:
    """Every sentence from a place in one of the texts on: the number of its text, its place, and the sentence."""
    for number, text in enumerate(texts[first:], start=first):
        start = place if number == first else text_files.FIRST
        if text.path and _is_streamed(text):
            for at, sentence in text_files.sentences(text.path, start):
                yield number, at, sentence
        else:
            rows, _ = _read(text, text.stamp)
            for row in range(start.before, len(rows)):
                yield number, text_files.Place(0, row), rows[row]


def _is_streamed(text: TextSource) -> bool:
    return text.path is not None and text_files.is_streamed(text.path)


@lru_cache(maxsize=4)
def _read(text: TextSource, stamp: tuple[int, ...]) -> tuple[tuple[str, ...], int]:
    """The sentences of a table or a set, and how many rows had none."""
    # the stamp is part of the key: a changed file is read again
    if stamp[0] > files.LARGEST:
        raise UnreadableFile(
            f"{sources.shown(text.source)} has {in_words.size(stamp[0])}; a table may have "
            f"{in_words.size(files.LARGEST)}. Write its sentences to a .txt file, one per line without tabs; it "
            "may be of any size."
        )
    given = sources.text(str(text.path or text.source))
    columns = dict(text.columns)
    rows, reports = corpora.corpus(
        (given,), text_sets.SENTENCES, columns, online=text.online, keep_duplicates=True, as_written=True
    )
    empty = sum(dropped.count for report in reports for dropped in report.dropped if dropped.reason == text_rows.EMPTY)
    return rows.texts[0], empty
