"""Write the parts of a model card with code: how the model encodes sentences, and how it classifies them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.encoding.export import source_code
from explorer.encoding.read.prompts import NO_PROMPTS, RolePrompts
from explorer.escaping import fenced, plain, table
from explorer.knobs import Values

if TYPE_CHECKING:
    from explorer.encoding.read.head import Head

CLASSIFIER = "classifier.safetensors"  # in the folder of a model that was fine-tuned on labelled texts
_CODE = """

import json
from safetensors import safe_open

with safe_open(f"{{folder}}/{}", "{}") as file:
    weight, bias, classes = file.get_tensor("weight"), file.get_tensor("bias"), json.loads(file.metadata()["classes"])
print([classes[place] for place in (vectors @ weight.T + bias).argmax(1)])"""


@dataclass(frozen=True)
class ExportedFacts:
    """How a saved model encodes sentences."""

    head: Head
    prompt: str
    lower_case: bool
    max_length: int  # tokens of the exported model, not of the training
    dimension: int
    auto_class: str  # the transformers class that opens it
    prompts: RolePrompts = NO_PROMPTS  # of queries and documents
    classifies_exported: bool = False  # whether its classification layer is of vectors as the model gives them


def use(about: ExportedFacts) -> str:
    """The section that says how the model encodes, with code that does it."""
    code = source_code.transformers(about.head, about.auto_class, about.prompt, about.lower_case)
    prompts = {"each sentence": about.prompt, "queries": about.prompts.query, "documents": about.prompts.document}
    left_out = "" if about.prompts.pooled else ", left out of the pooling"
    rows = {
        "Layer & pooling": plain(about.head.describe()),
        "Embedding dimension": f"{about.dimension}",
        "Maximum length": f"{about.max_length} tokens (longer sentences are truncated)",
        **{f"Prompt before {what}": f"{plain(repr(one))}{left_out}" for what, one in prompts.items() if one},
        "Text": "lowercased" if about.lower_case else None,
        "Similarity": "cosine",
    }
    return "\n\n".join(
        (
            "## Use",
            fenced("python", source_code.sentence_transformers(about.head)),
            *(["With transformers alone:", fenced("python", code)] if code else []),
            table(("", ""), [(name, text) for name, text in rows.items() if text is not None]),
        )
    )


def classifying(about: ExportedFacts, settings: Values) -> list[str]:
    """What the classification layer is, and code that classifies; nothing if that takes more than a few lines."""
    if about.classifies_exported:
        from explorer.methods import ClassLayer

        text = (
            f"The layer in `{CLASSIFIER}` is a logistic regression (C = {ClassLayer.strength:g}) of the training rows, "
            "on their vectors as sentence-transformers gives them. To classify:"
        )
        code, kind = source_code.sentence_transformers(about.head, named=True), "np"
    else:
        text = "To classify (of two sentences each, give the tokenizer two lists):"
        # the most tokens of a row, in training and test
        longest = min(int(settings.get("max_length", about.max_length)), about.max_length)
        head = replace(about.head, normalize=False)
        found = source_code.transformers(head, about.auto_class, about.prompt, about.lower_case, longest)
        if found is None:
            return []
        code, kind = found, "pt"
    return [text, fenced("python", code + _CODE.format(CLASSIFIER, kind))]
