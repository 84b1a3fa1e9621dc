"""Test what finished runs say of models: which was tuned from which, and the rows that a run held out for its test."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from explorer.data import sample, sources
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.sources import CROSS_FITTED, HELD_OUT
from explorer.data.text_sets import GradedPairs
from explorer.encoding.locate.model_names import find
from explorer.errors import SetNotFound
from explorer.evaluating.results import result_table
from explorer.measuring.comparing import headline
from explorer.measuring.comparing.learned import NOT_HELD_OUT
from explorer.measuring.comparing.learned_facts import NOTHING, Learned
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.verdict import RunVerdict, Verdict
from explorer.progress import finish
from explorer.studies.blend import blend_curve, blending
from explorer.training.loop.learner import Learner
from explorer.training.record import run_results
from explorer.training.record import status as statuses
from explorer.training.record.run_results import known_probes, tuning
from explorer.training.record.runs import Run
from explorer.training.record.used_rows import run_of
from tests import trainings
from tests.tiny_models import save_tiny

MINE = SetIdentity(SetKind.TEST_ROWS, "mine")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def run(place):
    return trainings.train(trainings.new(place, "simcse", name="mine", settings={"steps": 2, "keep_steps": True}))


@pytest.fixture(autouse=True)
def runs(place, run, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))


def test_the_tuned_one_is_found_on_either_side_and_by_any_name(place, run):
    base = find(str(place.model))
    for name in ("run:mine", str(run.model), "run:mine@step-2"):
        tuned = find(name)
        assert run_of(tuned) == run
        assert tuning((base, tuned), "x").tuned == 1
        assert tuning((tuned, base), "x").tuned == 0
    assert tuning((base, tuned), "x").trained == run.status().facts.reading is not None


def test_what_the_run_measured_on_the_probe_packs_is_of_its_best_checkpoint_alone(place, run):
    base, tuned, checkpoint = find(str(place.model)), find("run:mine"), find("run:mine@step-2")
    verdict = run.status().verdict
    assert verdict.packs, "the premise"
    for sides in ((base, tuned), (tuned, base)):
        assert tuning(sides, "x").probes == Learned(verdict.packs, pairs=verdict.pairs)
        judged = SimpleNamespace(tuning=tuning(sides, "x"))
        assert known_probes(sides, judged, [Settings("float32")] * 2).packs == verdict.packs
        assert known_probes(sides, judged, [Settings("float32"), Settings("bfloat16")]) is None
        assert known_probes(sides, judged, [Settings("float32", max_length=8)]) is None
    assert tuning((base, checkpoint), "x").probes == NOTHING
    assert known_probes((base, checkpoint), SimpleNamespace(tuning=tuning((base, checkpoint), "x")), ()) is None


def test_of_a_model_that_the_probe_packs_chose_they_prove_nothing(place):
    trainings.train(trainings.new(place, "simcse", name="chosen", dev="Probe packs", settings={"steps": 2}))
    sides = find(str(place.model)), find("run:chosen")
    told = known_probes(sides, SimpleNamespace(tuning=None), [Settings("float32")])
    assert (told.packs, told.why_none) == ((), NOT_HELD_OUT)


def test_other_models_were_not_tuned_from_one_another(place, tmp_path):
    other, base, tuned = (
        find(str(save_tiny("bert", tmp_path / "other", seed=9))),
        find(str(place.model)),
        find("run:mine"),
    )
    assert run_of(base) is None
    assert tuning((other, tuned), "x") is None, "it is not the base of that run"
    assert tuning((base, other), "x") is None


def test_a_score_is_optimistic_on_the_test_set_whose_sentences_were_in_the_text(place):
    text = place.folder / "leak.csv"
    first, second, _ = trainings.texts_of(place.test)
    text.write_text("\n".join(["sentence", *first, *second]) + "\n", encoding="utf-8")
    trainings.train(trainings.new(place, "simcse", name="leak", data=(str(text),), settings={"steps": 2}))
    sides = find(str(place.model)), find("run:leak")
    digest = sources.scored_pairs(str(place.test))[0].digest
    assert tuning(sides, digest).optimistic
    assert not tuning(sides, sample.pairs().digest).optimistic
    assert not tuning((sides[0], find("run:mine")), digest).optimistic


def test_a_leak_marks_the_test_set_that_it_is_of_and_no_other(place):
    text = place.folder / "leak-2.csv"
    first, second, _ = trainings.texts_of(place.dev)
    text.write_text("\n".join(["sentence", *first, *second]) + "\n", encoding="utf-8")
    sets = {"dev": "Probe packs", "more_tests": (str(place.dev),)}
    run = trainings.new(place, "simcse", name="leak-2", data=(str(text),), settings={"steps": 2}, **sets)
    status = trainings.train(run).status()
    first_set, leaked = (sources.scored_pairs(str(one))[0].digest for one in (place.test, place.dev))
    assert status.facts.seen.uses == ("test 2",), "the premise"
    assert "scores on test 2 are optimistic" in status.facts.seen.words
    assert [use for use in status.verdict.by_use if status.verdict.is_optimistic(use)] == ["test 2"]
    assert not status.learned.optimistic
    assert "optimistic" not in headline.line(replace(status.learned, elsewhere=())).text
    assert status.learned.optimistic_more == (str(place.dev),)
    sides = find(str(place.model)), find("run:leak-2")
    assert tuning(sides, leaked).optimistic, "on Compare"
    assert not tuning(sides, first_set).optimistic
    _, curve = finish(blending.of_runs([run], (0.5,)))
    assert [use for use, one in blend_curve.as_json(curve)["sets"].items() if one["optimistic"]] == ["test 2"]
    assert not blend_curve.as_json(curve)["optimistic"]


def test_the_rows_that_a_run_cross_fitted_are_found_again_with_the_verdict_of_its_folds(place):
    text = trainings.scored_pairs(place.folder, 24)
    folds = {"data": (text,), "dev": CROSS_FITTED, "test": CROSS_FITTED}
    run = trainings.train(trainings.new(place, "cosent", name="folds", settings={"steps": 2}, **folds))
    rows = run_results.load_test_rows(run_results.test_rows_of(run))
    assert isinstance(rows, GradedPairs)
    assert sorted(zip(rows.first, rows.second, strict=True)) == sorted(
        zip(*trainings.texts_of(Path(text))[:2], strict=True)
    )
    sides = find(str(place.model)), find("run:folds")
    found = tuning(sides, rows.digest)
    assert (found.folds, found.folds_by, found.optimistic) == (run.status().verdict.test, "Spearman", True)
    assert (tuning(sides, "x").folds, tuning(sides, "x").optimistic) == (None, False)


def test_a_model_with_changed_files_is_no_earlier_base_and_the_samples_short_name_means_the_same_pairs(place, tmp_path):
    base = save_tiny("bert", tmp_path / "base")
    trainings.train(trainings.new(place, "simcse", name="earlier", model=str(base), settings={"steps": 2}))
    before = find(str(base))
    save_tiny("bert", base, seed=9)
    assert tuning((before, find("run:earlier")), "x").tuned == 1
    assert tuning((find(str(base)), find("run:earlier")), "x") is None
    trainings.train(
        trainings.new(place, "simcse", name="short", data=("sample",), test="sample test", settings={"steps": 2})
    )
    sides = find(str(place.model)), find("run:short")
    assert tuning(sides, sample.test().digest).optimistic
    assert not tuning(sides, sample.dev().digest).optimistic


@pytest.fixture
def asked(tmp_path, monkeypatch):
    place = trainings.furnish(tmp_path)
    rows = "\n".join(f"a question about {n} things,the answer of {n} words" for n in range(60))
    place.triplets.write_text(f"query,passage\n{rows}\n", encoding="utf-8")
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    return place


def test_they_are_listed_by_the_name_of_their_run_and_are_what_it_was_tested_on(asked):
    plain = trainings.train(trainings.new(asked, "contrast", "plain", settings={"steps": 2}))
    run = trainings.train(trainings.new(asked, "contrast", "mine", dev=HELD_OUT, test=HELD_OUT, settings={"steps": 2}))
    assert run_results.test_rows_of(plain) is None
    assert run_results.latest_test_rows() == (MINE,)
    found = run_results.load_test_rows(MINE)
    assert isinstance(found, RetrievalSet)
    assert found.digest == run.recipe().digest_of("test")
    assert len(found) == run.status().facts.size_of("test")
    assert found.name == "test rows of run:mine"
    scored = replace(run.status(), verdict=RunVerdict(Verdict(50.0, 50.0, 60.0)))  # these few rows have no score
    (tuned,) = run_results.of_one(run, scored)
    assert tuned.task.name == f"held-out rows of {asked.triplets.name}", "other texts have such rows, too"


def test_rows_of_a_changed_text_are_refused_and_labelled_rows_come_with_those_a_classifier_is_trained_on(asked):
    trainings.train(trainings.new(asked, "contrast", "mine", dev=HELD_OUT, test=HELD_OUT, settings={"steps": 2}))
    lines = asked.triplets.read_text(encoding="utf-8").splitlines()
    asked.triplets.write_text("\n".join([*lines, "one more question,and its answer"]) + "\n", encoding="utf-8")
    with pytest.raises(SetNotFound, match="was changed since"):
        run_results.load_test_rows(MINE)
    rows = "\n".join(f"sentence number {n} of some words,{'good' if n % 2 else 'bad'}" for n in range(200))
    asked.text.write_text(f"text,label\n{rows}\n", encoding="utf-8")
    run = trainings.train(trainings.new(asked, "classify", "classes", settings={"steps": 2}))
    found = run_results.load_test_rows(run_results.test_rows_of(run))
    assert {name: len(rows) for name, rows in found.splits.items()} == {"train": 160, "dev": 20, "test": 20}


def rounded_otherwise(patch):
    """Trainings whose sums end in other digits, as on another machine: much larger ones, so that few steps show it."""
    update = Learner.update

    def elsewhere(learner):
        update(learner)
        for weight in learner.method.exported.model.parameters():
            weight.data.mul_(1.05)

    patch.setattr(Learner, "update", elsewhere)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A place with two runs of one recipe and seed with equal weights, and one with others."""
    place = trainings.furnish(tmp_path_factory.mktemp("repeated"))
    for name in ("one", "same"):
        trainings.train(trainings.new(place, name=name, settings={"steps": 2}))
    with pytest.MonkeyPatch.context() as patch:
        rounded_otherwise(patch)
        trainings.train(trainings.new(place, name="other", settings={"steps": 2}))
    return place


@pytest.fixture
def repeated(trained, tmp_path, monkeypatch):
    """A copy of these runs."""
    home = shutil.copytree(trained.runs, tmp_path / "copied")
    monkeypatch.setenv("STRATA_RUNS", str(home))
    return [Run(home / name) for name in ("one", "same", "other")]


def rows_of(place):
    results = [one for one in run_results.of_runs() if one.model.origin.base == str(place)]
    rows = result_table.models(results)
    tasks = {result.task.digest: result.task for result in results}
    _, cells = result_table.cells(rows, list(tasks.values()))
    return {name: str(score) for name, score in cells}


@pytest.mark.parametrize("recorded", [True, False])
def test_runs_of_one_recipe_and_seed_have_a_row_each_unless_their_weights_are_equal(repeated, recorded):
    assert find("run:one").digest == find("run:same").digest != find("run:other").digest, "the premise"
    if not recorded:  # as before the digest was a fact of a run
        for run in repeated:
            statuses.write(run.folder, replace(run.status(), facts=replace(run.status().facts, model_digest="")))
    scores = {run.name: run.status().verdict.test.after for run in repeated}
    found = rows_of(repeated[0].recipe().model)
    assert sorted(found.values()) == sorted(f"{scores[name]:.2f}" for name in ("one", "other"))
    (named,) = [name for name in found if "run:other" in name]
    assert found[named] == f"{scores['other']:.2f}"


def test_a_run_records_the_digest_of_the_model_that_it_saved(place, run):
    assert run.status().facts.model_digest == find("run:mine").digest
