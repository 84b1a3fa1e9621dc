"""Find the places of a source file that know a family of models: its types, settings, modules, files or classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache

from explorer.encoding.locate import families
from tests.imports import nodes_of

WORDS_OF_TITLES = ("name", "sizes_in_papers")  # fields of a row with words for people
# what rows state that is known without them
COMMON = {
    # transformers gives these to the configuration of every family, under any name that its file has
    "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
    "type_vocab_size", "vocab_size",
    # words of everything
    "dim", "drop", "embeddings",
}  # fmt: skip
_CLASS = re.compile(
    r"(?!Auto|PreTrained|Generation)[A-Z]\w*(Model|Config|Tokenizer(Fast)?|Embeddings|Layer|For[A-Z]\w+)"
)


@cache
def names() -> frozenset[str]:
    """Whatever a family is known by in code."""
    found = {"add_pooling_layer"}
    for row in families.FAMILIES:
        for field in fields(row):
            stated = getattr(row, field.name)
            if field.name not in WORDS_OF_TITLES and isinstance(stated, str | tuple):
                found |= {stated} if isinstance(stated, str) else {*stated}
    return frozenset(found - COMMON - {""})


@cache
def known(text: str) -> tuple[tuple[int, str], ...]:
    """The lines of a source text that know a family, and what they know; texts for people and docstrings may."""
    return tuple(_known(text))


def _known(text: str) -> Iterator[tuple[int, str]]:
    known_names = names()
    for node in nodes_of(text):
        found: set[str] = set()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = {*re.findall(r"[\w.-]+", node.value)}
            found = words & known_names
            if any(map(str.isspace, node.value)) and words != found:  # not a list of names, but a text
                found = set()
        elif isinstance(node, ast.Attribute):
            found = {node.attr} & known_names
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(one, ast.Attribute) and one.attr == "model_type" for one in sides):
                missing = any(isinstance(one, ast.Constant) and one.value is None for one in sides)
                found = set() if missing else {"model_type"}
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "transformers":
            inside = str(node.module).startswith("transformers.models.") and ".auto" not in str(node.module)
            found = {one.name for one in node.names if inside or _CLASS.fullmatch(one.name)}
        if found:
            yield getattr(node, "lineno", 1), ", ".join(sorted(found)[:3])
