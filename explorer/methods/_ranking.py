"""Base of plain contrastive learning on pairs and triplets: multiple-negatives ranking without a head.

Batch size, learning rate and warmup are Strata's choice; the paper trains another encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from explorer.encoding.read.batches import in_order
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head_facts import RolePrompts
from explorer.errors import BadChoice
from explorer.gathering import gathered, text_keys
from explorer.knobs import Values
from explorer.losses import ranking
from explorer.methods import MODEL_DEFAULT as OF_MODEL
from explorer.methods import Schedule, _papers, knob
from explorer.methods._pooled import Pooled, pooling_knob
from explorer.methods._sampling import NoDuplicates, Sampler


class Ranked(Pooled):
    """Cross-entropy of cosines divided by a temperature; sentences of the same row are never negatives."""

    paper = _papers.SMART_REPLY
    as_published = False
    prompts_rows = True
    schedule = Schedule(batch_size=32, learning_rate=2e-5, max_length=128, warmup=0.1)

    temperature: float = knob(
        0.05,
        low=0.001,
        high=1.0,
        front=True,
        help="Cosines are divided by it; lower penalises close negatives more. 1 / temperature is the scale of "
        "sentence-transformers, whose default of 20 is this default of 0.05.",
    )
    symmetric: bool = knob(
        False,
        front=True,
        help="Also classify the anchor given its positive, and average both directions. In this direction the "
        "negatives are the other anchors of the batch.",
    )
    dropout: bool = knob(
        True,
        help="Use the encoder's dropout in training. Without it, the model can learn differences smaller than the "
        "noise of dropout, such as swapped roles.",
    )
    no_duplicates: bool = knob(
        False,
        help="Draw batches in which no text occurs twice, as the batch sampler NO_DUPLICATES of sentence-transformers: "
        "each row then has all others as negatives. off: rows are drawn at random, and a text that occurs twice is no "
        "negative of itself.",
    )
    query_prompt: str = knob(
        OF_MODEL,
        help="Text before the first text of each row, as before queries, such as 'query: '; empty for none. It is used "
        "in training and evaluation, and the exported model declares it. model default: the prompt that the model "
        "declares for queries, if it declares one.",
    )
    document_prompt: str = knob(
        OF_MODEL, help="The same before the other texts of a row, as before documents, such as 'passage: '."
    )
    chunk: int = knob(
        0,
        low=0,
        high=100_000,
        help="Sentences encoded at a time, for large batches (gradient caching, Gao and others 2021): memory is that "
        "of one chunk, and loss and gradients are those of the whole batch. Each sentence is encoded twice, so that a "
        "step takes up to two thirds longer. 0: all sentences of a batch at once.",
    )
    matryoshka: int = knob(
        0,
        low=0,
        high=100_000,
        help="Train vectors that can be truncated (Matryoshka learning, Kusupati and others 2022): the loss is summed "
        "over the whole vector, its first half, its first quarter and so on, down to this many dimensions. 0: the "
        "whole vector alone.",
    )
    pooling: str = pooling_knob()

    @classmethod
    def prompts(cls, values: Values, encoder: Encoder) -> RolePrompts:
        """Those that are set, in place of the encoder's."""
        own = encoder.role_prompts
        names = ("query_prompt", "document_prompt")
        query, document = (values.get(name, OF_MODEL) for name in names)
        typed = [f"{name} {value!r}" for name, value in zip(names, (query, document), strict=True) if value != OF_MODEL]
        if typed and encoder.default_head.prompt:
            raise BadChoice(
                f"{' and '.join(typed)} cannot be used: {encoder.name} puts {encoder.default_head.prompt!r} before "
                f"every text. Leave them at '{OF_MODEL}', or remove default_prompt_name from a copy of the model."
            )
        return replace(
            own,
            query=own.query if query == OF_MODEL else str(query),
            document=own.document if document == OF_MODEL else str(document),
        )

    def sampler(self) -> Sampler:
        """Rows in random order, without a text twice in a batch if that is set."""
        return NoDuplicates() if self.no_duplicates else Sampler()

    def train(self, mode: bool = True) -> Ranked:
        """Switch to training, with the encoder's dropout only if it is set."""
        super().train(mode)
        self.base.train(mode and self.dropout)
        return self

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of all columns in one pass: the first two are positive pairs, the others hold hard negatives."""
        together = self.in_chunks([text for column in self.prompted(columns) for text in column])
        sides = [gathered(side) for side in together.chunk(len(columns))]
        keys = torch.stack([text_keys(column, together.device) for column in columns])
        self.watch(sides[0], sides[1])
        left_out = duplicates(keys)
        return torch.stack([self._ranked([side[:, :width] for side in sides], left_out) for width in self.widths]).sum()

    def prompted(self, columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
        """Columns of rows as they are encoded: queries, then documents, after the prompts of their role."""
        roles = self.prompts(self.values(), self.base.encoder).pooled_ones()
        prompts = roles.query, *[roles.document] * (len(columns) - 1)
        return tuple(tuple(prompt + text for text in column) for prompt, column in zip(prompts, columns, strict=True))

    def in_chunks(self, texts: list[str]) -> Tensor:
        """Vectors (sentence, width) with gradients; of several chunks, the backward pass encodes each again."""
        if not 0 < self.chunk < len(texts):
            return self.encoded(texts)
        tokens = self.base.encoder.tokens(texts, self.base.max_length).ids
        by_length = sorted(range(len(texts)), key=lambda place: -len(tokens[place]))  # a chunk has little padding
        chunks = [by_length[start : start + self.chunk] for start in range(0, len(texts), self.chunk)]
        # a checkpoint restores the random state: the second time, dropout is the same
        encoded = (checkpoint(self.encoded, [texts[place] for place in own], use_reentrant=False) for own in chunks)
        return in_order(zip(chunks, encoded, strict=True))

    def held_rows(self, rows: int) -> int:
        """Of so many rows, those whose activations are held at a time: those of a chunk."""
        return min(rows, -(-self.chunk // self.texts_of_a_row)) if self.chunk else rows

    @property
    def texts_of_a_row(self) -> int:
        """The number of texts of a row in a batch."""
        return len(self.eats.texts)

    def build(self) -> None:
        """Refuse to train shorter vectors of which there are none."""
        whole = self.widths[0]
        if self.matryoshka and len(self.widths) == 1:
            raise BadChoice(
                f"matryoshka cannot be {self.matryoshka}: the vectors have {whole} dimensions, and no half of them has "
                f"as many. Choose {whole // 2} or less, or 0 to train the whole vector alone."
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """The dimensions at which the loss is computed: all, and the halves of halves that are trained too."""
        whole = self.head().width(self.width)
        halves = (whole >> times for times in range(1, whole.bit_length())) if self.matryoshka else ()
        return (whole, *(half for half in halves if half >= self.matryoshka))

    def remark(self) -> str:
        """To what dimensions the vectors may be truncated."""
        shorter = ", ".join(map(str, self.widths[1:]))
        return f"Vectors are trained for these numbers of first dimensions too: {shorter}." if shorter else ""

    def _ranked(self, sides: list[Tensor], left_out: tuple[Tensor, Tensor]) -> Tensor:
        return ranking(sides[0], torch.cat(sides[1:]), self.temperature, self.symmetric, *left_out)


def duplicates(keys: Tensor) -> tuple[Tensor, Tensor]:
    """Masks of sentences that are no negatives, from numbers (column, row) that are equal for equal texts.

    The first mask is (anchor, candidate), with the positives of all rows before their hard negatives; the second is
    (positive, anchor). Rows that share an anchor or a positive give each other no negatives from these two
    columns. Any other text counts once: a hard negative of several rows is used once, and none that equals the anchor
    or the positive.
    """
    anchor, positive, *negatives = keys
    others = ~torch.eye(len(anchor), dtype=torch.bool, device=keys.device)
    shared = torch.stack([_equal(one, other) for one in (anchor, positive) for other in (anchor, positive)]).any(0)
    shared &= others
    masks = [shared.clone()]
    for negative in negatives:
        masks[0] |= _equal(negative, positive) & others
        masks.append(_equal(anchor, negative) | _equal(positive, negative) | (_equal(negative, negative) & others))
    return torch.cat(masks, dim=1), shared


def _equal(one: Tensor, other: Tensor) -> Tensor:
    """(row of one, row of the other)."""
    return one[:, None] == other[None, :]
