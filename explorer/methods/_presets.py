"""The sets of settings of a method: Strata's defaults, the paper's values, the released code's, and presets by name."""

from dataclasses import replace
from functools import cache

from explorer.errors import BadChoice
from explorer.knobs import Knob, Values
from explorer.methods._method import Method
from explorer.methods._schedule import Schedule

DEFAULTS, PAPER, RELEASED, QUICK = "defaults", "as in the paper", "as released", "quick"
QUICK_STEPS, QUICK_BATCH = 100, 16


def knobs_of(kind: type[Method], family: str = "") -> dict[str, Knob]:
    """Every knob of a method and, if it trains, of its schedule, with the method's values as defaults.

    `family` is the encoder's, such as `RoBERTa-base`: values that the paper states for it replace the defaults, or the
    paper's values where Strata's default is another.
    """
    return dict(_knobs_of(kind, family))  # type: ignore[arg-type]  # a class is hashable


@cache
def _knobs_of(kind: type[Method], family: str) -> dict[str, Knob]:
    """These knobs, found once: a recipe asks for them whenever it is read, checked or compared."""
    knobs = dict(kind.knobs)
    if kind.trains():
        usual = kind.schedule.by_name()
        for name, one in Schedule.knobs.items():
            if one.rows in (None, kind.rows) and name not in kind.unused:
                of_papers = one.paper if kind.as_published else None
                knobs[name] = replace(one, default=usual[name], paper=kind.paper_schedule.get(name, of_papers))
    for name, value in kind.by_family.get(family, {}).items():
        knobs[name] = knobs[name].for_family(value)
    return knobs


def paper_values(kind: type[Method], family: str = "") -> dict[str, bool | int | float | str]:
    """The paper's value of every knob, for a family of encoders; the default if the paper gives none."""
    return {name: one.paper_value for name, one in knobs_of(kind, family).items()}


def released_values(kind: type[Method], family: str = "") -> dict[str, bool | int | float | str]:
    """The values of the released code: the paper's, but for what the method states."""
    return {**paper_values(kind, family), **kind.released}


def presets(kind: type[Method]) -> dict[str, Values]:
    """Further sets of settings by name: those of the method, and a quick trial; a method without a loss is quick."""
    small = {"steps": QUICK_STEPS, "batch_size": min(QUICK_BATCH, kind.schedule.batch_size)}
    quick = small if kind.trains() else {}
    return {**kind.presets, QUICK: {**quick, **kind.presets.get(QUICK, {})}}


def start_values(kind: type[Method], family: str, values: str = DEFAULTS) -> dict[str, bool | int | float | str]:
    """The settings that a recipe starts from, for a family of encoders.

    `values` names Strata's defaults, the paper's values, the released code's, or a preset.
    """
    knobs = knobs_of(kind, family)
    settings = {name: knobs[name].default for name in kind.by_family.get(family, {})}
    if values == PAPER:
        settings |= paper_values(kind, family)
    elif values == RELEASED:
        settings |= released_values(kind, family)
    elif values != DEFAULTS:
        known = presets(kind)
        if values not in known:
            raise BadChoice(f"The method has no preset '{values}'. Choose one of {', '.join(known)}.")
        settings |= known[values]
    return settings
