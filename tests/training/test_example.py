"""Test the example runs that ship: whole models by adapters, small, read-only, with the numbers of their weights."""

import json
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from explorer import run_folder
from explorer.data import sample
from explorer.encoding.export.source_code import of_head
from explorer.encoding.load import loading
from explorer.encoding.locate import lookup, model_names
from explorer.encoding.locate.layout import ADAPTER
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.pooling import OWN
from explorer.errors import BadChoice
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.measure import Settings, shelf_key, stored_scores
from explorer.measuring.sentences import attention_weights
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.measuring.sentences.word_pairs import kept, key, word_pair
from explorer.places import examples_folder
from explorer.progress import finish
from explorer.run_folder import Evaluation
from explorer.training import saved_model
from explorer.training.example import NAME, POOLER, word_pairs
from explorer.training.record import recorder, runs
from explorer.training.record import status as statuses
from explorer.training.record.run_results import tuning
from explorer.training.record.runs import Run
from explorer.training.text_defaults import demonstration, uneven_pooler
from explorer.ui.layer_attention.shown_sides import LONG, SHORT


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))


SENTENCES = ("The shop is open today.", "The shop is not open today.")


@pytest.fixture(params=[NAME, POOLER])
def run(request) -> Run:
    return runs.find(request.param)


@cache
def tuned(name: str) -> Encoder:
    return loading.load(model_names.of_folder(name, examples_folder() / name / "model"), "float32", "cpu")


def test_it_is_a_finished_run_of_its_recipe_and_no_run_of_the_visitor(run):
    assert run.is_example
    assert run.status().state == statuses.FINISHED
    shown = {NAME: demonstration, POOLER: uneven_pooler}[run.name]()
    # the second was trained before runs were scored elsewhere, which changes no weight
    elsewhere = {NAME: ("at hand",), POOLER: ()}[run.name]
    assert replace(run.recipe(), made_with={}) == replace(shown, precision="float32", device="cpu", elsewhere=elsewhere)
    assert run.recipe().made_with.get("elsewhere") == {NAME: ["Sample search"], POOLER: None}[run.name]
    assert run.status().facts.model_digest == model_names.find(f"run:{run.name}").digest
    assert runs.every() == []
    assert run.has_model


def test_what_ships_is_three_megabytes_at_most_and_the_demonstration_comes_first():
    files = [path for path in examples_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 3_000_000
    assert [one.name for one in runs.examples()] == [NAME, POOLER]
    assert run_folder.models() == [f"run:{NAME}", f"run:{POOLER}"]


def test_the_poolers_weights_are_not_uniform_and_differ_between_the_papers_sentences():
    found = attention_weights.layer_weights(tuned(POOLER), (SHORT, LONG))
    short, long = found.by_layer
    assert min(short.max(), long.max()) >= 0.3
    assert np.abs(short - long).max() >= 0.05
    assert found.nearly_uniform == (False, False)


def test_the_poolers_weights_begin_uniform_and_it_can_be_neither_changed_nor_replaced(run):
    steps = [line.step for line in run.metrics() if isinstance(line, Evaluation)]
    weights = [recorder.layer_weights(run, 1, step) for step in steps]
    if run.name == NAME:
        assert weights == [None] * len(steps)
    else:
        assert np.ptp(weights[0].mean(axis=0)) < 0.02 < 0.2 < np.ptp(weights[-1].mean(axis=0))
    for change in (run.delete, lambda: run.renamed("other"), lambda: runs.free_name(run.name, run.folder.parent)):
        with pytest.raises(BadChoice, match=run.name):
            change()
    with pytest.raises(BadChoice, match="finished"):
        runs.restarted(run)
    assert run.folder.is_dir()


def test_its_model_encodes_as_sentence_transformers_and_peft_do_and_its_export_is_whole_without_a_base(run, tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = tmp_path / "adapter"
    shutil.copytree(run.model, folder)
    stated = json.loads((folder / ADAPTER).read_text())
    assert stated["base_model_name_or_path"] == lookup.BUNDLED_ON_HUB
    # what the hub would send under that name, and the tokenizer, which is that of the base
    shutil.copy(lookup.bundled_folder() / "tokenizer.json", folder)
    shutil.copy(lookup.bundled_folder() / "tokenizer_config.json", folder)
    # and the code of Strata's own modules, which does not ship twice
    for name, source in of_head(tuned(run.name).default_head).items():
        (folder / name).write_text(source)
    (folder / ADAPTER).write_text(json.dumps(stated | {"base_model_name_or_path": str(lookup.bundled_folder())}))
    peers = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True).encode(SENTENCES)
    assert peers == pytest.approx(np.array(finish(of_reading(tuned(run.name), SENTENCES, OWN))), abs=1e-5)

    saved_model.take(run, tmp_path / "copy")
    assert not (tmp_path / "copy" / ADAPTER).exists()
    peers = SentenceTransformer(str(tmp_path / "copy"), device="cpu", trust_remote_code=True).encode(SENTENCES)
    assert peers == pytest.approx(np.array(finish(of_reading(tuned(run.name), SENTENCES, OWN))), abs=1e-5)


def test_its_scores_are_those_of_its_weights_found_without_measuring_and_give_its_verdict(run):
    test = sample.test()
    one, other = (finish(of_reading(tuned(run.name), side, OWN)) for side in (test.first, test.second))
    cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert run.status().verdict.test.after == pytest.approx(100 * spearmanr(cosines, test.gold).statistic, abs=0.01)
    assert run.status().results[0].dev == pytest.approx(run.status().verdict.dev.after, abs=0.01)
    sides = [model_names.find(name) for name in (run.recipe().model, f"run:{run.name}")]
    gap = Comparison(*[stored_scores(shelf_key(found, test, Settings())) for found in sides], OWN, OWN).chosen()
    verdict = run.status().verdict.test
    assert float(gap.difference) == pytest.approx(verdict.difference, abs=0.01)
    assert (float(gap.low), float(gap.high)) == pytest.approx((verdict.low, verdict.high), abs=0.05)
    found = tuning(tuple(sides), test.digest)
    assert (found.tuned, found.optimistic) == (1, False)


def test_the_demonstration_learned_to_notice_negations_and_numbers():
    packs = tuple(pack for pack in sample.probe_packs() if pack.name in (sample.PARAPHRASE, "negation", "number"))
    side = probed(packs, finish(of_reading(tuned(NAME), sentences_of(packs), OWN)))
    assert side.distinguished("negation").low > 0.5
    assert side.distinguished("number").low > 0.5


def test_it_can_be_replayed_and_nothing_of_the_machine_that_made_it_ships(run):
    looks = [line for line in run.metrics() if isinstance(line, Evaluation)]
    assert len(looks) > 5
    sentences = recorder.probe_sentences(run)
    assert recorder.probes(run, 1, [one.step for one in looks]).shape[:2] == (len(looks), len(sentences))
    assert set(sentences) <= set(sample.dev().sentences)
    told = json.loads((run.folder / run_folder.STATUS).read_text())
    assert (told["host"], told["pid"]) == ("", 0)
    assert "estimate" not in told["facts"]


def test_the_words_of_the_pairs_that_compare_shows_first_are_found_without_computing():
    sides = model_names.find(demonstration().model), model_names.find(f"run:{NAME}")
    pairs = word_pairs(examples_folder())
    assert {(one.first, one.second) for one in tuning(sides, sample.test().digest).probes.pairs} < set(pairs)
    found = {(side.name, pair): kept(key(side.digest, pair, OWN.title)) for side in sides for pair in pairs}
    assert len(found) == 8
    assert None not in found.values()
    for side, pair in ((sides[0], pairs[-1]), (sides[1], pairs[0])):
        now, ships = finish(word_pair(loading.load(side, "float32", "cpu", EAGER), *pair, OWN)), found[side.name, pair]
        assert ships.words == now.words
        assert ships.matrix == pytest.approx(now.matrix, abs=1e-4)
        assert ships.cosine == pytest.approx(now.cosine, abs=1e-4)
