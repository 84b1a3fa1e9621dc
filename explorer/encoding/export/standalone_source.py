"""Join the source of a class and of everything it uses into one file that runs without Strata."""

import ast
import importlib
import inspect
import symtable
from dataclasses import dataclass, field
from functools import cache

from explorer.encoding.read.head import Head
from explorer.encoding.read.layer_reading import LayerReading
from explorer.encoding.read.parts import LIBRARY

_OWN = __name__.partition(".")[0]  # the package whose code is copied; others are imported


def of_head(head: Head) -> dict[str, str]:
    """The files that an export of a head needs, by name."""
    found = {}
    if head.has_layer_reading:
        found[_file(LayerReading.module)] = of_layer_reading(type(head.layers) if head.layers else None)
    for step in head.dense:
        if not step.module.startswith(LIBRARY):
            found[_file(step.module)] = alone(type(step))
    return found


def of_layer_reading(pooling: type | None) -> str:
    """The source of a LayerReading, with the class of its pooling of states."""
    if pooling is None:
        return alone(LayerReading)
    return f"{alone(LayerReading, pooling)}\n\nLayerReading.pooling = {pooling.__name__}\n"


def alone(*kinds: type) -> str:
    """The source of classes with everything they use: the code used in training and evaluation.

    Its docstring is that of the first one's file.
    """
    found = _Found()
    for kind in kinds:
        _find(kind.__module__, kind.__name__, found)
    docstring = ast.get_docstring(_read(kinds[0].__module__).tree, clean=False)
    whole = sorted(f"import {module}" for module, names in found.imports.items() if "" in names)
    parts = sorted(
        f"from {module} import {', '.join(sorted(names - {''}))}"
        for module, names in found.imports.items()
        if names - {""}
    )
    start = "\n".join([f'"""{docstring}"""\n\nfrom __future__ import annotations\n', *whole, *parts])
    return "\n\n\n".join([start, *found.definitions]) + "\n"


@dataclass(frozen=True)
class _Definition:
    """A statement of a module that defines names, with the comments above it, and the names it uses."""

    text: str
    uses: tuple[str, ...]


@dataclass(frozen=True)
class _Source:
    """A module: where its names come from."""

    tree: ast.Module
    imports: dict[str, tuple[str, str]]  # the module and its name there; "" for the module itself
    definitions: dict[str, _Definition]


@dataclass
class _Found:
    """What the file holds: imports of other libraries, and definitions, each after those it uses."""

    imports: dict[str, set[str]] = field(default_factory=dict)  # names by module; "" is the module itself
    definitions: list[str] = field(default_factory=list)
    modules: dict[str, str] = field(default_factory=dict)  # by name, where it is defined


def _find(module: str, name: str, found: _Found) -> None:
    """Add the definition of a name in a module, after everything it uses."""
    source = _read(module)
    if name in source.imports:
        place, there = source.imports[name]
        if there not in ("", name) or (not there and name != place.partition(".")[0]):
            raise ValueError(f"{module} imports {there or place} as {name}; import it under its own name.")
        if place.partition(".")[0] == _OWN:
            _find(place, name, found)
        else:
            found.imports.setdefault(place, set()).add(there)
    elif name in found.modules and found.modules[name] != module:
        raise ValueError(f"{module} and {found.modules[name]} define {name}, and one file holds both; rename one.")
    elif name in source.definitions and name not in found.modules:
        found.modules[name] = module
        definition = source.definitions[name]
        for used in definition.uses:
            _find(module, used, found)
        if definition.text not in found.definitions:  # a statement may define two names
            found.definitions.append(definition.text)
    # any other name is Python's own, or for type checkers only


@cache
def _read(module: str) -> _Source:
    text = inspect.getsource(importlib.import_module(module))
    lines = text.splitlines()
    source = _Source(ast.parse(text), {}, {})
    end = 0
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            named = {alias.asname or alias.name.partition(".")[0]: (alias.name, "") for alias in node.names}
            source.imports.update(named)
        if isinstance(node, ast.ImportFrom):
            source.imports.update({alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names})
        names = _defined(node)
        if names:
            definition = _Definition("\n".join(lines[end : node.end_lineno]).strip(), _used(node))
            source.definitions.update(dict.fromkeys(names, definition))
        end = node.end_lineno or end
    return source


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return []


def _used(node: ast.stmt) -> tuple[str, ...]:
    """The names of the module that a statement uses, annotations included."""
    tables = [symtable.symtable(ast.unparse(node), "", "exec")]
    used: dict[str, None] = {}
    for table in tables:  # grows while it is read
        tables += table.get_children()
        at_top = table.get_type() == "module"
        symbols = (symbol for symbol in table.get_symbols() if symbol.is_referenced())
        used |= dict.fromkeys(symbol.get_name() for symbol in symbols if at_top or symbol.is_global())
    for one in ast.walk(node):
        for annotation in (getattr(one, "annotation", None), getattr(one, "returns", None)):
            if annotation is not None:
                used |= dict.fromkeys(name.id for name in ast.walk(annotation) if isinstance(name, ast.Name))
    return tuple(used)


def _file(module: str) -> str:
    """`flow_map.FlowMap` is in flow_map.py."""
    return f"{module.partition('.')[0]}.py"
