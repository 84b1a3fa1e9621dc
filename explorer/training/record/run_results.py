"""What finished runs say of models: how one was made, test scores of it and of its base, held-out rows, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from explorer import run_folder
from explorer.data import sample, sources, text_sets
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.labelled import labelled_sets, training_rows
from explorer.data.set_items import ItemSet, several
from explorer.encoding.load.hardware import MEASURED
from explorer.encoding.locate import model_names, stored_vectors
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import SetNotFound, StrataError
from explorer.evaluating import kinds
from explorer.evaluating.results import result_table
from explorer.evaluating.results.result_files import Origin, Result, ScoredModel, revision_of
from explorer.evaluating.results.scored_task import RUN_TEST, Measured, ScoredTask, Setting
from explorer.evaluating.tasks import column_of
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, Tuning, as_trained, judge, judged
from explorer.measuring.comparing.learned import NO_VECTORS, NOT_HELD_OUT
from explorer.measuring.comparing.learned_facts import NOTHING, Learned
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import SPEARMAN
from explorer.measuring.sentences.probe_cosines import sentences_of
from explorer.training.record import runs, used_rows
from explorer.training.record.run_facts import REPORT
from explorer.training.record.status import FINISHED, Status
from explorer.training.record.used_rows import run_of

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.measuring.scores.bootstrap import Interval
    from explorer.training.record.run_facts import RunFacts

LATEST = 20  # runs that are offered


def scored(found: Found) -> ScoredModel:
    """A model as its results name it."""
    given = found.folder.name == found.name  # neither of a run nor of the hub
    folder = "/".join(found.folder.absolute().parent.parts[-2:]).strip("/") if given else ""
    return ScoredModel(found.name, revision_of(found.digest, found.revision), found.digest, origin(found), folder)


def names_of(found: Sequence[Found]) -> list[str]:
    """The names of models; equal ones with what tells them apart, as on Results: the end of the path, if that does."""
    return result_table.distinct_names([one.name for one in found], [scored(one) for one in found])


def origin(found: Found) -> Origin:
    """How a model was trained; empty for any other model, and for a run whose recipe cannot be read."""
    run = run_of(found)
    if run is None:
        return Origin()
    try:
        return of_run(run, found.name.partition("@")[2])
    except StrataError:
        return Origin()


def of_run(run: runs.Run, checkpoint: str = "") -> Origin:
    """How the model of a run was trained, or that of one of its checkpoints, which is another model."""
    recipe = run.recipe()
    seed = recipe.seeds[0] if len(recipe.seeds) == 1 else None
    nothing = not checkpoint and run.status().facts.nothing is not None
    key = text_sets.digest_of((recipe.of_any_seed, checkpoint))
    return Origin(recipe.methods, recipe.model, key, seed, nothing, run.status().facts.row)


def of_runs() -> list[Result]:
    """A result for each finished run with a test score, then one for each base on each of their test sets.

    What a run measured has no items to test in pairs.
    """
    every = [(run, run.status()) for run in (*runs.every(), *runs.examples())]
    bases = {one.key: one for run, status in every for one in of_one(run, status, tuned=False)}
    return [*(one for run, status in every for one in of_one(run, status)), *bases.values()]


def of_one(run: runs.Run, status: Status, *, tuned: bool = True) -> list[Result]:
    """A result for each test set of a run, of the tuned model or of its base; none if it is not finished."""
    if status.state != FINISHED or status.verdict is None:
        return []
    try:
        made, recipe = of_run(run), run.recipe()
    except StrataError:
        return []
    digest = recipe.digest_of("model")
    base = ScoredModel(recipe.model, revision_of(digest, recipe.made_with.get("model_revision")), digest)
    own = model_digest(run, status) if tuned else ""
    model = ScoredModel(run_folder.model_name(run.name), revision_of(own, None), own, made) if tuned else base
    results, facts = [], status.facts
    for use, found in status.verdict.by_use.items():
        score = found.after if tuned else found.before
        if use == "dev" or score is None:
            continue
        measure, table = facts.measure_of(use), np.array([[[score]]])
        by = measure.lower() if measure == SPEARMAN else measure
        settings: dict[str, Setting] = {"measure": by, "precision": MEASURED[0], "device": facts.device}
        name, folder = column_of(str(facts.set_of(use)))
        if name in sources.OWN_ROWS:  # of which every text has some
            name = f"{name} of {' + '.join(map(sources.shown, facts.data))}"
        task = ScoredTask(RUN_TEST, recipe.digest_of(use), settings, name, folder)
        setting: dict[str, Setting] = {several(facts.item_of(use)): facts.size_of(use), "measured": RUN_TEST}
        setting |= {"documents": pool} if (pool := facts.pool_of(use)) else {}
        setting |= of_training(facts)
        measured = Measured("test", (MODEL_DEFAULT,), (by,), table, setting=setting, seconds=status.seconds)
        results.append(Result(model, task, measured))
    return results


def of_training(facts: RunFacts) -> dict[str, Setting]:
    """On what a run trained and what that took, by names that a result has beside those of its measurement."""
    return {f"training {name.replace('_', ' ')}": value for name, value in facts.ran_as_json.items()}


def model_digest(run: runs.Run, status: Status) -> str:
    """The digest of the model of a run, as recorded when it was saved, else of its files; "" if they are gone."""
    if status.facts.model_digest or not run.has_model:
        return status.facts.model_digest
    try:
        return model_names.of_folder(run.name, run.model).digest
    except StrataError:  # an adapter whose base is not here
        return ""


def test_rows_of(run: runs.Run) -> SetIdentity | None:
    """The test rows of a run; None if it held none out and cross-fitted none."""
    return _test_rows_of(run, run.status())


def compare_words(run: runs.Run, model: str = "") -> list[str]:
    """The words of the command that compares the model of a run, `run:NAME` or as it is called, with its base."""
    recipe = run.recipe()
    test = test_rows_of(run) or recipe.test
    return ["compare", recipe.model, model or run_folder.model_name(run.name), *(["--on", str(test)] if test else [])]


def _test_rows_of(run: runs.Run, status: Status) -> SetIdentity | None:
    facts = status.facts
    labelled = any(one.classes for one in status.results)
    tests = {facts.test, *facts.more_tests}
    if sets.CROSS_FITTED in tests and labelled:  # all of them are trained on
        return None
    if tests & {sets.HELD_OUT, sets.CROSS_FITTED} or labelled:
        return SetIdentity(SetKind.TEST_ROWS, run.name)
    return None


def latest_test_rows() -> tuple[SetIdentity, ...]:
    """The test rows of the latest finished runs that held some out."""
    known = [(run, run.status()) for run in runs.every()[:LATEST]]
    return tuple(filter(None, (_test_rows_of(run, status) for run, status in known if status.state == FINISHED)))


def load_set(given: SetIdentity, online: bool = False) -> ItemSet:
    """An evaluation set of any kind: also labelled texts, and the test rows of a run."""
    return load_test_rows(given) if given.kind == SetKind.TEST_ROWS else kinds.evaluated_on(given, online)


def named_set(source: str, online: bool = False) -> ItemSet:
    """An evaluation set of any kind by its name, a file or a folder."""
    return load_set(sources.identity(source), online)


def load_test_rows(given: SetIdentity) -> ItemSet:
    """The test rows of a run: scored pairs, a retrieval set, or labelled rows with those trained on."""
    from explorer.training.loop import training_texts

    run, name = runs.find(given.name), given.title
    recipe = run.recipe()
    texts = training_texts.read_texts(recipe)
    own = next((one for one in (sets.HELD_OUT, sets.CROSS_FITTED) if one in recipe.tests), None)
    if own is not None:
        use = recipe.tests.index(own)
        rows = texts.tests[use]
        assert not isinstance(rows, text_sets.Corpus), "labelled rows are not held out by this name"
        known = recipe.digest_of("test" if use == 0 else f"test {use + 1}")
        _check_unchanged(name, known, rows.digest)
        return replace(rows, name=name)  # type: ignore[type-var]  # every set is a dataclass
    corpus = texts.corpus
    if corpus.test is None:
        raise SetNotFound(f"The run '{run.name}' held no rows out of its training text. Choose another evaluation set.")
    _check_unchanged(name, recipe.digest_of("data"), corpus.digest)
    dev = None if corpus.validation is None else training_rows.as_labelled(corpus.validation)
    return labelled_sets.LabelledSet(
        name, training_rows.as_labelled(corpus), dev, training_rows.as_labelled(corpus.test)
    )


def _check_unchanged(name: str, then: str, now: str) -> None:
    if then and then != now:
        raise SetNotFound(
            f"The {name} cannot be found again: the training text was changed since ({then[:12]} then, {now[:12]} now)."
            " Restore the text, or choose another evaluation set."
        )


def tuning(found: tuple[Found, Found], pairs: str) -> Tuning | None:
    """The tuned model of two, if the other is the base of its run; `pairs` is the digest of what they are scored on."""
    for place in (1, 0):
        run = run_of(found[place])
        try:
            recipe = run.recipe() if run else None
        except StrataError:  # it cannot be read
            continue
        if (
            run is None
            or recipe is None
            or found[place].prompt is not None
            or found[1 - place].digest != recipe.digest_of("model")
        ):
            continue
        status = run.status()
        uses = status.facts.seen.uses if status.facts.seen else ()
        seen = pairs in [recipe.digest_of(use) for use in uses]
        # a checkpoint is no best one, so what the run measured is not of it
        verdict = (
            status.verdict if run_folder.model_of(found[place].folder) == run_folder.model_name(run.name) else None
        )
        measured = Learned(verdict.packs, pairs=verdict.pairs, elsewhere=verdict.elsewhere) if verdict else NOTHING
        measured = replace(measured, nothing=status.facts.nothing) if verdict else measured
        trained = status.facts.base_reading or status.facts.reading
        facts, test = status.facts.listed(REPORT), _test_rows_of(run, status) or recipe.test
        tuned = Tuning(place, trained, seen, measured, facts, test=sources.shown(str(test or "")))
        if pairs != recipe.digest_of("test") or status.facts.test != sets.CROSS_FITTED:
            return tuned
        of_folds = verdict.test if verdict else None
        return replace(tuned, optimistic=True, folds=of_folds, folds_by=status.facts.measure_of("test"))
    return None


def verdict_on(
    found: tuple[Found, Found],
    pairs: ItemSet,
    comparison: Comparison,
    metric: str,
    aggregate: str,
    difference: Callable[[Comparison], Interval],
    load: Callable[[SetIdentity], ItemSet] = kinds.evaluated_on,
) -> tuple[Comparison, ComparisonVerdict]:
    """What the verdict compares, and the verdict; `difference` gives B minus A for a comparison, `load` reads a set."""
    tuned = tuning(found, pairs.digest)
    about = judged(comparison, tuned)
    same = as_trained(about, tuned, metric)
    training = None if same is None else difference(same)
    used = used_rows.used(found, pairs, load)
    return about, judge(found, pairs, about, difference(about), metric, aggregate, tuned, training, used)


def known_probes(
    found: tuple[Found, Found], verdict: ComparisonVerdict, settings: Iterable[Settings]
) -> Learned | None:
    """The changes of the probe packs without encoding: as the run measured them, or none if they are not held out.

    A run measures in float32; None under other settings, and of models that no run tuned one from the other.
    """
    # a run whose text holds the packs, or whose checkpoint they chose
    if any(run.status().facts.packs_held_out is False for run in filter(None, map(run_of, found))):
        return Learned(why_none=NOT_HELD_OUT)
    if any(stored_vectors.lack(one.folder, sentences_of(sample.probe_packs())) for one in found):
        return Learned(why_none=NO_VECTORS)
    exact = {(one.precision, one.max_length) for one in settings} == {("float32", None)}
    return verdict.tuning.probes if exact and verdict.tuning and verdict.tuning.probes.packs else None
