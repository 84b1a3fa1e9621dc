"""Load a model's tokenizer and its length limit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.encoding.load import text_growth
from explorer.encoding.locate import configuration, families
from explorer.errors import ModelError, RemoteCodeRefused, TokenizerMissing, UnsupportedModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

USUAL = 512  # tokens, if neither the model nor its tokenizer has a limit
_ENDLESS = 1_000_000  # a tokenizer without a limit reports far more


def tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer saved in a folder, with a padding token."""
    from transformers import AutoTokenizer
    from transformers.tokenization_utils_base import get_fast_tokenizer_file

    path = folder / "tokenizer_config.json"
    stated = configuration.read(path, configuration.TokenizerConfig)
    text_growth.check_number(path, stated)
    try:
        text_growth.check_file(folder / get_fast_tokenizer_file(stated.fast_tokenizer_files))
        found = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        text_growth.check_made(folder, found)  # whatever files it was made from
    except ModelError:
        raise
    except Exception as error:
        if isinstance(stated.auto_map, Mapping) and "AutoTokenizer" in stated.auto_map:
            raise RemoteCodeRefused(
                f"The tokenizer in {folder} would run Python code that comes with the model. Strata never runs such "
                "code. Choose a model with a tokenizer.json."
            ) from error
        raise TokenizerMissing(
            f"The tokenizer in {folder} cannot be read ({type(error).__name__}: {_short(error)}). Copy or download "
            "its files again. A tokenizer.json is read without any further package; a spiece.model or tokenizer.model "
            "needs sentencepiece (pip install sentencepiece)."
        ) from error
    if len(found) <= len(found.all_special_ids):
        raise TokenizerMissing(
            f"The tokenizer in {folder} knows {len(found)} tokens, all of them special: every word would be "
            "unknown. Copy or download its vocabulary again."
        )
    if found.pad_token is None:
        found.pad_token = found.eos_token or found.unk_token or found.convert_ids_to_tokens(0)
    return found


def check_vocabulary(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, name: str) -> None:
    """Refuse a tokenizer with tokens that have no embedding in the model."""
    try:
        rows = model.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError) as error:
        raise UnsupportedModel(
            f"'{name}' ({type(model).__name__}) has no word embeddings: it is not a text encoder. Choose a text "
            "encoder."
        ) from error
    largest = max(tokenizer.get_vocab().values())  # not the number of tokens: ids may be skipped
    if largest >= rows:
        raise UnsupportedModel(
            f"The tokenizer of '{name}' has ids up to {largest:,}, but the model has embeddings for 0 to "
            f"{rows - 1:,}: they do not belong together. Copy the tokenizer that was saved with the weights."
        )


def max_length(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, stated: int | None = None) -> int:
    """The most tokens of a sentence: the least of the limits of model, tokenizer and `stated`."""
    allowed = (positions(model), tokenizer.model_max_length, stated)
    most = min((int(most) for most in allowed if most and most < _ENDLESS), default=USUAL)
    special = tokenizer.num_special_tokens_to_add()
    if most < max(1, special):  # the tokenizer would not truncate at all
        raise UnsupportedModel(
            f"A sentence may have {most} tokens, but {special} special ones are added to each. Correct max_seq_length "
            "in sentence_bert_config.json, model_max_length in tokenizer_config.json or max_position_embeddings in "
            "config.json."
        )
    return most


def positions(model: PreTrainedModel) -> int | None:
    """The number of positions of a model; None for relative positions, which have no limit."""
    most = getattr(model.config, "max_position_embeddings", None)
    if not most or most < 0:  # XLNet has -1
        return None
    padding = families.padding_position(model)
    return int(most) - (0 if padding is None else padding + 1)


def _short(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:200].rstrip(": ")
