"""Make the recipe of a run from what was chosen, by flags or in a notebook; the rest has the default of its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from explorer import methods
from explorer.data import corpora
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, StrataError
from explorer.knobs import Values
from explorer.methods import Suggestion
from explorer.training import text_defaults
from explorer.training.recipe import NONE, Recipe

# with another one of these it is no longer the recipe that was made with the recorded digests
_NEW = {"method", "model", "data", "columns", "dev", "test", "more_tests", "elsewhere", "elsewhere_most", "stages"}


def fitting(data: Sequence[str]) -> tuple[str, Suggestion]:
    """The method that fits the rows of a text, and why."""
    method = methods.suggested(*corpora.kind_of(data))
    suggestion = methods.load(method).suggestion if method else None
    if suggestion is None:
        raise BadChoice(f"No method is suggested for {' + '.join(data)}. Write 'train METHOD'; 'methods' lists them.")
    return method, suggestion


def with_tests(tests: Sequence[str]) -> dict[str, Any]:
    """The fields of a recipe for these test sets, the main one first; `none` for no test set."""
    return {"test": None if tests[0] == NONE else tests[0], "more_tests": tuple(tests[1:])} if tests else {}


def changed(
    recipe: Recipe,
    fields: Mapping[str, Any],
    settings: Values,
    values: str = methods.DEFAULTS,
    *,
    repeated: bool = False,
    online: bool = False,
) -> Recipe:
    """A recipe with other fields and settings.

    `values` names what other settings start from: Strata's defaults, the paper's, the released code's, or a preset. A
    recipe that is `repeated` states all its values; else sets and settings that belong to the text are the default.
    """
    fields = dict(fields)
    chosen = dict(recipe.settings)
    kind = methods.load(fields.get("method", recipe.method))
    family = model_names.family(fields.get("model", recipe.model), online) if kind.by_family else ""
    if not repeated or values != methods.DEFAULTS:
        chosen |= methods.start_values(kind, family, values)
    chosen |= settings
    if not repeated:
        text = fields.get("data", recipe.data), fields.get("columns", recipe.columns)
        with suppress(StrataError):  # the training says what is wrong with the text
            found = text_defaults.of_text(kind.name, *text, online=online)
            sets = found.sets_with(fields.get("dev"), staged=bool(fields.get("stages", recipe.stages)))
            fields = dict(zip(("dev", "test"), sets or (), strict=False)) | fields
            if values == methods.DEFAULTS:
                chosen |= methods.unless_chosen(found.settings, chosen)
    if _NEW & {name for name, value in fields.items() if value != getattr(recipe, name)}:
        fields["made_with"] = {}
    return replace(recipe, settings=chosen, **fields)
