"""Split a sentence's unit vector into exact parts, one for each of its words.

These are integrated gradients (Sundararajan, Taly and Yan 2017) of the whole encoder: its vector is followed along a
straight path from a reference, in which every word's embedding is replaced by one that means nothing, to the sentence.
The part of a word is what the change of its own embedding adds on the way, and the parts add up to the whole change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from explorer.encoding.read.encoder import Encoder, every_layer
from explorer.encoding.read.pooling import pooled
from explorer.encoding.read.readings import MASK, MEAN, OWN, PAD, REFERENCES, Reading
from explorer.encoding.read.words.path import Path, Vectors, paths
from explorer.errors import BadChoice, UnsupportedModel
from explorer.progress import Progress, Work, finish

CLOSE = 0.005  # how far the parts may miss the vector, whose length is 1
SAME = 1e-4  # how far a vector from embeddings may be from that of the tokens
AT_ONCE = 2**20  # numbers of the embeddings in all directions at the points of a batch: more is not faster
AT_ONCE_BACK = 2**17  # the same for a gradient, which keeps the states of every layer
CLOSE_TOWARD = 0.001  # how far a sum of products with one vector may miss: unlike a vector, it can be close by chance

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WordParts:
    """A sentence's words, the part (word, width) of each in its unit vector, and the vector of the reference."""

    words: tuple[str, ...]
    parts: Floats
    reference: Floats
    vector: Floats
    points: int  # on the path

    @property
    def missed(self) -> float:
        """How far the parts and the reference are from the vector, whose length is 1."""
        return float(np.linalg.norm(self.vector - self.reference - self.parts.sum(axis=0)))


def word_parts(
    encoder: Encoder, sentence: str, reading: Reading, reference: str = PAD, max_length: int | None = None
) -> Work[WordParts]:
    """The parts of a sentence under a layer & pooling, with as many points as they need to add up."""
    yield Progress("encoding words", 0, 0)
    ends = _ends(encoder, words_of(encoder, sentence, max_length), reading, reference)
    first, last = (vector.cpu().numpy() for vector in (ends.first, ends.last))
    if not ends.words.texts:
        return WordParts((), np.zeros((0, len(last))), first, last, 0)
    path = _path(encoder, ends.vectors, ends.start, ends.end, ends.last - ends.first)
    parts = yield from _parts(encoder, ends.vectors, path, ends.directions)
    return WordParts(ends.words.texts, parts, first, last, len(path.weights))


Choose = Callable[[tuple[str, ...], tuple[str, ...]], tuple[Sequence[bool], Sequence[bool]]]


def chosen_sum(
    encoder: Encoder,
    pair: tuple[str, str],
    reading: Reading,
    choose: Choose,
    reference: str = PAD,
    max_length: int | None = None,
) -> tuple[float, float]:
    """What the chosen words of two sentences add to their cosine, each pair of words counted once; and the cosine.

    These are the sums of rows and columns of the matrix words × words without the matrix: of the first sentence only
    the part of all its chosen words together is needed, and of the second what its words add toward the rest, which
    takes one gradient and not a derivative for each word.
    """
    one, other = (_ends(encoder, words_of(encoder, text, max_length), reading, reference) for text in pair)
    marks = [torch.tensor(mark, dtype=torch.bool) for mark in choose(one.words.texts, other.words.texts)]
    found, left = 0.0, one.last
    if marks[0].any():
        path, _ = _toward(encoder, one, other.last)
        part = finish(_parts(encoder, one.vectors, path, one.directions[marks[0]].sum(dim=0, keepdim=True)))[0]
        own = torch.from_numpy(part).to(one.last)
        found, left = float(own @ other.last), left - own
    if marks[1].any():
        found += float(_toward(encoder, other, left)[1][marks[1]].sum())
    return found, float(one.last @ other.last)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Both ends of the path of a sentence: embeddings (token, width) and unit vectors, of the reference and its own."""

    words: Words
    vectors: Vectors
    start: Tensor
    end: Tensor
    first: Tensor
    last: Tensor

    @property
    def directions(self) -> Tensor:
        """The change of the embeddings of each word (word, token, width)."""
        return (self.end - self.start) * self.words.tokens.to(self.end)[:, :, None]


@torch.no_grad()
def _ends(encoder: Encoder, words: Words, reading: Reading, reference: str) -> _Ends:
    ids = torch.tensor([words.ids], device=encoder.device)
    end = encoder.model.get_input_embeddings()(ids)[0]
    start = torch.where(words.mask.to(end.device)[:, None], replacement(encoder, reference), end)
    vectors = _vectors(encoder, reading)
    first, last = vectors(torch.stack([start, end])).double()
    _check(encoder, _pooled(encoder, reading, every_layer(encoder.model, input_ids=ids))[0].double(), last)
    return _Ends(words, vectors, start, end, first, last)


def _vectors(encoder: Encoder, reading: Reading) -> Vectors:
    """The function from embeddings (sentence, token, width) to unit vectors."""
    return lambda embedded: _pooled(encoder, reading, every_layer(encoder.model, inputs_embeds=embedded))


def _pooled(encoder: Encoder, reading: Reading, hidden: tuple[Tensor, ...]) -> Tensor:
    vectors = encoder.default_head(hidden, None) if reading == OWN else pooled(reading.title, hidden, None)
    return functional.normalize(vectors.float(), dim=-1)


def _check(encoder: Encoder, from_tokens: Tensor, from_embeddings: Tensor) -> None:
    if not torch.allclose(from_tokens, from_embeddings, atol=SAME, rtol=0):
        raise UnsupportedModel(
            f"'{encoder.name}' ({type(encoder.model).__name__}) gives another vector for the embeddings of a sentence "
            "than for its tokens, so its words cannot be weighed. Choose a model such as BERT, RoBERTa or MPNet."
        )


def _path(encoder: Encoder, vectors: Vectors, start: Tensor, end: Tensor, change: Tensor) -> Path:
    """The fewest points whose parts add up to the change of the vector.

    The derivative in the direction of all words together costs as much as that of one word, and its error is the sum of
    theirs.
    """
    for path in paths(vectors, start, end):
        whole = _slopes(encoder, vectors, path.points, (end - start)[None])[0]
        if (change - torch.einsum("pd,p->d", whole.double(), path.weights)).norm() <= CLOSE:
            break
    return path


def _toward(encoder: Encoder, ends: _Ends, other: Tensor) -> tuple[Path, Tensor]:
    """What each word adds to the product with the `other` vector (word), and the path with enough points for it."""
    change = (ends.last - ends.first) @ other
    for path in paths(ends.vectors, ends.start, ends.end):
        added = _products(encoder, ends, path, other)
        if abs(change - added.sum()) <= CLOSE_TOWARD:
            break
    return path, added


def _products(encoder: Encoder, ends: _Ends, path: Path, other: Tensor) -> Tensor:
    """The integral of the derivative of the product in the direction of each word: reverse mode, one pass for all."""
    size = max(1, AT_ONCE_BACK // ends.end.numel())
    slopes = torch.zeros_like(ends.end, dtype=torch.float64)  # (token, width)
    try:
        with torch.enable_grad():
            for begin in range(0, len(path.weights), size):
                at = path.points[begin : begin + size].detach().requires_grad_()
                product = (ends.vectors(at) @ other.to(at)).sum()
                slope = torch.autograd.grad(product, at)[0].double()
                slopes += torch.einsum("ptd,p->td", slope, path.weights[begin : begin + size])
    except (RuntimeError, NotImplementedError) as error:
        raise _no_derivative(encoder, error) from error
    return (ends.directions.double() * slopes).sum(dim=(1, 2)).cpu()


def _parts(encoder: Encoder, vectors: Vectors, path: Path, directions: Tensor) -> Work[Floats]:
    """The integral of the derivative in each direction (word, token, width)."""
    found = torch.zeros(len(directions), 0, dtype=torch.float64)
    size = max(1, AT_ONCE // max(1, directions.numel()))
    for begin in range(0, len(path.weights), size):
        slopes = _slopes(encoder, vectors, path.points[begin : begin + size], directions)  # (word, point, width)
        sums = torch.einsum("wpd,p->wd", slopes.double(), path.weights[begin : begin + size]).cpu()
        found = found + sums if begin else sums
        yield Progress("weighing words", min(begin + size, len(path.weights)), len(path.weights))
    return found.numpy()


def _slopes(encoder: Encoder, vectors: Vectors, at: Tensor, directions: Tensor) -> Tensor:
    """How the vectors change in each direction at each point: forward mode, in which all directions share one pass."""

    def in_one(direction: Tensor) -> Tensor:
        change: Tensor = torch.func.jvp(vectors, (at,), (direction.expand_as(at),))[1]
        return change

    try:
        with torch.no_grad():
            found: Tensor = torch.func.vmap(in_one)(directions)
            return found
    except (RuntimeError, NotImplementedError) as error:
        raise _no_derivative(encoder, error) from error


def _no_derivative(encoder: Encoder, error: Exception) -> UnsupportedModel:
    return UnsupportedModel(
        f"'{encoder.name}' ({type(encoder.model).__name__}) has a step without a derivative "
        f"({str(error).strip().splitlines()[0][:120]}), so its words cannot be weighed."
    )


@dataclass(frozen=True, eq=False)
class Words:
    """A sentence's token ids, its words, and `tokens` (word, token), true for the tokens of a word.

    Special tokens, and those of a prompt, belong to no word.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    tokens: Tensor

    @property
    def mask(self) -> Tensor:
        """Whether each token belongs to a word."""
        return self.tokens.any(dim=0)


def words_of(encoder: Encoder, sentence: str, max_length: int | None = None) -> Words:
    """The words of a sentence, cut as the encoder cuts it."""
    (ids,) = encoder.tokens([sentence], max_length).ids
    spans = encoder.words(sentence, max_length)
    numbers = list(dict.fromkeys(span[0] for span in spans if span is not None))
    tokens = torch.tensor([[span is not None and span[0] == number for span in spans] for number in numbers])
    texts = []
    for number in numbers:
        own = [span for span in spans if span is not None and span[0] == number]
        texts.append(sentence[min(start for _, start, _ in own) : max(end for _, _, end in own)].strip())
    return Words(tuple(ids), tuple(texts), tokens.reshape(len(numbers), len(ids)))


def replacement(encoder: Encoder, reference: str) -> Tensor:
    """The embedding (width) that stands for no word."""
    table: Tensor = encoder.model.get_input_embeddings().weight
    if reference == MEAN:
        return table.mean(dim=0)
    tokenizer = encoder.tokenizer()
    number = {PAD: tokenizer.pad_token_id, MASK: tokenizer.mask_token_id}.get(reference)
    if number is None:
        raise BadChoice(
            f"'{encoder.name}' has no token '{reference}' to replace words with. Choose one of {', '.join(REFERENCES)}."
        )
    return table[number]
