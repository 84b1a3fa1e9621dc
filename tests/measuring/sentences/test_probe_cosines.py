"""Test the cosines of probe packs, shares of distinguished pairs, and what differing words add."""

import numpy as np
import pytest

from explorer.data.sample import Pack
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read import word_parts as parts_of
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import OWN, parse
from explorer.measuring.scores.judge import Share, share_above
from explorer.measuring.sentences.probe_cosines import (
    differing,
    pack_rows,
    pack_word_rows,
    pack_words,
    pair_rows,
    pair_sums,
    probed,
    sentences_of,
    verdict,
)
from explorer.measuring.sentences.word_pairs import word_pair
from explorer.progress import finish
from tests.tiny_models import save_tiny

PACKS = (
    Pack("paraphrase", True, "", ("a", "b", "c"), ("d", "e", "f")),
    Pack("typo", True, "", ("a",), ("c",)),
    Pack("negation", False, "", ("a", "b"), ("b", "f")),
    Pack("number", False, "", ("c",), ("e",)),
)


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


def slow_cosines(pack, vectors):
    at = {sentence: vector.astype(float) for sentence, vector in zip("adbecf", vectors, strict=True)}
    return [
        at[one] @ at[other] / np.sqrt((at[one] @ at[one]) * (at[other] @ at[other]))
        for one, other in zip(pack.first, pack.second, strict=True)
    ]


def slow_share(ones, others):
    couples = [(one, other) for one in ones for other in others]
    return sum(1.0 if one > other else 0.5 * (one == other) for one, other in couples) / len(couples)


def test_every_sentence_is_read_once_and_cosines_and_shares_are_those_of_the_slow_loop():
    assert sorted(sentences_of(PACKS)) == list("abcdef")
    order = sentences_of(PACKS)
    vectors = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    found = probed(PACKS, np.stack([vectors["adbecf".index(sentence)] for sentence in order]))
    slow = {pack.name: slow_cosines(pack, vectors) for pack in PACKS}
    for pack in PACKS:
        assert found.of(pack.name) == pytest.approx(slow[pack.name])
        assert found.mean(pack.name) == pytest.approx(sum(slow[pack.name]) / len(pack))
    assert found.distinguished("negation").value == slow_share(slow["paraphrase"], slow["negation"])
    assert found.distinguished_from_all().value == slow_share(slow["paraphrase"], slow["negation"] + slow["number"])


def test_a_share_of_none_or_all_has_the_binomial_bound_and_of_one_vector_it_is_chance():
    share = probed(PACKS, np.ones((6, 4), dtype=np.float32)).distinguished_from_all()
    assert share.value == share.low == share.high == 0.5
    none = share_above(np.zeros(60), np.ones(80))
    assert (none.value, none.low) == (0, 0)
    assert (1 - none.high) ** 60 == pytest.approx(0.025)
    every = share_above(np.ones(60), np.zeros(80))
    assert (every.value, every.high, every.low) == (1, 1, pytest.approx(1 - none.high))


def test_the_interval_of_a_share_is_that_of_pairs_drawn_anew():
    draw = np.random.default_rng(3)
    one, other = draw.normal(size=30), draw.normal(size=20) + 0.5
    found = share_above(one, other, resamples=4000)
    drawn = [
        slow_share(one[draw.integers(30, size=30)].tolist(), other[draw.integers(20, size=20)].tolist())
        for _ in range(1000)
    ]
    assert found.value == pytest.approx(slow_share(one.tolist(), other.tolist()))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=0.02)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (Share(0.13, 0.07, 0.2), "A does not notice a negation"),
        (Share(0.47, 0.38, 0.56), "Whether A notices a negation cannot be told from chance"),
        (Share(0.4, 0.3, 0.5), "Whether A notices a negation cannot be told from chance"),
        (Share(0.6, 0.5, 0.7), "Whether A notices a negation cannot be told from chance"),
        (Share(0.88, 0.81, 0.94), "A notices a negation"),
    ],
)
def test_a_verdict_is_sure_only_where_the_interval_excludes_chance(share, said):
    cases = f"{100 * share.value:.0f} % of cases"
    told = f"{said}: a paraphrase is more similar than a sentence with a negation in {cases}; a coin would get 50 %."
    assert verdict("A", "negation", share) == told


def test_rows_hold_every_pack_and_every_pair_of_both_sides(vectors):
    one, other = probed(PACKS, vectors), probed(PACKS, vectors[::-1].copy())
    packs = pack_rows(one, other)
    assert [row["pack"] for row in packs] == [pack.name for pack in PACKS]
    assert [row["distinguished A"] is None for row in packs] == [True, True, False, False]
    pairs = pair_rows(one, other)
    assert len(pairs) == sum(map(len, PACKS))
    for row in pairs:
        assert row["B - A"] == pytest.approx(row["cosine B"] - row["cosine A"], abs=2e-4)
    assert "cosine B" not in pair_rows(one, None)[0]


PACK = Pack(
    "number", False, "another number",
    ("a man is playing the guitar", "The dog runs"),
    ("a dog is playing two guitar", "the dog never runs"),
)  # fmt: skip


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load(of_folder("tiny", save_tiny("bert", tmp_path_factory.mktemp("tiny") / "bert")), "float32", "cpu", EAGER)


def test_words_differ_that_the_other_sentence_lacks_in_any_case_and_without_punctuation():
    assert differing(("The", "lamp", "works", "."), ("the", "lamp,", "doesn", "'", "t", "work")) == (
        [False, False, True, False],
        [False, False, True, False, True, True],
    )
    assert differing((), ("no",)) == ([], [True])


@pytest.mark.parametrize("title", ["mean of layer 2", "cls of layer 2", "max of layer 1"])
def test_the_sum_is_that_of_the_rows_and_columns_of_the_matrix(encoder, title):
    reading = parse(title, 2)
    added, cosines = finish(pair_sums(encoder, PACK, reading))
    for place, pair in enumerate(zip(PACK.first, PACK.second, strict=True)):
        whole = finish(word_pair(encoder, *pair, reading, matrix=True))
        marks = [np.append(side, False) for side in differing(*whole.words)]
        assert marks[1].any()
        cells = marks[0][:, None] | marks[1][None, :]
        assert added[place] == pytest.approx(whole.matrix[cells].sum(), abs=0.005)  # up to their points
        assert cosines[place] == pytest.approx(whole.cosine, abs=1e-6)


def test_a_gradient_gives_the_numbers_of_a_derivative_for_each_word_at_the_same_points(encoder):
    ends = parts_of.ends_of(encoder, PACK.first[0], OWN)
    other = ends.last.flip(0)
    found, path = finish(parts_of.added(ends, other))
    slow = finish(parts_of._parts(ends, path, ends.directions)) @ other.numpy()
    assert np.abs(slow).max() > 0.01
    assert found == pytest.approx(slow, abs=1e-6)


def test_means_and_the_paired_change_have_the_interval_of_the_pairs():
    before = np.random.default_rng(5).normal(-0.04, 0.1, 400)
    sides = {"A": (before, before + 0.8), "B": (before - 0.37, before + 0.3)}
    found = pack_words("negation", sides)
    error = 1.96 * before.std() / np.sqrt(400)
    mean, low, high = found.sides["A"]
    assert mean == pytest.approx(before.mean())
    assert (low, high) == pytest.approx((before.mean() - error, before.mean() + error), abs=0.002)
    assert found.change == pytest.approx((-0.37,) * 3)
    mean = f"{before.mean():.2f}".replace("-", "−")
    assert str(found) == (
        f"In the negation pack the words that differ add {mean} to the cosine under A and "
        f"{before.mean() - 0.37:.2f} under B (change −0.37, 95 % CI −0.37 to −0.37); the mean cosine changes by −0.50."
    ).replace(" -", " −")
    (row,) = pack_word_rows([found])
    assert (row["pairs"], row["change"]) == (400, -0.37)
    alone = pack_words("negation", {"A": sides["A"]})
    assert alone.change is None
    assert str(alone).startswith(f"In the negation pack the words that differ add {mean} to the cosine (95 % CI ")
