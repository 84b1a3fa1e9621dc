"""Read the YAML of recipes and plans, which others may have written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer import in_words
from explorer.errors import BadChoice

LARGEST = 100_000  # bytes; a recipe has about two thousand


def text_of(path: Path, next_step: str) -> str:
    """The text of a file that is not too large."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadChoice(f"{path} is larger than {in_words.size(LARGEST)}. {next_step}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadChoice(f"{path} cannot be read ({error}). {next_step}") from error


def parsed(text: str, where: str, next_step: str) -> Any:
    """The value that a text states, without aliases: a few can stand for billions of values, or hold themselves."""
    import yaml

    class NoAliases(yaml.SafeLoader):  # type: ignore[misc]  # it ships no types
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("no aliases (*name) are allowed")
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, NoAliases)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # an invalid date; endless brackets
        raise BadChoice(f"{where} is not YAML ({' '.join(str(error).split())[:200]}). {next_step}") from error
