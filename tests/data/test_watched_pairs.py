"""Test which pairs a training watches."""

from explorer.data import sample
from explorer.data.watched_pairs import NEGATIVE, OWN, PACKS, POSITIVE, ROW, WatchedPair, choose


def test_without_rows_or_an_own_pair_the_shortest_of_three_packs_are_watched():
    found = choose((), (), ())
    assert {pair.kind for pair in found} == {*PACKS}
    packs = {pack.name: pack for pack in sample.probe_packs()}
    for pair in found:
        every = [(one, other) for one, other in zip(packs[pair.kind].first, packs[pair.kind].second, strict=True)]
        assert (pair.first, pair.second) in every
        assert len(pair.first + pair.second) == min(len(one + other) for one, other in every)


def test_no_pair_of_a_pack_is_watched_that_is_trained_on():
    first, *_ = choose((), (), ())
    without = choose((), (), {first.second})
    assert len(without) == 3
    assert first.second not in [text for pair in without for text in (pair.first, pair.second)]
    assert choose((), (), [text for pack in sample.probe_packs() for text in pack.first]) == ()


def test_an_own_pair_is_the_first_and_held_out_rows_come_before_packs():
    rows = (("a", "c", "e"), ("b", "d", "f"))
    found = choose(("mine", "yours"), rows, ())
    assert found == (
        WatchedPair(OWN, "mine", "yours"),
        WatchedPair(POSITIVE, "a", "c"),
        WatchedPair(NEGATIVE, "a", "e"),
    )
    assert choose((), rows, ())[2] == WatchedPair(POSITIVE, "b", "d")


def test_rows_with_one_sentence_have_no_pairs_and_those_with_a_score_are_no_positives():
    assert [pair.kind for pair in choose((), (("a",), ("b",)), ())] == [pair.kind for pair in choose((), (), ())]
    assert choose((), (("a", "b"),), (), is_scored=True)[0] == WatchedPair(ROW, "a", "b")
