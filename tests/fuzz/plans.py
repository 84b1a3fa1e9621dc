"""Cases of plans: a plan is changed, then read, multiplied into its trainings, and written again."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

from explorer.data import safe_yaml
from explorer.studies.plans import plan, plan_file
from tests.fuzz import mutants, yaml_texts
from tests.fuzz.cases import Fault, may_be_refused

PLANS = (
    {
        "methods": ["simcse", "sg-opt"],
        "models": ["all-MiniLM-L6-v2"],
        "settings": {"steps": 2, "batch_size": 4},
        "grid": {"temperature": [0.05, 0.1]},
        "seeds": [1, 2],
        "budget": {"minutes": 0.5, "steps": 100},
        "tasks": ["STS12"],
    },
    {"method": "simcse", "model": "all-MiniLM-L6-v2", "seed": 3, "task": "MR", "budget": {"minutes": 2}},
    {
        "method": "simcse",
        "variants": [{"label": "a", "settings": {"temperature": 0.2}}, {"label": "b"}],
        "test": "none",
    },
    {"name": "one", "method": "contrast", "data": [["sample"], "there.tsv"], "dev": "sample", "values": "quick"},
)


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change a plan, and use what is read."""
    drawn = Random(seed)
    path = place / drawn.choice(("plan.yaml", "plan.yaml", "plan.yaml", f"{mutants.OTHER_BYTES}.yaml"))
    path.write_bytes(yaml_texts.damaged(drawn, drawn.choice(PLANS)))
    read = plan_file.read(path)
    yaml_texts.check_one_meaning(safe_yaml.text_of(path, ""), plan_file.SINGULAR)
    _check_budget(read.budget)
    text = plan_file.as_yaml(read)
    text.encode()
    if plan_file.from_yaml(text, "the plan written again", read.name) != read:
        raise Fault("it changes when it is written and read")
    with may_be_refused():
        for cell in plan.cells(read):
            cell.row.encode()


def _check_budget(budget: plan.PlanBudget) -> None:
    """Raise unless a budget is numbers that can be computed with."""
    for most, kinds in ((budget.minutes, (int, float)), (budget.steps, (int,))):
        if most is not None and not (type(most) in kinds and math.isfinite(most) and 0 < most < 1e10):
            raise Fault(f"a budget of {most!r:.50}")
