"""Split a sentence's unit vector into exact parts, one for each of its words.

These are integrated gradients (Sundararajan, Taly and Yan 2017) of the whole encoder: its vector is followed along a
straight path from a reference, in which every word's embedding is replaced by one that means nothing, to the sentence.
The part of a word is what the change of its own embedding adds on the way, and the parts add up to the whole change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from explorer.encoding.read.encoder import Encoder, every_layer
from explorer.encoding.read.pooling import pooled
from explorer.encoding.read.readings import MASK, MEAN, OWN, PAD, REFERENCES, WORD_TOKENS, Reading
from explorer.errors import BadChoice, ModelTooLarge, UnsupportedModel, ran_out_of_memory
from explorer.progress import Progress, Work

POINTS = (16, 20, 24, 32, 48, 64, 96, 128, 192, 256)  # on the path, until the parts add up
CLOSE = 0.005  # how far the parts may miss the vector, whose length is 1
LOOKS = 16  # equal pieces of the path, to find where the vector changes fastest
MOSTLY, LOOKS_CLOSER = 0.5, 5  # a piece with this share of the change is cut into pieces in turn, so many times
SAME = 1e-4  # how far a vector from embeddings may be from that of the tokens
AT_ONCE = 2**20  # numbers of the embeddings in all directions at the points of a batch: more is not faster

Floats = NDArray[np.float64]
Vectors = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class WordParts:
    """A sentence's words, the part (word, width) of each in its unit vector, and the vector of the reference."""

    words: tuple[str, ...]
    parts: Floats
    reference: Floats
    vector: Floats
    points: int  # on the path
    cut: tuple[int, int] | None = None  # the first so many tokens took part, of so many; None: all

    @property
    def missed(self) -> float:
        """How far the parts and the reference are from the vector, whose length is 1."""
        return float(np.linalg.norm(self.vector - self.reference - self.parts.sum(axis=0)))


def word_parts(
    encoder: Encoder, sentence: str, reading: Reading, reference: str = PAD, max_length: int | None = None
) -> Work[WordParts]:
    """The parts of a sentence under a layer & pooling, with as many points as they need to add up.

    Without a maximum length, the first `WORD_TOKENS` tokens take part.
    """
    words = words_of(encoder, sentence, max_length)
    try:
        return (yield from _split(encoder, words, reading, reference))
    except (MemoryError, RuntimeError) as error:
        if not ran_out_of_memory(error):
            raise
        raise ModelTooLarge(
            f"'{encoder.name}' ran out of memory with a sentence of {len(words.ids)} tokens. Set a smaller maximum "
            "length, or close other programs."
        ) from error


def _split(encoder: Encoder, words: Words, reading: Reading, reference: str) -> Work[WordParts]:
    yield Progress("encoding words", 0, 0)
    table = encoder.model.get_input_embeddings()
    with torch.no_grad():
        ids = torch.tensor([words.ids], device=encoder.device)
        end = table(ids)[0]
        start = torch.where(words.mask.to(end.device)[:, None], replacement(encoder, reference), end)
        vectors = _vectors(encoder, reading)
        first, last = vectors(torch.stack([start, end])).double()
        _check(encoder, _pooled(encoder, reading, every_layer(encoder.model, input_ids=ids))[0].double(), last)
    if not words.texts:
        nothing = np.zeros((0, len(last)))
        return WordParts((), nothing, first.cpu().numpy(), last.cpu().numpy(), 0, words.cut)
    path = _path(encoder, vectors, start, end, last - first)
    parts = yield from _parts(encoder, vectors, path, (end - start) * words.tokens.to(end)[:, :, None])
    return WordParts(words.texts, parts, first.cpu().numpy(), last.cpu().numpy(), len(path.weights), words.cut)


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


@dataclass(frozen=True, eq=False)
class _Path:
    """Embeddings (point, token, width) between reference and sentence, and the weight of each in the integral."""

    points: Tensor
    weights: Tensor


def _path(encoder: Encoder, vectors: Vectors, start: Tensor, end: Tensor, change: Tensor) -> _Path:
    """The fewest points whose parts add up to the change of the vector.

    The derivative in the direction of all words together costs as much as that of one word, and its error is the sum of
    theirs.
    """
    centre, width = _fastest(vectors, start, end)
    for count in POINTS:
        places, weights = (torch.tensor(values, device=end.device) for values in _quadrature(count, centre, width))
        path = _Path(start + places.to(end)[:, None, None] * (end - start), weights)
        whole = _slopes(encoder, vectors, path.points, (end - start)[None])[0]
        if (change - torch.einsum("pd,p->d", whole.double(), weights)).norm() <= CLOSE:
            break
    return path


@torch.no_grad()
def _fastest(vectors: Vectors, start: Tensor, end: Tensor) -> tuple[float, float]:
    """Where on the path, from 0 to 1, the vector changes fastest, and how wide that place is.

    A layer normalisation makes a vector turn within a part of the path, around the point at which the words outweigh
    what replaced them; from a reference of zeros that part is tiny.
    """
    low, size = 0.0, 1.0
    for _ in range(LOOKS_CLOSER):
        places = torch.linspace(low, low + size, LOOKS + 1, device=end.device)
        turns = vectors(start + places[:, None, None] * (end - start)).diff(dim=0).norm(dim=1)
        fastest, share = int(turns.argmax()), float(turns.max() / turns.sum().clamp_min(1e-12))
        low, size = low + size * fastest / LOOKS, size / LOOKS
        if share < MOSTLY:
            break
    width = size / np.pi / max(share, 1 / LOOKS)  # as of a Lorentz curve
    return low + size / 2, min(width, 1.0)


def _quadrature(count: int, centre: float, width: float) -> tuple[Floats, Floats]:
    """Places from 0 to 1 and their weights: Gauss-Legendre after a sinh transformation.

    The transformation (Johnston and Elliott 2005) puts most points where the integrand has its peak.
    """
    places, weights = np.polynomial.legendre.leggauss(count)
    low, high = np.arcsinh(-centre / width), np.arcsinh((1 - centre) / width)
    inner = (high - low) / 2 * places + (high + low) / 2
    return centre + width * np.sinh(inner), weights * (high - low) / 2 * width * np.cosh(inner)


def _parts(encoder: Encoder, vectors: Vectors, path: _Path, directions: Tensor) -> Work[Floats]:
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
    except RuntimeError as error:  # of which NotImplementedError is one
        if ran_out_of_memory(error):
            raise
        raise UnsupportedModel(
            f"'{encoder.name}' ({type(encoder.model).__name__}) has a step without a derivative "
            f"({str(error).strip().splitlines()[0][:120]}), so its words cannot be weighed."
        ) from error


@dataclass(frozen=True, eq=False)
class Words:
    """A sentence's token ids, its words, and `tokens` (word, token), true for the tokens of a word.

    Special tokens, and those of a prompt, belong to no word.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    tokens: Tensor
    cut: tuple[int, int] | None = None

    @property
    def mask(self) -> Tensor:
        """Whether each token belongs to a word."""
        return self.tokens.any(dim=0)


def words_of(encoder: Encoder, sentence: str, max_length: int | None = None) -> Words:
    """The words of a sentence, cut as the encoder cuts it."""
    limit = min(WORD_TOKENS, encoder.max_length) if max_length is None else encoder.limit(max_length)
    ids, spans, count = encoder.words(sentence, limit)
    numbers = list(dict.fromkeys(span[0] for span in spans if span is not None))
    tokens = torch.tensor([[span is not None and span[0] == number for span in spans] for number in numbers])
    texts = []
    for number in numbers:
        own = [span for span in spans if span is not None and span[0] == number]
        texts.append(sentence[min(start for _, start, _ in own) : max(end for _, _, end in own)].strip())
    cut = (len(ids), count) if count > len(ids) else None
    return Words(tuple(ids), tuple(texts), tokens.reshape(len(numbers), len(ids)), cut)


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
