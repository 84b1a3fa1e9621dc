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


@dataclass(frozen=True)
class Cause:
    """One thing that a server does otherwise than the model declares, and what to change in its code."""

    kind: str
    words: str
    remedy: str = ""  # without a full stop
    code: str = ""  # that does it, in sentence-transformers or transformers

    @property
    def advice(self) -> str:
        """What to change, as plain text: ``Normalise the vectors: `normalize_embeddings=True`.``"""
        return f"{self.remedy}{f': `{self.code}`' if self.code else ''}." if self.remedy else ""


def in_words(causes: Sequence[Cause]) -> str:
    """All causes, `cls in place of mean, no normalisation`; without one, that vectors are as declared."""
    return ", ".join(one.words for one in causes) or AS_DECLARED


def advice(causes: Sequence[Cause]) -> str:
    """What to change in the server, a sentence for each cause."""
    return " ".join(filter(None, (one.advice for one in causes)))


def quoted(prompt: str) -> str:
    """A prompt as Python writes it, its end left out if it is long."""
    return repr(prompt if len(prompt) <= SHOWN else f"{prompt[: SHOWN - 1]}…")


def prompt(text: str, name: str, declared: str) -> Cause:
    """Another prompt than that which the model puts before sentences, or none."""
    remedy = "Put nothing before the texts, or name the prompt that is meant"
    if declared:
        remedy = f"Put the prompt {quoted(declared)} before every text, as `encode(texts)` does"
    if not text:
        return Cause(PROMPT, f"no prompt in place of {quoted(declared)}", remedy)
    named = f" ('{name}' in the model's table)" if name else ""
    words = f"the prompt {quoted(text)}{named} in place of {quoted(declared) if declared else 'none'}"
    return Cause(PROMPT, words, remedy)


def prompt_tokens(pooled: bool) -> Cause:
    """The tokens of the prompt are pooled, or are not."""
    if pooled:
        return Cause(
            PROMPT_TOKENS, "the prompt's tokens are pooled", "Leave the tokens of the prompt out of the pooling mask"
        )
    words, remedy = "the prompt's tokens are left out of the pooling", "Pool the tokens of the prompt too"
    return Cause(PROMPT_TOKENS, words, remedy, "include_prompt=True")


def case(lowered: bool) -> Cause:
    """Texts are lowercased, or keep their case."""
    if lowered:
        return Cause(CASE, "texts in lower case", "Do not lowercase the texts", "do_lower_case=False")
    remedy = "Lowercase the texts, as the model's own tokenizer does: use its files"
    return Cause(CASE, "texts that keep their case", remedy)


def special_tokens(tokens: str) -> Cause:
    """The tokenizer adds no special tokens."""
    return Cause(SPECIAL, f"no special tokens ({tokens})", "Add the special tokens", "add_special_tokens=True")


def length(limit: int, declared: int, or_more: bool) -> Cause:
    """Texts are cut at another length."""
    words = f"texts cut at {limit:,} tokens{' or more' * or_more} in place of {declared:,}"
    return Cause(LENGTH, words, f"Cut texts at {declared:,} tokens", f"truncation=True, max_length={declared}")


def padding(rule: str, attended: bool) -> Cause:
    """Padding tokens are pooled, and perhaps attended to."""
    words = f"padding tokens are pooled{' and seen by attention' * attended} ({rule})"
    remedy = "Pool the tokens of the attention mask alone, such as their mean"
    if attended:
        remedy = "Pass the attention mask to the model, and pool its tokens alone, such as their mean"
    return Cause(PADDING, words, remedy, POOLINGS["mean"].code)


def pooling(name: str, declared: str) -> Cause:
    """Another pooling."""
    code = POOLINGS[declared].code if declared in POOLINGS else ""
    return Cause(POOLING, f"{name} in place of {declared}", f"Pool with {declared}", code)


def pooler(declared: str) -> Cause:
    """The pooler of a BERT, a layer over its first token, in place of the pooling."""
    return pooling("the pooler (pooler_output)", declared)


def layers(numbers: tuple[int, ...], declared: tuple[int, ...]) -> Cause:
    """Another layer."""
    is_last = declared == (LAST,)
    own = "the last layer" if is_last else layers_title(declared)
    code = "outputs.last_hidden_state" if is_last else "outputs.hidden_states"
    return Cause(LAYER, f"{layers_title(numbers)} in place of {own}", f"Take {own}", code)


def no_dense() -> Cause:
    """The maps after the pooling are left out."""
    return Cause(DENSE, "no dense layer", "Apply the dense layers after the pooling, which modules.json lists")


def no_special_pooled() -> Cause:
    """Special tokens are left out of the pooling."""
    words, remedy = (
        "special tokens are left out of the pooling",
        "Pool the special tokens too, as the attention mask has",
    )
    return Cause(POOLED_TOKENS, words, remedy)


def first_dimensions(count: int, width: int) -> Cause:
    """The vectors are cut to their first dimensions."""
    words, remedy = f"the first {count:,} of {width:,} dimensions", f"Keep all {width:,} dimensions"
    return Cause(DIMENSIONS, words, remedy, "truncate_dim=None")


def norm(words: str, normalises: bool) -> Cause:
    """The length of the vectors is another one than that of a model that normalises, or does not."""
    remedy = "Normalise the vectors" if normalises else "Do not normalise the vectors"
    return Cause(NORM, words, remedy, f"normalize_embeddings={normalises}")


def norm_after_cut() -> Cause:
    """Cut vectors are normalised once more, as is usual."""
    return Cause(NORM, "normalised after the cut")


def order(words: str) -> Cause:
    """The rows are in another order than their sentences."""
    return Cause(ORDER, words, "Put the vectors into the order of the sentences before they are written")


def rounding(words: str) -> Cause:
    """The numbers are rounded, which is no error."""
    return Cause(ROUNDING, words)
