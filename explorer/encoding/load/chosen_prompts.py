"""Choose the prompt before texts: one of the model's own table, by its name, or a typed text.

Encoders that follow instructions read a text after a sentence that says what its vector is for. The table is `prompts`
in config_sentence_transformers.json. Where one of its prompts is an instruction (`Instruct: {task}`, then `Query: ` on
a line of its own, as E5-instruct and Qwen3-Embedding publish it), usual tasks can be named, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from explorer.data.tables.columns import plain
from explorer.encoding.locate import configuration, layout, model_names, stored_vectors
from explorer.encoding.locate.model_names import Found
from explorer.errors import BadChoice
from explorer.knobs import Knobs, knob

OWN = "as the model declares"
ABOUT = (
    "Put before every text in place of the model's own prompt, and of queries with passages before the queries alone: "
    "a name in the model's table of prompts, such as sts_query, or a text, such as 'query: ', with \\n for a new line. "
    "'' for none."
)
# the sentences of E5-instruct and of MTEB for kinds of tasks whose data sets have none of their own
INSTRUCTIONS = {
    "sts": "Retrieve semantically similar text.",
    "classification": "Classify user passages.",
    "clustering": "Identify categories in user passages.",
    "search": "Given a web search query, retrieve relevant passages that answer the query",
}
_INSTRUCTION, _ENDS = "Instruct: ", ("\nQuery: ", "\nQuery:")
_NAME = re.compile(r"[\w.-]+")  # a text is told from a name that is unknown by its spaces and marks
OF_TRAINING = {  # the setting of a recipe
    "title": "Prompt",
    "metavar": "NAME|TEXT",
    "empty": OWN,
    "help": "Put before every text in training and evaluation, in place of the model's own prompt; the exported model "
    "declares it. A name in the model's table of prompts, such as sts_query, or a text, such as 'query: ', with \\n "
    "for a new line. '' for none. The base is still evaluated with its own.",
}


@dataclass(frozen=True)
class ChosenPrompt(Knobs):
    """The prompt of a model."""

    prompt: str | None = knob(None, title="Prompt", metavar="NAME|TEXT", empty=OWN, help=ABOUT)


@dataclass(frozen=True)
class SidePrompts(ChosenPrompt):
    """The prompts of A and B."""

    other_prompt: str | None = knob(
        None, title="Prompt of B", metavar="NAME|TEXT", empty="what --prompt says", help="Of B."
    )

    def of_both(self, model_a: Found, model_b: Found) -> tuple[Found, Found]:
        """Both models, as they read texts after these prompts."""
        of_b = self.prompt if self.other_prompt is None else self.other_prompt
        return after(model_a, self.prompt), after(model_b, of_b)


def declared(folder: Path) -> configuration.SentenceTransformer:
    """The prompts in a model's folder, and the name of that of all texts."""
    path = layout.described_in(folder) / "config_sentence_transformers.json"
    return configuration.read(path, configuration.SentenceTransformer)


def table(folder: Path) -> dict[str, str]:
    """The prompts that can be named: those of the model, then the usual instructions if it takes instructions."""
    own = {name: text or "" for name, text in (declared(folder).prompts or {}).items()}
    instructions = [text for text in own.values() if text.startswith(_INSTRUCTION)]
    end = next((end for end in _ENDS for text in instructions if text.endswith(end)), "")
    usual = {name: f"{_INSTRUCTION}{text}{end}" for name, text in INSTRUCTIONS.items()} if end else {}
    return own | {name: text for name, text in usual.items() if name not in own}


def text_of(model: Found, chosen: str) -> str:
    """The prompt with a name, or the typed one; a single word that is no name is refused."""
    known = table(model.folder)
    named = known.get(chosen, named_in(known, chosen))
    if named is not None:
        return named
    if _NAME.fullmatch(chosen):
        names = f"Its table has: {', '.join(known)}." if known else "Its folder has no table of prompts."
        raise BadChoice(
            f"{model.name} has no prompt named '{chosen}'. {names} Choose one of these, or type the text of a prompt; "
            f"one that is a single word ends with a space: '{chosen} '."
        )
    return chosen.replace("\\n", "\n")


def named_in(known: Mapping[str, str], *names: str) -> str | None:
    """The prompt with the first of these names that a table has, ignoring case and punctuation."""
    by_name = {plain(name): text for name, text in reversed([*known.items()])}
    return next((by_name[plain(name)] for name in names if plain(name) in by_name), None)


def after(model: Found, chosen: str | None) -> Found:
    """The model as it reads texts after a prompt, by its name or its text; without one, or with its own, itself."""
    return model if chosen is None else after_text(model, text_of(model, chosen))


def after_text(model: Found, text: str) -> Found:
    """The model as it reads texts after a prompt."""
    stored_vectors.refuse(model.folder, model.name)
    own = declared(model.folder)
    as_declared = [(own.prompts or {}).get(name) or "" for name in (own.default_prompt_name or "", "query")]
    return model if as_declared == [text, text] else model_names.after_prompt(model, text)


def in_words(model: Found) -> str:
    """What a chosen prompt adds to the name of a model: `, after the prompt 'query: '`; "" without one."""
    if model.prompt is None:
        return ""
    return f", after the prompt {model.prompt!r}" if model.prompt else ", without a prompt"


def as_json(model: Found) -> dict[str, str]:
    """A chosen prompt as a field of JSON; nothing without one."""
    return {} if model.prompt is None else {"prompt": model.prompt}


def flags(model_a: Found, model_b: Found) -> list[str]:
    """The flags of the prompts of A and B, in a command that repeats a comparison."""
    sides = {"--prompt": model_a.prompt}
    if model_b.prompt != model_a.prompt:
        sides["--other-prompt"] = model_b.prompt
    stated = ((flag, text) for flag, text in sides.items() if text is not None)
    return [word for flag, text in stated for word in (flag, text.replace("\n", "\\n"))]
