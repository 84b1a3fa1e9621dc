"""Write the Python lines that use an exported encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.encoding.read.pooling import POOLINGS

if TYPE_CHECKING:
    from explorer.encoding.read.head import Head

FOLDER = "path/to/this/folder"
_SENTENCES = 'sentences = ["The kettle boils.", "The water is hot."]'


def sentence_transformers(head: Head | None = None) -> str:
    """The lines for sentence-transformers, which reads pooling, length limit and prompt from the folder."""
    trusting = ", trust_remote_code=True" if head is not None and head.own_modules else ""  # it runs the modules
    return f"""from sentence_transformers import SentenceTransformer

{_SENTENCES}
vectors = SentenceTransformer("{FOLDER}"{trusting}).encode(sentences)  # (sentence, dimension)"""


def transformers(
    head: Head, opener: str, prompt: str = "", lower_case: bool = False, max_length: int | None = None
) -> str | None:
    """The lines for transformers alone; None for a layer & pooling that needs more than a few lines."""
    from explorer.encoding.read.head import Dense

    steps = _steps(head)
    if steps is None:
        return None
    states = ["    states = model(**rows).last_hidden_state  # (sentence, token, width)"]
    if not head.of_last_layer:
        states = ["    layers = model(**rows).hidden_states  # (layer, sentence, token, width)"]
        if not head.has_layer_reading:
            states.append(_blended(head.poolings[0]))
    text = f"{prompt!r} + text" if prompt else "text"
    if lower_case:
        text = f"({text}).lower()" if prompt else "text.lower()"
    written = f"[{text} for text in sentences]" if text != "text" else "sentences"
    length = f", max_length={max_length}" if max_length else ""
    lines = [
        *["import sys", ""] * bool(head.own_modules),
        "import torch",
        *["from safetensors.torch import load_file"] * any(isinstance(step, Dense) for step in head.dense),
        f"from transformers import {', '.join(sorted((opener, 'AutoTokenizer')))}",
        "",
        f'folder = "{FOLDER}"',
        _SENTENCES,
        f"tokenizer, model = AutoTokenizer.from_pretrained(folder), {opener}.from_pretrained(folder)",
        f'rows = tokenizer({written}, padding=True, truncation=True{length}, return_tensors="pt")',
        "with torch.no_grad():",
        *states,
        *steps,
    ]
    return "\n".join(lines)


def _steps(head: Head) -> list[str] | None:
    """From states to vectors."""
    from explorer.encoding.read.head import Dense
    from explorer.encoding.read.pooling import layers_of

    if head.has_layer_reading:
        lines: list[str] | None = [
            'reading = LayerReading.load(f"{folder}/1_LayerReading")',
            'vectors = reading.read(layers, rows["attention_mask"])',
        ]
    else:
        lines = _pooling(tuple(layers_of(name)[0] for name in head.poolings))
    if lines is None:
        return None
    lines = [*_own(head), *lines]
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
        lines.append(f'vectors = torch.nn.{step.activation}()(vectors @ dense["linear.weight"].T{bias})')
    return lines + ["vectors = torch.nn.functional.normalize(vectors)"] * head.normalize


def _blended(name: str) -> str:
    """The states of the layers in a name."""
    from explorer.encoding.read.pooling import layers_of

    layers = [f"layers[{layer}]" for layer in layers_of(name)[1]]
    return f"    states = {layers[0]}" if len(layers) == 1 else f"    states = ({' + '.join(layers)}) / {len(layers)}"


def _own(head: Head) -> list[str]:
    """The lines that import the folder's own modules."""
    named = (module.partition(".") for module in head.own_modules)
    lines = [f"from {file} import {kind}  # a file of the folder" for file, _, kind in named]
    return ["sys.path.insert(0, folder)", *lines, ""] if lines else []


def _pooling(poolings: tuple[str, ...]) -> list[str] | None:
    """From the last layer's states to vectors."""
    if any(name not in POOLINGS for name in poolings):
        return None
    pooled = [POOLINGS[name].code for name in poolings]
    joined = pooled[0] if len(pooled) == 1 else f"torch.cat([{', '.join(pooled)}], dim=-1)"
    lines = ['mask = rows["attention_mask"][:, :, None]'] if "mask" in joined else []
    return [*lines, f"vectors = {joined}"]
