"""Test runs evaluated on triplets and on the probe packs: by sentence-transformers, and what is told of them."""

import pytest
import yaml
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import TripletEvaluator

from explorer.data import sample, sources
from explorer.measuring.comparing import learned
from explorer.training.record import run_results
from tests.trainings import new, train


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", dev=str(place.triplets), test="Probe packs", more_tests=("minimal pairs",)))


@pytest.mark.parametrize("use", ["dev", "test 2"])
def test_triplets_have_the_accuracy_that_sentence_transformers_says(place, run, use):
    rows = sources.evaluation_set(sources.identity(run.status().facts.set_of(use)))
    evaluator = TripletEvaluator(rows.anchors, rows.positives, rows.negatives, write_csv=False)
    found = run.status().verdict.by_use[use]
    for folder, score in ((place.model, found.declared_base), (run.model, found.exported)):
        theirs = evaluator(SentenceTransformer(str(folder), device="cpu"))["cosine_accuracy"]
        assert score == pytest.approx(100 * theirs, abs=1e-4)


def test_probe_packs_have_the_share_that_a_loop_over_couples_says(run):
    pairs = sample.probe_pairs()
    model = SentenceTransformer(str(run.model), device="cpu")
    cosines = model.similarity_pairwise(model.encode(list(pairs.first)), model.encode(list(pairs.second))).tolist()
    same, others = (
        [one for one, alike in zip(cosines, pairs.same, strict=True) if alike is of] for of in (True, False)
    )
    couples = [one > other for one in same for other in others]
    assert run.status().verdict.test.exported == pytest.approx(100 * sum(couples) / len(couples), abs=0.1)


def test_every_run_records_the_change_of_each_pack_and_pairs_that_show_it(run, place):
    pairs, verdict = sample.probe_pairs(), run.status().verdict
    sides = []
    for folder in (place.model, run.model):
        model = SentenceTransformer(str(folder), device="cpu")
        cosines = model.similarity_pairwise(model.encode(list(pairs.first)), model.encode(list(pairs.second))).tolist()
        sides.append(dict(zip(zip(pairs.first, pairs.second, strict=True), cosines, strict=True)))
    packs = {pack.name: list(zip(pack.first, pack.second, strict=True)) for pack in sample.judged_packs()}
    for change in verdict.packs:
        for side, share in zip(sides, (change.before, change.after), strict=True):
            couples = [side[one] > side[other] for one in packs["paraphrase"] for other in packs[change.name]]
            assert share.value == pytest.approx(sum(couples) / len(couples), abs=0.12), "a couple may be a tie"
    assert verdict.pairs
    for pair in verdict.pairs:
        found = [side[pair.first, pair.second] for side in sides]
        assert (pair.before, pair.after) == pytest.approx(tuple(found), abs=1e-4)


@pytest.mark.parametrize("why", ["chosen by them", "trained on them"])
def test_packs_that_chose_the_checkpoint_or_were_trained_on_do_not_count(place, tmp_path, why):
    if why == "chosen by them":
        changes = {"dev": "Probe packs"}
    else:
        text = tmp_path / "seen.csv"
        rows = [*place.text.read_text().splitlines(), f'"{sample.probe_pairs().second[0]}"']
        text.write_text("\n".join(rows) + "\n")
        changes = {"data": (str(text),)}
    found = train(new(place, "simcse", **changes)).status()
    assert found.facts.packs_held_out is False
    assert (found.verdict.packs, found.verdict.pairs) == ((), ())
    assert found.learned.packs == ()


def test_what_the_numbers_are_is_told(run):
    facts = run.status().facts
    assert [facts.measure_of(use) for use in ("dev", "test", "test 2")] == [
        "accuracy",
        "share distinguished",
        "accuracy",
    ]
    size = len(sample.probe_pairs().same)
    sure = learned.sure(run.status().learned)
    assert "Share distinguished" in sure
    assert f"on Probe packs ({size} pairs)" in sure
    assert [one.measured.measures for one in run_results.of_one(run, run.status())] == [
        ("share distinguished",),
        ("accuracy",),
    ]
    card = (run.model / "README.md").read_text()
    assert "(dev, 24 triplets)" in card
    listed = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    assert [one["metrics"][0]["type"] for one in listed] == [
        "cosine_share_distinguished",
        "cosine_accuracy",
        "cosine_accuracy",
    ]
