"""Load a model's tokenizer and its length limit, but no tokenizer that could use up all memory.

The tokenizers library ends the whole process when memory runs out, which nothing can catch. So the length that its
steps can make of a text is bounded from what they state, before any text is tokenized. transformers does not check it.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.encoding.locate import configuration, families
from explorer.errors import ModelError, RemoteCodeRefused, TokenizerMissing, UnsupportedModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

USUAL = 512  # tokens, if neither the model nor its tokenizer has a limit
_ENDLESS = 1_000_000  # a tokenizer without a limit reports far more
MOST = 100  # characters made of one; the steps of T5 and XLM-R make up to 36, those of RoBERTa up to 5
LONGEST_TOKEN = 1000  # characters of an added token; runs of spaces have about a hundred
ALL_ADDED = 10_000_000  # characters of all added tokens together: each takes about 70 bytes
MADE_UP = 10_000  # added tokens of which only the number is stated: T5 has 100, and the time grows with the square

_STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
# Kinds of steps that lengthen whatever their settings are. What Unicode prescribes does not count: applied again, it
# changes nothing, so it cannot add up.
_FACTORS = {"ByteLevel": 5, "BertNormalizer": 3, "Metaspace": 2, "WordPiece": 2, "BPEDecoder": 2, "CTC": 2}
# a regular expression that begins with a character it cannot do without; any other may match the empty text
_NEVER_EMPTY = re.compile(
    r"(\\[sSdDwWnrt]|\[[^\[\]\\]+\]|[^\\\[\](){}.*+?|^$])"  # a class, or itself
    r"(\+|\{[1-9][0-9]*(,([1-9][0-9]*)?)?\})?(?![*+?{])"  # once or more
    r"[^|\\]*"  # no alternative to it
)
# how tokens are written that stand for padding, an unknown word and a masked one
_SPECIAL = {"pad_token": ("[PAD]", "<pad>"), "unk_token": ("[UNK]", "<unk>"), "mask_token": ("[MASK]", "<mask>")}
_REST = ""  # stands for every character that no step names
_OTHER = "Copy the tokenizer's files that were saved with the weights, or choose another model."


def load(folder: Path, config: PreTrainedConfig | None = None) -> PreTrainedTokenizerBase:
    """The tokenizer saved in a folder, with a padding token. `config` is that of its model, if it has been read."""
    from transformers import AutoTokenizer
    from transformers.tokenization_utils_base import get_fast_tokenizer_file

    stated = _settings(folder)
    try:
        check_file(folder / get_fast_tokenizer_file(stated.fast_tokenizer_files))
        tokenizer = AutoTokenizer.from_pretrained(folder, config=config, local_files_only=True, trust_remote_code=False)
        # whatever files it was made from
        check_tokens(folder, (token.content for token in tokenizer.added_tokens_decoder.values()))
        if tokenizer.is_fast:
            check(folder, tokenizer.backend_tokenizer)
    except ModelError:
        raise
    except Exception as error:
        if isinstance(stated.auto_map, Mapping) and "AutoTokenizer" in stated.auto_map:
            raise RemoteCodeRefused(
                f"The tokenizer in {folder} would run Python code that comes with the model. Strata never runs such "
                "code. Choose a model with a tokenizer.json."
            ) from error
        reason = str(error).strip().split("\n")[0][:200].rstrip(": ")
        raise TokenizerMissing(
            f"The tokenizer in {folder} cannot be read ({type(error).__name__}: {reason}). Copy or "
            "download its files again. A tokenizer.json is read without any further package; a spiece.model or "
            "tokenizer.model needs sentencepiece (pip install sentencepiece)."
        ) from error
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise TokenizerMissing(
            f"The tokenizer in {folder} knows {len(tokenizer)} tokens, all of them special: every word would be "
            "unknown. Copy or download its vocabulary again."
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.convert_ids_to_tokens(0)
    return tokenizer


def alone(path: Path) -> tuple[PreTrainedTokenizerBase, int | None]:
    """The tokenizer in a tokenizer.json without further files, and the limit that it states, if any."""
    from tokenizers import Tokenizer

    check_file(path)
    tokenizer = Tokenizer.from_file(str(path))
    check(path, tokenizer)
    cut = tokenizer.truncation or {}
    return bare(tokenizer, cut.get("direction", "right")), cut.get("max_length")


def bare(tokenizer: Tokenizer, truncation_side: str = "right") -> PreTrainedTokenizerBase:
    """The tokenizer without limit and padding, which adds no special tokens: those are for a model that reads them."""
    from transformers import PreTrainedTokenizerFast

    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.post_processor = None
    # another token of the vocabulary would become special, and a text with it other tokens
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    named = {name: next((text for text in texts if text in special), None) for name, texts in _SPECIAL.items()}
    found = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        truncation_side=truncation_side,
        **{name: text for name, text in named.items() if text},
    )
    if found.pad_token is None:
        found.pad_token = found.convert_ids_to_tokens(min(tokenizer.get_vocab().values()))
    return found


def without_special(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """A copy of a fast tokenizer that adds no special tokens."""
    changed = copy.deepcopy(tokenizer)
    changed.backend_tokenizer.post_processor = None
    return changed


def with_case(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase | None:
    """A copy of a fast tokenizer that keeps the case of letters; None if it does so itself."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    stated = None if normalizer is None else json.loads(normalizer.__getstate__())
    cased = None if stated is None else _cased(stated)
    if stated == cased:
        return None
    changed = copy.deepcopy(tokenizer)
    changed.backend_tokenizer.normalizer = None if cased is None else _of_steps({"normalizer": cased}).normalizer
    return changed


def _cased(step: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of a normalizer without its lower case; None if it does nothing else."""
    if step["type"] == "Lowercase":
        return None
    if step["type"] == "Sequence":
        kept = [cased for inner in step["normalizers"] if (cased := _cased(inner)) is not None]
        return {**step, "normalizers": kept}
    return {**step, "lowercase": False} if step.get("lowercase") else step


def _of_steps(steps: Mapping[str, object]) -> Tokenizer:
    """A tokenizer without a vocabulary that has these steps; older spellings become the present one."""
    from tokenizers import Tokenizer

    return Tokenizer.from_str(json.dumps({**steps, "model": {"type": "BPE", "vocab": {}, "merges": []}}))


def _settings(folder: Path) -> configuration.TokenizerConfig:
    path = folder / "tokenizer_config.json"
    stated = configuration.read(path, configuration.TokenizerConfig)
    for name in ("extra_ids", "offset"):
        number = getattr(stated, name) or 0
        if number > MADE_UP:
            raise UnsupportedModel(
                f"{path} asks for {number:,} added tokens ({name}); Strata accepts {MADE_UP:,}, since more could use "
                f"up all memory. {_OTHER}"
            )
    return stated


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


def check_file(path: Path) -> None:
    """Refuse a tokenizer.json before it is opened, since its added tokens are normalized then."""
    if not path.exists():
        return
    stated = configuration.settings(path)
    model, added = stated.get("model"), stated.get("added_tokens")
    check_tokens(
        path,
        [
            *(model.values() if isinstance(model, dict) else ()),  # the unknown token, and what begins parts of words
            *(one.get("content") for one in (added if isinstance(added, list) else ()) if isinstance(one, dict)),
        ],
    )
    steps = {stage: stated.get(stage) for stage in _STAGES}
    check(path, _of_steps(steps))


def check(path: Path, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer by its steps, in the order in which they change a text."""
    steps = {stage: getattr(tokenizer, stage) for stage in _STAGES}
    # the settings of a step, as the library would save them
    stages = {
        stage: [] if step is None else list(configuration.steps(json.loads(step.__getstate__())))
        for stage, step in steps.items()
    }
    _check_growth(path, [(name, step) for name in _STAGES[:2] for step in stages[name]])
    _check_growth(path, [("decoder", step) for step in stages["decoder"]])
    # a template may repeat a sentence, or add special tokens, without end
    for step in stages["post_processor"]:
        for which in ("single", "pair"):
            parts = step.get(which, ()) if step["type"] == "TemplateProcessing" else ()
            special = [part["SpecialToken"]["id"] for part in parts if "SpecialToken" in part]
            tokens = len(parts) - len(special) + sum(len(step["special_tokens"][one]["ids"]) for one in special)
            if tokens > MOST:
                raise UnsupportedModel(
                    f"The post_processor in {path} has a template of {tokens:,} parts; Strata accepts {MOST}, since "
                    f"more could use up all memory. {_OTHER}"
                )
            check_tokens(path, [text for one in special for text in step["special_tokens"][one]["tokens"]])


def check_tokens(path: Path, texts: Iterable[object]) -> None:
    """Refuse added tokens that are very long, one or all together: a sentence may hold the same one many times."""
    lengths = [len(text) for text in texts if isinstance(text, str)]
    for length, most, what in (
        (max(lengths, default=0), LONGEST_TOKEN, "a token"),
        (sum(lengths), ALL_ADDED, "added tokens"),
    ):
        if length > most:
            raise UnsupportedModel(
                f"{path} has {what} of {length:,} characters; Strata accepts {most:,}, since more could use up all "
                f"memory. {_OTHER}"
            )


def _check_growth(path: Path, steps: list[tuple[str, dict[str, Any]]]) -> None:
    """From the last step to the first: how many characters one can become in this step and all after it."""
    lengths = {_REST: 1.0}
    for stage, step in reversed(steps):
        lengths = _before(step, lengths)
        most = max(lengths.values())
        if most > MOST:
            replaces = step["type"] == "Replace"
            pattern = "".join(step.get("pattern", {}).values()) if replaces else step.get("prepend", "")
            title = f"{step['type']} {reprlib.repr(pattern)}" if pattern else step["type"]
            raise UnsupportedModel(
                f"The {stage} {title} in {path} can turn one character into {most:,.0f}, with the steps after "
                f"it; Strata accepts {MOST}, since more could use up all memory. {_OTHER}"
            )


def _before(step: Mapping[str, Any], after: dict[str, float]) -> dict[str, float]:
    """How long each character can become, given how long those are that this step makes of it: an upper bound."""

    def length(text: str) -> float:
        return sum(after.get(character, after[_REST]) for character in text)

    kind, longest = step["type"], max(after.values())
    if kind == "Prepend":  # to a text of one character or more
        return {character: number + length(step["prepend"]) for character, number in after.items()}
    if kind == "Precompiled":  # a SentencePiece map: its texts, each ended by a zero byte, follow a trie
        data = base64.b64decode(step["precompiled_charsmap"])
        texts = data[4 + int.from_bytes(data[:4], "little") // 4 * 4 :].split(b"\0")
        return {_REST: longest * max(1, *(len(text.decode(errors="replace")) for text in texts))}
    if kind != "Replace":  # it may make any character of any other
        return {_REST: longest * _FACTORS.get(kind, 1)}
    ((written, pattern),) = step["pattern"].items()
    new = length(step["content"])
    if written == "String" and pattern:  # a text of n characters becomes the content: each has an n-th part in it
        share = new / len(pattern)
        return after | {one: max(share, after.get(one, after[_REST])) for one in pattern}
    if _NEVER_EMPTY.fullmatch(pattern):
        return {character: max(number, new) for character, number in after.items()}
    return {character: number + 2 * new for character, number in after.items()}  # it may match before and after
