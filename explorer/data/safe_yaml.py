"""Read and write the YAML of recipes, plans and model cards, which others may have written.

A name is stated once, and a number is decimal: 010 is 8 in YAML 1.1 and 10 in YAML 1.2, 1:30 is 90 in the one and text
in the other. 1e-5 is a number here, as in YAML 1.2, and a date is text; on, off, yes and no are true and false.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from explorer import in_words, places
from explorer.errors import BadChoice

LARGEST = 100_000  # bytes; a recipe has about two thousand
_INT = r"[-+]?(?:0|[1-9][0-9]{0,299})"  # a longer one is no float
_FLOAT = r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|(?i:[-+]?\.inf|\.nan)"
# what else is a number in a version of YAML, if it is none of these two
_OTHER = r"[-+]?(?:0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(?::[0-5]?[0-9])*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)"
_TAG = "tag:yaml.org,2002:"


def text_of(path: Path, next_step: str) -> str:
    """The text of a file that is not too large."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadChoice(f"{path} is larger than {in_words.size(LARGEST)}. {next_step}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadChoice(f"{path} cannot be read ({error}). {next_step}") from error


def parsed(text: str, where: str, next_step: str, same: Mapping[str, str] | None = None) -> Any:
    """The value that a text states. `same` has other words for names of the whole, such as model for models.

    Aliases are refused: a few can stand for billions of values, or hold themselves.
    """
    import yaml

    class Loader(_with_numbers(yaml.SafeLoader)):  # type: ignore[misc]  # it ships no types
        whole: Any = None

        def get_single_node(self) -> Any:
            self.whole = super().get_single_node()
            return self.whole

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("no aliases (*name) are allowed")
            event = self.peek_event()
            if getattr(event, "tag", None) is not None:
                raise yaml.YAMLError("no tags (!name) are allowed")
            if not places.is_utf8(getattr(event, "value", "")):
                raise yaml.YAMLError(f"half of a surrogate pair on line {event.start_mark.line + 1}")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            lines: dict[Any, tuple[Any, int]] = {}
            for key, _ in node.value:
                name, line = self.construct_object(key, deep=True), key.start_mark.line + 1
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.YAMLError("a name must be text")
                meant = (same or {}).get(name, name) if node is self.whole else name
                if meant in lines:
                    before, above = lines[meant]
                    raise BadChoice(
                        f"{where} has {before!r:.200} on line {above} and {name!r:.200} on line {line}. "
                        "Keep one of them."
                    )
                lines[meant] = name, line
            return super().construct_mapping(node, deep)

        def refuse(self, node: Any) -> None:
            raise BadChoice(
                f"{where}, line {node.start_mark.line + 1}: {node.value:.40} is not read in the same way by every "
                "program. Write a decimal number of at most 300 digits without a leading zero, '_' or ':', such as "
                "1000; or put it in quotes if it is text."
            )

    Loader.add_constructor("!other", Loader.refuse)
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # endless brackets
        raise BadChoice(f"{where} is not YAML ({' '.join(str(error).split())[:200]}). {next_step}") from error


def mapping(text: str, where: str, next_step: str, same: Mapping[str, str] | None = None) -> dict[Any, Any]:
    """The mapping that a text states; a table or a list of lines is also YAML, and is refused without its content."""
    content = parsed(text, where, next_step, same)
    if not isinstance(content, dict):
        raise BadChoice(f"{where} is no YAML mapping, whose lines are 'name: value'. {next_step}")
    return content


def written(content: Any) -> str:
    """The text of a value, which `parsed` reads as the same value."""
    return _dumped(content, 110, _with_numbers)


def card_head(content: Mapping[str, Any]) -> str:
    """The metadata of a model card, which programs with any version of YAML read."""
    return _dumped(content, 10_000)


def _dumped(content: Any, width: int, adapted: Callable[[Any], Any] = lambda kind: kind) -> str:
    """What PyYAML writes in Python, by libyaml where that writes the same, which takes a tenth of the time.

    libyaml escapes line ends and emoji, and refuses half of a surrogate pair.
    """
    import yaml

    dump = partial(yaml.dump, content, sort_keys=False, allow_unicode=True, width=width)
    try:
        text: str = dump(Dumper=adapted(getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
        if "\\" not in text:
            return text
    except UnicodeEncodeError:
        pass  # and written below
    text = dump(Dumper=adapted(yaml.SafeDumper))
    return text


@cache
def _with_numbers(kind: type[Any]) -> Any:
    """A reader or writer of YAML that takes decimal numbers alone for numbers, and no date for anything but text."""
    known = {
        first: [(tag, form) for tag, form in forms if tag in (_TAG + "bool", _TAG + "null")]
        for first, forms in kind.yaml_implicit_resolvers.items()
    }
    numbers: Any = type("Numbers", (kind,), {"yaml_implicit_resolvers": known})
    for tag, form in ((_TAG + "int", _INT), (_TAG + "float", _FLOAT), ("!other", _OTHER)):
        numbers.add_implicit_resolver(tag, re.compile(rf"(?:{form})\Z"), list("-+.0123456789"))
    return numbers
