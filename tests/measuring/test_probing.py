"""What packs come to, beside slow loops."""

import numpy as np
import pytest

from explorer.data.probes import Pack
from explorer.measuring.probing import pack_rows, pair_rows, probed, sentences_of

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
    assert found.told_apart("negation") == slow_share(slow["paraphrase"], slow["negation"])
    assert found.all_told_apart() == slow_share(slow["paraphrase"], slow["negation"] + slow["number"])


def test_where_every_sentence_has_one_vector_nothing_is_told_apart():
    assert probed(PACKS, np.ones((6, 4), dtype=np.float32)).all_told_apart() == 0.5


def test_rows_hold_every_pack_and_every_pair_of_both_sides(vectors):
    one, other = probed(PACKS, vectors), probed(PACKS, vectors[::-1].copy())
    packs = pack_rows(one, other)
    assert [row["pack"] for row in packs] == [pack.name for pack in PACKS]
    assert [row["told apart A"] is None for row in packs] == [True, True, False, False]
    pairs = pair_rows(one, other)
    assert len(pairs) == sum(map(len, PACKS))
    for row in pairs:
        assert row["B - A"] == pytest.approx(row["cosine B"] - row["cosine A"], abs=2e-4)
    assert "cosine B" not in pair_rows(one, None)[0]
