"""Values drawn from few, so that those that only look alike meet each other: texts, digests, settings, rows."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from explorer.data.graded.probes import ProbePairs
from explorer.data.kinds import Corpus, GradedPairs, Labelled, Sentences, Triplets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.retrieval.retrieval_set import Report, RetrievalSet
from explorer.data.row_kinds import KINDS, LABELLED_TEXTS, SCORED_PAIRS
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import OWN, POOLING_NAMES, Reading, Row
from explorer.measuring.scores.measure import Settings

DIGESTS = ("0" * 64, "0" * 63 + "1", "deadbeef" * 8)
NAMES = ("a", "b", "a b", "test.tsv", "a · b", "ü", "'a'", "x · deadbeef")
TEXTS = ("", " ", "a", "b", "ab", "a b", " · ", "a · b", '"', "'a'", "'b'", "ü", "🦉", "str:a", "astr:b",
         "astr:secondstr:b", "1.0", "0:1", "None", "queries", "judgements", "labelled", *DIGESTS)  # fmt: skip


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
    return random.choice((OWN, *(Reading(Row(layers), pooling) for pooling in POOLING_NAMES)))


def settings(random: Random) -> Settings:
    return Settings(*map(random.choice, (("auto", "float32", "bfloat16"), ("auto", "cpu", "cuda"), (None, 4, 64))))


def found(random: Random) -> Found:
    """A model with any name, whose digest is all that counts."""
    return Found(name(random), None, digest(random))


def one_of(*values: Any) -> Any:
    return lambda random: random.choice(values)


def pairs(random: Random, name: str = "") -> GradedPairs:
    count = random.randrange(1, 4)
    gold = tuple(random.choice((0.0, 1.0, 2.5)) for _ in range(count))
    return GradedPairs(name, texts(random, count), texts(random, count), gold, texts(random, count))


def sentences(random: Random) -> Sentences:
    return Sentences("", texts(random))


def labelled(random: Random) -> Labelled:
    count = random.randrange(1, 4)
    return Labelled("", texts(random, count), texts(random, count), texts(random, random.choice((0, count))))


def labelled_set(random: Random) -> LabelledSet:
    return LabelledSet("", labelled(random), *(random.choice((None, labelled(random))) for _ in range(2)))


def retrieval_set(random: Random) -> RetrievalSet:
    queries = texts(random)
    judged = tuple({random.randrange(3): random.randrange(1, 3)} for _ in queries)
    return RetrievalSet("", "", queries, texts(random), judged, Report(0, 0, 0, 0))


def triplets(random: Random) -> Triplets:
    count = random.randrange(1, 4)
    return Triplets("", *(texts(random, count) for _ in range(3)))


def probe_pairs(random: Random) -> ProbePairs:
    count = random.randrange(1, 4)
    same = tuple(random.choice((True, False)) for _ in range(count))
    return ProbePairs("", texts(random, count), texts(random, count), same)


def corpus(random: Random) -> Corpus:
    """Rows of any kind; of labelled ones with or without a second text, and with rows held out or not."""
    kind, count = random.choice((*KINDS, LABELLED_TEXTS)), random.randrange(1, 4)
    there = (text for text in kind.texts if text.required or random.random() < 0.5)
    columns: list[Sequence[Any]] = [texts(random, count) for _ in there]
    if kind == SCORED_PAIRS:
        columns.append(tuple(random.choice((0.0, 0.5, 1.0)) for _ in range(count)))
    held_out = (None, None)
    if kind == LABELLED_TEXTS:
        columns.append(texts(random, count))
        rows = Corpus("", kind, (texts(random, 1), texts(random, 1)))
        held_out = random.choice(((None, None), (rows, rows), (rows, None), (None, rows)))
    return Corpus("", kind, tuple(columns), *held_out)


def data(random: Random) -> Any:
    """Data of any kind, without a name."""
    kinds = (pairs, sentences, labelled, labelled_set, retrieval_set, triplets, probe_pairs, corpus)
    return random.choice(kinds)(random)
