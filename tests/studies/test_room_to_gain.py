"""Test what is said of the base before a training: its score on the test rows, and the queries that it misses."""

from dataclasses import replace

import pytest
from transformers import AutoTokenizer

from explorer.data.sources import HELD_OUT
from explorer.measuring.neighbours.rankings import MRR
from explorer.progress import finish
from explorer.studies.room_to_gain import CORRELATED, ORDERED, SEARCHED, RoomToGain, before_start
from explorer.training.loop.preparing import prepare
from tests import trainings


def unit_vectors(encoder, texts):
    """The vector of each text under the model default, of length 1."""
    parts = encoder.under_heads(texts, (encoder.default_head,))
    return {texts[at]: one / one.norm() for places, (part,) in parts for at, one in zip(places, part, strict=True)}


def test_of_held_out_pairs_it_is_the_share_whose_partner_is_nearest(place):
    recipe = trainings.recipe(place, "contrast", data=(str(place.triplets),), dev=HELD_OUT, test=HELD_OUT, settings={})
    found = finish(before_start(recipe)).room
    prepared = finish(prepare(recipe))
    encoder, task = prepared.encoder, prepared.tests[0]
    by_text = unit_vectors(encoder, task.texts)
    documents = task.given.documents
    right, wrong = 0, []
    for query, judged in zip(task.given.queries, task.given.judgements, strict=True):
        cosines = [float(by_text[query] @ by_text[text]) for text in documents]
        first = cosines.index(max(cosines))
        right += first in judged
        wrong += [(query, documents[first])] * (first not in judged)
    assert task.measure == MRR
    assert (found.items, found.missed) == (len(task), len(task) - right)
    assert found.score == pytest.approx(100 * right / len(task))
    assert [(miss.query, miss.first) for miss in found.misses] == wrong[:3]
    assert (
        f"for {right} of your {len(task)} queries among {len(set(documents))} passages; it misses {len(wrong)}"
        in found.text
    )


def test_of_triplets_it_is_the_share_whose_positive_is_nearer(place):
    recipe = trainings.recipe(place, "simcse", test=str(place.triplets))
    found = finish(before_start(recipe)).room
    prepared = finish(prepare(recipe))
    encoder, given = prepared.encoder, prepared.tests[0].given
    by_text = unit_vectors(encoder, prepared.tests[0].texts)
    rows = zip(given.anchors, given.positives, given.negatives, strict=True)
    right = sum(float(by_text[one] @ (by_text[same] - by_text[other])) > 0 for one, same, other in rows)
    assert (found.items, found.missed, found.sentence) == (len(given), len(given) - right, ORDERED)
    assert found.score == pytest.approx(100 * right / len(given))
    assert 0 < right < len(given)


def test_of_scored_pairs_it_is_the_score_that_the_run_reports_of_its_base(place):
    found = finish(before_start(trainings.recipe(place, "simcse"))).room
    reported = trainings.train(trainings.new(place, "simcse", "the-base")).status().verdict.test.before
    assert found.score == pytest.approx(reported, abs=1e-4)
    assert found.missed is None


@pytest.mark.parametrize(
    ("missed", "items", "little"), [(5, 40, True), (6, 40, False), (9, 200, True), (10, 200, False), (0, 12, True)]
)
def test_little_is_to_gain_if_few_are_missed(missed, items, little):
    found = RoomToGain(100 - 100 * missed / items, items, f"{items} queries", missed, SEARCHED)
    assert found.is_little == little
    assert ("little to gain" in found.text) == little
    assert replace(found, sentence=ORDERED).is_little == little


@pytest.mark.parametrize(("score", "little"), [(89.9, False), (90.0, True)])
def test_little_is_to_gain_from_a_high_correlation(score, little):
    assert RoomToGain(score, 120, "120 pairs", None, CORRELATED).is_little == little


def test_texts_that_are_longer_than_the_training_or_the_model_reads_are_counted(place, tmp_path):
    """By the tokenizer of transformers, one text at a time."""
    words = ["the", "dog", "and", "the", "man", "see", "a", "cat", "in", "the", "park", "with", "a", "ball"]
    texts = [" ".join((words * 20)[: 3 + 4 * row]) for row in range(40)]
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(texts))
    recipe = trainings.recipe(place, "simcse", data=(str(path),), settings={"max_length": 12})
    found = finish(before_start(recipe)).cut
    tokenizer = AutoTokenizer.from_pretrained(str(place.model))
    lengths = [len(tokenizer(text)["input_ids"]) for text in texts]
    assert (found.of, found.used_limit) == (40, 12)
    assert found.used == sum(length > 12 for length in lengths) > 0
    assert found.read == sum(length > found.read_limit for length in lengths)
    assert f"{found.used} of 40 texts are longer than the 12 tokens that this training reads" in found.text
