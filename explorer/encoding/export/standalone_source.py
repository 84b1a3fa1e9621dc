"""Join the source of a module and its helpers into one file that runs without Strata."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

from explorer.encoding.read import flow, flow_map, layer_attention, layer_reading, pooling, reading_titles, word_weights

# by output file; each part uses those before it, and the last one is the module
PARTS = {
    "layer_reading": (reading_titles, pooling, layer_attention, word_weights, layer_reading),
    "flow_map": (flow, flow_map),
}


def alone(name: str) -> str:
    """The source of a module with everything it uses: the code used in training and evaluation."""
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
    """The imports of other libraries, and the code after the imports."""
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
