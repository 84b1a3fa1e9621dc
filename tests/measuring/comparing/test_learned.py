"""Test what counts as learned, which three pairs show it, and that a change is judged by resampled pairs."""

import numpy as np
import pytest

from explorer.data import sample
from explorer.data.sample import PARAPHRASE
from explorer.measuring.comparing.learned import Learned, of_run, probe_changes, shown_pairs
from explorer.measuring.scores.judge import PackChange, Share, of_packs, pack_changes
from explorer.measuring.scores.verdict import BETTER, CHANCE, MIXED, UNKNOWN, WORSE, RunVerdict, Verdict

PACKS = sample.judged_packs()


def pack(name, before, after, low, high, *, width=0.1):
    """A pack with these shares, and the interval of its change."""
    sides = (Share(share, share - width, share + width) for share in (before, after))
    return PackChange(name, 60, *sides, low, high)


def learned(packs=(), edges=None, tuned=True, **about):
    """What was learned, by these packs and a score whose difference has this interval."""
    if edges is None:
        return Learned(packs, tuned=tuned)
    score = Verdict(80.0, None, 81.0, sum(edges) / 2, *edges)
    return Learned(packs, score, tuned, **({"on": "STS-B test", "size": 9} | about))


LEARNED = pack("negation", 0.1, 0.7, 0.4, 0.8)
AT_CHANCE = pack("number", 0.1, 0.55, 0.3, 0.6)
STILL_MISSED = pack("antonym", 0.0, 0.14, 0.05, 0.2, width=0.05)
UNCHANGED = pack("role swap", 0.05, 0.04, -0.1, 0.1)
LOST = pack("quantifier", 0.7, 0.4, -0.4, -0.1)
EVERY = (UNCHANGED, STILL_MISSED, AT_CHANCE, LOST, LEARNED)


def names(packs):
    return [one.name for one in packs]


def test_only_a_pack_above_chance_is_learned_and_a_missed_one_is_below_it():
    found = Learned(EVERY)
    assert names(found.learned) == ["negation"]
    assert names(found.closer) == ["number", "antonym"]
    assert names(found.lost) == ["quantifier"]
    assert names(found.missed) == ["role swap", "antonym"]


@pytest.mark.parametrize(
    ("packs", "edges", "kind"),
    [
        ((LEARNED,), (-1.0, 2.0), BETTER),
        ((UNCHANGED,), (1.0, 2.0), BETTER),
        ((LEARNED,), (-2.0, -1.0), MIXED),
        ((LEARNED, LOST), (-1.0, 1.0), MIXED),
        ((LOST,), (1.0, 2.0), MIXED),
        ((UNCHANGED,), (-2.0, -1.0), WORSE),
        ((LOST,), None, WORSE),
        ((STILL_MISSED, AT_CHANCE), (-1.0, 1.0), CHANCE),
        ((), (-1.0, 1.0), CHANCE),
        ((), None, UNKNOWN),
    ],
)
def test_good_and_bad_news_make_the_kind(packs, edges, kind):
    assert learned(packs, edges).kind == kind


def test_a_run_is_judged_on_its_test_set_else_on_its_dev_set_and_not_without_an_interval():
    known, unknown = Verdict(70.0, 70.0, 72.0, 2.0, 1.0, 3.0), Verdict(70.0, 70.0)
    sets = {"test": "STS-B test", "dev": "mine.csv"}, {"test": 5, "dev": 7}, {"dev": "accuracy"}
    tested = of_run(RunVerdict(known, unknown, True), *sets)
    assert (tested.on, tested.general, tested.size, tested.optimistic) == ("STS-B test", True, 5, True)
    chosen = of_run(RunVerdict(None, known, True), *sets)
    assert (chosen.on, chosen.general, chosen.measure, chosen.optimistic) == ("mine.csv", False, "accuracy", False)
    assert of_run(RunVerdict(unknown, unknown, packs=(LEARNED,)), *sets) == Learned((LEARNED,))
    assert of_run(RunVerdict(Verdict(70.0, 70.0, 72.0)), *sets).score is None


def cosines(seed, **means):
    """Cosines around a mean for every pack, 0.5 unless told."""
    drawn = np.random.default_rng(seed)
    return {one.name: drawn.normal(means.get(one.name.replace(" ", "_"), 0.5), 0.1, len(one)) for one in PACKS}


def test_the_change_of_a_pack_is_that_of_pairs_drawn_anew():
    before, after = cosines(1, paraphrase=0.6), cosines(2, paraphrase=0.7)
    drawn, draws = np.random.default_rng(3), 2000
    found = next(one for one in pack_changes(before, after) if one.name == "negation")

    def share(side, same, other):
        above = side[PARAPHRASE][same][:, None] - side["negation"][other][None, :]
        return float(((above > 0) + 0.5 * (above == 0)).mean())

    every = slice(None)
    assert found.before.value == pytest.approx(share(before, every, every))
    assert found.after.value == pytest.approx(share(after, every, every))
    slow = []
    for _ in range(draws):
        same, other = drawn.integers(60, size=60), drawn.integers(60, size=60)
        slow.append(share(after, same, other) - share(before, same, other))
    outside = 0.05 / (len(PACKS) - 1)
    edges = np.quantile(slow, (outside / 2, 1 - outside / 2))
    assert (found.low, found.high) == pytest.approx(tuple(edges), abs=0.05)


def test_a_model_that_did_not_change_has_changed_nothing():
    same = cosines(4)
    assert {(one.low, one.high, one.difference) for one in pack_changes(same, same)} == {(0.0, 0.0, 0.0)}
    assert Learned(pack_changes(same, same)).kind == CHANCE


def test_the_three_pairs_are_the_median_changes_of_what_was_learned_and_one_that_is_still_wrong():
    before = cosines(5, paraphrase=0.5, negation=0.9, number=0.9, antonym=0.9, role_swap=0.95)
    after = cosines(6, paraphrase=0.8, negation=0.1, number=0.2, antonym=0.9, role_swap=0.97)
    found = probe_changes(PACKS, before, after)
    one, other, still = found.pairs
    assert {one.pack, other.pack} == {"negation", "number"}
    for pair in (one, other):
        changes = sorted(after[pair.pack] - before[pair.pack])
        assert pair.after - pair.before == changes[(len(changes) - 1) // 2]
        place = next(pack for pack in PACKS if pack.name == pair.pack).first.index(pair.first)
        assert (pair.before, pair.after) == (before[pair.pack][place], after[pair.pack][place])
    assert still.pack == Learned(found.packs).missed[0].name
    assert still.after > np.median(after[PARAPHRASE])


def test_a_pack_that_was_lost_is_shown_and_paraphrases_fill_the_row():
    before, after = cosines(7, negation=0.1), cosines(8, negation=0.9)
    changes = pack_changes(before, after)
    lost = Learned(tuple(one for one in changes if one.name == "negation"))
    assert [pair.pack for pair in shown_pairs(lost, PACKS, before, after)] == ["negation", PARAPHRASE]


def test_items_are_divided_as_the_packs_follow_each_other():
    pairs = sample.probe_pairs()
    found = of_packs(PACKS, np.arange(float(len(pairs.same))))
    for one in PACKS:
        places = found[one.name].astype(int)
        assert [pairs.first[place] for place in places] == list(one.first)
