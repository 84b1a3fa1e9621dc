"""Test what is read of a text to train on: its parts, the methods that fit it, and what is refused."""

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest

from explorer.data import sources
from explorer.data.graded import sets
from explorer.data.sources import identity
from explorer.data.text_sets import LABELLED_TEXTS, SCORED_PAIRS, SENTENCES, TRIPLETS
from explorer.errors import BadChoice, StrataError, TooFewRows
from explorer.studies.plans import own_data
from explorer.training.loop.training_texts import read_texts
from tests.evaluating import results_by_hand


@pytest.fixture
def many(monkeypatch):
    """Texts of some hundred rows are so long that a part of them tests well enough."""
    monkeypatch.setattr(own_data, "MOST_FOLDED", 100)


def test_every_row_of_a_text_is_trained_on_and_judged_by_a_model_of_rows_without_its_sentences(text, place):
    data = own_data.read(text, str(place.model))
    assert (data.of_kind, data.own_test, data.is_folded) == (SCORED_PAIRS, True, True)
    assert (data.rows, data.test_items, data.overlap, data.duplicates) == (180, 180, 0, 0)
    texts = read_texts(own_data.recipe(data, "cosent", str(place.model)))
    assert sorted(chain.from_iterable(texts.folds)) == list(range(180))
    assert data.folds == len(texts.folds) > 1
    for fold in texts.folds:
        held, rest = ({one for row in rows for one in rows_of(texts, row)} for rows in (fold, others(fold, 180)))
        assert not held & rest
    words = [len(sentence.split()) for column in texts.corpus.texts[:2] for sentence in column]
    assert (data.words, data.most_words) == (np.median(words), max(words))


def rows_of(texts, row):
    return [column[row] for column in texts.corpus.texts[:2]]


def others(fold, rows):
    return set(range(rows)).difference(fold)


def test_train_dev_and_test_rows_of_many_scored_pairs_share_no_sentence(text, place, many):
    data = own_data.read(text, str(place.model))
    assert (data.own_test, data.is_folded, data.overlap) == (True, False, 0)
    assert (data.dev, data.test) == (sets.HELD_OUT, sets.HELD_OUT)
    texts = read_texts(own_data.recipe(data, "cosent", str(place.model)))
    parts = [set(chain(*texts.corpus.texts[:2])), *({*one.first, *one.second} for one in (texts.dev, *texts.tests))]
    assert not any(one & other for one, other in combinations(parts, 2))
    assert data.rows + len(texts.dev) + data.test_items == 180


@pytest.mark.parametrize("source", ["STS-B", "STS-B train", "STS-B train, 400 items"])
def test_the_train_split_of_a_published_set_has_its_dev_and_test_split(source, place, tmp_path, monkeypatch):
    for name, rows in (("train", 5749), ("dev", 1500), ("test", 1379)):
        results_by_hand.write_set(tmp_path, f"STSB/{name}.tsv", rows, name + " {}")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    data = own_data.read(source, str(place.model))
    assert tuple(map(str, (data.train, data.dev, data.test))) == (
        "STS-B train" if source == "STS-B" else source,
        "STS-B dev, 500 items",
        "STS-B test",
    )
    assert (data.rows, data.test_items, data.own_test) == (400 if "items" in source else 5749, 1379, True)


def triplets(tmp_path, rows=120):
    lines = [f"a{n} b{n} c{n},a{n} d{n},e{n} f{n}" for n in range(rows)]
    path = tmp_path / "triplets.csv"
    path.write_text("\n".join(["anchor,positive,negative", *lines]), encoding="utf-8")
    return str(path)


def test_many_rows_that_mean_the_same_are_held_out_and_sentences_are_tested_on_the_sample(place, tmp_path, many):
    data = own_data.read(triplets(tmp_path), str(place.model))
    assert (data.of_kind, data.dev, data.test, data.own_test) == (TRIPLETS, *[sets.HELD_OUT] * 2, True)
    texts = read_texts(own_data.recipe(data, own_data.candidates(TRIPLETS)[0], str(place.model)))
    assert (data.rows, data.test_items) == (len(texts.corpus), len(texts.tests[0]))
    assert data.rows + len(texts.dev) + data.test_items == 120
    assert any("only a large gain" in line for line in data.lines)
    own = own_data.read(str(place.text), str(place.model), test=identity(str(place.test)))
    assert (own.of_kind, own.dev, str(own.test)) == (SENTENCES, sets.halves()[0], str(place.test))


@pytest.mark.parametrize(
    "content",
    [
        "label,text\n" + "\n".join(f"{n % 2},text {n}" for n in range(12)),
        "score,sentence1,sentence2\n" + "\n".join(f"{n},a {n},b {n}" for n in range(12)),
        "anchor,positive,negative\n" + "\n".join(f"a {n},b {n},c {n}" for n in range(12)),
        "query,passage\n" + "\n".join(f"a {n},b {n}" for n in range(12)),
    ],
)
def test_a_dozen_rows_of_every_kind_that_can_judge_are_cross_fitted(content, tmp_path, place):
    path = tmp_path / "text.csv"
    path.write_text(content, encoding="utf-8")
    data = own_data.read(str(path), str(place.model))
    assert (data.is_folded, data.rows, data.test_items) == (True, 12, 12)
    assert any("only a large gain" in line for line in data.lines)


def test_the_train_part_of_a_folder_of_labelled_texts_is_cross_fitted(tmp_path, place):
    for part, rows in (("train", range(12)), ("test", range(12, 18))):
        lines = "".join(f"{row % 2}\ttext {row}\n" for row in rows)
        (tmp_path / f"{part}.tsv").write_text(f"label\ttext\n{lines}", encoding="utf-8")
    data = own_data.read(str(tmp_path), str(place.model))
    assert (data.is_folded, data.rows, data.test_items) == (True, 12, 12)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("score,sentence1,sentence2\n" + "\n".join(f"1,a {n},b {n}" for n in range(90)), "every score in .score. is 1"),
        ("score,sentence1,sentence2\n" + "\n".join(f"{n},a,b {n}" for n in range(40)), "at least 10 are needed"),
        ("anchor,positive,negative\n" + "\n".join(f"a {n},b {n},c {n}" for n in range(3)), "at least 10 are needed"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_judged_is_refused_with_the_next_step(content, why, tmp_path, place):
    path = tmp_path / "text.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StrataError, match=why):
        own_data.read(str(path), str(place.model))


def test_rows_that_share_no_sentence_with_the_test_set_are_read_however_few_and_no_batch_is_named(tmp_path, place):
    text, shared = tmp_path / "text.csv", tmp_path / "test.csv"
    lines = [f"{n},a {n},b {n}" for n in range(20)]
    text.write_text("\n".join(["score,sentence1,sentence2", *lines]), encoding="utf-8")
    for left in (4, 1):
        shared.write_text("\n".join(["score,sentence1,sentence2", *lines[left:]]), encoding="utf-8")
        given = str(text), str(place.model), sets.halves()[0], identity(str(shared))
        if left == 4:
            assert own_data.read(*given).rows == 4
        else:
            with pytest.raises(TooFewRows, match=r"19 of 20 rows of text\.csv share a sentence") as told:
                own_data.read(*given)
            assert "batch_size" not in str(told.value)


def test_a_test_set_that_is_trained_on_or_chooses_the_method_is_refused(text, place, tmp_path):
    own_triplets, model = triplets(tmp_path), str(place.model)
    for own in (text, own_triplets):
        with pytest.raises(BadChoice, match="which is trained on"):
            own_data.read(own, model, test=identity(own))
        with pytest.raises(BadChoice, match=r"dev set and the test set cannot both be 'test.csv'"):
            own_data.read(own, model, *[identity(str(place.test))] * 2)
    with pytest.raises(BadChoice, match=r"dev set 'triplets.csv' has all 12 queries of the test set 'held-out rows of"):
        own_data.read(own_triplets, model, dev=identity(own_triplets))
    some = own_data.read(str(place.text), model, test=sets.SAMPLE)
    shared = len(sets.load(sets.halves()[0]))
    assert some.notes[-1].startswith(f"{shared} of the 240 test pairs are in the dev set too")
    assert not own_data.read(str(place.text), model).notes


def test_the_sample_text_has_no_rows_of_the_sample_pairs(place):
    data = own_data.read("sample", str(place.model), test=sets.SAMPLE)
    assert not data.own_test, "the text is triplets and sentences, though both are called sample"
    assert any("not of this text" in line for line in data.lines)


def test_the_methods_that_gained_most_on_such_rows_are_tried():
    assert own_data.candidates(LABELLED_TEXTS)[0] == "setfit", "it may be the only one that there is time for"
    assert own_data.candidates(SCORED_PAIRS) == ("cosent", "cosine-regression", "ct-in-batch")
    assert own_data.candidates(SENTENCES) == ("ct-in-batch", "simcse", "mirror-bert")
    assert own_data.candidates(TRIPLETS) == ("contrast-hard", "simcse-hard")


def test_a_model_is_trained_under_the_pooling_that_people_use():
    assert own_data.own_settings("simcse-hard") == {"pooling": "model default", "keep_head": False}
    assert own_data.own_settings("cosent") == {"pooling": "model default"}


def test_a_part_of_a_set_is_no_text_to_ask_for(text, place):
    data = own_data.read(text, str(place.model), test=identity(str(place.test)))
    for part in (sources.HELD_OUT, sources.CROSS_FITTED):
        with pytest.raises(StrataError, match="There is no set"):
            own_data.read(part, str(place.model))
    assert replace(own_data.read(str(data.train), str(place.model), test=data.test), source=text) == data
