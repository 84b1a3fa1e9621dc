"""What a training has by default for its text, the recipe of what was chosen, and the recipes of runs that ship."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from explorer import methods
from explorer.data import corpora, sample, sources
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, SetNotFound, StrataError
from explorer.knobs import Knobs, Values, knob
from explorer.methods import DEMONSTRATION, UNEVEN, Suggestion, few_rows, load, names, start_values
from explorer.training.recipe import NONE, Recipe

# with another one of these it is no longer the recipe that was made with the recorded digests
_NEW = {"method", "model", "data", "columns", "dev", "test", "more_tests", "elsewhere", "elsewhere_most", "stages"}


@dataclass(frozen=True)
class StartOptions(Knobs):
    """How a training is started, besides its recipe: its test sets as one list, its steps, and its processes."""

    test: tuple[str, ...] = knob(
        (),
        metavar="FILE|NAME",
        repeated=True,
        help="Test set for the best checkpoint: the same, or 'none'; the main one first.",
    )
    steps: int | None = knob(None, item=int, low=0, help="Updates in all; short for --set steps=N.")
    processes: int | None = knob(
        None, item=int, low=1, help="Refuse to start unless this many processes train together."
    )


@dataclass(frozen=True)
class TextDefaults:
    """The rows that a text has for a method, the sets that belong to them, and the settings for so few of them."""

    rows: int  # 0 if they are not known
    sets: corpora.Sets | None  # a dev set and a test set; None if the text has none
    settings: Values
    held_out: bool  # whether rows can be held out as a test set

    def sets_with(self, dev: SetIdentity | None, *, staged: bool = False) -> corpora.Sets | None:
        """The sets of a training whose dev set may be stated, and which may have stages.

        Then no rows are cross-fitted, since they choose, too, and each fold would need a model of every stage.
        """
        if self.sets is None or sets.CROSS_FITTED not in self.sets or dev == sets.CROSS_FITTED:
            return self.sets
        if dev:
            return (dev, sets.HELD_OUT) if self.held_out else None
        own, test = (sets.HELD_OUT if staged and one == sets.CROSS_FITTED else one for one in self.sets)
        return own, test


def of_text(
    method: str, data: Sequence[SetIdentity], columns: Mapping[str, str] | None = None, *, online: bool = False
) -> TextDefaults:
    """The defaults of a method for a text; an error if the text cannot be read, or has no rows for it.

    Of a published set that is not at hand, which whoever trains on it is told, they have no settings.
    """
    stamps = tuple(map(corpora.stamp, data))
    return _of_text(method, tuple(data), tuple(sorted((columns or {}).items())), online, stamps)


@lru_cache(maxsize=256)  # every row of a plan asks, and every rerun of its page
def _of_text(
    method: str,
    data: tuple[SetIdentity, ...],
    columns: tuple[tuple[str, str], ...],
    online: bool,
    stamps: tuple[Hashable, ...],
) -> TextDefaults:
    kind = load(method)
    try:
        corpus, _ = corpora.corpus(data, kind.rows, dict(columns), online=online, divide=False)
    except SetNotFound:  # its sets are known by their names
        return TextDefaults(0, corpora.matching_sets(data, kind.rows), {}, kind.rows.is_judged)
    found = corpora.matching_sets(data, kind.rows, corpus if kind.trains() else None, labels=kind.predicts())
    return TextDefaults(len(corpus), found, few_rows(kind, len(corpus)), kind.rows.is_judged)


def fitting(data: Sequence[SetIdentity]) -> tuple[str, Suggestion]:
    """The method that fits the rows of a text, and why."""
    method = methods.suggested(*corpora.kind_of(data))
    suggestion = methods.load(method).suggestion if method else None
    if suggestion is None:
        raise BadChoice(
            f"No method is suggested for {' + '.join(map(str, data))}. Write 'train METHOD'; 'methods' lists them."
        )
    return method, suggestion


def with_tests(tests: Sequence[str]) -> dict[str, Any]:
    """The fields of a recipe for these test sets, the main one first; `none` for no test set."""
    return {"test": None if tests[0] == NONE else tests[0], "more_tests": tuple(tests[1:])} if tests else {}


def recipe_with(
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
            own = of_text(kind.name, *text, online=online)
            usual = own.sets_with(fields.get("dev"), staged=bool(fields.get("stages", recipe.stages)))
            fields = dict(zip(("dev", "test"), usual or (), strict=False)) | fields
            if values == methods.DEFAULTS:
                chosen |= methods.unless_chosen(own.settings, chosen)
    found = replace(recipe, settings=chosen, **fields)
    is_new = any(getattr(found, name) != getattr(recipe, name) for name in _NEW & {*fields})
    return replace(found, made_with={}) if is_new else found


def demonstration() -> Recipe:
    """The recipe of the demonstration; docs/results.md ("The demonstration") reports how it was chosen."""
    return _of_preset(DEMONSTRATION)


def uneven_pooler() -> Recipe:
    """The recipe of the pooler whose layer weights are not uniform; docs/results.md ("Layer weights") has others."""
    return _of_preset(UNEVEN)


def _of_preset(preset: str) -> Recipe:
    method = next(name for name in names() if preset in load(name).presets)
    return Recipe(method, data=(sources.text(sample.MINIMAL_PAIRS),), settings=start_values(load(method), "", preset))
