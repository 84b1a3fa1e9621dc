"""Encode every distinct text once and keep its vectors, under every layer & pooling, in one unnamed file.

What this takes is estimated from some of the texts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.encoding.read.pooling import MODEL_DEFAULT, OWN, Reading, Row, parse
from explorer.errors import BadChoice, NotWritable
from explorer.places import cache_folder
from explorer.progress import Phase, Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, Parts
    from explorer.measuring.sentences.cut_texts import CutTexts

Vectors = NDArray[np.float32]  # (text, width)

TRIED = 64  # texts that are encoded to measure the speed
SPARE = 2**26  # bytes of the disk that stay free
FLOAT = np.dtype(np.float32).itemsize


@dataclass(frozen=True, eq=False)
class Encoded:
    """The vectors of texts under each layer & pooling, by title; the file disappears with this object."""

    titles: tuple[str, ...]  # in the order of the grid; "model default" is the last
    blocks: tuple[Vectors, ...]  # one for each title, mapped from the file: (distinct text, width)
    places: NDArray[np.intp]  # of the given texts among the distinct ones
    truncated: int  # distinct texts that were longer than the limit
    seconds: float

    def of(self, title: str) -> Vectors:
        """Vectors (text, width) under a layer & pooling, in the order of the given texts."""
        if title not in self.titles:
            raise BadChoice(f"There are no vectors of '{title}'. There are: {', '.join(self.titles)}.")
        vectors: Vectors = self.blocks[self.titles.index(title)][self.places]
        return vectors


@dataclass(frozen=True)
class TaskCost:
    """What a task takes on this machine, in seconds and bytes."""

    texts: int  # distinct ones, each encoded once
    fits: int  # trainings of the probe
    encoding: float
    probing: float
    probing_at_most: float  # if no training of SentEval's classifier stops early
    disk: int  # bytes of the temporary file of vectors
    cut: CutTexts | None = None  # texts that are longer than what is read of them

    @property
    def seconds(self) -> float:
        """The expected time of everything."""
        return self.encoding + self.probing

    @property
    def at_most(self) -> float:
        """The time if no training of SentEval's classifier stops early."""
        return self.encoding + self.probing_at_most


def titles_of(encoder: Encoder) -> tuple[str, ...]:
    """The titles of every layer & pooling of the grid of an encoder, and "model default" at the end."""
    return (*(Reading(row, pooling).title for row in encoder.rows for pooling in encoder.poolings), MODEL_DEFAULT)


def checked_titles(encoder: Encoder, titles: Sequence[str] | None) -> tuple[str, ...]:
    """The given titles in the order of the grid, by default all of it, then those outside, and the model default."""
    every = titles_of(encoder)
    if titles is None:
        return every
    named = dict.fromkeys(parse(title, _last(encoder)).title for title in titles)
    return (
        *(title for title in every[:-1] if title in named),
        *(title for title in named if title not in every),
        MODEL_DEFAULT,
    )


def encoded(
    encoder: Encoder,
    texts: Sequence[str],
    max_length: int | None = None,
    titles: Sequence[str] | None = None,
    prompt: str | None = None,
) -> Work[Encoded]:
    """Encode every distinct text once, under the grid's layers & poolings or those of some titles, after the model's
    prompt.

    A `prompt` is put before every text in place of the model's; "" if the texts have theirs already.

    An encoder that declares no model default has the mean of the last layer as its default, as in
    sentence-transformers.
    """
    started = time.perf_counter()
    kept = checked_titles(encoder, titles)
    distinct = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    blocks = _blocks(len(distinct), [width_of(encoder, title) for title in kept])
    readings = [reading_of(encoder, title) for title in kept]
    done, cut = 0, list[int]()

    def counted(parts: Parts) -> Parts:
        for start, tokens in parts:
            cut.append(tokens.truncated)
            yield start, tokens

    parts = counted((yield from encoder.parts(tuple(distinct), max_length, prompt)))
    for rows, vectors in encoder.under_readings(parts, readings):
        for block, part in zip(blocks, vectors, strict=True):
            block[rows] = part.numpy()
        done += len(rows)
        yield Progress(Phase.ENCODING_TEXTS, done, len(distinct))
    places = np.array([distinct[text] for text in texts], dtype=np.intp)
    return Encoded(kept, blocks, places, sum(cut), time.perf_counter() - started)


def of_encoding(encoder: Encoder, texts: Sequence[str], max_length: int | None = None) -> TaskCost:
    """What it takes to encode the texts of a task without a probe."""
    distinct = list(dict.fromkeys(texts))
    return TaskCost(len(distinct), 0, seconds_of(encoder, distinct, max_length), 0.0, 0.0, 0)


def seconds_of(encoder: Encoder, distinct: Sequence[str], max_length: int | None) -> float:
    """Seconds for all texts, from some of all lengths."""
    step = max(1, len(distinct) // TRIED)
    some = sorted(distinct, key=len)[step // 2 :: step]
    for _ in encoder.views(some[-1:], max_length):  # the first pass through a model is slower
        pass
    started = time.perf_counter()
    for _ in encoder.views(some, max_length):
        pass
    return (time.perf_counter() - started) * len(distinct) / len(some)


def width_of(encoder: Encoder, title: str) -> int:
    """The dimension of the vectors under a layer & pooling."""
    return encoder.default_head.width(encoder.width) if title == MODEL_DEFAULT else encoder.width


def reading_of(encoder: Encoder, title: str) -> Reading:
    """The layer & pooling with a title; the mean of the last layer for a model default that is not declared."""
    reading = parse(title, _last(encoder))
    return Reading(Row((_last(encoder),)), "mean") if reading == OWN and encoder.head is None else reading


def _last(encoder: Encoder) -> int:
    return encoder.rows[-1].layers[-1]


def _blocks(texts: int, widths: Sequence[int]) -> tuple[Vectors, ...]:
    """Arrays (text, width) in one temporary file without a name, whose blocks on the disk are reserved.

    Without the reservation a full disk would kill the process at a write.
    """
    sizes = [texts * width for width in widths]
    need = sum(sizes) * FLOAT
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if need + SPARE > free:
            raise NotWritable(
                f"The vectors need {in_words.size(need + SPARE)} in {folder}, where {in_words.size(free)} are free. "
                "Choose fewer layers & poolings or a smaller set, make room there, or set STRATA_CACHE to a larger "
                "disk."
            )
        with tempfile.TemporaryFile(dir=folder) as file:
            if need and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, need)
            every = np.memmap(file, dtype=np.float32, mode="w+", shape=(max(1, sum(sizes)),))
    except OSError as error:
        raise NotWritable(
            f"{folder} cannot hold the vectors, {in_words.size(need)}: {error.strerror or error}. Make room there, or "
            "set STRATA_CACHE to a folder that can be written to."
        ) from error
    ends = np.cumsum(sizes)
    return tuple(
        every[end - size : end].reshape(texts, width) for end, size, width in zip(ends, sizes, widths, strict=True)
    )


def as_tensor(vectors: Vectors) -> Tensor:
    """Vectors as a tensor that shares their memory if it can."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(vectors))
