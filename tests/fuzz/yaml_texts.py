"""Damage YAML at random, and check a text that was accepted with a slow reader of its own."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import yaml

from tests.fuzz import mutants
from tests.fuzz.cases import Fault

SPELLED = (
    "010", "-010", "08", "1:30", "1:30:00", "1_000", "0x1F", "0b11", "0o10", ".nan", ".inf", "-.inf", "1e3", "1E-400",
    "9" * 300, "9" * 301, "9" * 5000, "1.5", "0", "-1", "yes", "Off", "~", "null", "2020-01-01", "2020-99-99", "12:75",
    "'010'", "'1_000'", "٣", "３", "1,000", '"\\udcff"', '"a\\0b"', "!!int 010", "! x", "&a [1]", "*a", "{<<: {a: 1}}",
    mutants.NO_USER, "[]", "{}", "[1, 1]", "{a: 1, a: 2}",
)  # fmt: skip
_VALUE = re.compile(r"(?<=[:\-,\[{] )[^\s,\[\]{}]+")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]{0,299})")
_NEVER = re.compile(r"[-+]?0[xob][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+|[-+]?0[0-9]+|[-+]?[0-9]+_[0-9_]*")
_BROKEN = re.compile("[\ud800-\udfff]")


def damaged(drawn: Random, content: Any) -> bytes:
    """The text of a value with values spelled in odd ways, lines repeated, or bytes changed."""
    content = mutants.of_json(drawn, content) if drawn.random() < 0.5 else content
    if drawn.random() < 0.3:  # JSON is YAML
        return mutants.text_of(drawn, content).encode()
    text = _BROKEN.sub("?", yaml.safe_dump(content, allow_unicode=True, sort_keys=False)).replace(mutants.AGAIN, "")
    for _ in range(drawn.choice((0, 1, 1, 2, 3))):
        places = list(_VALUE.finditer(text))
        if places:
            place = drawn.choice(places)
            text = text[: place.start()] + drawn.choice(SPELLED) + text[place.end() :]
    lines = text.splitlines(keepends=True)
    if lines and drawn.random() < 0.2:
        lines.insert(drawn.randrange(len(lines) + 1), drawn.choice(lines))
    data = "".join(lines).encode()
    return mutants.of_bytes(drawn, data) if drawn.random() < 0.2 else data


def check_one_meaning(text: str, same: dict[str, str]) -> None:
    """Raise if a text states a name twice, or a number that the versions of YAML read differently."""
    whole = yaml.compose(text, yaml.SafeLoader)
    nodes = [whole] if whole is not None else []
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.ScalarNode):
            if node.style is None and (_NEVER.fullmatch(node.value) or _is_other_int(node)):
                raise Fault(f"accepted though it holds {node.value:.50}")
        elif isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value]
            names = [same.get(name, name) for name in names] if node is whole else names
            if len(set(names)) < len(names):
                raise Fault(f"accepted though it has one of these names twice: {', '.join(names)[:200]}")
            nodes += [part for pair in node.value for part in pair]
        else:
            nodes += node.value


def _is_other_int(node: yaml.ScalarNode) -> bool:
    return node.tag.endswith(":int") and not _DECIMAL.fullmatch(node.value)
