"""Score STS sets with models without a transformer: the mean of word vectors (GloVe), and shared words.

Both are baselines of the papers: the mean of GloVe vectors is in Table 1 of Kim et al. 2021, the cosine of binary
bags of words is the baseline of SemEval's STS tasks (Agirre et al. 2012, Cer et al. 2017).
"""

from __future__ import annotations

import re
import string
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import Items, Measured, Setting
from explorer.evaluating.tasks.word_vectors import WordVectors, read_word_vectors
from explorer.measuring.scores.metrics import agreement, ways_of
from explorer.progress import Work

if TYPE_CHECKING:
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

Floats = NDArray[np.float64]

# the rule of sentence-transformers, whose paper the GloVe rows of the three papers come from
SPLIT = (
    "between spaces; as written, else without the punctuation around it, else lower-cased; English stop words left out"
)
# of the baseline of SemEval-2017's STS task; with it the published correlations come out to 0.1
IN_BAG = "lower-cased; words and punctuation marks"
_IN_BAG = re.compile(r"\w+|[^\w\s]")


def forms_of(text: str) -> set[str]:
    """Every form in which a word of a text may be looked up, by the rule `SPLIT`."""
    written = text.split()
    stripped = [word.strip(string.punctuation) for word in written]
    return {*written, *stripped, *(word.lower() for word in stripped)}


def _bag(text: str) -> set[str]:
    """The words of a text, by the rule `IN_BAG`."""
    return set(_IN_BAG.findall(text.lower()))


class WordModel(Protocol):
    """What scores need of a model."""

    @property
    def name(self) -> str:
        """The name in tables."""

    @property
    def setting(self) -> Mapping[str, Setting]:
        """What decides its scores."""

    def knows(self, sentence: str) -> bool:
        """Whether any word of a sentence is known."""

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """The cosine of the two sentences of every pair; 0 if one of them has no known word."""


@dataclass(frozen=True)
class BagOfWords:
    """The cosine of binary vectors that have a 1 for every word of a sentence."""

    name: str = "binary bag of words"
    setting: Mapping[str, Setting] = field(default_factory=lambda: {"words": IN_BAG})

    def knows(self, sentence: str) -> bool:
        """Whether a sentence has a word."""
        return bool(_bag(sentence))

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """The number of shared words, divided by the root of the product of both numbers of words."""
        found = np.zeros(len(first))
        for at, (one, other) in enumerate(zip(first, second, strict=True)):
            of_one, of_other = _bag(one), _bag(other)
            if of_one and of_other:
                found[at] = len(of_one & of_other) / np.sqrt(len(of_one) * len(of_other))
        return found


@dataclass(frozen=True, eq=False)
class MeanWordVectors:
    """The mean of the vectors of the known words of a sentence, such as GloVe's."""

    words: WordVectors

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"mean of {self.words.name}"

    @property
    def setting(self) -> Mapping[str, Setting]:
        """The rule for words, and the vectors."""
        return {"words": SPLIT, "vectors": self.words.name, "width": self.words.width, "digest": self.words.digest}

    @cached_property
    def _tokenizer(self) -> WhitespaceTokenizer:
        from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

        return WhitespaceTokenizer(self.words.place)

    def _places(self, sentence: str) -> list[int]:
        """The places of the known words; sorted, so that sentences of the same words are equal to the last bit."""
        return sorted(self._tokenizer.tokenize(sentence))

    def knows(self, sentence: str) -> bool:
        """Whether any word of a sentence has a vector."""
        return bool(self._places(sentence))

    def vectors(self, sentences: Sequence[str]) -> Floats:
        """Vectors (sentence, width); 0 for a sentence without a known word."""
        found = np.zeros((len(sentences), self.words.width))
        for at, sentence in enumerate(sentences):
            places = self._places(sentence)
            if places:
                found[at] = self.words.vectors[places].astype(np.float64).mean(axis=0)
        return found

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Cosines of the means, as 1 - d²/2 of the normalised vectors: equal ones have exactly 1."""
        one, other = self.vectors(first), self.vectors(second)
        lengths, of_other = (np.linalg.norm(vectors, axis=1) for vectors in (one, other))
        known = (lengths > 0) & (of_other > 0)
        apart = one[known] / lengths[known, None] - other[known] / of_other[known, None]
        found = np.zeros(len(first))
        found[known] = 1 - np.vecdot(apart, apart) / 2
        return found


def mean_word_vectors(path: str | Path, sentences: Iterable[str]) -> Work[MeanWordVectors]:
    """Read the vectors of the words of some sentences from a file, such as glove.6B.300d.txt."""
    wanted = {form for sentence in sentences for form in forms_of(sentence)}
    return MeanWordVectors((yield from read_word_vectors(path, wanted)))


def word_scores(model: WordModel, pairs: GradedPairs, split: str = "all") -> Measured:
    """Score a set: every metric × 100 and, if it has sub-corpora, its mean and weighted mean over them."""
    started = time.perf_counter()
    cosines = model.cosines(pairs.first, pairs.second)
    gold = np.array(pairs.gold, dtype=np.float64)
    measures = ways_of(gold, pairs.parts)
    table = [100 * agreement(gold, cosines, pairs.parts, *measure) for measure in measures.values()]
    unknown = sum(not model.knows(sentence) for sentence in pairs.sentences)
    return Measured(
        split=split,
        titles=(MODEL_DEFAULT,),
        measures=tuple(measures),
        table=np.array(table, dtype=np.float64).reshape(1, -1, 1),
        setting={**model.setting, "sentences without a known word": unknown},
        items=Items(cosines, gold, pairs.parts, pairs.digest),
        seconds=time.perf_counter() - started,
    )
