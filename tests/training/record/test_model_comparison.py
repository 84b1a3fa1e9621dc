"""Test which of two models a run tuned from the other."""

from types import SimpleNamespace

import pytest

from explorer.data import sample, sources
from explorer.encoding.locate.model_names import find
from explorer.measuring.comparing.learned import NOT_HELD_OUT, NOTHING, Learned
from explorer.measuring.scores.measure import Settings
from explorer.training.record.run_results import known_probes, run_of, tuning
from tests import trainings
from tests.tiny_models import save_tiny


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


def test_a_model_whose_files_have_changed_is_not_the_base_of_earlier_runs(place, tmp_path):
    base = save_tiny("bert", tmp_path / "base")
    trainings.train(trainings.new(place, "simcse", name="earlier", model=str(base), settings={"steps": 2}))
    before = find(str(base))
    save_tiny("bert", base, seed=9)
    assert tuning((before, find("run:earlier")), "x").tuned == 1
    assert tuning((find(str(base)), find("run:earlier")), "x") is None


def test_the_short_name_of_the_sample_half_means_the_same_pairs(place):
    trainings.train(
        trainings.new(place, "simcse", name="short", data=("sample",), test="sample test", settings={"steps": 2})
    )
    sides = find(str(place.model)), find("run:short")
    assert tuning(sides, sample.test().digest).optimistic
    assert not tuning(sides, sample.dev().digest).optimistic
