"""ConSERT (Yan and others 2021) and Mirror-BERT (Liu and others 2021): two views of a sentence are a positive pair.

The views of ConSERT are changed at the embedding layer; one of Mirror-BERT has a few characters masked.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.text_sets import SENTENCES
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import LAST_TWO, titled
from explorer.encoding.tune import editing
from explorer.errors import UnsupportedModel
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.losses import nt_xent
from explorer.methods import Pooled, Schedule, UncorrectedAdam, cited, knob, pooling_knob, temperature_knob
from explorer.optimizers import Group

VIEWS = (PLAIN, SHUFFLE, TOKENS, FEATURES) = ("none", "shuffle", "token cutoff", "feature cutoff")
WEIGHT = 0.15  # of the loss; with Adam it acts through ε, clipping and weight decay only
NOISES = (DROPOUT, DROP_HEADS) = ("dropout", "drop heads")
SHORTEST = 30  # characters: of shorter sentences too little would be left
_VIEW_HELP = (
    "none: the sentence as it is. shuffle: positions are permuted, [CLS] and [SEP] included. token cutoff and feature "
    "cutoff: the embeddings of some tokens, or some dimensions of all tokens, are set to 0."
)


class ConSERT(UncorrectedAdam):
    """ConSERT: two augmented views of a sentence, changed at the embedding layer, are a positive pair.

    Yan and others 2021, section 3. The first view is without a fifth of the features of its embeddings (feature
    cutoff), the second has its positions shuffled; there is no dropout. The loss is 0.15 times the sum of both
    directions of NT-Xent over the means of the last layer; afterwards a sentence is the mean of the last two layers.
    The settings are those of the released code for BERT-base without labels.

    The preset *tuned* has the values with which the authors later report better scores, on their repository. The
    released script for BERT-large keeps the dropout and contrasts the plain sentence with shuffled positions for 25
    epochs; Strata starts from that for such encoders. The released code chooses the best checkpoint by the mean of the
    last layer; Strata scores checkpoints as it exports them. Its Adam has no bias correction (uncorrected_adam).
    """

    # both views are anchors, and everything else in the batch is a negative
    name = "consert"
    family = "ConSERT"
    paper = cited("yan-etal-2021-consert")
    when_to_use = "With the preset tuned: at the published learning rate 200 updates hardly change an encoder."
    rows = SENTENCES
    schedule = Schedule(
        batch_size=96,
        epochs=10,
        learning_rate=5e-7,
        max_length=64,
        warmup=0.1,
        weight_decay=0.01,
        epsilon=1e-6,
        clip=1.0,
        evaluate_every=200,
        early_stop="no new best",
        endurance=10,
    )
    released: ClassVar[Values] = {"uncorrected_adam": True}
    presets: ClassVar[Mapping[str, Values]] = {"tuned": {"learning_rate": 2e-5, "temperature": 0.05}}
    by_family: ClassVar[Mapping[str, Values]] = {"BERT-large": {"dropout": True, "first_view": PLAIN, "epochs": 25}}

    temperature: float = temperature_knob(0.1, "paper: 0.1")
    first_view: str = knob(FEATURES, choices=VIEWS, front=True, help=f"Change of the first view. {_VIEW_HELP}")
    second_view: str = knob(SHUFFLE, choices=VIEWS, front=True, help=f"Change of the second view. {_VIEW_HELP}")
    features_cut: float = knob(
        0.2, low=0.0, high=0.95, help="Share of the dimensions that feature cutoff sets to 0, drawn for each sentence."
    )
    tokens_cut: float = knob(
        0.15, low=0.0, high=0.95, help="Share of the tokens that token cutoff sets to 0, drawn for each sentence."
    )
    dropout: bool = knob(False, help="Use the encoder's dropout too.")
    reads: str = knob(
        LAST_TWO,
        choices=(LAST_TWO, "mean"),
        help="The vector of the trained model: the mean of its last two layers, or of the last one. The loss always "
        "uses the last one.",
    )

    def build(self) -> None:
        """Refuse to shuffle the positions of an encoder that takes none."""
        if SHUFFLE in (self.first_view, self.second_view):
            editing.require_position_ids(self.base.model, self.base.encoder.name)

    def head(self) -> Head:
        """The mean of the last two layers, or of the last one."""
        return Head((titled(self.reads, self.base.layers),))

    def loss(self, *columns: list[str]) -> Tensor:
        """The weighted sum of both directions."""
        (sentences,) = columns
        one, other = (gathered(self.view(sentences, change)) for change in (self.first_view, self.second_view))
        self.record_similarities(one, other)
        return both_directions(one, other, self.temperature)

    def view(self, sentences: list[str], change: str) -> Tensor:
        """Vectors (sentence, width) of one view: the means of the last layer."""

        def cut_features(embedded: Tensor, mask: Tensor) -> Tensor:
            return without_features(embedded, torch.rand(len(embedded), embedded.shape[-1]), self.features_cut)

        def cut_tokens(embedded: Tensor, mask: Tensor) -> Tensor:
            return without_tokens(embedded, mask, torch.rand(*mask.shape), self.tokens_cut)

        def shuffle(ids: Tensor, mask: Tensor) -> Tensor:
            return permuted(ids, mask, torch.rand(*mask.shape))

        return self.encode(
            sentences,
            Head(("mean",)),
            edit={FEATURES: cut_features, TOKENS: cut_tokens}.get(change),
            position_ids=shuffle if change == SHUFFLE else None,
        )


def both_directions(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """L = 0.15 (L_a + L_b): L_a has the first view's vectors as anchors, L_b the second's, each a mean over sentences.

    NT-Xent is the mean over both, half of their sum.
    """
    return 2 * WEIGHT * nt_xent(first, second, temperature)


# numbers from 0 to 1 are drawn on the host, so that every device draws the same and a GPU need not wait for them


def without_features(embedded: Tensor, drawn: Tensor, share: float) -> Tensor:
    """Embeddings (sentence, token, width) with a share of each sentence's dimensions, rounded down, set to 0.

    Those with the lowest numbers in `drawn` (sentence, width) are.
    """
    lowest = drawn.argsort(dim=1, stable=True)[:, : int(share * drawn.shape[1])]
    cut = torch.zeros_like(drawn, dtype=torch.bool).scatter(1, lowest, True)
    return embedded.masked_fill(cut.to(embedded.device, non_blocking=True)[:, None], 0.0)


def without_tokens(embedded: Tensor, mask: Tensor, drawn: Tensor, share: float) -> Tensor:
    """Embeddings with a share of each sentence's real tokens, rounded down, set to 0.

    Those with the lowest numbers in `drawn` (sentence, token) are.
    """
    drawn = drawn.to(embedded.device, non_blocking=True)
    rank = drawn.masked_fill(~mask, 2.0).argsort(dim=1, stable=True).argsort(dim=1, stable=True)
    # a table, since a product in float32 may be rounded to another whole number
    counts = torch.tensor([int(share * length) for length in range(mask.shape[1] + 1)])
    count = counts.to(embedded.device, non_blocking=True)[mask.sum(1)]
    return embedded.masked_fill((rank < count[:, None])[:, :, None], 0.0)


def permuted(ids: Tensor, mask: Tensor, drawn: Tensor) -> Tensor:
    """Position ids (sentence, token) with those of the real tokens in the order of `drawn`; padding keeps its own."""
    places = torch.arange(ids.shape[1], device=ids.device)
    # padding is on the right: above 1 and rising, it stays where it is
    order = drawn.to(ids.device, non_blocking=True).where(mask, 1.0 + places).argsort(dim=1, stable=True)
    return ids.gather(1, order)


class MirrorBERT(Pooled):
    """Mirror-BERT: a sentence and its copy with a few characters masked are a positive pair.

    Liu, Vulić, Korhonen and Collier 2021, section 2: NT-Xent over a sentence and its copy, in which a span of 5
    characters is replaced by the mask token, both under dropout. The settings are those of the released code for
    sentences: 50 updates of 200 sentences with a constant learning rate and no clipping, which decay every weight,
    biases and norms too. It pools BERT by the mean, RoBERTa by its first token. "drop heads" is the paper's variant
    with DropHead instead of dropout.

    Where the released code differs from what is meant, Strata does what is meant: the span is cut at the drawn place,
    not where the same 5 characters occur first; the mask token is the encoder's, also for RoBERTa; the mean leaves out
    padding.
    """

    # both views are anchors, and everything else in the batch is a negative
    name = "mirror-bert"
    family = "Mirror-BERT"
    paper = cited("liu-etal-2021-fast")
    when_to_use = "Only sentences: a gain like SimCSE's under the model default, and a larger one of [CLS]."
    rows = SENTENCES
    schedule = Schedule(
        batch_size=200, learning_rate=2e-5, max_length=50, decay="none", weight_decay=0.01, epsilon=1e-8, clip=0.0
    )
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"pooling": "cls", "dropped_heads": 0.05},
        "RoBERTa-large": {"pooling": "cls"},
    }

    temperature: float = temperature_knob(0.04, "paper: 0.04 for sentences, 0.2 for words")
    span: int = knob(
        5,
        low=0,
        high=100,
        front=True,
        help="Characters of the copy that one mask token replaces, from a random place; sentences of fewer than 30 "
        "characters are not masked. 0: no masks.",
    )
    noise: str = knob(
        DROPOUT,
        choices=NOISES,
        front=True,
        help="dropout: both views under the encoder's own dropout. drop heads: without dropout, whole attention heads "
        "are dropped for each sentence and layer (DropHead).",
    )
    dropped_heads: float = knob(
        0.2,
        low=0.0,
        high=0.95,
        help="Probability of dropping a head, if noise is 'drop heads' (paper: 0.2 for BERT, 0.05 for RoBERTa).",
    )
    pooling: str = pooling_knob("mean")

    def build(self) -> None:
        """Find the mask token, and refuse encoders without one or without known attention heads."""
        encoder = self.base.encoder
        found = encoder.tokenizer().mask_token
        if self.span and (found is None or (encoder.lower_case and found != found.lower())):
            why = "has no mask token" if found is None else f"lowercases its text, and with it the mask token {found}"
            raise UnsupportedModel(
                f"'{encoder.name}' {why}, so nothing can be masked. Set span to 0, which leaves the copy unmasked, or "
                "choose another encoder."
            )
        self.mask_token = found or ""
        if self.noise == DROP_HEADS:
            editing.heads_joined(self.base.model, encoder.name)

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The encoder, where heads are dropped."""
        return () if self.noise == DROPOUT else (self.base,)

    def groups(self, schedule: Schedule) -> list[Group]:
        """All trained weights, with weight decay."""
        trained = [weight for weight in self.parameters() if weight.requires_grad]
        return [{"params": trained, "weight_decay": schedule.weight_decay}]

    def loss(self, *columns: list[str]) -> Tensor:
        """NT-Xent of sentences and their masked copies, in one pass."""
        (sentences,) = columns
        starts = torch.rand(len(sentences)).tolist()
        copies = [self.masked(one, start) for one, start in zip(sentences, starts, strict=True)]
        with self.base.heads_dropped(self.dropped_heads if self.training and self.noise == DROP_HEADS else 0.0):
            vectors = self.encode(sentences + copies)
        one, other = (gathered(side) for side in vectors.chunk(2))
        self.record_similarities(one, other)
        return nt_xent(one, other, self.temperature)

    def masked(self, sentence: str, start: float) -> str:
        """A sentence with a span masked; `start` is its place, from 0 to 1 of the possible ones."""
        if not self.span or len(sentence) < max(SHORTEST, self.span):
            return sentence
        first = int(start * (len(sentence) - self.span + 1))
        return f"{sentence[:first]} {self.mask_token} {sentence[first + self.span :]}"
