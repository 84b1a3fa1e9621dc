"""IS-BERT (Zhang, He, Liu, Lim and Bing 2020): mutual information of a sentence's vector and those of its tokens."""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.text_sets import SENTENCES
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.token_convolution import TokenConvolution
from explorer.encoding.read.pooling import pool_mean
from explorer.gathering import gathered, own_share
from explorer.knobs import Values
from explorer.losses import cosines
from explorer.methods import Schedule, UncorrectedAdam, cited, knob

KERNELS = (1, 3, 5)  # tokens that a filter reads


class ISBERT(UncorrectedAdam):
    """IS-BERT: maximise the mutual information of a sentence's vector and those of its tokens.

    Zhang, He, Liu, Lim and Bing 2020, section 3: three convolutions over the last layer give local vectors, their mean
    is the sentence's vector, and the Jensen-Shannon estimate of the mutual information of the two is maximised. A token
    is compared with its own sentence and with all others of the batch, by the dot product. As in the released code the
    convolutions have no activation, and long sentences count more, since the mean goes over tokens. Padding is zero
    before the convolutions, so that a vector does not depend on it. The convolutions are part of the exported model.
    """

    # the encoder and three convolutions are trained; the discriminator is the dot product, without weights
    name = "is-bert"
    family = "mutual information"
    paper = cited("zhang-etal-2020-unsupervised")
    when_to_use = "To repeat the paper: on this tuned encoder the difference could be chance."
    rows = SENTENCES
    schedule = Schedule(
        batch_size=32,
        learning_rate=2e-6,
        max_length=128,
        warmup=0.1,
        weight_decay=0.01,
        epsilon=1e-7,
        evaluate_every=1000,
    )
    released: ClassVar[Values] = {"relu": False, "reads_padding": True, "uncorrected_adam": True}

    filters: int = knob(
        256,
        low=1,
        high=65536,
        front=True,
        help="Filters of each of the three convolutions; a vector has three times as many dimensions (released code: "
        "256, so 768 dimensions, as many as BERT-base has).",
    )
    relu: bool = knob(
        False,
        paper=True,
        front=True,
        help="ReLU after the convolutions, as the paper writes; the released code has none.",
    )
    reads_padding: bool = knob(
        False,
        help="In training, let the convolutions read the states of padding, as the released code does. The last tokens "
        "of a sentence then depend on the length of the others in its batch. off: padding is zero.",
    )

    def build(self) -> None:
        """Build the convolutions, initialised at random as torch does."""
        self.convolutions = nn.ModuleList(nn.Conv1d(self.width, self.filters, kernel) for kernel in KERNELS)

    def head(self) -> Head:
        """The mean of the convolutions, without what padding would change."""
        return Head((), layers=self._convolution(reads_padding=False))

    def base_head(self) -> Head:
        """The mean of the last layer of the base."""
        return Head(("mean",))

    def loss(self, *columns: list[str]) -> Tensor:
        """The negative estimate of mutual information, of the sentences of all processes."""
        (sentences,) = columns
        local, real = self._local(sentences)
        vectors = gathered(pool_mean(local, real))
        own = own_share(torch.arange(len(vectors))).to(vectors.device, non_blocking=True)
        with torch.no_grad():  # of tokens with their own sentence, and with the others
            alike = cosines(local.flatten(0, 1), vectors).view(*local.shape[:2], -1) * real[:, :, None]
            mine = torch.arange(len(vectors), device=vectors.device) == own[:, None, None]
            same, every, tokens = gathered(torch.stack([(alike * mine).sum(), alike.sum(), real.sum()])[None]).sum(0)
            self.similarities = same / tokens, (every - same) / (tokens * (len(vectors) - 1))
        return mutual_information(gathered(sums(local, real, vectors, own)[None]).sum(0), len(vectors))

    def _local(self, sentences: list[str]) -> tuple[Tensor, Tensor]:
        """The local vectors (sentence, token, width) of a batch, and which tokens are real."""
        convolution = self._convolution(self.reads_padding)
        if self.reads_padding:  # all sentences are padded to the longest
            states = self.base.states(sentences)
            return convolution.of_tokens(states.hidden[-1], states.mask), states.mask
        passes = [
            (places, convolution.of_tokens(states.hidden[-1], states.mask), states.mask)
            for places, states in self.base.grouped(sentences)
        ]
        longest = max(mask.shape[1] for *_, mask in passes)
        local = [(at, functional.pad(one, (0, 0, 0, longest - one.shape[1]))) for at, one, _ in passes]
        real = [(at, functional.pad(mask, (0, longest - mask.shape[1]))) for at, _, mask in passes]
        return in_order(local), in_order(real)

    def _convolution(self, reads_padding: bool) -> TokenConvolution:
        parts = [(part.weight, part.bias) for part in self.convolutions]
        filters, biases = zip(*parts, strict=True)
        return TokenConvolution(filters, biases, self.relu, reads_padding)


def sums(local: Tensor, real: Tensor, vectors: Tensor, own: Tensor) -> Tensor:
    """The terms of the estimate, summed: of tokens with their own sentence, with the others, and the number of tokens.

    `local` is (sentence, token, width), `real` (sentence, token), `vectors` (sentence of all, width), and `own`
    (sentence) is the place of each sentence among all.
    """
    with torch.autocast(local.device.type, enabled=False):
        products = local.float() @ vectors.float().T  # (sentence, token, sentence of all)
    mine = torch.arange(len(vectors), device=vectors.device) == own[:, None, None]
    terms = functional.softplus(torch.where(mine, -products, products)) * real[:, :, None]
    same = (terms * mine).sum()
    return torch.stack([same, terms.sum() - same, real.sum()])


def mutual_information(summed: Tensor, sentences: int) -> Tensor:
    """The negative Jensen-Shannon estimate (equation 2), a mean over tokens: 0 for zero vectors, at least -2 log 2."""
    same, others, tokens = summed
    loss: Tensor = same / tokens + others / (tokens * (sentences - 1)) - 2 * math.log(2)
    return loss
