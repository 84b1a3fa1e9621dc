"""Provide a masked language model under the paper's name, for methods that need the hub."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoConfig, AutoModelForMaskedLM

from tests.tiny_models import WIDTH, tiny_tokenizer

GENERATOR = "distilbert-base-uncased"
_COMMIT = "0123456789abcdef0123456789abcdef01234567"


def cache_of(folder: Path) -> Path:
    """A cache of the hub that holds it, in the hub's layout."""
    model = folder / f"models--{GENERATOR}"
    snapshot = model / "snapshots" / _COMMIT
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(_COMMIT)
    save_generator(snapshot)
    return folder


def save_generator(folder: Path) -> Path:
    """A tiny masked language model whose vocabulary is that of the tiny BERT."""
    import torch

    tokenizer = tiny_tokenizer("distilbert")
    torch.manual_seed(2)
    config = AutoConfig.for_model(
        "distilbert", dim=WIDTH, n_layers=2, n_heads=2, hidden_dim=64, vocab_size=len(tokenizer), pad_token_id=0
    )
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
