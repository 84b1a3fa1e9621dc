"""Score the rows that are not trained on: triplets or validation rows that choose the checkpoint, and test rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np

from explorer.data.corpora import Corpus
from explorer.data.splitting import linked
from explorer.errors import TooFewRows
from explorer.measuring.scores.class_scores import class_scores
from explorer.measuring.scores.correlation import unit
from explorer.methods import Method
from explorer.progress import Work

SHARE = 0.1  # of the rows
LEAST = 10  # rows, for an accuracy in steps of 10 points at most


def score(
    method: Method, held: Corpus, by: str, autocast: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Work[float]:
    """The score × 100 of held-out rows: of triplets their accuracy, of labelled texts the measure `by`."""
    if held.labels:
        found = yield from method.predicted(held.texts, autocast)
        return class_scores(held.labels, found).measure(by)
    texts = sentences(held)
    vectors = yield from method.reading(texts, None, autocast)
    return accuracy(held, texts, vectors.numpy())


def split(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """Triplets to train on, and triplets held out: a tenth, without a sentence in common.

    Rows that share a sentence, directly or through others, stay on one side. Which are held out follows from their
    text alone.
    """
    families = linked(zip(*corpus.texts, strict=True))
    wanted = round(SHARE * len(corpus))
    held: list[int] = []
    for rows in sorted(families, key=lambda rows: min(_drawn(corpus, row) for row in rows)):
        if len(held) + len(rows) <= wanted:
            held += rows
    if len(held) < LEAST:
        raise TooFewRows(
            f"{corpus.name} has {len(corpus):,} rows, and {len(held)} of them can be held out to choose the best "
            f"checkpoint; at least {LEAST} are needed. Use more rows, or set select_by to dev."
        )
    outside = set(held)
    return _rows(corpus, [row for row in range(len(corpus)) if row not in outside]), _rows(corpus, sorted(held))


def count(rows: int) -> int:
    """About how many rows are held out."""
    return round(SHARE * rows)


def sentences(held: Corpus) -> list[str]:
    """Every sentence of the held-out rows once."""
    return list(dict.fromkeys(text for column in held.texts for text in column))


def accuracy(held: Corpus, texts: Sequence[str], vectors: np.ndarray) -> float:
    """The share of triplets × 100 whose anchor is nearer to its positive than to its negative; a tie counts half.

    `vectors` (sentence, width) are those of `texts`.
    """
    place = {text: number for number, text in enumerate(texts)}
    directions = unit(vectors).astype(np.float64)
    anchor, positive, negative = (directions[[place[text] for text in column]] for column in held.texts)
    nearer = (anchor * (positive - negative)).sum(1)
    return float(100 * np.where(nearer == 0, 0.5, nearer > 0).mean())


def _drawn(corpus: Corpus, row: int) -> bytes:
    """A number drawn for a row, by its text alone."""
    text = "\0".join(column[row] for column in corpus.texts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _rows(corpus: Corpus, rows: list[int]) -> Corpus:
    return replace(corpus, columns=tuple(tuple(column[row] for row in rows) for column in corpus.texts))
