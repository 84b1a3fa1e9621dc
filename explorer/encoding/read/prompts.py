"""Texts after prompts, and their token ids: both know the prompt, since a pooling may leave its tokens out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self


class PromptedText(str):
    """A text after a prompt; it differs from the same characters after another prompt, or without one."""

    prompt: str

    def __new__(cls, whole: str, prompt: str = "") -> Self:
        """The whole text, which begins with the prompt."""
        made = super().__new__(cls, whole)
        made.prompt = prompt
        return made

    def __eq__(self, text: object) -> bool:
        """Whether another text has the same characters and the same prompt."""
        return isinstance(text, str) and str.__eq__(self, text) and prompt_of(text) == self.prompt

    def __ne__(self, text: object) -> bool:
        """Whether another text has other characters or another prompt."""
        return not self == text

    __hash__ = str.__hash__


class PromptedIds(list[int]):
    """The token ids of a text; the pooling leaves the first `left_out` of them out."""

    def __init__(self, ids: Iterable[int], left_out: int) -> None:
        super().__init__(ids)
        self.left_out = left_out


def after(prompt: str, text: str) -> str:
    """A text after a prompt; the text itself without one."""
    return PromptedText(prompt + text, prompt) if prompt else text


def prompt_of(text: str) -> str:
    """The prompt that a text was put after; "" if none."""
    return text.prompt if isinstance(text, PromptedText) else ""


def left_out(ids: Sequence[int]) -> int:
    """How many token ids at the start of a text the pooling leaves out."""
    return ids.left_out if isinstance(ids, PromptedIds) else 0


@dataclass(frozen=True)
class RolePrompts:
    """What is put before a query and before a document of a search, in place of the prompt of other sentences."""

    query: str = ""
    document: str = ""
    pooled: bool = True  # whether the tokens of prompts, also of that of other sentences, are part of the pooling

    def before_queries(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Each of the queries after their prompt."""
        return tuple(after(self.query, text) for text in texts)

    def before_documents(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Each of the documents after their prompt."""
        return tuple(after(self.document, text) for text in texts)


NO_PROMPTS = RolePrompts()
