"""The rows that a run held out of its training text and was tested on, as an evaluation set.

The rows follow from the text alone, so they are found again from the recipe; nothing is stored twice.
"""

from dataclasses import replace

from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.labelled.training_rows import as_labelled
from explorer.data.sources import HELD_OUT
from explorer.errors import SetNotFound
from explorer.evaluating.tasks.judges import Evaluated
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, Status

LATEST = 20  # runs that are offered


def of_run(run: Run) -> SetIdentity | None:
    """The test rows of a run; None if it held none out."""
    return _of_run(run, run.status())


def _of_run(run: Run, status: Status) -> SetIdentity | None:
    facts = status.facts
    if HELD_OUT in (facts.test, *facts.more_tests) or any(one.classes for one in status.results):
        return SetIdentity(SetKind.TEST_ROWS, run.name)
    return None


def latest() -> tuple[SetIdentity, ...]:
    """The test rows of the latest finished runs that held some out."""
    known = [(run, run.status()) for run in runs.every()[:LATEST]]
    return tuple(filter(None, (_of_run(run, status) for run, status in known if status.state == FINISHED)))


def load(given: SetIdentity) -> Evaluated:
    """The test rows of a run: a retrieval set of pairs or triplets, or labelled rows with those trained on."""
    from explorer.training.loop import preparing

    run, name = runs.find(given.name), given.title
    recipe = run.recipe()
    texts = preparing.read_texts(recipe)
    if HELD_OUT in recipe.tests:
        use = recipe.tests.index(HELD_OUT)
        rows = texts.tests[use]
        known = recipe.digest_of("test" if use == 0 else f"test {use + 1}")
        _check(name, known, rows.digest)
        return replace(rows, name=name)
    corpus = texts.corpus
    if corpus.test is None:
        raise SetNotFound(f"The run '{run.name}' held no rows out of its training text. Choose another evaluation set.")
    _check(name, recipe.digest_of("data"), corpus.digest)
    dev = None if corpus.validation is None else as_labelled(corpus.validation)
    return LabelledSet(name, as_labelled(corpus), dev, as_labelled(corpus.test))


def _check(name: str, then: str, now: str) -> None:
    if then and then != now:
        raise SetNotFound(
            f"The {name} cannot be found again: the training text was changed since ({then[:12]} then, {now[:12]} now)."
            " Restore the text, or choose another evaluation set."
        )
