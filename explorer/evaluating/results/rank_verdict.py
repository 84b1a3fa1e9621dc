"""The verdict of a ranking in words: which model scores highest, and which others it is significantly better than."""

from collections.abc import Sequence

from explorer import in_words
from explorer.data.set_items import counted
from explorer.evaluating.results.rank_groups import LIKE, THESE, Groups, Ranking, fewest_tasks

MOST_NAMED = 3
EXPLAINED = {  # of the columns of letters
    THESE: "Two models that share a letter do not differ significantly on these tasks: paired bootstrap, 1,000 "
    "resamples of each task, spread of the seeds included, Holm's correction for all comparisons. It says nothing of "
    "other tasks.",
    LIKE: "Two models that share a letter do not differ significantly on tasks like these, of which these are taken as "
    "a random sample: paired t-test over the tasks, spread of the seeds included, Holm's correction for all "
    "comparisons, and never more certain than on these tasks.",
}


def text_of(ranking: Ranking, measure: str) -> str:
    """The best model, and which it is significantly better than on these tasks and on tasks like these."""
    tasks = counted(ranking.tasks, "task")
    over = "on this task" if ranking.tasks == 1 else f"on average over these {tasks}"
    highest = f"{ranking.names[0]} scores highest {over}: {measure} {in_words.number(ranking.scores[0])}."
    here = f"On {THESE if ranking.tasks > 1 else 'this task'} {_compared(ranking.names, ranking.on_these)}."
    if ranking.on_like is None:
        models = len(ranking.names)
        elsewhere = f"On {LIKE}: not measured, since {models} models need at least {fewest_tasks(models)} tasks."
    elif ranking.on_like.worse == ranking.on_these.worse:
        elsewhere = f"The same holds on {LIKE} ({tasks})."
    else:
        elsewhere = f"On {LIKE} {_compared(ranking.names, ranking.on_like)} ({tasks})."
    return f"{highest} {here} {elsewhere}"


def _compared(names: Sequence[str], groups: Groups) -> str:
    worse = [names[at] for at in groups.worse]
    alike = [name for at, name in enumerate(names) if at and at not in groups.worse]
    parts = [f"it is significantly better than {_listed(worse)}"] if worse else []
    parts += [f"its difference to {_listed(alike)} could be chance"] if alike else []
    return "; ".join(parts)


def _listed(names: Sequence[str]) -> str:
    left = len(names) - MOST_NAMED
    shown = [*names[:MOST_NAMED], *([f"{left} more"] if left > 0 else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
