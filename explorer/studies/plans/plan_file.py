"""Read and write the YAML file of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from explorer.data import safe_yaml
from explorer.data.graded.sets import SetIdentity
from explorer.errors import BadChoice
from explorer.knobs import Knobs
from explorer.studies.plans.plan import TRAINING_ROWS, Plan

SINGULAR = {"method": "methods", "model": "models", "seed": "seeds", "task": "tasks"}


def as_yaml(plan: Plan) -> str:
    """The text of plan.yaml: what differs from a plan without settings."""
    usual = Plan(plan.name)
    differ = [name for name in plan.declared if name == "name" or getattr(plan, name) != getattr(usual, name)]
    return safe_yaml.written(_plain({name: getattr(plan, name) for name in differ}))


def _plain(value: Any) -> Any:
    """Lists in place of tuples, and texts in place of sets, without what is not set."""
    if isinstance(value, SetIdentity):
        return str(value)
    if isinstance(value, Knobs):
        return _plain({name: getattr(value, name) for name in value.declared})
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if one is not None and one != {}}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def read(path: Path) -> Plan:
    """The plan in a file."""
    return from_yaml(safe_yaml.text_of(path, "Give the file of a plan."), str(path), path.stem)


def from_yaml(text: str, where: str, name: str = "plan") -> Plan:
    """The plan that a text states; a list of one value may be the value itself.

    `name` is its name if it states none. Whether its cells can be trained is checked by `cells`.
    """
    content = safe_yaml.mapping(text, where, "Give the file of a plan.", SINGULAR)
    given = {"name": name, **{SINGULAR.get(key, key): value for key, value in content.items()}}
    if TRAINING_ROWS.name in given:  # a word for a list of the grid
        grid = given.get("grid", {})
        if isinstance(grid, dict) and TRAINING_ROWS.name in grid:
            raise BadChoice(f"{where} has rows, and rows in its grid. Keep one of them.")
        rows = {TRAINING_ROWS.name: given.pop(TRAINING_ROWS.name)}
        given["grid"] = rows | grid if isinstance(grid, dict) else grid
    return Plan.read(given, where)
