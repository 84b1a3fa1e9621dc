"""Test that `similarity` gives the numbers of cosines that are computed by hand, and refuses what says nothing."""

import json

import numpy as np
import pytest

from explorer.data import sample, sources, splitting
from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import similarity
from explorer.measuring.scores.calibration import LabelledCosines, calibrate
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import SENTENCES

WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})


def written(path, labels) -> str:
    chance = np.random.default_rng(1)
    rows = [" ".join(chance.choice(WORDS, 5)) for _ in range(2 * len(labels))]
    lines = [f"{label}\t{a}\t{b}\n" for label, a, b in zip(labels, rows[::2], rows[1::2], strict=True)]
    path.write_text("score\tsentence1\tsentence2\n" + "".join(lines))
    return str(path)


def test_the_json_and_the_file_have_the_numbers_of_slow_cosines(place, answered, tmp_path) -> None:
    source = written(tmp_path / "labels.tsv", np.arange(120) % 2)
    file = tmp_path / "known.json"
    told = answered("similarity", place.model, place.model, "--sts", source, "--at-recall", 0.8, "--cosine", "0.5,0.9",
                    "--precision", "float32", "--json", "--export", file)  # fmt: skip
    model = find(str(place.model))
    encoder, own = load(model, precision="float32", device="cpu"), declared.named(None, model.folder)
    sides = []
    for half in splitting.halves(sources.scored_pairs(source)[0]):
        one, other = (
            finish(of_reading(encoder, side, own)).astype(np.float64) for side in (list(half.first), list(half.second))
        )
        cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        sides.append(LabelledCosines(half.name, np.array(half.gold), cosines))
    found = calibrate(*sides)
    assert told["dev"]["pairs"] + told["test"]["pairs"] == 120
    assert told["reliability"]["logistic"]["brier_score"] == pytest.approx(
        found.reliability["logistic"].brier, abs=1e-4
    )
    assert [one["chosen_by"] for one in told["thresholds"]] == ["best F1", "recall 0.8"]
    assert told["thresholds"][0]["cosine"] == pytest.approx(found.thresholds[0].cosine, abs=1e-3)
    assert [one["cosine"] for one in told["cosines"]] == [0.5, 0.9]
    kept = json.loads(file.read_text())
    assert kept == {name: value for name, value in told.items() if name != "cosines"}
    assert kept["before"]["probability"] == kept["probability"], "the same model"
    dev = sides[0].gold
    assert kept["probability"]["prevalence"] == pytest.approx((dev == dev.max()).mean(), abs=1e-6)


def test_the_prevalence_stands_above_the_probabilities_in_the_terminal_and_in_a_card(place, done, tmp_path) -> None:
    source = written(tmp_path / "labels.tsv", (np.arange(240) % 4 == 0).astype(int))
    out, _ = done("similarity", place.model, "--sts", source, "--cosine", "0.5")
    dev, _ = splitting.halves(sources.scored_pairs(source)[0])
    share = f"prevalence {100 * np.mean(dev.gold):.0f} %"
    assert out.index(share) < out.index("cosine 0.50: match")
    gold = np.array(dev.gold)
    scored = LabelledCosines(dev.name, gold, np.linspace(-0.5, 0.9, len(gold)))
    _, text, *_ = similarity_text.in_card(similarity.CosineMeaning("m", "mean", calibrate(scored, scored)))
    assert share in text


def test_a_text_without_labels_places_a_cosine_among_its_random_pairs(place, done, tmp_path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(f"{one} {two}" for one in WORDS[:9] for two in WORDS[9:14]))
    out, _ = done("similarity", place.model, "--text", path, "--cosine", "-0.999")
    assert "random pairs: 990 of 45 sentences of text.txt" in out
    assert "cosine −1.00: top 100 % of random pairs" in out


@pytest.mark.parametrize(
    ("head", "holds"),
    [
        ("query\tpassage", "queries with passages"),
        ("anchor\tpositive\tnegative", "triplets"),
        ("label\ttext", "texts with labels"),
    ],
)
def test_another_kind_of_data_is_refused_with_the_commands_that_take_it(place, done, refused, tmp_path, head, holds):
    """What the error says is then done: scores, and the cosines of random pairs of the texts."""
    path = tmp_path / "own.tsv"
    rows = [
        [f"{one} {two} {column}" for column in "abc"][: head.count("\t") + 1] for one in WORDS[:11] for two in WORDS
    ]
    if "label" in head:
        rows = [[str(at % 2), text] for at, (text, _) in enumerate(rows)]
    path.write_text("\n".join([head, *("\t".join(row) for row in rows[:150]), ""]))
    for words in (("--sts", path), ("--sts", "sample", "--dev", path)):
        err = refused("similarity", place.model, *words)
        assert f"{words[-2]} is for scored or labelled pairs, and own.tsv has {holds}. " in err
        assert "Use score MODEL --on own.tsv for its scores, compare A B --on own.tsv" in err
        assert "similarity MODEL --text own.tsv" in err
    assert "own.tsv" in done("score", place.model, "--on", path)[0].splitlines()[0]
    assert "random pairs: " in done("similarity", place.model, "--text", path, "--cosine", "0.5")[0]


def test_sets_of_another_kind_by_name_give_random_pairs_of_their_items(place, done, refused) -> None:
    assert "Sample search has queries with passages" in refused("similarity", place.model, "--sts", "Sample search")
    assert "There is no set" in refused("similarity", place.model, "--sts", "nothing such")
    out, _ = done("similarity", place.model, "--text", "Sample search", "--cosine", "0.5")
    queries = len(sample.search().queries)
    assert f"random pairs: {queries * (queries - 1) // 2:,} of {queries} sentences of Sample search" in out


@pytest.mark.parametrize(
    ("labels", "fault"),
    [
        (np.arange(12) % 2, "12 pairs"),
        (np.ones(100, dtype=int), "every score in 'score' is 1"),
        (np.arange(100) % 20 == 0, "do not"),
    ],
)
def test_few_pairs_one_class_and_equal_scores_are_refused(place, refused, tmp_path, labels, fault) -> None:
    source = written(tmp_path / "labels.tsv", labels.astype(int))
    assert fault in refused("similarity", place.model, "--sts", source)


def test_flags_without_labels_and_a_reading_without_a_model_are_refused(place, refused) -> None:
    assert "Name them with --sts" in refused("similarity", place.model, "--text", place.text, "--match", 3)
    assert "Name B after A" in refused("similarity", place.model, "--other-reading", "mean of layer 1")
