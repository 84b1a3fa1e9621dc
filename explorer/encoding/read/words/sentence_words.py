"""Find the words of a sentence among its tokens, and what replaces them in the sentence without words."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.readings import MASK, MEAN, PAD, REFERENCES
from explorer.errors import BadChoice


@dataclass(frozen=True, eq=False)
class Words:
    """A sentence's token ids, its words, and `tokens` (word, token), true for the tokens of a word.

    Special tokens, and those of a prompt, belong to no word. `cut` is how many tokens take part, of how many; None if
    all do.
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
    ids, spans, count = encoder.words(sentence, encoder.limit(max_length))
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
