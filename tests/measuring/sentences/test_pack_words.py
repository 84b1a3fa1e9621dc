"""Test what the words that differ add to the cosines of a probe pack, against the whole matrix of every pair."""

import numpy as np
import pytest

from explorer.data.graded.probes import Pack
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read import word_parts as parts_of
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.readings import OWN, parse
from explorer.measuring.sentences.pack_words import PairSums, differing, pack_word_rows, pack_words, pair_sums
from explorer.measuring.sentences.word_pair import word_pair
from explorer.progress import finish
from tests.tiny_models import save_tiny

PACK = Pack(
    "number", False, "another number",
    ("a man is playing the guitar", "The dog runs"),
    ("a dog is playing two guitar", "the dog never runs"),
)  # fmt: skip


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    save_tiny("bert", folder)
    return load(of_folder("tiny", folder), "float32", "cpu", EAGER)


def test_words_differ_that_the_other_sentence_lacks_in_any_case_and_without_punctuation():
    assert differing(("The", "lamp", "works", "."), ("the", "lamp,", "doesn", "'", "t", "work")) == (
        [False, False, True, False],
        [False, False, True, False, True, True],
    )
    assert differing((), ("no",)) == ([], [True])


@pytest.mark.parametrize("title", ["mean of layer 2", "cls of layer 2", "max of layer 1"])
def test_the_sum_is_that_of_the_rows_and_columns_of_the_matrix(encoder, title):
    reading = parse(title, 2)
    found = finish(pair_sums(encoder, PACK, reading))
    for place, pair in enumerate(zip(PACK.first, PACK.second, strict=True)):
        whole = finish(word_pair(encoder, *pair, reading, matrix=True))
        marks = [np.append(side, False) for side in differing(*whole.words)]
        assert marks[1].any()
        cells = marks[0][:, None] | marks[1][None, :]
        assert found.added[place] == pytest.approx(whole.matrix[cells].sum(), abs=0.005)  # up to their points
        assert found.cosines[place] == pytest.approx(whole.cosine, abs=1e-6)


def test_a_gradient_gives_the_numbers_of_a_derivative_for_each_word_at_the_same_points(encoder):
    ends = parts_of.ends_of(encoder, PACK.first[0], OWN)
    path = parts_of._path(ends)
    other = ends.last.flip(0)
    slow = finish(parts_of._parts(ends, path, ends.directions)) @ other.numpy()
    assert np.abs(slow).max() > 0.01
    assert parts_of._products(ends, path, other) == pytest.approx(slow, abs=1e-6)


def test_means_and_the_paired_change_have_the_interval_of_the_pairs():
    random = np.random.default_rng(5)
    before = random.normal(-0.04, 0.1, 400)
    sides = {"A": PairSums(before, before + 0.8), "B": PairSums(before - 0.37, before + 0.3)}
    found = pack_words("negation", sides)
    error = 1.96 * before.std() / np.sqrt(400)
    assert found.sides["A"].value == pytest.approx(before.mean())
    assert found.sides["A"].low == pytest.approx(before.mean() - error, abs=0.002)
    assert found.sides["A"].high == pytest.approx(before.mean() + error, abs=0.002)
    assert (found.change.value, found.change.low, found.change.high) == pytest.approx((-0.37,) * 3)
    mean = f"{before.mean():.2f}".replace("-", "−")
    assert str(found) == (
        f"In the negation pack the words that differ add {mean} to the cosine under A and "
        f"{before.mean() - 0.37:.2f} under B (change −0.37, 95 % CI −0.37 to −0.37); the mean cosine changes by −0.50."
    ).replace(" -", " −")
    (row,) = pack_word_rows([found])
    assert row["pairs"] == 400
    assert row["change"] == -0.37
    alone = pack_words("negation", {"A": sides["A"]})
    assert alone.change is None
    assert str(alone).startswith(f"In the negation pack the words that differ add {mean} to the cosine (95 % CI ")
