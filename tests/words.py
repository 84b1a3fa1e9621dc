"""Collect every text that a visitor or reader may read; `python -m tests.words` prints those of the interface."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.imports import nodes_of

ROOT = Path(__file__).parents[1]
FILES = ("app.py", "pages/*.py", "explorer/**/*.py", "strata/*.py")
DOCUMENTS = ("*.md", "docs/*.md", "explorer/data/samples/*.md")
_CODE = re.compile(r"`[^`\n]*`|^    .*$", re.MULTILINE)
KEYS = {"key", "icon", "lane"}  # arguments that no visitor reads
TITLES = "explorer/methods/"  # the docstrings of its classes are shown on the Train page
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Text:
    """A text and its place, `file:line`."""

    place: str
    text: str


Name = tuple[str, int, str]


def texts() -> tuple[Text, ...]:
    """Every text of the interface, the command line, errors, figures, methods and model cards."""
    return _of_files(ROOT, FILES)[0]


@cache
def _of_files(root: Path, patterns: tuple[str, ...]) -> tuple[tuple[Text, ...], tuple[Name, ...]]:
    """The texts of these files, and the names that they give; each file is parsed once."""
    found: list[Text] = []
    names: list[Name] = []
    for path in (path for pattern in patterns for path in sorted(root.glob(pattern))):
        source, file = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
        found += of_source(source, file)
        named = ((getattr(node, "lineno", 0), _named(node)) for node in nodes_of(source))
        names += [(file, line, name) for line, name in named if name]
    return tuple(found), tuple(names)


def documents() -> Iterator[Text]:
    """Every line of the documents, without code: names of settings and files are no prose."""
    for pattern in DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            prose = _CODE.sub("", path.read_text(encoding="utf-8"))
            for number, line in enumerate(prose.split("\n"), start=1):
                yield Text(f"{path.relative_to(ROOT).as_posix()}:{number}", line)


def of_source(source: str, file: str) -> Iterator[Text]:
    """The texts of one module: string constants with a space, f-strings with {} for their values."""
    nodes = nodes_of(source)
    hidden: set[int] = set()
    for node in nodes:
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            if not (isinstance(node, ast.ClassDef) and file.startswith(TITLES)):
                hidden.add(id(node.body[0].value))  # type: ignore[attr-defined]
        elif isinstance(node, ast.keyword) and node.arg in KEYS:
            hidden |= {id(part) for part in ast.walk(node.value)}
        elif isinstance(node, ast.JoinedStr):
            hidden |= {id(part) for part in node.values}
    for node in nodes:
        text = "" if id(node) in hidden else _text(node)
        if " " in text.strip():
            yield Text(f"{file}:{node.lineno}", text)  # type: ignore[attr-defined]


def identifiers(root: Path = ROOT) -> tuple[Name, ...]:
    """Every name that code gives to a function, class, parameter or variable, with its file and line."""
    return _of_files(root, FILES if root == ROOT else ("*.py",))[1]


def parameters(*folders: Path) -> Iterator[Name]:
    """Every parameter of a function in the folders, with its file and line; not those of lambdas."""
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for node in nodes_of(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                for one in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg):
                    if one is not None:
                        yield path.name, one.lineno, one.arg


def _named(node: ast.AST) -> str:
    """The name that a node of code gives; "" if it gives none."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    for one in texts():
        print(f"{one.place}: {' '.join(one.text.split())}")
