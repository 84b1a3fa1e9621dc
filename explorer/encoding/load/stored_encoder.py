"""An encoder of stored vectors: it looks sentences up, in place of computing them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from explorer.data.text_sets import digest_of
from explorer.data.vectors import vector_corpus
from explorer.encoding.load import hardware
from explorer.encoding.locate import stored_vectors
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import AS_GIVEN, UNLIMITED
from explorer.errors import DataError, ModelError, NoVector
from explorer.places import cache_folder, write_whole

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from explorer.data.vectors.vector_corpus import VectorCorpus

SHOWN, CHARACTERS = 5, 60  # sentences that an error names, and how much of each
ALIKE = 0.99  # the least cosine of the vectors of one sentence
MISSING = "sentences without vectors"  # a folder of the cache


class Lookup(nn.Module):
    """The vectors (row, width) as a model without layers, whose one token is the row of a sentence."""

    def __init__(self, vectors: VectorCorpus) -> None:
        super().__init__()
        self.vectors = vectors
        self.config = SimpleNamespace(hidden_size=vectors.width, num_hidden_layers=0)

    def forward(self, input_ids: Tensor, **_: object) -> SimpleNamespace:
        """The vector of each sentence as its only state (sentence, token, width)."""
        found = torch.from_numpy(self.vectors.given(input_ids[:, 0].cpu().numpy()))
        return SimpleNamespace(hidden_states=None, last_hidden_state=found[:, None].to(input_ids.device))


class SentenceLookup:
    """In place of a tokenizer: a sentence is one token, the row of its vector."""

    pad_token_id = 0

    def __init__(self, vectors: VectorCorpus) -> None:
        self.vectors = vectors
        self._zero = set(vectors.zero.tolist())

    def __call__(self, texts: Sequence[str], **_: object) -> dict[str, list[list[int]]]:
        """The row of each sentence; an error that names those without a vector."""
        rows = self.vectors.rows_of(texts)
        missing = tuple(dict.fromkeys(text for text, its in zip(texts, rows, strict=True) if not its))
        if missing:
            raise _no_vector(self.vectors.name, missing, len(set(texts)))
        for text, its in zip(texts, rows, strict=True):
            self._check(text, its)
        return {"input_ids": [its[:1] for its in rows]}

    def _check(self, text: str, rows: list[int]) -> None:
        """Refuse a sentence whose vector is zero, or which has two that differ."""
        name, first = self.vectors.name, rows[0]
        if first in self._zero:
            raise DataError(
                f"Row {first:,} of {name}, '{_cut(text)}', has the vector zero, which has no cosine. Encode it again."
            )
        for row in rows[1:]:
            if (
                self.vectors.text(row) == self.vectors.text(first)
                and float(self.vectors.vectors[first] @ self.vectors.vectors[row]) < ALIKE
            ):
                raise DataError(
                    f"Rows {first:,} and {row:,} of {name} have the same sentence, '{_cut(text)}', and different "
                    "vectors. Check that vectors and sentences are in the same order."
                )


class StoredEncoder(Encoder):
    """It asks for all sentences at once, so that an error names every one without a vector."""

    at_once = sys.maxsize


def encoder(model: Found, precision: str, device: str) -> Encoder:
    """The encoder of the vectors in a folder of the cache."""
    device = hardware.device(device)
    vectors = vector_corpus.stored(model.folder, model.name)
    if vectors is None or vectors.digest != model.digest:
        raise ModelError(f"The copy of '{model.name}' has gone or has changed since it was chosen. Try again.")
    return StoredEncoder(
        name=model.name,
        digest=model.digest,
        model=cast("PreTrainedModel", Lookup(vectors)),
        tokenizer=cast("PreTrainedTokenizerBase", SentenceLookup(vectors)),
        max_length=UNLIMITED,
        head=Head(stored_vectors.POOLINGS, remark=AS_GIVEN),
        lower_case=False,
        precision=hardware.precision(precision, device),
        device=device,
        folder=model.folder,
        poolings=stored_vectors.POOLINGS,
    )


def _no_vector(name: str, missing: tuple[str, ...], requested: int) -> NoVector:
    """The error for sentences without a vector, with a file that lists them all."""
    listed = ", ".join(f"'{_cut(text)}'" for text in missing[:SHOWN]) + ", …" * (len(missing) > SHOWN)
    path = cache_folder() / MISSING / f"{digest_of(missing)[:16]}.jsonl"
    content = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in missing)
    write_whole(path, lambda file: file.write(content.encode("utf-8", "replace")), "Make room there.")
    return NoVector(
        f"{name} has no vector of {len(missing):,} of {requested:,} sentences: {listed}. All of them are listed in "
        f"{path}. Compute their vectors with the same encoder, and put both files into one folder that you choose as "
        "the model.",
        missing,
    )


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"
