"""DeCLUTR (Giorgi, Nitski, Wang and Bader 2021): spans of one document are positive pairs."""

import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from explorer.data.text_sets import DOCUMENTS, Corpus
from explorer.encoding.load import language_models
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.sentence_pairs import Composer
from explorer.errors import BadChoice
from explorer.gathering import gathered, mean_of_all
from explorer.knobs import Values
from explorer.losses import nt_xent
from explorer.methods import Pooled, Sampler, Schedule, UncorrectedAdam, cited, knob, pooling_knob, temperature_knob

MASKED = 0.15  # of the tokens of an anchor, as BERT was trained
SHORT_TEXT: Values = {"anchors": 1, "shortest_span": 8, "longest_span": 32}
RATIO = 32  # of the highest and the lowest learning rate
# Beta(4, 2) for anchors and Beta(2, 4) for positives are the fourth and the second of five sorted uniform numbers
DRAWN, ANCHOR, POSITIVE = 5, 3, 1

Span = tuple[int, int]  # first token, and the token after the last
Anchor = tuple[Span, list[Span]]  # a span of a document, and its positives


class LongDocuments(Sampler):
    """Documents in random order, without those that are too short for their spans."""

    def __init__(self, composer: Composer, least: int) -> None:
        self.composer, self.least = composer, least

    def usable(self, corpus: Corpus) -> Sequence[int]:
        """The documents with enough tokens."""
        (documents,) = corpus.texts
        lengths = [len(self.composer.pieces([document], sys.maxsize)[0]) for document in documents]
        kept = [row for row, length in enumerate(lengths) if length >= self.least]
        if len(kept) < len(corpus):
            self.remark = (
                f"{len(corpus) - len(kept):,} of {len(corpus):,} documents are left out: they have fewer than "
                f"{self.least:,} tokens, 2 × anchors × longest_span"
            )
        return kept


class DeCLUTR(UncorrectedAdam, Pooled):
    """DeCLUTR: spans of one document are positive pairs, and masked words of the anchors are predicted.

    Giorgi, Nitski, Wang and Bader 2021, section 3: long anchor spans are drawn from each document, and for each of them
    shorter positives that overlap it, adjoin it or lie inside it. The loss is NT-Xent of the anchors with the mean
    vectors of their positives, plus the loss of a masked language model on the anchors, with equal weights. Settings as
    in the released code, with the paper's 16 documents per batch; the code's option to scale the first loss by the
    number of GPUs is left out, and its Adam has no bias correction (uncorrected_adam). Spans are slices of the
    encoder's own tokens, not of words that are joined and tokenised again; with its special tokens a span is truncated
    to max_length.

    A document needs 2 × anchors × longest_span tokens: 2,048 as published, so sentences cannot be used, and shorter
    documents are left out and counted. The words are predicted by the head in the encoder's folder; if the folder has
    none, as that of a sentence encoder, by one that starts from random weights. The head is not exported.
    """

    # anchors of one document are negatives of each other, as are those of other documents
    name = "declutr"
    family = "documents"
    paper = cited("giorgi-etal-2021-declutr")
    when_to_use = "Texts of many sentences, and [CLS] must be the vector; the model default gained nothing."
    rows = DOCUMENTS
    training_only = ("masked",)
    unused = ("decay",)
    released: ClassVar[Values] = {"uncorrected_adam": True}
    presets: ClassVar[Mapping[str, Values]] = {"short text": SHORT_TEXT, "quick": SHORT_TEXT}
    schedule = Schedule(
        batch_size=16, learning_rate=5e-5, max_length=512, warmup=0.1, weight_decay=0.1, epsilon=1e-6, clip=1.0
    )

    anchors: int = knob(
        2,
        low=1,
        high=16,
        front=True,
        help="Anchor spans per document. In the preset for short text a document needs 64 tokens, not 2,048.",
    )
    shortest_span: int = knob(32, low=1, high=8192, front=True, help="Fewest tokens of a span.")
    longest_span: int = knob(
        512,
        low=1,
        high=8192,
        front=True,
        help="Most tokens of a span. Documents with fewer than 2 × anchors × longest_span tokens are left out.",
    )
    positives: int = knob(2, low=1, high=16, help="Positive spans per anchor; their vectors are averaged.")
    temperature: float = temperature_knob(0.05, front=False)
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Build the head that predicts words, on the trained encoder."""
        if self.shortest_span > self.longest_span:
            raise BadChoice(
                f"shortest_span is {self.shortest_span}, but longest_span is {self.longest_span}. Set shortest_span to "
                f"{self.longest_span} or less."
            )
        encoder = self.base.encoder
        self.masker = language_models.Masker(encoder, MASKED)
        self.masked = language_models.head_around(self.base.model, encoder)
        self.composer = Composer(encoder)
        self.documents = LongDocuments(self.composer, 2 * self.anchors * self.longest_span)

    def sampler(self) -> Sampler:
        """Documents that are long enough."""
        return self.documents

    def remark(self) -> str:
        """How many documents are left out."""
        return self.documents.remark

    def rate(self, step: int, total: int, schedule: Schedule) -> float:
        """A slanted triangle: up to the peak in the warmup, then down, both from and to a thirty-second of it."""
        top = int(schedule.warmup * total)
        share = step / top if step < top else 1 - (step - top) / max(1, total - top)
        return schedule.learning_rate * (1 + (RATIO - 1) * share) / RATIO

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent of anchors and positives, plus the loss of the masked words of the anchors."""
        (documents,) = columns
        anchors, positives = self.spans(documents)
        one, words = self.predicted_words(anchors)
        head = self.before_normalising
        passes = self.base.grouped_tokens(positives)
        other = in_order((places, head(states.hidden, states.mask)) for places, states in passes)
        one, other = gathered(one), gathered(other.view(len(anchors), self.positives, -1))
        self.record_similarities(one, other.mean(1))
        return contrast(one, other, self.temperature) + words

    def spans(self, documents: list[str]) -> tuple[list[list[int]], list[list[int]]]:
        """Token ids of the anchors (document, anchor) and of the positives (document, anchor, positive)."""
        anchors, positives = [], []
        pieces = self.composer.pieces(documents, sys.maxsize)
        numbers = DRAWN + 2 + self.positives * (DRAWN + 1)
        for ids, drawn in zip(pieces, torch.rand(len(documents), self.anchors, numbers).tolist(), strict=True):
            for anchor, others in anchors_of(len(ids), drawn, self.shortest_span, self.longest_span):
                anchors.append(self._taken(ids, anchor))
                positives += [self._taken(ids, span) for span in others]
        return anchors, positives

    def _taken(self, ids: list[int], span: Span) -> list[int]:
        start, end = span
        return self.composer.alone(ids[start:end], self.base.max_length)

    def predicted_words(self, anchors: list[list[int]]) -> tuple[Tensor, Tensor]:
        """The vectors (anchor, width) of masked anchors, and the cross-entropy of their masked words, in one pass."""
        device, head = self.base.model.device, self.before_normalising
        vectors, sums, counts = [], [], []
        for places, ids, real, _ in self.base.padded_tokens(anchors, "cpu"):
            shown, chosen = self.masker(ids, real)
            count = int(chosen.numpy().sum())  # counted on the host: a GPU need not wait
            shown, ids, real, chosen = (one.to(device, non_blocking=True) for one in (shown, ids, real, chosen))
            states, scores = self.masked.states_and_scores(shown, real, chosen, count)
            words = ids.flatten()[language_models.chosen_places(chosen, count)]
            with torch.autocast(scores.device.type, enabled=False):
                sums.append(functional.cross_entropy(scores.float(), words, reduction="sum"))
            counts.append(count)
            vectors.append((places, head(states.hidden, states.mask)))
        return in_order(vectors), mean_of_all(sums, counts)


def contrast(anchors: Tensor, positives: Tensor, temperature: float) -> Tensor:
    """NT-Xent of anchors and the means of their positives (anchor, positive, width), which are not normalised."""
    return nt_xent(anchors, positives.mean(1), temperature)


def anchors_of(tokens: int, drawn: Sequence[Sequence[float]], shortest: int, longest: int) -> list[Anchor]:
    """Anchors of a document with so many tokens, with their positives, from uniform numbers: a row for each anchor.

    The document is a grid of cells of `longest` tokens. Each anchor lies in a cell, which is then removed with its
    neighbours, so that anchors do not overlap; cells at the end of the grid remove the fewest, and are taken while
    there would be too few for the other anchors. Documents that are shorter than the sampler asks for have smaller
    cells.
    """
    longest = min(longest, tokens // (2 * len(drawn)))
    shortest = min(shortest, longest)
    if not longest:  # fewer tokens than cells: every span is all of it
        return [((0, tokens), [(0, tokens)] * ((len(row) - DRAWN - 2) // (DRAWN + 1))) for row in drawn]
    cells = list(range(0, tokens - longest + 1, longest))
    found = []
    for number, (*lengths, cell, place) in enumerate(row[: DRAWN + 2] for row in drawn):
        length = _length(lengths, ANCHOR, shortest, longest)
        others = len(drawn) - number - 1
        free = cells if others == 0 or len(cells) - 3 >= 2 * others - 1 else [cells[0], cells[-1]]
        chosen = cells.index(free[int(cell * len(free))])
        start = cells[chosen] + int(place * (longest - length + 1))
        del cells[max(0, chosen - 1) : chosen + 2]
        span, rest = (start, start + length), drawn[number][DRAWN + 2 :]
        numbers = [rest[at : at + DRAWN + 1] for at in range(0, len(rest), DRAWN + 1)]
        found.append((span, [_positive(tokens, span, one, shortest, longest) for one in numbers]))
    return found


def _positive(tokens: int, anchor: Span, drawn: Sequence[float], shortest: int, longest: int) -> Span:
    """A span that touches the anchor at least."""
    *lengths, place = drawn
    length = _length(lengths, POSITIVE, shortest, longest)
    first, last = max(0, anchor[0] - length), min(anchor[1], tokens - length)
    start = first + int(place * (last - first + 1))
    return start, start + length


def _length(drawn: Sequence[float], rank: int, shortest: int, longest: int) -> int:
    """A length from a Beta distribution over the range, which a sorted uniform number has."""
    return int(sorted(drawn)[rank] * (longest - shortest) + shortest)
