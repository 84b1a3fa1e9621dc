"""Collect the imports of every file of a source tree, with their lines and whether they run on import."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

Statement = ast.Import | ast.ImportFrom
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields that hold statements


@lru_cache(maxsize=512)  # the files of the program: several rules look at each
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Every node of a source text but those without parts, such as Load and Add: they are a third of all."""
    found: list[ast.AST] = [ast.parse(text)]
    for node in found:  # grows while it is read
        found += [child for child in ast.iter_child_nodes(node) if child._fields]
    return tuple(found)


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a tree, however deep."""
    for child in inside(tree):
        yield child
        yield from statements(child)


def inside(node: ast.AST) -> list[ast.AST]:
    """The statements right below a statement."""
    return [child for field in BLOCKS for child in getattr(node, field, ())]


@dataclass(frozen=True)
class Import:
    """One name that one file imports."""

    line: int
    name: str  # dotted: a module of the tree as far down as there is a file, or a library's module
    on_import: bool  # False inside a function and under TYPE_CHECKING: importing the file does not run it

    @property
    def library(self) -> str:
        """The first part of the name, which is what is installed."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Source:
    """One Python file: its place in the tree, its text, its imports."""

    path: str  # from the root of the tree, with forward slashes
    module: str
    text: str
    docstring: str | None
    imports: tuple[Import, ...]


def read_sources(root: Path, *places: str) -> tuple[Source, ...]:
    """Every Python file in these files and folders, in order of path."""
    found = [path for place in places for path in (root / place, *(root / place).rglob("*.py"))]
    files = sorted(path for path in found if path.is_file())
    paths = [file.relative_to(root) for file in files]
    modules = frozenset(map(module_of, paths))
    texts = (file.read_text(encoding="utf-8") for file in files)
    return tuple(_read(path, text, modules) for path, text in zip(paths, texts, strict=True))


def module_of(path: Path) -> str:
    """explorer/data/tables/text_rows.py is explorer.data.tables.text_rows; a folder's __init__.py is the folder."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def loads(start: str, tree: Mapping[str, Source]) -> dict[str, list[str]]:
    """Every library that importing a module loads, with the modules on the way to it."""
    found: dict[str, list[str]] = {}
    ways = [[step] for step in _steps(start, tree)]
    seen = {way[-1] for way in ways}
    for way in ways:  # grows while it is read
        for one in tree[way[-1]].imports:
            if not one.on_import:
                continue
            steps = _steps(one.name, tree)
            if not steps:
                found.setdefault(one.library, way)
            ways += [[*way, step] for step in steps if step not in seen]
            seen.update(steps)
    return found


def _steps(name: str, tree: Mapping[str, Source]) -> list[str]:
    """What importing a module runs: the folders around it first, then itself; nothing for a library."""
    parts = name.split(".")
    folders = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return [module for module in folders if module in tree]


@cache  # several rules are tried on the same files
def _read(path: Path, text: str, modules: frozenset[str]) -> Source:
    tree = nodes_of(text)[0]
    package = ".".join(path.parent.parts)
    imports = tuple(
        Import(statement.lineno, name, on_import)
        for statement, on_import in _statements(tree, on_import=True)
        for name in _names(statement, package, modules)
    )
    return Source(path.as_posix(), module_of(path), text, ast.get_docstring(tree), imports)


def _statements(node: ast.AST, *, on_import: bool) -> Iterator[tuple[Statement, bool]]:
    """Every import below a node, however deep, with whether importing the file reaches it."""
    if isinstance(node, Statement):
        yield node, on_import
    elif isinstance(node, ast.If) and _asks_for_types(node.test):
        yield from (found for child in node.body for found in _statements(child, on_import=False))
        yield from (found for child in node.orelse for found in _statements(child, on_import=on_import))
    else:
        on_import = on_import and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in inside(node):
            yield from _statements(child, on_import=on_import)


def _asks_for_types(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _names(statement: Statement, package: str, modules: frozenset[str]) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    start = statement.module or ""
    if statement.level:  # one dot is this package, each further dot the one around it
        parts = package.split(".")
        start = ".".join((*parts[: len(parts) - statement.level + 1], *filter(None, [start])))
    for alias in statement.names:  # `from package import thing`: a module if there is such a file, else a name in it
        full = f"{start}.{alias.name}"
        yield full if full in modules else start
