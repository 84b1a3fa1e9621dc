"""Make a static encoder of a transformer: one vector for each token of its vocabulary, whose mean is that of a text.

The recipe is that of model2vec (van Dongen and Tulkens 2024), without its rewritten tokenizer: each token is encoded
alone, between the special tokens of a sentence; its vector is the mean of the states of all of these in the last layer;
PCA reduces the vectors; and a token that is used often gets a small weight, as in SIF (Arora, Liang and Ma 2017), whose
frequency is that of Zipf's law by its place in the vocabulary.

Special tokens and placeholders such as [unused0] take no part in it. They keep their rows, which are zero: in the
normalised mean of a text, they are left out, as model2vec itself leaves out unknown words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.load import tokens_alone
from explorer.encoding.load.tokens_alone import MEAN, TOKEN
from explorer.encoding.locate import lookup
from explorer.errors import BadChoice
from explorer.knobs import Knobs, knob
from explorer.progress import Phase, Progress, Work
from explorer.studies.size.smaller_vectors import PCA, Vectors, fitted

if TYPE_CHECKING:
    from explorer.encoding.load.static_embedding import StaticEncoder
    from explorer.encoding.read.encoder import Encoder


@dataclass(frozen=True)
class StaticOptions(Knobs):
    """How a static encoder is made of a transformer; the defaults are those of model2vec."""

    dimensions: int = knob(
        256,
        low=0,
        title="Dimensions",
        help="Principal components of the token vectors, at most the width of the encoder; the default is cut to it. "
        "0 keeps the vectors without PCA.",
    )
    sif: float = knob(
        1e-4,
        low=0.0,
        high=1.0,
        title="SIF coefficient a",
        help="The weight of a token is a / (a + p), with p by Zipf's law from its place in the vocabulary. 0 gives all "
        "tokens the same weight.",
    )
    pooling: str = knob(
        MEAN,
        title="Vector of a token",
        choices=tokens_alone.POOLINGS,
        titles={MEAN: "mean of token and special tokens", TOKEN: "the token alone"},
        help="Of a token between special tokens: the mean of all states of the last layer, the state of the token "
        "alone, or the model default without normalisation, which suits a model that pools cls or the last token.",
    )


def distilled(encoder: Encoder, options: StaticOptions) -> Work[StaticEncoder]:
    """The static encoder of an encoder, in float32; prompts of the encoder have no part in it."""
    import torch

    from explorer.encoding.load import loading, static_embedding
    from explorer.encoding.load.declared import STATIC_POOLINGS
    from explorer.encoding.read.head import Head
    from explorer.encoding.read.head_facts import UNLIMITED

    tokenizer = tokens_alone.bare_tokenizer(encoder)
    numbers = tokens_alone.kept_tokens(tokenizer)
    _check_dimensions(options.dimensions, tokens_alone.width(encoder, options.pooling), encoder.name)
    vectors = yield from tokens_alone.token_vectors(encoder, numbers, options.pooling)
    yield Progress(Phase.FITTING, 0, 0)
    rows = _reduced(vectors, options.dimensions, encoder.name) * sif_weights(len(numbers), options.sif)[:, None]
    table = torch.zeros(1 + max(tokenizer.get_vocab().values()), rows.shape[1])
    table[numbers] = torch.from_numpy(rows).float()
    model = static_embedding.StaticModel(table)
    loading.settle(model, "float32", encoder.device)
    return static_embedding.StaticEncoder(
        name=encoder.name,
        digest=lookup.joined_digests(encoder.digest, f"static {options}"),
        model=model,
        tokenizer=tokenizer,
        max_length=UNLIMITED,
        head=Head(STATIC_POOLINGS, normalize=True),
        lower_case=False,
        precision="float32",
        device=encoder.device,
        poolings=STATIC_POOLINGS,
    )


def _check_dimensions(dimensions: int, width: int, name: str) -> None:
    """Refuse more dimensions than there are, before tokens are encoded; the default is cut instead."""
    if dimensions > width and dimensions != StaticOptions.knobs["dimensions"].default:
        raise BadChoice(
            f"{dimensions} is not a possible number of dimensions: the token vectors of '{name}' have {width}. Choose "
            f"1 to {width}, or 0 to keep them without PCA."
        )


def _reduced(vectors: Vectors, dimensions: int, name: str) -> Vectors:
    """Principal components of the vectors, as many as they are wide if that is less; the vectors for 0."""
    components = min(dimensions, vectors.shape[1])
    if not components:
        return vectors
    if len(vectors) <= components:
        raise BadChoice(
            f"PCA onto {components} dimensions needs more than {components} tokens, and the vocabulary of '{name}' has "
            f"{len(vectors)} without special ones. Choose fewer dimensions, or 0 for none."
        )
    return fitted(PCA, vectors, components)(vectors)


def sif_weights(count: int, coefficient: float) -> NDArray[np.float64]:
    """The weights of tokens, the most frequent first; all are 1 for a coefficient of 0.

    A token of rank r, from 1 on, has the share of 1 / (r + 1) among all, as in model2vec.
    """
    shares = 1 / np.arange(2, count + 2)
    probabilities = shares / shares.sum()
    return coefficient / (coefficient + probabilities) if coefficient else np.ones(count)
