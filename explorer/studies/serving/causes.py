"""Why vectors of a server differ from those of the model: each cause in words, and what to change in the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.encoding.read.pooling import LAST, POOLINGS, layers_title

# kinds of causes, of which one at a time is possible
PROMPT, PROMPT_TOKENS, CASE, SPECIAL, LENGTH, PADDING = (
    "prompt",
    "prompt tokens",
    "case",
    "special",
    "length",
    "padding",
)
POOLING, LAYER, DENSE, POOLED_TOKENS = "pooling", "layer", "dense", "pooled tokens"
DIMENSIONS, NORM, ORDER, ROUNDING = "dimensions", "norm", "order", "rounding"
AS_DECLARED = "as the model declares"
SHOWN = 40  # characters of a prompt
NORMALISE = "Normalise the vectors: `normalize_embeddings=True`."
LEAVE_LENGTHS = "Do not normalise the vectors: `normalize_embeddings=False`."


@dataclass(frozen=True)
class Cause:
    """One thing that a server does otherwise than the model declares, and what to change in its code."""

    kind: str
    words: str
    remedy: str


def in_words(causes: Sequence[Cause]) -> str:
    """All causes, `cls in place of mean, no normalisation`; without one, that vectors are as declared."""
    return ", ".join(one.words for one in causes) or AS_DECLARED


def remedies(causes: Sequence[Cause]) -> str:
    """What to change in the server, a sentence for each cause."""
    return " ".join(one.remedy for one in causes if one.remedy)


def quoted(prompt: str) -> str:
    """A prompt as Python writes it, its end left out if it is long."""
    return repr(prompt if len(prompt) <= SHOWN else f"{prompt[: SHOWN - 1]}…")


def prompt(text: str, name: str, declared: str) -> Cause:
    """Another prompt than that which the model puts before sentences, or none."""
    if declared:
        remedy = f"Put the prompt {quoted(declared)} before every text: `encode(texts)` does."
    else:
        remedy = "Put nothing before the texts, or verify with --prompt the prompt that is meant."
    if not text:
        return Cause(PROMPT, f"no prompt in place of {quoted(declared)}", remedy)
    named = f" ('{name}' in the model's table)" if name else ""
    return Cause(
        PROMPT, f"the prompt {quoted(text)}{named} in place of {quoted(declared) if declared else 'none'}", remedy
    )


def prompt_tokens(pooled: bool) -> Cause:
    """The tokens of the prompt are pooled, or are not."""
    if pooled:
        return Cause(
            PROMPT_TOKENS, "the prompt's tokens are pooled", "Leave the tokens of the prompt out of the pooling mask."
        )
    return Cause(
        PROMPT_TOKENS,
        "the prompt's tokens are left out of the pooling",
        "Pool the tokens of the prompt too: `include_prompt=True`.",
    )


def case(lowered: bool) -> Cause:
    """Texts are lowercased, or keep their case."""
    if lowered:
        return Cause(CASE, "texts in lower case", "Do not lowercase the texts: `do_lower_case=False`.")
    return Cause(
        CASE, "texts that keep their case", "Lowercase the texts, as the model's own tokenizer does: use its files."
    )


def special_tokens(tokens: str) -> Cause:
    """The tokenizer adds no special tokens."""
    return Cause(SPECIAL, f"no special tokens ({tokens})", "Add the special tokens: `add_special_tokens=True`.")


def length(limit: int, declared: int, or_more: bool) -> Cause:
    """Texts are cut at another length."""
    return Cause(
        LENGTH,
        f"texts cut at {limit:,} tokens{' or more' * or_more} in place of {declared:,}",
        f"Cut texts at {declared:,} tokens: `max_seq_length = {declared}`, `truncation=True, max_length={declared}`.",
    )


def padding(rule: str, attended: bool) -> Cause:
    """Padding tokens are pooled, and perhaps attended to."""
    mask = "Pass the attention mask to the model, and pool" if attended else "Pool"
    seen = " and seen by attention" * attended
    return Cause(
        PADDING,
        f"padding tokens are pooled{seen} ({rule})",
        f"{mask} the tokens of the attention mask alone: `{POOLINGS['mean'].code}` for the mean.",
    )


def pooling(name: str, declared: str) -> Cause:
    """Another pooling."""
    code = f": `{POOLINGS[declared].code}`" if declared in POOLINGS else ""
    return Cause(POOLING, f"{name} in place of {declared}", f"Pool with {declared}{code}.")


def pooler(declared: str) -> Cause:
    """The pooler of a BERT, a layer over its first token, in place of the pooling."""
    own = pooling("the pooler (`pooler_output`)", declared)
    return Cause(POOLING, own.words, own.remedy)


def layers(numbers: tuple[int, ...], declared: tuple[int, ...]) -> Cause:
    """Another layer."""
    own = "the last layer" if declared == (LAST,) else layers_title(declared)
    take = "`outputs.last_hidden_state`" if declared == (LAST,) else f"`outputs.hidden_states` of {own}"
    return Cause(LAYER, f"{layers_title(numbers)} in place of {own}", f"Take {take}.")


def no_dense() -> Cause:
    """The maps after the pooling are left out."""
    return Cause(DENSE, "no dense layer", "Apply the dense layers after the pooling: the folders in modules.json.")


def no_special_pooled() -> Cause:
    """Special tokens are left out of the pooling."""
    return Cause(
        POOLED_TOKENS,
        "special tokens are left out of the pooling",
        "Pool the special tokens too: the attention mask has them.",
    )


def first_dimensions(count: int, width: int) -> Cause:
    """The vectors are cut to their first dimensions."""
    return Cause(
        DIMENSIONS,
        f"the first {count:,} of {width:,} dimensions",
        f"Keep all {width:,} dimensions: `truncate_dim=None`, or `dimensions={width}` of an API.",
    )


def norm(words: str, remedy: str) -> Cause:
    """The length of the vectors is another one."""
    return Cause(NORM, words, remedy)


def order(words: str) -> Cause:
    """The rows are in another order than their sentences."""
    return Cause(ORDER, words, "Put the vectors into the order of the sentences before they are written.")


def rounding(words: str) -> Cause:
    """The numbers are rounded, which is no error."""
    return Cause(ROUNDING, words, "")
