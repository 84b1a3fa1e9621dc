"""Test the example run that ships: complete, small, read-only, and used by every page."""

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer import run_folder
from explorer.data import sample
from explorer.data.graded import probes
from explorer.encoding.load import checking
from explorer.encoding.locate import model_names
from explorer.encoding.read.readings import OWN
from explorer.errors import BadChoice, NotWeights, RunNotFound
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores import score_store
from explorer.measuring.scores.measure import Settings, shelf_key
from explorer.measuring.sentences import shipped_vectors
from explorer.measuring.sentences.probes import probed, sentences_of
from explorer.metric_lines import Evaluation
from explorer.places import examples_folder
from explorer.training import saved_model
from explorer.training.demonstration import recipe
from explorer.training.example import NAME
from explorer.training.record import recorder, runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.training.record.tuned_pair import tuning


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def run() -> Run:
    return runs.find(NAME)


def test_it_is_a_finished_run_of_the_demonstration_and_no_run_of_the_visitor(run):
    assert run.is_example
    assert run.status().state == statuses.FINISHED
    assert replace(run.recipe(), made_with={}) == replace(recipe(), precision="float32", device="cpu")
    assert runs.every() == []
    assert runs.examples() == [run]


def test_what_ships_is_three_megabytes_at_most_and_holds_no_weights(run):
    files = [path for path in examples_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 3 * 2**20
    assert not [path for path in files if path.suffix in (".safetensors", ".bin", ".pt")]
    assert not run.has_model


def test_it_can_be_neither_changed_nor_replaced(run):
    for change in (run.delete, lambda: run.renamed("other"), lambda: runs.free_name(NAME, run.folder.parent)):
        with pytest.raises(BadChoice, match=NAME):
            change()
    with pytest.raises(BadChoice, match="finished"):
        runs.restarted(run)
    assert run.folder.is_dir()


def test_what_needs_its_weights_says_how_to_have_them(run, tmp_path):
    with pytest.raises(RunNotFound, match="Train it again"):
        saved_model.take(run, tmp_path / "copy")
    with pytest.raises(NotWeights, match="Train it again"):
        checking.check(model_names.find(f"run:{NAME}").folder)


def test_its_scores_are_found_without_measuring_and_give_its_verdict(run):
    test = sample.test()
    sides = [model_names.find(name) for name in (run.recipe().model, f"run:{NAME}")]
    scores = [score_store.kept(shelf_key(found, test, Settings())) for found in sides]
    gap = Comparison(*scores, OWN, OWN).chosen()
    verdict = run.status().verdict.test
    assert float(gap.difference) == pytest.approx(verdict.difference, abs=0.01)
    assert (float(gap.low), float(gap.high)) == pytest.approx((verdict.low, verdict.high), abs=0.05)
    found = tuning(tuple(sides), test.digest)
    assert (found.tuned, found.optimistic) == (1, False)


def test_its_probe_packs_are_found_without_encoding(run, bundled_encoder):
    packs = probes.packs()
    sentences = sentences_of(packs)
    tuned = shipped_vectors.read(model_names.find(f"run:{NAME}").digest, sentences, OWN.title)
    assert tuned.shape == (len(sentences), bundled_encoder.width)
    assert np.linalg.norm(tuned, axis=1) == pytest.approx(1, abs=1e-2)
    side = probed(packs, tuned)
    assert side.distinguished("negation").value > 0.5
    assert shipped_vectors.read("other", sentences, OWN.title) is None


def test_it_can_be_replayed(run):
    looks = [line for line in run.metrics() if isinstance(line, Evaluation)]
    assert len(looks) > 5
    sentences = recorder.probe_sentences(run)
    found = recorder.probes(run, 1, [one.step for one in looks])
    assert found.shape[:2] == (len(looks), len(sentences))
    assert set(sentences) <= set(sample.dev().sentences)


def test_nothing_of_the_machine_that_made_it_ships(run):
    told = json.loads((run.folder / run_folder.STATUS).read_text())
    assert (told["host"], told["pid"]) == ("", 0)
    assert "estimate" not in told["facts"]
