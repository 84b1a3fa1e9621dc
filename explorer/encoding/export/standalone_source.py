"""How does a module of Strata work where Strata is not? As one file, put together of those it is made of."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

from explorer.encoding.read import flow, flow_map, layer_attention, layer_reading, pooling, word_weights

# by the file they become; each part needs those before it, and the last one is the module that is called
PARTS = {
    "layer_reading": (pooling, layer_attention, word_weights, layer_reading),
    "flow_map": (flow, flow_map),
}


def alone(name: str) -> str:
    """The source of a module with all it uses; the same code that was trained and scored."""
    parts = PARTS[name]
    docstring = ast.get_docstring(ast.parse(inspect.getsource(parts[-1])), clean=False)
    outside: dict[str, None] = {}
    bodies = []
    for part in parts:
        imports, body = _split(part)
        outside |= dict.fromkeys(imports)
        bodies.append(body)
    return "\n\n\n".join([f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n' + "\n".join(outside), *bodies])


def _split(module: ModuleType) -> tuple[list[str], str]:
    """Its imports from elsewhere, and what comes after all imports."""
    text = inspect.getsource(module)
    lines = text.splitlines()
    imports, end = [], 0
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        end = node.end_lineno or node.lineno
        inside = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("explorer", "__future__")
        if not inside:
            imports.append("\n".join(lines[node.lineno - 1 : end]))
    return imports, "\n".join(lines[end:]).strip()
