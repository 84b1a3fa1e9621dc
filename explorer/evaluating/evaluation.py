"""Score several models on several tasks, save each result at once, and collect what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from explorer.errors import DataError
from explorer.evaluating import suites, word_subject
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, Scored
from explorer.evaluating.suites import Options, Subject
from explorer.evaluating.word_subject import WordSubject
from explorer.progress import Progress, Work


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results, and in words which tasks had no data."""

    results: tuple[Result, ...]
    missing: tuple[str, ...]


def evaluation(
    models: Sequence[tuple[Scored, Subject | WordSubject]],
    tasks: Sequence[str],
    options: Options,
    share: slice = slice(None),
) -> Work[Evaluation]:
    """Score every model on every task; a task without its data is left out and named.

    Of several processes, each takes its `share` of the cells (model × task).
    """
    results: list[Result] = []
    missing: dict[str, None] = {}
    cells = list(product(models, tasks))[share]
    for done, ((model, subject), task) in enumerate(cells):
        yield Progress(f"{model.name}: {task}", done, len(cells))
        try:
            if isinstance(subject, WordSubject):
                measured = yield from word_subject.evaluate(subject, task, options)
            else:
                measured = yield from suites.evaluate(subject, task, options)
        except DataError as error:
            missing[str(error)] = None
            continue
        results.append(Result(model, measured))
        result_files.write(results[-1])
    return Evaluation(tuple(results), tuple(missing))
