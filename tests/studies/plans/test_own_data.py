"""Test what is read of a text to train on: its parts, the methods that fit it, and what is refused."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest

from explorer.data import sources
from explorer.data.graded import sets
from explorer.data.text_sets import SCORED_PAIRS, SENTENCES, TRIPLETS
from explorer.errors import BadChoice, StrataError
from explorer.studies.plans import own_data
from explorer.training.loop.training_texts import read_texts
from tests.evaluating import results_by_hand


def test_train_dev_and_test_rows_of_scored_pairs_share_no_sentence(text, place):
    data = own_data.read(text, str(place.model))
    assert (data.of_kind, data.own_test, data.overlap, data.duplicates) == (SCORED_PAIRS, True, 0, 0)
    whole = sources.scored_pairs(text)[0]
    parts = [sets.load(sources.identity(name)) for name in (data.train, data.dev, data.test)]
    assert sum(map(len, parts)) == len(whole) == 180
    assert (data.rows, data.test_items) == (len(parts[0]), len(parts[2]))
    kept = [set(one.sentences) for one in parts]
    assert not any(one & other for one, other in combinations(kept, 2))
    words = [len(sentence.split()) for sentence in chain(parts[0].first, parts[0].second)]
    assert (data.words, data.most_words) == (np.median(words), max(words))


def test_of_long_dev_and_test_sets_some_items_are_evaluated_and_those_that_were_named_are_not_shortened(
    text, place, monkeypatch
):
    whole = own_data.read(text, str(place.model))
    monkeypatch.setattr(own_data, "MOST_CHOOSING", 20)
    monkeypatch.setattr(own_data, "MOST_TESTED", 50)
    data = own_data.read(text, str(place.model))
    assert (data.dev, data.test) == (f"{whole.dev}, 20 items", f"{whole.test}, 50 items")
    assert (data.train, data.test_items, data.own_test) == (whole.train, 50, True)
    texts = read_texts(own_data.recipe(data, "cosent", str(place.model)))
    assert (len(texts.dev), len(texts.tests[0]), len(texts.corpus)) == (20, 50, data.rows)
    named = own_data.read(text, str(place.model), dev=whole.dev, test=whole.test)
    assert (named.dev, named.test) == (whole.dev, whole.test)


@pytest.mark.parametrize("source", ["STS-B", "STS-B train", "STS-B train, 400 items"])
def test_the_train_split_of_a_published_set_has_its_dev_and_test_split(source, place, tmp_path, monkeypatch):
    for name, rows in (("train", 5749), ("dev", 1500), ("test", 1379)):
        results_by_hand.write_set(tmp_path, f"STSB/{name}.tsv", rows, name + " {}")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    data = own_data.read(source, str(place.model))
    assert (data.train, data.dev, data.test) == (
        "STS-B train" if source == "STS-B" else source,
        "STS-B dev, 500 items",
        "STS-B test",
    )
    assert (data.rows, data.test_items, data.own_test) == (400 if "items" in source else 5749, 1379, True)


def test_rows_that_mean_the_same_are_held_out_and_sentences_are_tested_on_the_sample(place, tmp_path):
    lines = [f"a{n} b{n} c{n},a{n} d{n},e{n} f{n}" for n in range(120)]
    path = tmp_path / "triplets.csv"
    path.write_text("\n".join(["anchor,positive,negative", *lines]), encoding="utf-8")
    data = own_data.read(str(path), str(place.model))
    assert (data.of_kind, data.dev, data.test, data.own_test) == (TRIPLETS, *[sources.HELD_OUT] * 2, True)
    texts = read_texts(own_data.recipe(data, own_data.candidates(TRIPLETS)[0], str(place.model)))
    assert (data.rows, data.test_items) == (len(texts.corpus), len(texts.tests[0]))
    assert data.rows + len(texts.dev) + data.test_items == 120
    assert any("only a large gain" in line for line in data.lines)
    own = own_data.read(str(place.text), str(place.model), test=str(place.test))
    assert (own.of_kind, own.dev, own.test) == (SENTENCES, *map(sources.written, [sets.halves()[0]]), str(place.test))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("label,text\n" + "\n".join(f"{n % 2},text {n}" for n in range(40)), "labelled texts, which no dev and test"),
        ("score,sentence1,sentence2\n" + "\n".join(f"{n},a {n},b {n}" for n in range(12)), "has 12 pairs; a split"),
        ("score,sentence1,sentence2\n" + "\n".join(f"1,a {n},b {n}" for n in range(90)), "every score in .score. is 1"),
        ("anchor,positive,negative\n" + "\n".join(f"a {n},b {n},c {n}" for n in range(12)), "at least 10 are needed"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_judged_is_refused_with_the_next_step(content, why, tmp_path, place):
    path = tmp_path / "text.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StrataError, match=why):
        own_data.read(str(path), str(place.model))


def test_a_test_set_that_is_trained_on_or_chooses_the_method_is_refused(text, place, tmp_path):
    path, model = tmp_path / "triplets.csv", str(place.model)
    lines = [f"a{n} b{n} c{n},a{n} d{n},e{n} f{n}" for n in range(120)]
    path.write_text("\n".join(["anchor,positive,negative", *lines]), encoding="utf-8")
    for own in (text, str(path)):
        with pytest.raises(BadChoice, match="which is trained on"):
            own_data.read(own, model, test=own)
        with pytest.raises(BadChoice, match=r"dev set and the test set cannot both be 'test.csv'"):
            own_data.read(own, model, dev=str(place.test), test=str(place.test))
    with pytest.raises(BadChoice, match=r"dev set 'triplets.csv' has all 12 queries of the test set 'held-out rows of"):
        own_data.read(str(path), model, dev=str(path))
    some = own_data.read(str(place.text), model, test="Sample pairs")
    shared = len(sets.load(sets.halves()[0]))
    assert some.notes[-1].startswith(f"{shared} of the 240 test pairs are in the dev set too")
    assert not own_data.read(str(place.text), model).notes


def test_the_methods_that_gained_most_on_such_rows_are_tried():
    assert own_data.candidates(SCORED_PAIRS) == ("cosent", "cosine-regression", "ct-in-batch")
    assert own_data.candidates(SENTENCES) == ("ct-in-batch", "simcse", "mirror-bert")
    assert own_data.candidates(TRIPLETS) == ("contrast-hard", "simcse-hard")


def test_a_model_is_trained_under_the_pooling_that_people_use():
    assert own_data.own_settings("simcse-hard") == {"pooling": "model default", "keep_head": False}
    assert own_data.own_settings("cosent") == {"pooling": "model default"}


def test_a_part_of_a_set_is_no_text_to_ask_for(text, place):
    data = own_data.read(text, str(place.model))
    with pytest.raises(BadChoice, match="is a part of a set"):
        own_data.read(data.test, str(place.model))
    assert replace(own_data.read(data.train, str(place.model)), source=text) == data
