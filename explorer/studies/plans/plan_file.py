"""Read and write the YAML file of a plan; every value is checked where its cells are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from explorer.errors import BadChoice
from explorer.knobs import Values
from explorer.studies.plans.plan import TRAINING_ROWS, Fitted, Plan, PlanBudget, Variant
from explorer.training import safe_yaml
from explorer.training.recipe import Stage

SINGULAR = {"method": "methods", "model": "models", "seed": "seeds", "task": "tasks"}


def as_yaml(plan: Plan) -> str:
    """The text of plan.yaml: what differs from a plan without settings."""
    usual = Plan(plan.name)
    content = {name: value for name, value in asdict(plan).items() if name == "name" or value != asdict(usual)[name]}
    return safe_yaml.written(_plain(content))


def _plain(value: Any) -> Any:
    """Lists in place of tuples, without what is not set."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if one is not None and one != {}}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def read(path: Path) -> Plan:
    """The plan in a file."""
    return from_yaml(safe_yaml.text_of(path, "Give the file of a plan."), str(path), path.stem)


def from_yaml(text: str, where: str, name: str = "plan") -> Plan:
    """The plan that a text states; a list of one value may be the value itself.

    `name` is its name if it states none. Every value is checked by `cells`.
    """
    content = safe_yaml.parsed(text, where, "Give the file of a plan.", SINGULAR)
    known = {TRAINING_ROWS.name, *(one.name for one in fields(Plan))}
    if not isinstance(content, dict):
        raise BadChoice(f"{where} is not a plan: a plan has any of {', '.join(sorted(known))}.")
    content = {SINGULAR.get(key, key): value for key, value in content.items()}
    unknown = sorted(map(str, set(content) - known))
    if unknown:
        raise BadChoice(f"{where}: a plan has no '{unknown[0]}'. It has {', '.join(sorted(known))}.")
    given: dict[str, Any] = {"name": name, **content}
    for key in ("methods", "models", "tasks", "elsewhere"):
        if key in given:
            given[key] = tuple(_text(one, key, where) for one in _listed(given[key]))
    if "data" in given:
        given["data"] = tuple(
            tuple(_text(one, "data", where) for one in _listed(text)) for text in _listed(given["data"])
        )
    if "seeds" in given:
        given["seeds"] = _listed(given["seeds"])
        for seed in given["seeds"]:
            if type(seed) is not int:
                raise BadChoice(f"{where}: a seed cannot be {seed!r}; it must be a whole number.")
    for key in ("name", "dev", "test", "values", "precision", "device"):
        if key in given:
            given[key] = _text(given[key], key, where)
    for key in ("settings", "grid"):
        if not isinstance(given.get(key, {}), dict):
            raise BadChoice(f"{where}: {key} cannot be {given[key]!r}; it must have a value for each name.")
    if TRAINING_ROWS.name in content:  # a word for a list of the grid
        if TRAINING_ROWS.name in given.get("grid", {}):
            raise BadChoice(f"{where} has rows, and rows in its grid. Keep one of them.")
        given["grid"] = {TRAINING_ROWS.name: given.pop(TRAINING_ROWS.name), **given.get("grid", {})}
    given["settings"] = _settings(given.get("settings", {}), "settings", where)
    given["grid"] = {str(key): tuple(_listed(values)) for key, values in given.get("grid", {}).items()}
    for key, values in given["grid"].items():
        for value in values:
            _settings({key: value}, "grid", where)
    given["stages"] = _stages(given.get("stages", ()), where)
    given["fitted"] = tuple(_as_fitted(one, where) for one in _listed(given.get("fitted", ())))
    given["variants"] = tuple(_variant(one, where) for one in _listed(given.get("variants", ())))
    given["budget"] = PlanBudget.read(given.get("budget", {}), f"{where}, budget")
    return Plan(**given)


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _text(value: Any, key: str, where: str) -> str:
    if not isinstance(value, str):
        raise BadChoice(f"{where}: {key} cannot be {value!r}; it must be text, in quotes if necessary.")
    return value


def _settings(values: Mapping[Any, Any], key: str, where: str) -> Values:
    for name, value in values.items():
        if not isinstance(value, bool | int | float | str):
            raise BadChoice(f"{where}: {key}.{name} cannot be {value!r}; it must be a number, a text, on or off.")
    return {str(name): value for name, value in values.items()}


def _variant(stated: Any, where: str) -> Variant:
    known = {"label", "settings", "method", "data", "stages"}
    if not isinstance(stated, dict) or not set(stated) <= known or "label" not in stated:
        raise BadChoice(
            f"{where}: a variant has a label and any of settings, method, data, stages; this one is {stated!r:.200}."
        )
    if not isinstance(stated.get("settings", {}), dict):
        raise BadChoice(
            f"{where}: settings of a variant cannot be {stated['settings']!r}; it must have names and values."
        )
    return Variant(
        _text(stated["label"], "label", where),
        _settings(stated.get("settings", {}), "settings", where),
        _text(stated["method"], "method", where) if "method" in stated else None,
        tuple(_text(one, "data", where) for one in _listed(stated["data"])) if "data" in stated else None,
        _stages(stated["stages"], where) if "stages" in stated else None,
    )


def _as_fitted(stated: Any, where: str) -> Fitted:
    names = {one.name for one in fields(Fitted)}
    if not isinstance(stated, dict) or not set(stated) <= names or not {"method", "data"} <= set(stated):
        raise BadChoice(f"{where}: what is fitted has any of {', '.join(sorted(names))}; this one is {stated!r:.200}.")
    settings = stated.get("settings", {})
    if not isinstance(settings, dict):
        raise BadChoice(f"{where}: settings of what is fitted cannot be {settings!r}; they must be names and values.")
    texts = {name: _text(stated[name], name, where) for name in ("method", "dev", "test") if name in stated}
    data = tuple(_text(one, "data", where) for one in _listed(stated["data"]))
    return Fitted(**texts, data=data, settings=_settings(settings, "settings", where))


def _stages(stated: Any, where: str) -> tuple[Stage, ...]:
    return tuple(Stage.read(one, f"{where}, stage {at}") for at, one in enumerate(_listed(stated), start=1))
