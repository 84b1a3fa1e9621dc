"""Test that no command judges a model on the set that chose it, and that each keeps dev set and test set apart."""

import json
import re

import pytest

from explorer.data import sample, shared_rows
from explorer.data.sources import identity
from explorer.evaluating.kinds import run_set
from explorer.measuring.comparing import headline
from explorer.measuring.scores.verdict import CHOSE, WORDS
from explorer.training.record import runs
from tests.trainings import new, recipe, train, words_of

NUMBER_WITH_INTERVAL = re.compile(r"[+−-]\d+\.\d+ \([^)]* to ")


@pytest.fixture
def words(place) -> list[str]:
    return words_of(recipe(place, "simcse", settings={"steps": 2}))


@pytest.fixture(scope="module")
def run(place):
    """A run that has a test set."""
    return train(new(place, "simcse", name="chosen", settings={"steps": 2}))


@pytest.fixture
def joined(place, tmp_path):
    """A file with all dev pairs and all test pairs."""
    path = tmp_path / "both.csv"
    header, *rows = place.dev.read_text().splitlines()
    path.write_text("\n".join([header, *rows, *place.test.read_text().splitlines()[1:]]) + "\n")
    return path


@pytest.fixture
def copied(place, tmp_path):
    """The dev pairs in a file of another name, the sentences of each exchanged."""
    path = tmp_path / "copy.csv"
    header, *rows = place.dev.read_text().splitlines()
    turned = [",".join([score, second, first]) for score, first, second in (row.split(",") for row in rows)]
    path.write_text("\n".join([header, *turned]) + "\n")
    return path


def without(words, *flags):
    """A command line without some flags and their values."""
    return [word for at, word in enumerate(words) if word not in flags and words[at - 1] not in flags]


def test_a_training_without_a_test_set_has_a_dev_score_and_no_verdict_on_it(words, said):
    code, out, err = said(*without(words, "--test"), "--test", "none", "--name", "untested", "--json")
    assert code == 0
    told, found = json.loads(out), runs.find("untested")
    dev = told["verdict"]["dev"]
    assert dev["chose"]
    assert dev["low"] is dev["high"] is None
    assert dev["exported"] == found.status().verdict.dev.after is not None
    assert told["verdict"]["test"] is None
    assert headline.short(found.status().learned).endswith("o test"), "the list of runs"
    score = f"{dev['exported']:.2f}"
    for text in (err, (found.folder / "README.md").read_text()):
        lines = [line for line in text.splitlines() if score in line]
        assert lines
        assert not [line for line in lines if NUMBER_WITH_INTERVAL.search(line) or "chance, its" in line]


def test_a_set_with_all_rows_of_the_dev_set_is_refused_and_one_with_some_says_how_many(place, words, said, joined):
    for test in (place.dev, joined):
        given = [*without(words, "--dev", "--test"), "--dev", joined, "--test", test, "--name", "refused"]
        code, out, err = said(*given)
        assert (code, out) == (1, "")
        assert "Name another dev set, or another test set" in err
        assert "refused" not in {one.name for one in runs.every(place.runs)}
    given = [*without(words, "--test"), "--test", joined, "--name", "overlapping", "--json"]
    code, out, err = said(*given)
    found = shared_rows.shared(*(run_set(identity(str(one))) for one in (place.dev, joined)))
    assert (found.rows, found.of) == (12, 21)
    run = runs.find("overlapping")
    assert run.status().facts.shared == found
    assert json.loads(out)["verdict"]["optimistic"]
    for text in (err, run.log_tail(100), (run.folder / "README.md").read_text()):
        assert found.words in text


def test_a_run_is_not_judged_on_its_dev_set_under_any_name_and_one_that_holds_some_of_it_is_optimistic(
    place, run, answered, done, joined, copied
):
    for dev in (place.dev, copied):
        pair = ("compare", place.model, "run:chosen", "--sts", dev)
        told = answered(*pair, "--json")
        assert (told["verdict"]["kind"], told["learned"]["kind"]) != ("better", "better")
        assert told["verdict"]["kind"] == CHOSE
        rows = [told["verdict"], told["chosen"], *told["cells"]]
        assert {row["low"] for row in rows} == {row["high"] for row in rows} == {None}
        assert {row["significant"] for row in rows[1:]} == {None}
        out, _ = done(*pair)
        assert not NUMBER_WITH_INTERVAL.search(out)
        assert "*" not in out
    told = answered("compare", place.model, "run:chosen", "--sts", joined, "--json")
    assert (told["verdict"]["in_dev_set"], told["verdict"]["optimistic"]) == (12, True)
    out, _ = done("compare", place.model, "run:chosen", "--sts", joined)
    assert "12 of the 21 test pairs are in the dev set" in out
    told = answered("compare", place.model, "run:chosen", "--sts", place.test, "--json")
    assert "in_dev_set" not in told["verdict"]
    assert not told["verdict"]["optimistic"]


def test_the_default_set_of_compare_is_one_that_chose_nothing(place, answered):
    told = answered("compare", place.model, place.model, "--json")
    assert told["set_digest"] == sample.test().digest
    assert not shared_rows.shared(sample.dev(), sample.test())


def test_a_layer_is_not_picked_on_the_pairs_that_are_reported(place, refused, done, joined):
    both = ("compare", place.model, place.model)
    assert "has all 9 pairs of the test set" in refused(*both, "--sts", place.test, "--dev", joined)
    out, _ = done(*both, "--sts", joined, "--dev", place.dev)
    assert "12 of the pairs scored here" in out


def test_curves_and_thresholds_are_not_tested_on_the_pairs_that_they_are_fitted_on(refused, said, place, tmp_path):
    words = ("similarity", place.model, "--sts", "sample test", "--dev", "sample test")
    assert "has all 120 pairs of the test set" in refused(*words)
    code, _, err = said("similarity", place.model, "--sts", "sample", "--dev", "sample dev")
    assert code == 0
    assert "120 of the 240 test pairs are in the dev set too" in err


def test_a_blend_is_not_judged_on_the_set_that_chooses_it(place, run, answered, done, refused, joined):
    words = ("blend", "--base", place.model, "run:chosen", "--points", 3, "--dev", place.dev)
    told = answered(*words, "--test", place.test, "--json")
    dev, test = told["sets"]["dev"], told["sets"]["test"]
    for name in ("to_base", "to_tuned"):
        assert (dev[name]["kind"], dev[name]["low"], dev[name]["high"]) == (CHOSE, None, None)
        assert test[name]["kind"] != CHOSE
        assert test[name]["low"] is not None
    out, _ = done(*words, "--test", place.test)
    (line,) = [one for one in out.splitlines() if one.startswith("dev:") and "the base" in one]
    assert line.startswith(f"dev: {WORDS[CHOSE]}")
    assert not NUMBER_WITH_INTERVAL.search(line)
    assert "has all 12 pairs of the test set" in refused(*words[:-1], joined, "--test", place.dev)
    out, _ = done(*words, "--test", joined)
    assert "12 of the 21 test pairs are in the dev set" in out
    told = answered("blend", "chosen", "--points", 2, "--json")
    assert told["sets"]["dev"]["to_base"]["kind"] == CHOSE, "of a run too"


def test_the_help_names_the_default_set(said):
    code, out, _ = said("compare", "--help")
    assert code == 0
    assert sample.TEST in re.sub(r"\s+", " ", out)
