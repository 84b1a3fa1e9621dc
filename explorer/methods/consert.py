"""ConSERT (Yan and others 2021): two views of a sentence, changed at the embedding layer, are a positive pair."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.text_sets import SENTENCES
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import LAST_TWO, titled
from explorer.encoding.tune import editing
from explorer.gathering import gathered
from explorer.knobs import Values
from explorer.losses import nt_xent
from explorer.methods import Schedule, UncorrectedAdam, cited, knob, temperature_knob

VIEWS = (PLAIN, SHUFFLE, TOKENS, FEATURES) = ("none", "shuffle", "token cutoff", "feature cutoff")
WEIGHT = 0.15  # of the loss; with Adam it acts through ε, clipping and weight decay only
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

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The encoder, unless it is set."""
        return () if self.dropout else (self.base,)

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


def both_directions(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    """L = 0.15 (L_a + L_b): L_a has the first view's vectors as anchors, L_b the second's, each a mean over sentences.

    NT-Xent is the mean over both, half of their sum.
    """
    return 2 * WEIGHT * nt_xent(one, other, temperature)


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
