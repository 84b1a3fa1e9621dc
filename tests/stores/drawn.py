"""Values drawn from few, so that those that only look alike meet each other: texts, digests, settings, rows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.sample import ProbePairs
from explorer.data.text_sets import (
    KINDS,
    LABELLED_TEXTS,
    SCORED_PAIRS,
    Corpus,
    GradedPairs,
    Labelled,
    Sentences,
    Triplets,
)
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import OWN, POOLINGS, Reading, Row
from explorer.measuring.scores.measure import Settings

DIGESTS = ("0" * 64, "0" * 63 + "1", "deadbeef" * 8)
NAMES = ("a", "b", "a b", "test.tsv", "a · b", "ü", "'a'", "x · deadbeef")
TEXTS = ("", " ", "a", "b", "ab", "a b", " · ", "a · b", '"', "'a'", "'b'", "ü", "🦉", "str:a", "astr:b",
         "astr:secondstr:b", "1.0", "0:1", "None", "queries", "judgements", "labelled", *DIGESTS)  # fmt: skip
FEW = ("a", "'a'")  # a label, and the way it is written into a digest: rows of other columns may have one list of them


def name(random: Random) -> str:
    return random.choice(NAMES)


def text(random: Random) -> str:
    return "".join(random.choices(TEXTS, k=random.choice((1, 1, 2))))


def texts(random: Random, count: int | None = None) -> tuple[str, ...]:
    return tuple(random.choices(TEXTS, k=random.randrange(1, 4) if count is None else count))


def digest(random: Random) -> str:
    return random.choice(DIGESTS)


def reading(random: Random) -> Reading:
    """One of the layers & poolings that there are: of a layer, of two, or of a range."""
    first, last = sorted(random.sample(range(7), 2))
    layers = random.choice(((first,), (first, last), tuple(range(first, last + 1))))
    return random.choice((OWN, *(Reading(Row(layers), pooling) for pooling in POOLINGS)))


def settings(random: Random) -> Settings:
    return Settings(*map(random.choice, (("float32", "bfloat16"), ("auto", "cpu", "cuda"), (None, 4, 64))))


def found(random: Random) -> Found:
    """A model with any name, whose digest is all that counts."""
    return Found(name(random), None, digest(random))


def one_of(*values: Any) -> Any:
    return lambda random: random.choice(values)


def pairs(random: Random) -> GradedPairs:
    draw, count = columns(random)
    gold = tuple(random.choice((0.0, 1.0, 2.5)) for _ in range(count))
    return GradedPairs("", draw(), draw(), gold, draw())


def sentences(random: Random) -> Sentences:
    return Sentences("", texts(random))


def labelled(random: Random) -> Labelled:
    draw, _ = columns(random)
    return Labelled("", draw(), draw(), random.choice(((), draw())))


def labelled_set(random: Random) -> LabelledSet:
    return LabelledSet("", labelled(random), *(random.choice((None, labelled(random))) for _ in range(2)))


def retrieval_set(random: Random) -> RetrievalSet:
    queries = texts(random)
    judged = tuple({random.randrange(3): random.randrange(1, 3)} for _ in queries)
    return RetrievalSet("", "", queries, texts(random), judged)


def triplets(random: Random) -> Triplets:
    draw, _ = columns(random)
    return Triplets("", draw(), draw(), draw())


def probe_pairs(random: Random) -> ProbePairs:
    draw, count = columns(random)
    return ProbePairs("", draw(), draw(), tuple(random.choice((True, False)) for _ in range(count)))


def corpus(random: Random) -> Corpus:
    """Rows of any kind but labelled ones."""
    kind, (draw, count) = random.choice([kind for kind in KINDS if kind != LABELLED_TEXTS]), columns(random)
    scores = tuple(random.choice((0.0, 0.5, 1.0)) for _ in range(count))
    return Corpus("", kind, (*(draw() for _ in kind.texts), *([scores] if kind == SCORED_PAIRS else [])))


def labelled_rows(random: Random) -> Corpus:
    """Rows with labels, with or without a second text, and with rows held out for one use, for both, or for none."""
    draw, _ = columns(random)
    others = Corpus("", LABELLED_TEXTS, (("a",), ("a",)))
    held_out = random.choice(((None, None), (others, others), (others, None), (None, others)))
    return Corpus("", LABELLED_TEXTS, tuple(draw() for _ in range(random.choice((2, 3)))), *held_out)


def columns(random: Random) -> tuple[Callable[[], tuple[str, ...]], int]:
    """Draws a column of as many rows as the others, of few texts or of many; the number of rows."""
    pool, count = random.choice((FEW, TEXTS)), random.randrange(1, 4)
    return lambda: tuple(random.choices(pool, k=count)), count


def data(random: Random) -> Any:
    """Data of any kind, without a name."""
    kinds = (pairs, sentences, labelled, labelled_set, retrieval_set, triplets, probe_pairs, corpus)
    return random.choice(kinds)(random)
