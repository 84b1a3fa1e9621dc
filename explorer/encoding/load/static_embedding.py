"""Load static embeddings: a table with one vector for each token, whose mean is the vector of a text.

Read as the StaticEmbedding of sentence-transformers reads it, in its own layout and in that of model2vec: no special
tokens, a text is cut only if tokenizer.json asks for it, unknown tokens count, and a text without tokens has the vector
zero. To everything else it is a model without layers: its token vectors are layer 0.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from explorer.encoding.load import model_tokenizer
from explorer.encoding.locate import families, layout, weights
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head_facts import UNLIMITED
from explorer.encoding.read.prompts import PromptedIds
from explorer.errors import NotWeights

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TABLE = "embedding.weight"  # in sentence-transformers
# in model2vec: rows, which row a token has, and a factor for each token
ROWS, MAPPING, FACTORS = "embeddings", "mapping", "weights"


class StaticModel(nn.Module):
    """A table (token, width) that answers as a transformer without layers does."""

    def __init__(self, table: Tensor) -> None:
        from transformers import PreTrainedConfig

        super().__init__()
        # torch states no types for it
        made: nn.Embedding = nn.Embedding.from_pretrained(table, freeze=False)  # type: ignore[no-untyped-call]
        self.embedding = made
        self.config = PreTrainedConfig(vocab_size=len(table), hidden_size=table.shape[1], num_hidden_layers=0)
        self.config.model_type = families.STATIC

    @property
    def device(self) -> torch.device:
        """Where the table is."""
        where: torch.device = self.embedding.weight.device
        return where

    def forward(
        self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **_: object
    ) -> SimpleNamespace:
        """The vector of each token, which does not depend on the others."""
        states = self.embedding(input_ids) if inputs_embeds is None else inputs_embeds
        return SimpleNamespace(hidden_states=(states,), last_hidden_state=states, attentions=())

    def get_input_embeddings(self) -> nn.Embedding:
        """The table."""
        return self.embedding

    def num_parameters(self) -> int:
        """How many numbers the table has."""
        count: int = self.embedding.weight.numel()
        return count

    def set_attn_implementation(self, _: str) -> None:
        """It has no attention."""


class StaticEncoder(Encoder):
    """An encoder under which a text without tokens has the vector zero."""

    def save(self, trained: nn.Module, folder: Path) -> None:
        """Write a trained table and the tokenizer, as sentence-transformers writes them."""
        from safetensors.torch import save_file

        vectors = trained.get_parameter(TABLE).detach().float().cpu().contiguous()
        save_file({TABLE: vectors}, folder / "model.safetensors", {"format": "pt"})
        tokenizer = self.tokenizer()
        backend = tokenizer.backend_tokenizer
        backend.no_padding()
        if self.max_length == UNLIMITED:
            backend.no_truncation()
        else:
            backend.enable_truncation(self.max_length, direction=tokenizer.truncation_side)
        backend.save(str(folder / "tokenizer.json"))

    def _without_tokens(self) -> list[int]:
        return PromptedIds([self._padding()], left_out=1)


def opened(place: Path) -> tuple[StaticModel, PreTrainedTokenizerBase, int]:
    """The table in a folder, its tokenizer, and the most tokens of a text."""
    tokenizer, most = model_tokenizer.alone(place / "tokenizer.json")
    return StaticModel(table(place)), tokenizer, UNLIMITED if most is None else most


def table(place: Path) -> Tensor:
    """The vector of each token (token, width), in float32."""
    path = layout.weights(place)[0]
    found = weights.tensors(path)
    if TABLE in found:
        vectors, mapping, factors = found[TABLE], None, None
    else:
        weights.check_names(place, "", (ROWS,), found)
        vectors, mapping, factors = found[ROWS], found.get(MAPPING), found.get(FACTORS)
    weights.check_finite(place, "", found)
    if vectors.dim() != 2 or not all(vectors.shape):
        raise _misfit(path, TABLE if TABLE in found else ROWS, vectors, "a table of vectors has two dimensions")
    if mapping is not None:
        rows = mapping.long()
        if mapping.dim() != 1 or not len(rows) or not torch.equal(rows.float(), mapping):
            raise _misfit(path, MAPPING, mapping, "it should hold the number of a row for each token")
        if rows.min() < 0 or rows.max() >= len(vectors):
            raise _misfit(path, MAPPING, mapping, f"it names rows from {rows.min()} to {rows.max()} of {len(vectors)}")
        vectors = vectors[rows]
    if factors is not None:
        if factors.shape != vectors.shape[:1]:
            raise _misfit(path, FACTORS, factors, f"it should hold a factor for each of {len(vectors)} tokens")
        vectors = vectors * factors[:, None]
    return vectors.contiguous()


def _misfit(path: Path, name: str, tensor: Tensor, why: str) -> NotWeights:
    return NotWeights(f"{path} has '{name}' of shape {list(tensor.shape)}: {why}. Copy or download the folder again.")
