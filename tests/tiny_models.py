"""Build a small model of each family: two layers, width 32, random weights, a real tokenizer.

Each is saved in the layout transformers gives its family, so loading it is loading the real thing, only in
milliseconds. The seed is fixed: a kind is the same model in every test.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel, PreTrainedTokenizerFast, T5EncoderModel

SENTENCES = (
    "a man plays a guitar",
    "A man is playing the guitar on a stage",
    "the dog runs after a red ball in the park",
    "no",
    "two women talk about the weather while they wait for a late train to the city",
)
POSITIONS = 64  # tokens a sentence may have, the special ones included
WIDTH = 32
LAYERS = 2


@dataclass(frozen=True)
class Spelling:
    """The special tokens of a family: ids 0, 1, 2, … in this order, and the part each plays."""

    special: tuple[str, ...]
    unknown: str
    pad: str | None = None
    first: str | None = None  # every sentence starts with it
    last: str | None = None  # and ends with it
    between: str = ""  # two sentences that are one input
    mask: str | None = None


BERT = Spelling(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[SEP]", "[MASK]")
ROBERTA = Spelling(("<s>", "<pad>", "</s>", "<unk>", "<mask>"), "<unk>", "<pad>", "<s>", "</s>", "</s> </s>", "<mask>")
T5 = Spelling(("<pad>", "</s>", "<unk>"), "<unk>", "<pad>", None, "</s>")
GPT = Spelling(("<|endoftext|>",), "<|endoftext|>")  # no pad token, as published

_SIZES = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 64}
_BART = {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in
         (("layers", LAYERS), ("attention_heads", 2), ("ffn_dim", 64))}  # fmt: skip
_T5 = {"d_model": WIDTH, "num_layers": LAYERS, "num_heads": 2, "d_kv": 16, "d_ff": 64}
_RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}

FAMILIES: dict[str, tuple[Spelling, dict[str, Any]]] = {
    "bert": (BERT, _SIZES),
    "roberta": (ROBERTA, _SIZES),
    "distilbert": (BERT, {"dim": WIDTH, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 64}),
    "mpnet": (ROBERTA, _SIZES),
    "electra": (BERT, {**_SIZES, "embedding_size": 16}),
    "albert": (BERT, {**_SIZES, "embedding_size": 16}),
    "deberta-v2": (BERT, {**_SIZES, **_RELATIVE}),
    "xlm-roberta": (ROBERTA, _SIZES),
    "modernbert": (BERT, {**_SIZES, "cls_token_id": 2, "sep_token_id": 3}),
    "t5": (T5, _T5),
    "bart": (ROBERTA, {**_BART, "d_model": WIDTH}),
    "gpt2": (GPT, {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 2}),
    "qwen2": (GPT, {**_SIZES, "num_key_value_heads": 1}),
    "llama": (GPT, {**_SIZES, "num_key_value_heads": 1}),
}
_STARTS_AFTER_PAD = ("roberta", "mpnet", "xlm-roberta")  # position ids start at the pad id + 1
_TAKES_TYPES = ("bert", "electra", "albert", "deberta-v2")  # the model reads token_type_ids


def tiny_tokenizer(kind: str = "bert", lower: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer that knows SENTENCES by heart, spelled as the family spells."""
    spelling, _ = FAMILIES[kind]
    backend = _byte_pairs(spelling) if spelling is GPT else _word_pieces(spelling)
    if lower:
        backend.normalizer = normalizers.Lowercase()
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=spelling.pad,
        unk_token=spelling.unknown,
        cls_token=spelling.first,
        sep_token=spelling.last if spelling.first else None,
        mask_token=spelling.mask,
        eos_token=spelling.special[0] if spelling is GPT else spelling.last,
        model_input_names=names if kind in _TAKES_TYPES else names[::2],
        model_max_length=POSITIONS,
    )


def _word_pieces(spelling: Spelling) -> Tokenizer:
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    letters = sorted(set("".join(words)))
    tokens = dict.fromkeys((*spelling.special, *words, *letters, *(f"##{letter}" for letter in letters)))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=spelling.unknown))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    second = 1 if spelling.first == "[CLS]" else 0  # BERT tells the two apart
    end = spelling.last and f"{spelling.last}:{second}"
    ends = [token for token in (spelling.first, spelling.last) if token]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{spelling.first or ''} $A {spelling.last or ''}".strip(),
        pair=" ".join(filter(None, (spelling.first, "$A", spelling.between or spelling.last, f"$B:{second}", end))),
        special_tokens=[(token, vocabulary[token]) for token in ends],
    )
    return backend


def _byte_pairs(spelling: Spelling) -> Tokenizer:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(special_tokens=list(spelling.special), initial_alphabet=alphabet, show_progress=False),
    )
    return backend


def tiny_model(kind: str = "bert", vocabulary: int = 128, seed: int = 0, **sizes_of_its_own: Any) -> PreTrainedModel:
    """The model of a family with random weights; the encoder alone where a T5 is asked for."""
    spelling, sizes = FAMILIES[kind]
    shared = {"vocab_size": vocabulary, **sizes}
    if kind != "t5":  # its positions are relative and have no end
        shared["max_position_embeddings"] = POSITIONS + (2 if kind in _STARTS_AFTER_PAD else 0)
    config = AutoConfig.for_model(
        kind,
        **shared | sizes_of_its_own,
        pad_token_id=None if spelling.pad is None else spelling.special.index(spelling.pad),
        bos_token_id=0,
        eos_token_id=0 if spelling is GPT else 2,
    )
    torch.manual_seed(seed)
    return T5EncoderModel(config).eval() if kind == "t5" else AutoModel.from_config(config).eval()


def save_tiny(kind: str, folder: Path, lower: bool = False, seed: int = 0, **sizes_of_its_own: Any) -> Path:
    """A folder in transformers layout: config.json, model.safetensors, tokenizer.json, tokenizer_config.json."""
    files, drawn = _saved(kind, lower, seed, tuple(sizes_of_its_own.items()))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    torch.set_rng_state(drawn)
    return folder


@cache
def _saved(kind: str, lower: bool, seed: int, sizes_of_its_own: tuple[Any, ...]) -> tuple[dict[str, bytes], Tensor]:
    """The files, built once in a process, and the random state that building them leaves."""
    tokenizer = tiny_tokenizer(kind, lower)
    with TemporaryDirectory() as folder:
        tiny_model(kind, len(tokenizer), seed, **dict(sizes_of_its_own)).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}, torch.get_rng_state()
