"""Split a sentence's unit vector into exact parts, one for each of its words.

These are integrated gradients (Sundararajan, Taly and Yan 2017) of the whole encoder: its vector is followed along a
straight path from a reference, in which every word's embedding is replaced by one that means nothing, to the sentence.
The part of a word is what the change of its own embedding adds on the way, and the parts add up to the whole change.

The parts themselves take one derivative for each word (forward mode); what they add to the product with another vector
takes one gradient for all words (reverse mode).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from explorer.encoding.read.encoder import Encoder, every_layer
from explorer.encoding.read.pooling import MASK, MEAN, OWN, PAD, REFERENCES, Reading, pooled
from explorer.encoding.read.prompts import left_out
from explorer.errors import BadChoice, ModelTooLarge, UnsupportedModel, ran_out_of_memory
from explorer.progress import Progress, Work, finish

CLOSE = 0.005  # how far the parts may miss the vector, whose length is 1
SAME = 1e-4  # how far a vector from embeddings may be from that of the tokens
AT_ONCE = 2**20  # numbers of the embeddings in all directions at the points of a batch: more is not faster
AT_ONCE_BACK = 2**17  # the same for a gradient, which keeps the states of every layer
POINTS = (16, 20, 24, 32, 48, 64, 96, 128, 192, 256)  # on the path, until the parts add up
PIECES = 16  # of equal length, to find where on the path the vector changes fastest
MOSTLY, DIVISIONS = 0.5, 5  # a piece with this share of the change is cut into pieces in turn, so many times

Floats = NDArray[np.float64]
Vectors = Callable[[Tensor], Tensor]
# embeddings (point, token, width) between reference and sentence, and the weight of each in the integral
EmbeddingPath = tuple[Tensor, Tensor]
Choose = Callable[[tuple[str, ...], tuple[str, ...]], tuple[Sequence[bool], Sequence[bool]]]


@dataclass(frozen=True, eq=False)
class Words:
    """A sentence's token ids, its words, and `tokens` (word, token), true for the tokens of a word.

    Special tokens, and those of a prompt, belong to no word; the pooling leaves the first `left_out` tokens out. `cut`
    is how many tokens take part, of how many; None if all do.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    tokens: Tensor
    cut: tuple[int, int] | None = None
    left_out: int = 0

    @property
    def mask(self) -> Tensor:
        """Whether each token belongs to a word."""
        return self.tokens.any(dim=0)

    def to_pool(self, states: Tensor) -> Tensor | None:
        """The mask of the tokens to pool (sentence, token) for states (sentence, token, width); None for all."""
        if not self.left_out:
            return None
        return (torch.arange(states.shape[1], device=states.device) >= self.left_out).expand(states.shape[:2])


@dataclass(frozen=True, eq=False)
class Ends:
    """Both ends of the path of a sentence: embeddings (token, width) and unit vectors, of the reference and its own."""

    encoder: Encoder
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


def words_of(encoder: Encoder, sentence: str, max_length: int | None = None) -> Words:
    """The words of a sentence, cut as the encoder cuts it."""
    ids, spans, count = encoder.words(sentence, encoder.limit(max_length))
    numbers = list(dict.fromkeys(span[0] for span in spans if span is not None))
    tokens = torch.tensor([[span is not None and span[0] == number for span in spans] for number in numbers])
    texts = []
    for number in numbers:
        own = [span for span in spans if span is not None and span[0] == number]
        texts.append(sentence[min(start for _, start, _ in own) : max(end for _, _, end in own)].strip())
    cut = (len(ids), count) if count > len(ids) else None
    return Words(tuple(ids), tuple(texts), tokens.reshape(len(numbers), len(ids)), cut, left_out(ids))


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


@torch.no_grad()
def ends_of(
    encoder: Encoder, sentence: str, reading: Reading, reference: str = PAD, max_length: int | None = None
) -> Ends:
    """A sentence under a layer & pooling, and what it is compared with."""
    words = words_of(encoder, sentence, max_length)

    def unit(hidden: tuple[Tensor, ...]) -> Tensor:
        mask = words.to_pool(hidden[0])
        found = encoder.default_head(hidden, mask) if reading == OWN else pooled(reading.title, hidden, mask)
        return functional.normalize(found.float(), dim=-1)

    def vectors(embedded: Tensor) -> Tensor:
        return unit(every_layer(encoder.model, inputs_embeds=embedded))

    with _memory(encoder, words):
        ids = torch.tensor([words.ids], device=encoder.device)
        end = encoder.model.get_input_embeddings()(ids)[0]
        start = torch.where(words.mask.to(end.device)[:, None], replacement(encoder, reference), end)
        first, last = vectors(torch.stack([start, end])).double()
        if not torch.allclose(unit(every_layer(encoder.model, input_ids=ids))[0].double(), last, atol=SAME, rtol=0):
            raise UnsupportedModel(
                f"'{encoder.name}' ({type(encoder.model).__name__}) gives another vector for the embeddings of a "
                "sentence than for its tokens, so its words cannot be weighed. Choose a model such as BERT, RoBERTa or "
                "MPNet."
            )
        return Ends(encoder, words, vectors, start, end, first, last)


def word_parts(ends: Ends) -> Work[tuple[Floats, int]]:
    """The part (word, width) of each word in a sentence's vector, and the points on the path until they add up."""
    if not ends.words.texts:
        return np.zeros((0, len(ends.last))), 0
    with _memory(ends.encoder, ends.words):
        # the fewest points whose parts add up to the change of the vector: the derivative in the direction of all words
        # together costs as much as that of one word, and its error is the sum of theirs
        for path in paths(ends.vectors, ends.start, ends.end):
            whole = _slopes(ends, path[0], (ends.end - ends.start)[None])[0]
            if (ends.last - ends.first - torch.einsum("pd,p->d", whole.double(), path[1])).norm() <= CLOSE:
                break
        parts = yield from _parts(ends, path, ends.directions)
    return parts, len(path[1])


def _parts(ends: Ends, path: EmbeddingPath, directions: Tensor) -> Work[Floats]:
    """The integral of the derivative in each direction (word, token, width)."""
    points, weights = path
    found = torch.zeros(len(directions), 0, dtype=torch.float64)
    size = max(1, AT_ONCE // max(1, directions.numel()))
    for begin in range(0, len(weights), size):
        slopes = _slopes(ends, points[begin : begin + size], directions)  # (word, point, width)
        sums = torch.einsum("wpd,p->wd", slopes.double(), weights[begin : begin + size]).cpu()
        found = found + sums if begin else sums
        yield Progress("weighing words", min(begin + size, len(weights)), len(weights))
    return found.numpy()


def _slopes(ends: Ends, at: Tensor, directions: Tensor) -> Tensor:
    """How the vectors change in each direction at each point: forward mode, in which all directions share one pass."""

    def in_one(direction: Tensor) -> Tensor:
        change: Tensor = torch.func.jvp(ends.vectors, (at,), (direction.expand_as(at),))[1]
        return change

    with _derivative(ends.encoder), torch.no_grad():
        found: Tensor = torch.func.vmap(in_one)(directions)
        return found


def added(ends: Ends, second: Tensor) -> Work[tuple[Floats, EmbeddingPath]]:
    """What each word adds to the product with the `second` vector (word), and the path with enough points for it.

    It is the integral of the derivative of the product in the direction of each word: reverse mode, one pass for all. A
    sum can be right by chance, unlike a vector: so the numbers have to be those of the path before, too.
    """
    change, before = float((ends.last - ends.first) @ second), np.full(len(ends.words.texts), np.inf)
    size = max(1, AT_ONCE_BACK // ends.end.numel())
    with _memory(ends.encoder, ends.words):
        for points, weights in paths(ends.vectors, ends.start, ends.end):
            slopes = torch.zeros_like(ends.end, dtype=torch.float64)  # (token, width)
            with _derivative(ends.encoder), torch.enable_grad():
                for begin in range(0, len(weights), size):
                    at = points[begin : begin + size].detach().requires_grad_()
                    product = (ends.vectors(at) @ second.to(at)).sum()
                    slope = torch.autograd.grad(product, at)[0].double()
                    slopes += torch.einsum("ptd,p->td", slope, weights[begin : begin + size])
            found: Floats = (ends.directions.double() * slopes).sum(dim=(1, 2)).cpu().numpy()
            far = max(abs(change - found.sum()), *np.abs(found - before), 0.0)
            yield Progress("weighing words", 0, 0)
            if far <= CLOSE:
                break
            before = found
    return found, (points, weights)


def chosen_sum(first: Ends, second: Ends, choose: Choose) -> float:
    """What the chosen words of two sentences add to their cosine, each pair of words counted once.

    These are the sums of rows and columns of the matrix words × words without the matrix: of the first sentence only
    the part of all its chosen words together is needed, and of the second what its words add toward the rest.
    """
    marks = [torch.tensor(mark, dtype=torch.bool) for mark in choose(first.words.texts, second.words.texts)]
    found, left = 0.0, first.last
    if marks[0].any():
        path = finish(added(first, second.last))[1]
        part = finish(_parts(first, path, first.directions[marks[0]].sum(dim=0, keepdim=True)))[0]
        own = torch.from_numpy(part).to(first.last)
        found, left = float(own @ second.last), left - own
    if marks[1].any():
        found += float(finish(added(second, left))[0][marks[1].numpy()].sum())
    return found


def paths(vectors: Vectors, start: Tensor, end: Tensor) -> Iterator[EmbeddingPath]:
    """Paths of more and more points: Gauss-Legendre after a sinh transformation.

    The transformation (Johnston and Elliott 2005) puts most points where the integrand has its peak.
    """
    centre, width = _fastest(vectors, start, end)
    low, high = np.arcsinh(-centre / width), np.arcsinh((1 - centre) / width)
    for count in POINTS:
        nodes, shares = np.polynomial.legendre.leggauss(count)
        inner = (high - low) / 2 * nodes + (high + low) / 2
        places = torch.tensor(centre + width * np.sinh(inner), device=end.device)  # from 0 to 1
        weights = torch.tensor(shares * (high - low) / 2 * width * np.cosh(inner), device=end.device)
        yield start + places.to(end)[:, None, None] * (end - start), weights


@torch.no_grad()
def _fastest(vectors: Vectors, start: Tensor, end: Tensor) -> tuple[float, float]:
    """Where on the path, from 0 to 1, the vector changes fastest, and how wide that place is.

    A layer normalisation makes a vector turn within a part of the path, around the point at which the words outweigh
    what replaced them; from a reference of zeros that part is tiny.
    """
    low, size = 0.0, 1.0
    for _ in range(DIVISIONS):
        places = torch.linspace(low, low + size, PIECES + 1, device=end.device)
        turns = vectors(start + places[:, None, None] * (end - start)).diff(dim=0).norm(dim=1)
        fastest, share = int(turns.argmax()), float(turns.max() / turns.sum().clamp_min(1e-12))
        low, size = low + size * fastest / PIECES, size / PIECES
        if share < MOSTLY:
            break
    width = size / np.pi / max(share, 1 / PIECES)  # as of a Lorentz curve
    return low + size / 2, min(width, 1.0)


@contextmanager
def _derivative(encoder: Encoder) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # of which NotImplementedError is one
        if ran_out_of_memory(error):
            raise
        raise UnsupportedModel(
            f"'{encoder.name}' ({type(encoder.model).__name__}) has a step without a derivative "
            f"({str(error).strip().splitlines()[0][:120]}), so its words cannot be weighed."
        ) from error


@contextmanager
def _memory(encoder: Encoder, words: Words) -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not ran_out_of_memory(error):
            raise
        raise ModelTooLarge(
            f"'{encoder.name}' ran out of memory with a sentence of {len(words.ids)} tokens. Set a smaller maximum "
            "length, or close other programs."
        ) from error
