"""Build a small translator of each family: two layers, random weights, a tokenizer with few words.

Marian, BART and T5 share their words between both languages; FSMT has two vocabularies, here the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedModel

from tests.tiny_models import LAYERS, POSITIONS, WIDTH, tiny_tokenizer

_SIDES = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in
          (("layers", LAYERS), ("attention_heads", 2), ("ffn_dim", 64))}  # fmt: skip
_SIZES = {"d_model": WIDTH, "max_position_embeddings": POSITIONS, "init_std": 1.0, **_SIDES}
# a family, how its words are spelled, and its settings; special tokens are ids 0, 1, 2 in the spelling's order
TRANSLATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "marian": ("t5", {**_SIZES, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}),
    "fsmt": ("roberta", {**_SIZES, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}),
    "bart": ("roberta", {**_SIZES, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}),
    "t5": (
        "t5",
        {"d_model": WIDTH, "num_layers": LAYERS, "num_heads": 2, "d_kv": 16, "d_ff": 64, "initializer_factor": 5.0}
        | {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
    ),
}


def tiny_translator(kind: str, seed: int = 0) -> PreTrainedModel:
    """A translator of a family, with random weights."""
    spelling, settings = TRANSLATORS[kind]
    words = len(tiny_tokenizer(spelling))
    vocabulary = {"src_vocab_size": words, "tgt_vocab_size": words} if kind == "fsmt" else {"vocab_size": words}
    torch.manual_seed(seed)
    return AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(kind, **vocabulary, **settings)).eval()


def save_translator(kind: str, folder: Path, seed: int = 0) -> Path:
    """A folder in transformers layout."""
    tiny_tokenizer(TRANSLATORS[kind][0]).save_pretrained(folder)
    tiny_translator(kind, seed).save_pretrained(folder)
    return folder
