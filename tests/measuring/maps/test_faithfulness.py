import numpy as np
import pytest

from explorer.measuring.maps import faithfulness as measured
from explorer.measuring.maps.faithfulness import faithfulness
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import finish


def drawn(count, width, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def judged(vectors, places):
    return finish(faithfulness(vectors, finish(neighbourhoods(vectors)), places, ""))


def test_of_many_sentences_some_are_looked_at_and_the_number_says_how_many(monkeypatch):
    vectors, places = drawn(400, 5), drawn(400, 2, seed=1)
    whole = judged(vectors, places)
    monkeypatch.setattr(measured, "MOST", 200)
    some = judged(vectors, places)
    assert (whole.sentences, some.sentences) == (400, 200)
    assert some.trustworthiness == pytest.approx(whole.trustworthiness, abs=0.05)


def test_a_map_that_leaves_out_nothing_is_wholly_faithful():
    angles = np.linspace(0, 3, 50)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    found = judged(circle, circle)
    assert (found.trustworthiness, found.kept) == (1, 1)


def test_duplicates_are_nobodys_fault():
    found = judged(np.ones((200, 4), dtype=np.float32), drawn(200, 2))
    assert (found.trustworthiness, found.kept) == (1, 1)


def test_two_sentences_are_too_few_to_judge():
    found = judged(drawn(2, 4), drawn(2, 2))
    assert np.isnan(found.trustworthiness)
    assert np.isnan(found.kept)
