"""State a result as MTEB does: its task, subset and languages, and the scores of the model default as shares of 1."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from explorer import typed_json
from explorer.data.graded import nano_beir
from explorer.data.graded.published_sets import SETS, InMteb
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.results.scored_task import COSTS, Measured, ScoredTask
from explorer.measuring.neighbours.rankings import MRR, NDCG, RECALLS

# MTEB's names of measures that are the same; of its MAP a query with more than 100 relevant documents has another one
_MEASURES = {"spearman": "cosine_spearman", "pearson": "cosine_pearson", NDCG: "ndcg_at_10", MRR: "mrr_at_10"}
_MEASURES |= {name: f"recall_at_{k}" for name, k in RECALLS.items()}
# SICK-R is no task there: MTEB's task of that name has all of its pairs
_TASKS: dict[str, InMteb | None] = {one.name: one.in_mteb for one in SETS}
_TASKS |= {one.name: InMteb(one.in_mteb) for one in nano_beir.SETS}


def of_mteb(task: ScoredTask) -> InMteb | None:
    """What MTEB calls a task, and which of its subsets it is; None if MTEB has another task of that name."""
    return _TASKS.get(task.name, InMteb(task.name))


def task_name(task: ScoredTask) -> str:
    """The name of a task in the file of its result."""
    known = of_mteb(task)
    return task.name if known is None else known.task


def scores(task: ScoredTask, measured: Measured) -> dict[str, Any]:
    """The scores of a task, or of the subset that it is; of one that MTEB does not have, as those of its own."""
    found: dict[str, float | None] = {}
    for name in measured.measures:
        value = measured.score(MODEL_DEFAULT, name)
        found[name] = None if not np.isfinite(value) else value if name in COSTS else value / 100
    main = found[measured.measures[0]]
    found |= {_MEASURES[name]: value for name, value in found.items() if name in _MEASURES}
    known = of_mteb(task) or InMteb(task.name)
    return {"main_score": main, **found, "hf_subset": known.subset, "languages": list(known.languages)}


def with_other_subsets(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The content of a file of MTEB, with the scores of other subsets that the file at this path has."""
    try:
        before = typed_json.parsed(path.read_text(encoding="utf-8"))
        there = before["scores"] if before["task_name"] == content["task_name"] else {}
        merged = {
            split: [one for one in there.get(split, ()) if one["hf_subset"] != new[0]["hf_subset"]] + new
            for split, new in content["scores"].items()
        }
        json.dumps(merged, allow_nan=False)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # no file yet, or one of another program
        return dict(content)
    return {**content, "scores": merged}
