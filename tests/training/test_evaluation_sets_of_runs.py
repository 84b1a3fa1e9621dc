"""Test runs with several test sets, on triplets and on the probe packs: how each is scored, compared and told."""

from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import TripletEvaluator

from explorer import typed_json
from explorer.__main__ import _options
from explorer.commands.train import _recipe
from explorer.data import sample
from explorer.data.sources import identity
from explorer.errors import BadChoice, CannotResume
from explorer.evaluating.kinds import run_set
from explorer.measuring.comparing import learned
from explorer.measuring.scores import verdict
from explorer.training import recipe_file
from explorer.training.record import run_results
from tests.shown_numbers import written
from tests.training.unbroken import assert_same, break_off_in_training
from tests.trainings import new, recipe, train

QUICK = {"steps": 2}


@pytest.fixture(scope="module")
def further():
    """A retrieval set, and scored pairs."""
    return "Sample search", sample.DEV


@pytest.fixture(scope="module")
def run(place, further):
    return train(new(place, "simcse", settings=QUICK, more_tests=further))


def test_every_set_has_the_scores_that_it_has_as_the_only_one(place, run, further):
    found = run.status().verdict
    assert len(found.more) == len(further)
    for name, outcome in zip(further, found.more, strict=True):
        alone = train(new(place, "simcse", settings=QUICK, test=name)).status().verdict
        assert asdict(outcome) == asdict(alone.test), name
    alone = train(new(place, "simcse", settings=QUICK)).status().verdict
    assert (found.test, found.dev, alone.more) == (alone.test, alone.dev, ())


def test_a_run_says_which_of_its_sets_have_no_score_and_gives_no_verdict_on_them(place):
    sets = {"dev": "Sample pairs, 2 items", "test": "Sample pairs, 4 items", "more_tests": (sample.DEV,)}
    run = train(new(place, "simcse", settings=QUICK, **sets))
    status = run.status()
    few = "too few pairs: {}, where a score needs at least 5"
    assert {use: status.facts.why_no_score(use) for use in ("test", "test 2", "dev")} == {
        "test": few.format(4), "test 2": "", "dev": few.format(2),
    }  # fmt: skip
    assert (status.verdict.test.kind, status.verdict.dev.kind) == (verdict.UNKNOWN, verdict.CHOSE)
    assert status.verdict.more[0].known
    assert (status.results[0].dev, status.results[0].test, status.best) == (None, None, None)
    assert status.learned.score is None, "neither of the test set nor, in its place, of the dev set"
    card = (run.model / "README.md").read_text()
    assert f"Sample pairs, 4 items (test, 4 pairs) has no score: {few.format(4)}." in card
    assert run.has_model
    assert "dev none" in run.log_tail()


def test_facts_results_and_card_have_a_line_for_each(run, further):
    status = run.status()
    assert list(status.verdict.by_use) == ["test", "test 2", "test 3", "dev"]
    assert [status.facts.set_of(use) for use in ("test 2", "test 3")] == [*map(identity, further)]
    assert status.facts.measure_of("test 2") == "nDCG@10"
    assert status.facts.size_of("test 2") == len(run_set(identity(further[0])))
    results = run_results.of_one(run, run.status())
    sets = [run_set(one) for one in (status.facts.test, *map(identity, further))]
    assert [one.task.data for one in results] == [one.digest for one in sets]
    assert [one.task.name for one in results] == [Path(str(status.facts.test)).name, *further]
    assert [one.measured.score() for one in results[1:]] == [one.after for one in status.verdict.more]
    card = (run.model / "README.md").read_text()
    for use, outcome in zip(("test 2", "test 3"), status.verdict.more, strict=True):
        (row,) = [line for line in card.splitlines() if f"({use}, " in line]
        assert written(outcome.before, sign="") in row
        assert written(outcome.after, sign="") in row
    listed = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    assert [one["dataset"]["split"] for one in listed] == ["test", "test", "test", "dev"]


def test_a_run_that_was_broken_off_ends_as_if_it_never_was(place, run, further):
    broken = new(place, "simcse", settings=QUICK, more_tests=further)
    break_off_in_training(broken)
    assert_same(train(broken), run)


def test_a_further_set_that_changed_is_named(place, further, tmp_path):
    text = tmp_path / "pairs.csv"
    text.write_text(place.test.read_text())
    broken = new(place, "simcse", settings=QUICK, more_tests=(str(text),))
    break_off_in_training(broken)
    assert "test_2_digest" in broken.recipe().made_with
    text.write_text("\n".join(text.read_text().splitlines()[:-1]))
    with pytest.raises(CannotResume, match="another version of the test set 2"):
        train(broken)


def test_recipe_file_and_command_keep_them(place, further):
    given = recipe(place, "simcse", more_tests=further)
    assert recipe_file.from_yaml(given.as_yaml(), "recipe.yaml").more_tests == tuple(map(identity, further))
    words = [
        "train",
        "simcse",
        "--dev",
        str(given.dev),
        "--test",
        str(given.test),
        *(word for name in further for word in ("--test", name)),
    ]
    read = _recipe(_options(words))
    assert (read.dev, read.tests) == (given.dev, given.tests)
    assert [word for word in given.command().split(" ") if word == "--test"] == ["--test"] * 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"test": None, "more_tests": ("Sample search",)}, "Test sets cannot be Sample search"),
        ({"more_tests": ("Sample search", "Sample search")}, "give different ones"),
        ({"more_tests": tuple(f"set {number}" for number in range(20))}, "more_tests cannot be"),
    ],
)
def test_sets_that_make_no_list_are_refused(place, changes, told):
    with pytest.raises(BadChoice, match=told):
        recipe(place, "simcse", **changes)


def test_a_verdict_is_read_as_it_was_written():
    outcomes = [verdict.Verdict(after=float(number)) for number in range(4)]
    found = verdict.of_uses(dict(zip(("dev", "test", "test 2", "test 3"), outcomes, strict=True)), ("test 2",))
    assert typed_json.read(verdict.RunVerdict, typed_json.written(found)) == found
    assert list(found.by_use.values()) == [*outcomes[1:], outcomes[0]]
    assert [use for use in found.by_use if found.is_optimistic(use)] == ["test 2"]
    assert typed_json.read(verdict.RunVerdict, {"test": {"exported": 1.0}, "more": "nonsense"}).more == ()


@pytest.fixture(scope="module")
def on_packs(place):
    return train(
        new(place, "simcse", settings=QUICK, dev=str(place.triplets), test="Probe packs", more_tests=("minimal pairs",))
    )


@pytest.mark.parametrize("use", ["dev", "test 2"])
def test_triplets_have_the_accuracy_that_sentence_transformers_says(place, on_packs, use):
    rows = run_set(on_packs.status().facts.set_of(use))
    evaluator = TripletEvaluator(rows.anchors, rows.positives, rows.negatives, write_csv=False)
    found = on_packs.status().verdict.by_use[use]
    for folder, score in ((place.model, found.before), (on_packs.model, found.after)):
        theirs = evaluator(SentenceTransformer(str(folder), device="cpu"))["cosine_accuracy"]
        assert score == pytest.approx(100 * theirs, abs=1e-4)


def test_probe_packs_have_the_share_that_a_loop_over_couples_says(on_packs):
    pairs = sample.probe_pairs()
    model = SentenceTransformer(str(on_packs.model), device="cpu")
    cosines = model.similarity_pairwise(model.encode(list(pairs.first)), model.encode(list(pairs.second))).tolist()
    same, others = ([one for one, kind in zip(cosines, pairs.same, strict=True) if kind is of] for of in (True, False))
    couples = [one > other for one in same for other in others]
    assert on_packs.status().verdict.test.after == pytest.approx(100 * sum(couples) / len(couples), abs=0.1)


def test_every_run_records_the_change_of_each_pack(on_packs, place):
    pairs, verdict = sample.probe_pairs(), on_packs.status().verdict
    sides = []
    for folder in (place.model, on_packs.model):
        model = SentenceTransformer(str(folder), device="cpu")
        cosines = model.similarity_pairwise(model.encode(list(pairs.first)), model.encode(list(pairs.second))).tolist()
        sides.append(dict(zip(zip(pairs.first, pairs.second, strict=True), cosines, strict=True)))
    packs = {pack.name: list(zip(pack.first, pack.second, strict=True)) for pack in sample.judged_packs()}
    for change in verdict.packs:
        for side, share in zip(sides, (change.before, change.after), strict=True):
            couples = [side[one] > side[other] for one in packs["paraphrase"] for other in packs[change.name]]
            assert share.value == pytest.approx(sum(couples) / len(couples), abs=0.12), "a couple may be a tie"
    assert verdict.packs
    assert verdict.pairs == (), "no pack changed by more than chance, so no pair shows it"


@pytest.mark.parametrize("why", ["chosen by them", "trained on them"])
def test_packs_that_chose_the_checkpoint_or_were_trained_on_do_not_count(place, tmp_path, why):
    if why == "chosen by them":
        changes = {"dev": "Probe packs"}
    else:
        text = tmp_path / "seen.csv"
        text.write_text("\n".join([*place.text.read_text().splitlines(), f'"{sample.probe_pairs().second[0]}"']) + "\n")
        changes = {"data": (str(text),)}
    found = train(new(place, "simcse", settings=QUICK, **changes)).status()
    assert found.facts.packs_held_out is False
    assert (found.verdict.packs, found.verdict.pairs) == ((), ())
    assert found.learned.packs == ()


def test_what_the_numbers_are_is_told(on_packs):
    facts = on_packs.status().facts
    assert [facts.measure_of(use) for use in ("dev", "test", "test 2")] == [
        "accuracy",
        "share distinguished",
        "accuracy",
    ]
    size = len(sample.probe_pairs().same)
    sure = learned.sure(on_packs.status().learned)
    assert "Share distinguished" in sure
    assert f"on Probe packs ({size} pairs)" in sure
    assert [one.measured.measures for one in run_results.of_one(on_packs, on_packs.status())] == [
        ("share distinguished",),
        ("accuracy",),
    ]
    card = (on_packs.model / "README.md").read_text()
    assert "(dev, 24 triplets)" in card
    listed = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
    assert [one["metrics"][0]["type"] for one in listed] == [
        "cosine_share_distinguished",
        "cosine_accuracy",
        "cosine_accuracy",
    ]
