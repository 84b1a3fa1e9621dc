"""The training methods: the folder is their list, and this file names, loads and offers what they are made of."""

import difflib
import importlib
import inspect
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from explorer.data.text_sets import Kind
from explorer.errors import BadChoice
from explorer.knobs import knob
from explorer.methods._additions import (
    MODEL_DEFAULT,
    THE_BASE,
    TRAINED_POOLINGS,
    ChosenPrompts,
    FittedClasses,
    Fitting,
    FrozenEncoder,
    FrozenGuide,
    Momentum,
    Pooled,
    PredictedClasses,
    PromptedRows,
    UncorrectedAdam,
    follow,
    guide_knob,
    pooling_knob,
    temperature_knob,
)
from explorer.methods._batches import Batch, Feed, NoDuplicates
from explorer.methods._changing import changing, kept_buffers, random_states, set_random_states, sow, untouched
from explorer.methods._class_layer import ClassLayer
from explorer.methods._few_rows import few_rows, fitted_names, unless_chosen
from explorer.methods._in_batch import InBatchNegatives
from explorer.methods._method import DEMONSTRATION, UNEVEN, Autocast, Method, Paper, Suggestion, cited, papers
from explorer.methods._mining import MinedNegatives, Mining, mining_knobs, negative_id, text_id, written_id
from explorer.methods._presets import (
    DEFAULTS,
    PAPER,
    QUICK,
    RELEASED,
    knobs_of,
    paper_values,
    presets,
    released_values,
    start_values,
)
from explorer.methods._schedule import ADAPTERS, ENCODERS, Sampler, Schedule

__all__ = [
    "ADAPTERS",
    "DEFAULTS",
    "DEMONSTRATION",
    "ENCODERS",
    "MODEL_DEFAULT",
    "PAPER",
    "QUICK",
    "RELEASED",
    "THE_BASE",
    "TRAINED_POOLINGS",
    "UNEVEN",
    "Autocast",
    "Batch",
    "ChosenPrompts",
    "ClassLayer",
    "Feed",
    "FittedClasses",
    "Fitting",
    "FrozenEncoder",
    "FrozenGuide",
    "InBatchNegatives",
    "Method",
    "MinedNegatives",
    "Mining",
    "Momentum",
    "NoDuplicates",
    "Paper",
    "Pooled",
    "PredictedClasses",
    "PromptedRows",
    "Sampler",
    "Schedule",
    "Suggestion",
    "UncorrectedAdam",
    "changing",
    "cited",
    "few_rows",
    "fitted_names",
    "follow",
    "guide_knob",
    "kept_buffers",
    "knob",
    "knobs_of",
    "load",
    "mining_knobs",
    "names",
    "negative_id",
    "paper_values",
    "papers",
    "pooling_knob",
    "presets",
    "random_states",
    "released_values",
    "set_random_states",
    "sow",
    "start_values",
    "suggested",
    "temperature_knob",
    "text_id",
    "unless_chosen",
    "untouched",
    "written_id",
]

_STATED = re.compile(r"""^\s{4}name\s=\s["']([\w-]+)["']$""", re.MULTILINE)


@cache
def files() -> Mapping[str, str]:
    """The file of each method, by the name that its class states; the text is searched, so that nothing is imported."""
    paths = (path for folder in __path__ for path in Path(folder).glob("[!_]*.py"))
    return {name: path.stem for path in paths for name in _STATED.findall(path.read_text(encoding="utf-8"))}


def names() -> tuple[str, ...]:
    """The names of all methods."""
    return tuple(sorted(files()))


def load(name: str) -> type[Method]:
    """The method with this name."""
    if name not in files():
        near = difflib.get_close_matches(name, names(), n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        raise BadChoice(f"There is no method '{name}'.{meant} There are: {', '.join(names())}.")
    return _in_module(importlib.import_module(f"{__name__}.{files()[name]}"), name)


@cache
def _in_module(module: ModuleType, name: str) -> type[Method]:
    """The method with this name in the module of its file."""
    kinds = filter(inspect.isclass, vars(module).values())
    (found,) = (kind for kind in kinds if issubclass(kind, Method) and vars(kind).get("name") == name)
    return found


def suggested(rows: Kind, texts: int, count: int = 0) -> str:
    """The method that fits rows of a kind with so many sentences, for people who have chosen none; "" if none is.

    One for few rows comes first, if their number is known.
    """
    usual = ""
    for name in names():
        kind = load(name)
        if kind.rows == rows and kind.suggestion is not None and kind.suggestion.texts == texts:
            if 0 < count <= kind.suggestion.most:
                return name
            usual = usual or name * (not kind.suggestion.most)
    return usual
