"""Choose the prompt of each task: the same for all, or by the rule of MTEB from the model's own table of prompts.

MTEB takes the first name that the table has: the task's, such as STSBenchmark, then its type's, such as STS. Of queries
and documents, each is tried with the role first, such as Retrieval-query, and at last the role alone: query, document.
Without any of them the model's own prompts stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from explorer.encoding.load import chosen_prompts
from explorer.evaluating.results import scored_task
from explorer.evaluating.results.scored_task import MTEB, Options
from explorer.measuring.scores.measure import Settings, with_room

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.evaluating.tasks import Subject, Task

TYPES = {  # what MTEB calls the kinds of tasks
    scored_task.STS: "STS",
    scored_task.TRANSFER: "Classification",
    scored_task.PAIR_CLASSIFICATION: "PairClassification",
    scored_task.CLUSTERING: "Clustering",
    scored_task.RETRIEVAL: "Retrieval",
}
ROLES = {"query_prompt": ("query",), "document_prompt": ("document", "passage")}  # by the option


def prompted(subject: Subject, task: Task[Any], options: Options) -> tuple[Subject, Options]:
    """The model as it reads the texts of a task, and the options with the prompts of queries and documents as texts."""
    found, chosen = subject.found, options.prompt
    if task.kind == scored_task.RETRIEVAL:
        given = {role: getattr(options, role) for role in ROLES}
        texts: dict[str, Any] = {
            role: chosen_prompts.text_of(found, name) for role, name in given.items() if name is not None
        }
        if chosen == MTEB:
            texts = {role: text for role in ROLES if (text := by_rule(found, task, *ROLES[role])) is not None} | texts
        elif chosen is not None:
            texts = {"query_prompt": chosen_prompts.text_of(found, chosen)} | texts
        return subject, replace(options, **texts)
    if chosen is None:
        return subject, options
    text = by_rule(found, task) if chosen == MTEB else chosen_prompts.text_of(found, chosen)
    return subject if text is None else _after(subject, text), options


def by_rule(found: Found, task: Task[Any], *roles: str) -> str | None:
    """The prompt that MTEB takes from the model's table for a task, or for a role in it; None if it takes none."""
    if task.kind not in TYPES:
        return None
    also = [other for other, name in task.also.items() if name == task.name]
    names = [
        *(one for name in (task.name, *also) for one in (*(f"{name}-{role}" for role in roles), name)),
        *(f"{TYPES[task.kind]}-{role}" for role in roles),
        TYPES[task.kind],
        *roles,
    ]
    own = {name: text or "" for name, text in (chosen_prompts.declared(found.folder).prompts or {}).items()}
    return chosen_prompts.named_in(own, *names)


def _after(subject: Subject, text: str) -> Subject:
    """The model after a prompt, with the weights of the one that is loaded."""
    found = chosen_prompts.after_text(subject.found, text)

    def load(of: Found, settings: Settings) -> Encoder:
        assert of.prompt is not None
        return with_room(subject.encoder.after_prompt(of.prompt, of.digest), settings)

    return subject if found is subject.found else replace(subject, found=found, load=load)
