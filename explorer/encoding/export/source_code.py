"""Write the Python of an exported encoder: the lines that use it, and its own modules in files without Strata."""

from __future__ import annotations

import ast
import importlib
import inspect
import symtable
import sys
from functools import cache
from typing import TYPE_CHECKING

from explorer.encoding.read.parts import LIBRARY
from explorer.encoding.read.pooling import POOLINGS, layers_of

if TYPE_CHECKING:
    from explorer.encoding.read.head import Head

FOLDER = "path/to/this/folder"
_SENTENCES = 'sentences = ["The kettle boils.", "The water is hot."]'
_OWN = __name__.partition(".")[0]  # the package whose code is copied; others are imported


def sentence_transformers(head: Head | None = None, named: bool = False) -> str:
    """The lines for sentence-transformers, which reads pooling, length limit and prompt from the folder.

    It is `named` for lines that follow.
    """
    trusting = ", trust_remote_code=True" if head is not None and head.own_modules else ""  # it runs the modules
    folder = "folder" if named else f'"{FOLDER}"'
    lines = [
        "from sentence_transformers import SentenceTransformer",
        "",
        *[f'folder = "{FOLDER}"'] * named,
        _SENTENCES,
        f"vectors = SentenceTransformer({folder}{trusting}).encode(sentences)  # (sentence, dimension)",
    ]
    return "\n".join(lines)


def transformers(
    head: Head, auto_class: str, prompt: str = "", lower_case: bool = False, max_length: int | None = None
) -> str | None:
    """The lines for transformers alone; None for a layer & pooling, or a prompt, that needs more than a few lines.

    Without a class, transformers does not open the model.
    """
    from explorer.encoding.read.head import Dense

    steps = _steps(head)
    if steps is None or not auto_class or (prompt and not head.roles.pooled):
        return None
    states = ["    states = model(**rows).last_hidden_state  # (sentence, token, width)"]
    if not head.of_last_layer:
        states = ["    layers = model(**rows).hidden_states  # (layer, sentence, token, width)"]
        if not head.has_layer_reading:
            layers = [f"layers[{layer}]" for layer in layers_of(head.poolings[0])[1]]
            mean = layers[0] if len(layers) == 1 else f"({' + '.join(layers)}) / {len(layers)}"
            states.append(f"    states = {mean}")
    text = f"{prompt!r} + text" if prompt else "text"
    if lower_case:
        text = f"({text}).lower()" if prompt else "text.lower()"
    written = f"[{text} for text in sentences]" if text != "text" else "sentences"
    length = f", max_length={max_length}" if max_length else ""
    lines = [
        *["import sys", ""] * bool(head.own_modules),
        "import torch",
        *["from safetensors.torch import load_file"] * any(isinstance(step, Dense) for step in head.dense),
        f"from transformers import {', '.join(sorted((auto_class, 'AutoTokenizer')))}",
        "",
        f'folder = "{FOLDER}"',
        _SENTENCES,
        f"tokenizer, model = AutoTokenizer.from_pretrained(folder), {auto_class}.from_pretrained(folder)",
        f'rows = tokenizer({written}, padding=True, truncation=True{length}, return_tensors="pt")',
        "with torch.no_grad():",
        *states,
        *steps,
    ]
    return "\n".join(lines)


def _steps(head: Head) -> list[str] | None:
    """The lines from states to vectors; None if they are more than a few."""
    from explorer.encoding.read.head import Dense

    lines = []
    if head.own_modules:
        named = (module.partition(".") for module in head.own_modules)
        imports = [f"from {file} import {kind}  # a file of the folder" for file, _, kind in named]
        lines += ["sys.path.insert(0, folder)", *imports, ""]
    if head.has_layer_reading:
        lines += [
            'reading = LayerReading.load(f"{folder}/1_LayerReading")',
            'vectors = reading.read(layers, rows["attention_mask"])',
        ]
    else:
        names = [layers_of(name)[0] for name in head.poolings]
        if any(name not in POOLINGS for name in names):
            return None
        pooled = [POOLINGS[name].code for name in names]
        joined = pooled[0] if len(pooled) == 1 else f"torch.cat([{', '.join(pooled)}], dim=-1)"
        lines += ['mask = rows["attention_mask"][:, :, None]'] * ("mask" in joined) + [f"vectors = {joined}"]
    blended = not head.of_last_layer and not head.has_layer_reading  # one more module, before the pooling
    for number, step in enumerate(head.dense, start=3 if blended else 2):
        kind = type(step).__name__
        if step.module in head.own_modules:
            lines.append(f'vectors = {kind}.load(f"{{folder}}/{number}_{kind}")(vectors)')
            continue
        if not isinstance(step, Dense):
            return None
        bias = "" if step.bias is None else ' + dense["linear.bias"]'
        lines.append(f'dense = load_file(f"{{folder}}/{number}_Dense/model.safetensors")')
        added = ' @ dense["residual.weight"].T' * (step.residual_weight is not None)
        added = f" + vectors{added}" * step.residual
        lines.append(f'vectors = torch.nn.{step.activation}()(vectors @ dense["linear.weight"].T{bias}){added}')
    return lines + ["vectors = torch.nn.functional.normalize(vectors)"] * head.normalize


def of_head(head: Head) -> dict[str, str]:
    """The files that an export of a head needs, by name: `flow_map.FlowMap` is in flow_map.py."""
    from explorer.encoding.read.layer_reading import LayerReading

    found = {step.module: alone(type(step)) for step in head.dense if not step.module.startswith(LIBRARY)}
    if head.has_layer_reading:
        poolings = [type(head.layers)] if head.layers else []
        stated = [f"\n\nLayerReading.pooling = {pooling.__name__}\n" for pooling in poolings]
        found[LayerReading.module] = "".join([alone(LayerReading, *poolings), *stated])
    return {f"{module.partition('.')[0]}.py": text for module, text in found.items()}


def alone(*kinds: type) -> str:
    """The source of classes with everything they use: the code used in training and evaluation.

    Its docstring is that of the first one's file.
    """
    found = _Collected()
    for kind in kinds:
        found.add(kind.__module__, kind.__name__)
    whole = sorted(f"import {module}" for module, names in found.imports.items() if "" in names)
    named = {module: ", ".join(sorted(names - {""})) for module, names in found.imports.items()}
    parts = sorted(f"from {module} import {names}" for module, names in named.items() if names)
    docstring = sys.modules[kinds[0].__module__].__doc__
    start = "\n".join([f'"""{docstring}"""\n\nfrom __future__ import annotations\n', *whole, *parts])
    return "\n\n\n".join([start, *found.definitions]) + "\n"


class _Collected:
    """What a file holds: imports of other libraries, and definitions, each after those it uses."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}  # names by module; "" is the module itself
        self.definitions: list[str] = []
        self.modules: dict[str, str] = {}  # by name, where it is defined

    def add(self, module: str, name: str) -> None:
        """Add the definition of a name in a module, after everything it uses."""
        imports, definitions = _read(module)
        if name in imports:
            place, there = imports[name]
            if there not in ("", name) or (not there and name != place.partition(".")[0]):
                raise ValueError(f"{module} imports {there or place} as {name}; import it under its own name.")
            if place.partition(".")[0] == _OWN:
                self.add(place, name)
            else:
                self.imports.setdefault(place, set()).add(there)
        elif self.modules.get(name, module) != module:
            raise ValueError(f"{module} and {self.modules[name]} define {name}, and one file holds both; rename one.")
        elif name in definitions and name not in self.modules:
            self.modules[name] = module
            for used in _used(definitions[name]):
                self.add(module, used)
            if definitions[name] not in self.definitions:  # a statement may define two names
                self.definitions.append(definitions[name])
        # any other name is Python's own, or for type checkers only


@cache
def _read(module: str) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Where the names of a module come from: the module and name that it imports, or the text that defines them.

    The name of a module that is imported itself is "". A text has the comments above it.
    """
    text = inspect.getsource(importlib.import_module(module))
    lines, end = text.splitlines(), 0
    imports: dict[str, tuple[str, str]] = {}
    definitions: dict[str, str] = {}
    for node in ast.parse(text).body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            imports |= {alias.asname or alias.name.partition(".")[0]: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imports |= {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        definitions |= dict.fromkeys(names, "\n".join(lines[end : node.end_lineno]).strip())
        end = node.end_lineno or end
    return imports, definitions


def _used(definition: str) -> tuple[str, ...]:
    """The names of the module that a statement uses, annotations included."""
    tables = [symtable.symtable(definition, "", "exec")]
    used: dict[str, None] = {}
    for table in tables:  # grows while it is read
        tables += table.get_children()
        at_top = table.get_type() == "module"
        symbols = (symbol for symbol in table.get_symbols() if symbol.is_referenced())
        used |= dict.fromkeys(symbol.get_name() for symbol in symbols if at_top or symbol.is_global())
    for one in ast.walk(ast.parse(definition)):
        for annotation in (getattr(one, "annotation", None), getattr(one, "returns", None)):
            if annotation is not None:
                used |= dict.fromkeys(name.id for name in ast.walk(annotation) if isinstance(name, ast.Name))
    return tuple(used)
