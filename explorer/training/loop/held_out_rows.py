"""Hold rows of the training text out, as a dev or test set or to choose the checkpoint, and score such rows."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np

from explorer.data.retrieval_sets import RetrievalSet, of_pairs
from explorer.data.sources import HELD_OUT
from explorer.data.splitting import linked
from explorer.data.text_sets import Corpus
from explorer.errors import BadChoice, TooFewRows
from explorer.measuring.scores.correlation import unit
from explorer.measuring.scores.judge import in_order
from explorer.measuring.scores.metrics import class_scores
from explorer.methods import Method, PredictedClasses, PromptedRows
from explorer.progress import Work

SHARE = 0.1  # of the rows
MOST = 1000  # rows of an evaluation set; more would take longer at each evaluation than they are worth
LEAST = 10  # rows, for an accuracy in steps of 10 points at most


def score(
    method: Method, held: Corpus, by: str, autocast: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Work[float]:
    """The score × 100 of held-out rows: of triplets their accuracy, of labelled texts the measure `by`."""
    if isinstance(method, PredictedClasses):
        found = yield from method.predicted(held.texts, autocast)
        return class_scores(held.labels, found).measure(by)
    if isinstance(method, PromptedRows):
        held = replace(held, columns=method.prompted(held.texts))
    texts = sentences(held)
    vectors = yield from method.vectors(texts, None, autocast)
    return accuracy(held, texts, vectors.numpy())


def divided(corpus: Corpus) -> tuple[Corpus, RetrievalSet]:
    """The rows to train on, and a retrieval set of held-out rows: each first text is to find its second one.

    Of few rows more than a tenth are held out, since a set of fewer than ten says nothing.
    """
    if not corpus.kind.pairs_up:
        raise BadChoice(
            f"{HELD_OUT.capitalize()} of {corpus.kind.title} cannot be an evaluation set, since a row has no two texts "
            "that mean the same. Choose scored pairs or a retrieval set."
        )
    left, held = split(corpus, evaluated(len(corpus)), otherwise="name another evaluation set")
    others = held.texts[2] if len(held.texts) > 2 else ()  # what contradicts the first text
    return left, of_pairs(f"{HELD_OUT} of {corpus.name}", held.texts[0], held.texts[1], others, split=HELD_OUT)


def split(corpus: Corpus, wanted: int | None = None, otherwise: str = "set select_by to dev") -> tuple[Corpus, Corpus]:
    """Rows to train on, and rows held out: about so many, or a tenth, without a sentence in common.

    Rows that share a sentence, directly or through others, stay on one side. Which are held out follows from their
    text alone.
    """
    families = linked(zip(*corpus.texts, strict=True))
    wanted = count(len(corpus)) if wanted is None else wanted
    held: list[int] = []
    for rows in sorted(families, key=lambda rows: _drawn(corpus, rows)):
        if len(held) + len(rows) <= wanted:
            held += rows
    if len(held) < LEAST:
        raise TooFewRows(
            f"{corpus.name} has {len(corpus):,} rows, and {len(held)} of them can be held out without a text in common "
            f"with the others; at least {LEAST} are needed. Use more rows, or {otherwise}."
        )
    outside = set(held)
    return _rows(corpus, [row for row in range(len(corpus)) if row not in outside]), _rows(corpus, sorted(held))


def count(rows: int) -> int:
    """About how many rows are held out."""
    return round(SHARE * rows)


def evaluated(rows: int) -> int:
    """About how many rows are held out as an evaluation set."""
    return min(max(count(rows), LEAST), MOST)


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
    return float(100 * in_order((anchor * positive).sum(1), (anchor * negative).sum(1)).mean())


def _drawn(corpus: Corpus, rows: Sequence[int]) -> bytes:
    """One number drawn for a family of rows, by their text alone: the smallest of several would prefer large ones."""
    text = min("\0".join(column[row] for column in corpus.texts) for row in rows)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _rows(corpus: Corpus, rows: list[int]) -> Corpus:
    return replace(corpus, columns=tuple(tuple(column[row] for row in rows) for column in corpus.texts))
