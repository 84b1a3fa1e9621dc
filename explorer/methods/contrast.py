"""Contrastive learning on pairs and on triplets: multiple-negatives ranking without a head.

Henderson and others 2017; batch size, learning rate and warmup are Strata's choice, since the paper trains another
encoder.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from explorer.data.text_sets import PAIRS, TRIPLETS
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice
from explorer.gathering import gathered, text_keys
from explorer.knobs import Values
from explorer.losses import ranking
from explorer.methods import DEMONSTRATION, NoDuplicates, Sampler, Schedule, Suggestion, cited, knob
from explorer.methods._additions import MODEL_DEFAULT, MinedNegatives, Mining, Pooled, PromptedRows, pooling_knob


class MultipleNegativesRanking(Pooled, PromptedRows):
    """Cross-entropy of cosines divided by a temperature; sentences of the same row are never negatives."""

    family = "contrastive"
    paper = cited("henderson-etal-2017-efficient")
    as_published = False
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
        MODEL_DEFAULT,
        help="Text before the first text of each row, as before queries, such as 'query: '; empty for none. It is used "
        "in training and evaluation, and the exported model declares it. model default: the prompt that the model "
        "declares for queries, if it declares one.",
    )
    document_prompt: str = knob(
        MODEL_DEFAULT, help="The same before the other texts of a row, as before documents, such as 'passage: '."
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
        query, document = (values.get(name, MODEL_DEFAULT) for name in names)
        typed = [
            f"{name} {value!r}" for name, value in zip(names, (query, document), strict=True) if value != MODEL_DEFAULT
        ]
        if typed and encoder.default_head.prompt:
            raise BadChoice(
                f"{' and '.join(typed)} cannot be used: {encoder.name} puts {encoder.default_head.prompt!r} before "
                f"every text. Leave them at '{MODEL_DEFAULT}', or remove default_prompt_name from a copy of the model."
            )
        return replace(
            own,
            query=own.query if query == MODEL_DEFAULT else str(query),
            document=own.document if document == MODEL_DEFAULT else str(document),
        )

    def sampler(self) -> Sampler:
        """Rows in random order, without a text twice in a batch if that is set."""
        return NoDuplicates() if self.no_duplicates else Sampler()

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of all columns in one pass: the first two are positive pairs, the others hold hard negatives."""
        together = self.in_chunks([text for column in self.prompted(columns) for text in column])
        sides = [gathered(side) for side in together.chunk(len(columns))]
        keys = torch.stack([text_keys(column, together.device) for column in columns])
        self.record_similarities(sides[0], sides[1])
        left_out, others = duplicates(keys), torch.cat(sides[1:])
        losses = [
            ranking(sides[0][:, :width], others[:, :width], self.temperature, self.symmetric, *left_out)
            for width in self.widths
        ]
        return torch.stack(losses).sum()

    def in_chunks(self, texts: list[str]) -> Tensor:
        """Vectors (sentence, width) with gradients; of several chunks, the backward pass encodes each again."""
        if not 0 < self.chunk < len(texts):
            return self.encode(texts)
        tokens = self.base.encoder.tokens(texts, self.base.max_length).ids
        by_length = sorted(range(len(texts)), key=lambda place: -len(tokens[place]))  # a chunk has little padding
        chunks = [by_length[start : start + self.chunk] for start in range(0, len(texts), self.chunk)]
        # a checkpoint restores the random state: the second time, dropout is the same
        encoded = (checkpoint(self.encode, [texts[place] for place in own], use_reentrant=False) for own in chunks)
        return in_order(zip(chunks, encoded, strict=True))

    def rows_in_memory(self, rows: int) -> int:
        """Of so many rows, those whose activations are held at a time: those of a chunk."""
        return min(rows, -(-self.chunk // self.texts_of_a_row)) if self.chunk else rows

    @property
    def texts_of_a_row(self) -> int:
        """The number of texts of a row in a batch."""
        return len(self.rows.texts)

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


def _equal(first: Tensor, second: Tensor) -> Tensor:
    """(row of one, row of the other)."""
    return first[:, None] == second[None, :]


class ContrastPairs(MultipleNegativesRanking, MinedNegatives):
    """Contrastive learning on pairs: multiple-negatives ranking with in-batch negatives.

    Henderson and others 2017, section 4.4, on cosines and without a head: the loss of sentence-transformers'
    MultipleNegativesRankingLoss, or with `symmetric` its MultipleNegativesSymmetricRankingLoss. Negatives are the
    positives of the other rows; a sentence that occurs twice in a batch is not its own negative. With `hard_negatives`,
    the base is searched before training for second texts that are near an anchor without being its positive.
    """

    name = "contrast"
    when_to_use = "Pairs that mean the same; with SNLI, [CLS] improved and a tuned encoder did not."
    rows = PAIRS
    suggestion = Suggestion(
        "pairs without scores", 2, "each sentence learns to find its partner among those of the other rows"
    )

    hard_negatives: int = knob(
        0,
        low=0,
        high=16,
        help="Hard negatives per row, mined from the second texts of the other rows: the nearest to the anchor under "
        "the base, within the window of ranks and the margin. A batch then has so many more texts per row. 0: none.",
    )
    first_rank: int = knob(
        1, low=1, high=1000, help="Hard negatives: the nearest rank that is taken; above 1, the closest are left out."
    )
    last_rank: int = knob(50, low=1, high=1000, help="Hard negatives: the farthest rank that is taken.")
    margin: float = knob(
        0.05,
        low=0.0,
        high=1.0,
        help="Hard negatives: a text is taken only if its cosine to the anchor is lower than the positive's by this "
        "share, since a closer one is probably a right answer that is not marked (a false negative).",
    )

    @classmethod
    def mining(cls, values: Values) -> Mining | None:
        """The window and the margin, if hard negatives are wanted."""
        names = ("hard_negatives", "first_rank", "last_rank", "margin")
        negatives, first, last, margin = (values.get(name, cls.knobs[name].default) for name in names)
        if not negatives:
            return None
        if int(first) > int(last):
            raise BadChoice(
                f"first_rank cannot be {first} with last_rank {last}: no rank is between them. Set first_rank to "
                f"{last} or less, or raise last_rank."
            )
        return Mining(int(negatives), int(first), int(last), float(margin))

    @property
    def texts_of_a_row(self) -> int:
        """The number of texts of a row in a batch, with the mined ones."""
        return super().texts_of_a_row + self.hard_negatives


class ContrastTriplets(MultipleNegativesRanking):
    """Contrastive learning on triplets: multiple-negatives ranking with a hard negative per row.

    Henderson and others 2017, section 4.4, with a hard negative for each row, as in SimCSE's equation 5 (Gao, Yao and
    Chen 2021) but without a head: the loss of sentence-transformers' MultipleNegativesRankingLoss on triplets. The hard
    negatives of other rows are negatives too.
    """

    name = "contrast-hard"
    when_to_use = "Triplets; with SNLI, [CLS] improved and a tuned encoder did not."
    rows = TRIPLETS
    suggestion = Suggestion("triplets", 3, "each anchor learns to be nearer to its positive than to any negative")
    # found by measurement over five seeds; docs/results.md, "The demonstration", has the numbers
    presets: ClassVar[Mapping[str, Values]] = {
        DEMONSTRATION: {
            "steps": 70,
            "batch_size": 16,
            "learning_rate": 1e-4,
            "temperature": 0.1,
            "select_by": "both",
            "blend": 0.0,
        }
    }
