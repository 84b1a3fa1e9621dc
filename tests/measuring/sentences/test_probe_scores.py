"""Test the scores of probe packs against slow loops."""

import numpy as np
import pytest

from explorer.data.graded.probes import Pack
from explorer.measuring.scores.judge import Share, share_above
from explorer.measuring.sentences.probes import pack_rows, pair_rows, probed, sentences_of, verdict

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
    return sum(1.0 if one > other else 0.5 * (one == other) for one in ones for other in others) / (
        len(ones) * len(others)
    )


def test_every_sentence_is_read_once():
    assert sorted(sentences_of(PACKS)) == list("abcdef")


def test_cosines_and_shares_are_those_of_the_slow_loop():
    order = sentences_of(PACKS)
    vectors = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    in_order = np.stack([vectors["adbecf".index(sentence)] for sentence in order])
    found = probed(PACKS, in_order)
    slow = {pack.name: slow_cosines(pack, vectors) for pack in PACKS}
    for pack in PACKS:
        assert found.of(pack.name) == pytest.approx(slow[pack.name])
        assert found.mean(pack.name) == pytest.approx(sum(slow[pack.name]) / len(pack))
    assert found.distinguished("negation").value == slow_share(slow["paraphrase"], slow["negation"])
    assert found.distinguished_from_all().value == slow_share(slow["paraphrase"], slow["negation"] + slow["number"])


def test_where_every_sentence_has_one_vector_the_share_is_chance():
    share = probed(PACKS, np.ones((6, 4), dtype=np.float32)).distinguished_from_all()
    assert share.value == share.low == share.high == 0.5


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


def test_a_share_of_none_or_all_has_the_binomial_bound():
    none = share_above(np.zeros(60), np.ones(80))
    assert (none.value, none.low) == (0, 0)
    assert (1 - none.high) ** 60 == pytest.approx(0.025)
    every = share_above(np.ones(60), np.zeros(80))
    assert (every.value, every.high, every.low) == (1, 1, pytest.approx(1 - none.high))


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
