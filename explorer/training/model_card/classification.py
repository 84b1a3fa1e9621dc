"""Write the part of a model card on classes: the scores of the test rows, and the code that classifies."""

from __future__ import annotations

from dataclasses import replace

from explorer.markdown import fenced, table
from explorer.measuring.scores.class_scores import MEASURES
from explorer.training.loop.seed_scores import spread
from explorer.training.model_card import usage_code
from explorer.training.model_card.card_facts import CardFacts


def section(facts: CardFacts) -> list[str]:
    """The section of a model that was fine-tuned on labelled texts; empty for any other one."""
    scores = facts.model.classes
    if scores is None:
        return []
    rows = []
    for name in MEASURES:
        seeds = [None if one.classes is None else one.classes.measure(name) for one in facts.seeds]
        average = spread(seeds) if len(seeds) > 1 else None
        over_seeds = [f"{average[0]:.2f} ± {average[1]:.2f}"] if average else []
        rows.append((name, f"{scores.measure(name):.2f}", *over_seeds))
    header = ("", "this model", f"mean ± standard deviation of {len(facts.seeds)} seeds")[: len(rows[0])]
    told = (
        f"Classes of {scores.rows:,} test rows, which were neither trained on nor used to choose the step; × 100, "
        "higher is better. Matthews' correlation is 0 for classes by chance."
    )
    code = usage_code.transformers(
        replace(facts.head, normalize=False), facts.opener, facts.prompt, facts.lower_case, _length(facts)
    )
    example = ["To classify (of two sentences each, give the tokenizer two lists):", fenced("python", f"{code}{_CODE}")]
    return ["\n\n".join(("## Classification", told, table(header, rows), *(example if code else [])))]


def _length(facts: CardFacts) -> int:
    """The most tokens of a row, in training and test."""
    return min(int(facts.settings.get("max_length", facts.max_length)), facts.max_length)


_CODE = """

import json
from safetensors import safe_open

with safe_open(f"{folder}/classifier.safetensors", "pt") as file:
    weight, bias, classes = file.get_tensor("weight"), file.get_tensor("bias"), json.loads(file.metadata()["classes"])
print([classes[place] for place in (vectors @ weight.T + bias).argmax(1)])"""
