"""TSDAE (Wang, Reimers and Gurevych 2021): rebuild a sentence from the vector of its corrupted form."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.text_sets import SENTENCES
from explorer.encoding.load.loading import ONE_AT_A_TIME
from explorer.encoding.locate import families
from explorer.encoding.tune.adapters import adapt, adapted, plain_weights
from explorer.encoding.tune.editing import use_fast_dropout
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.gathering import mean_of_all
from explorer.knobs import Values
from explorer.methods import Pooled, Schedule, cited, knob, pooling_knob

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NO_TARGET = -100  # of the places after a sentence's end


class TSDAE(Pooled):
    """TSDAE: rebuild each sentence from the vector of what is left when most of its words are deleted.

    Wang, Reimers and Gurevych 2021, section 3: a decoder of the encoder's architecture sees the words so far, and by
    cross-attention a single vector, that of the corrupted sentence; it predicts the next word. The decoder shares the
    encoder's weights. Its cross-attention and its output layer, apart from the word embeddings, are its own, start at
    random and are not exported. The paper deletes 60 % of the words and trains 100,000 steps with batches of 8 and a
    constant learning rate; other settings are those of its released code. Words are split at white space, where the
    paper uses a tokenizer of words; text without spaces is left as it is. At least one word of a sentence is left.
    """

    # a denoising auto-encoder whose only path from input to output is the sentence vector
    name = "tsdae"
    family = "denoising"
    paper = cited("wang-etal-2021-tsdae-using")
    when_to_use = "Not in a short run for the model default of a tuned encoder, which got worse; [CLS] gained."
    rows = SENTENCES
    compares_rows = False
    has_positive_pairs = False
    training_only = ("bridge", "decoder")
    schedule = Schedule(batch_size=8, learning_rate=3e-5, max_length=75, decay="none", evaluate_every=1000)
    released: ClassVar[Values] = {"warmup": 0.0008, "decay": "linear"}

    pooling: str = pooling_knob("cls")
    deletion: float = knob(
        0.6, low=0.0, high=0.99, front=True, help="Probability of deleting each word (paper, section 3: 0.6)."
    )
    tied: bool = knob(
        True,
        help="The decoder shares the weights of the encoder (paper). off: it starts from a copy of them, which is "
        "trained separately and takes as much memory again.",
    )

    def build(self) -> None:
        """Build the decoder, and a linear layer where the sentence vector is not as wide as the encoder."""
        width = self.pooled.width(self.width)
        self.bridge = nn.Identity() if width == self.width else nn.Linear(width, self.width, bias=False)
        self.decoder = decoder_of(self.base, self.tied)

    def loss(self, *columns: list[str]) -> Tensor:
        """The cross-entropy of the next token, averaged over the tokens of all sentences, of all processes."""
        (sentences,) = columns
        memories = self.bridge(self.encode(self.corrupted(sentences), self.before_normalising))
        sums, counts = [], []
        for places, ids, mask, real in self.base.padded_groups(sentences):
            rows = torch.tensor(places).to(memories.device, non_blocking=True)  # a list as index makes a GPU wait
            inputs, targets = shifted(ids, mask)
            sums.append(reconstruction(self.scores(inputs, memories[rows]), targets))
            counts.append(real - len(places))  # the first token is not predicted
        return mean_of_all(sums, counts)

    def corrupted(self, sentences: Sequence[str]) -> list[str]:
        """The sentences without most of their words, drawn anew at each call."""
        words = [sentence.split() for sentence in sentences]
        drawn = torch.split(torch.rand(sum(map(len, words))), list(map(len, words)))
        rows = zip(words, drawn, strict=True)
        return [" ".join(after_deletion(own, numbers, self.deletion)) for own, numbers in rows]

    def scores(self, inputs: Tensor, memories: Tensor) -> Tensor:
        """Logits of the next token (sentence, token, word), from the tokens so far and one vector per sentence.

        Padding needs no mask: it is on the right, and every token sees those before it alone.
        """
        found: Tensor = self.decoder(input_ids=inputs, encoder_hidden_states=memories[:, None], use_cache=False).logits
        return found


def after_deletion(words: Sequence[str], drawn: Tensor, deletion: float) -> list[str]:
    """The words whose number from 0 to 1 is above the share to delete; if none is, the one with the largest."""
    stays = (drawn > deletion).tolist()
    if words and not any(stays):
        return [max(zip(drawn.tolist(), words, strict=True), key=lambda one: one[0])[1]]
    return [word for word, kept in zip(words, stays, strict=True) if kept]


def shifted(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The tokens that a decoder reads, and the next token at each place; `NO_TARGET` after the end of a sentence."""
    return ids[:, :-1], ids[:, 1:].masked_fill(mask[:, 1:].logical_not(), NO_TARGET)


def reconstruction(scores: Tensor, targets: Tensor) -> Tensor:
    """The cross-entropy of the targets (sentence, token), summed over the places that have one."""
    return functional.cross_entropy(
        scores.float().flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET, reduction="sum"
    )


def decoder_of(base: Tunable, tied: bool) -> PreTrainedModel:
    """A causal language model with cross-attention, of the encoder's weights or, if not `tied`, of a copy of them.

    Beside adapters the encoder's weights do not change, so that a copy of them differs by its own adapters alone.
    """
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    config = copy.deepcopy(base.model.config)
    if not families.of(config.model_type).cross_attention:
        able = sorted(row.name for row in families.FAMILIES if row.cross_attention)
        raise UnsupportedModel(
            f"'{base.encoder.name}' is a {config.model_type}, for which transformers has no decoder with "
            f"cross-attention. TSDAE trains these types of encoders: {', '.join(able)}. Choose one of "
            "them, or another method."
        )
    config.is_decoder, config.add_cross_attention, config.tie_word_embeddings = True, True, True
    with ONE_AT_A_TIME:
        decoder: PreTrainedModel = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)](config).float()
    inner = decoder.base_model
    if tied or base.adapters:
        shared = plain_weights(base.model)
        for name, _ in list(inner.named_parameters()):  # weights of other names are the decoder's own
            if name in shared:
                where, _, leaf = name.rpartition(".")
                setattr(inner.get_submodule(where), leaf, shared[name])
        layers = dict(adapted(base.model))
        if base.adapters and not tied:  # new adapters in the same layers
            adapt(inner, layers, base.adapters)
        elif base.adapters:
            for path, layer in layers.items():
                inner.set_submodule(path, layer)
        decoder.tie_weights()  # else the output layer keeps the embeddings of before
    else:
        inner.load_state_dict(base.model.state_dict(), strict=False)  # it has no pooling layer
    use_fast_dropout(decoder)
    return decoder.to(base.model.device)
