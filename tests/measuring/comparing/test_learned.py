"""Test what counts as learned, which three pairs show it, and the line that says so without hiding a loss."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.data import sample
from explorer.data.sample import PARAPHRASE
from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET
from explorer.measuring.comparing.comparison_report import where
from explorer.measuring.comparing.headline import is_general, line, short
from explorer.measuring.comparing.learned import as_json, lines, sure
from explorer.measuring.comparing.learned_facts import Learned, chosen_pairs, of_run, probe_changes
from explorer.measuring.comparing.pair_words import differing
from explorer.measuring.comparing.verdict_sentence import rendered
from explorer.measuring.scores.judge import PackChange, PairChange, Share, of_packs, pack_changes
from explorer.measuring.scores.metrics import ACCURACY, DISTINGUISHED, SPEARMAN
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CHOSE,
    MIXED,
    UNKNOWN,
    WORSE,
    ElsewhereVerdict,
    RunVerdict,
    Verdict,
    of_uses,
    without_test,
)

PACKS = sample.judged_packs()


def pack(name, before, after, low, high, *, width=0.1):
    """A pack with these shares, and the interval of its change."""
    sides = (Share(share, share - width, share + width) for share in (before, after))
    return PackChange(name, 60, *sides, low, high)


def learned(packs=(), edges=None, tuned=True, name="STS-B test", **about):
    """What was learned, by these packs and a score whose difference has this interval."""
    if edges is None:
        return Learned(packs, tuned=tuned)
    score = Verdict(80.0, None, 80.0 + sum(edges) / 2, sum(edges) / 2, *edges)
    return Learned(packs, on(name, score, **about), tuned)


def on(name, score, size=9, measure=SPEARMAN, item=PAIR):
    """A verdict on a set."""
    return ElsewhereVerdict(name, size, size, measure, score, item)


LEARNED = pack("negation", 0.1, 0.7, 0.4, 0.8)
AT_CHANCE = pack("number", 0.1, 0.55, 0.3, 0.6)
STILL_MISSED = pack("antonym", 0.0, 0.14, 0.05, 0.2, width=0.05)
UNCHANGED = pack("role swap", 0.05, 0.04, -0.1, 0.1)
LOST = pack("quantifier", 0.7, 0.4, -0.4, -0.1)
EVERY = (UNCHANGED, STILL_MISSED, AT_CHANCE, LOST, LEARNED)


def names(packs):
    return [one.name for one in packs]


def test_only_a_pack_above_chance_is_learned_and_items_are_divided_as_the_packs_follow_each_other():
    found = Learned(EVERY)
    assert names(found.learned) == ["negation"]
    assert found.closer == (), "negation rose more, and is learned"
    assert names(Learned(EVERY[:-1]).closer) == ["number", "antonym"]
    assert names(found.lost) == ["quantifier"]
    assert names(found.missed) == ["role swap", "antonym"]
    pairs = sample.probe_pairs()
    found = of_packs(PACKS, np.arange(float(len(pairs.same))))
    for one in PACKS:
        assert [pairs.first[place] for place in found[one.name].astype(int)] == list(one.first)


@pytest.mark.parametrize(
    ("packs", "edges", "kind"),
    [
        ((LEARNED,), (-1.0, 2.0), BETTER), ((UNCHANGED,), (1.0, 2.0), BETTER), ((LEARNED,), (-2.0, -1.0), MIXED),
        ((LEARNED, LOST), (-1.0, 1.0), MIXED), ((LOST,), (1.0, 2.0), MIXED), ((UNCHANGED,), (-2.0, -1.0), WORSE),
        ((LOST,), None, WORSE), ((STILL_MISSED, AT_CHANCE), (-1.0, 1.0), CHANCE), ((), (-1.0, 1.0), CHANCE),
        ((), None, UNKNOWN),
    ],
)  # fmt: skip
def test_good_and_bad_news_make_the_kind(packs, edges, kind):
    assert learned(packs, edges).kind == kind


def test_a_run_is_judged_on_its_test_set_else_on_its_dev_set_and_not_without_an_interval():
    known, unknown = Verdict(70.0, 70.0, 72.0, 2.0, 1.0, 3.0), Verdict(70.0, 70.0)
    test, dev = on("STS-B test", known, 5), on("mine.csv", known, 7, "accuracy", TRIPLET)
    tested = of_run(RunVerdict(known, unknown, True), {"test": test})
    assert (tested.main, is_general(tested, test), tested.optimistic) == (test, True, True)
    chosen = of_run(RunVerdict(None, known, True), {"dev": dev})
    assert (chosen.main, is_general(chosen, dev), chosen.optimistic) == (dev, False, False)
    unscored = {use: on(use, unknown) for use in ("test", "dev")}
    assert of_run(RunVerdict(unknown, unknown, packs=(LEARNED,)), unscored) == Learned((LEARNED,))
    without_interval = Verdict(70.0, 70.0, 72.0)
    assert of_run(RunVerdict(without_interval), {"test": on("STS-B test", without_interval)}).score is None


def test_a_score_on_what_chose_the_model_is_no_news_and_is_said_to_be_no_test():
    chose = without_test(70.0, 74.5)
    sets = {"dev": on("STS-B dev", chose, 1500)}
    alone = of_run(RunVerdict(dev=chose), sets)
    assert (alone.kind, alone.judged_by, alone.score) == (CHOSE, None, chose)
    assert "STS-B dev chose the model" in line(alone).text
    assert short(alone) == "No test"
    with_packs = of_run(RunVerdict(dev=chose, packs=(LEARNED, LOST)), sets)
    assert with_packs.kind == MIXED, "of the packs alone"
    for found in (alone, with_packs):
        assert "70.00 → 74.50" in sure(found)
        assert "chance, its" not in sure(found)
        assert not any(sign in f"{line(found).text} {sure(found)}" for sign in ("+4.5", "4.50 ("))
    unchanged = of_run(RunVerdict(dev=chose, packs=(UNCHANGED,)), sets)
    assert (unchanged.kind, short(unchanged)) == (CHANCE, "No certain change; no test")


def test_a_pack_that_another_pooling_raises_is_not_learned_and_one_that_it_lowers_is_lost():
    alike, same = cosines(1, paraphrase=0.6), cosines(2, paraphrase=0.7, negation=0.1, number=0.9)
    found = {one.name: one for one in pack_changes(alike, same, same)}
    assert found["negation"].low > 0, "the premise: the pack changed"
    assert found["number"].high < 0
    assert {(one.training.difference, one.training.low, one.training.high) for one in found.values()} == {(0, 0, 0)}
    every = Learned(tuple(found.values()), poolings="cls in place of mean")
    assert not any((every.learned, every.closer))
    assert "number" in names(every.lost)
    assert every.kind == WORSE
    assert "cls in place of mean" in sure(every)
    assert {"negation", "number"} <= {one.name for one in every.packs if one.by_pooling}
    trained = Learned(pack_changes(alike, same, alike))
    assert "negation" in names(trained.learned), "the same change by training alone"
    assert "number" in names(trained.lost)


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
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(slow, (outside / 2, 1 - outside / 2))), abs=0.05)


def test_a_pack_is_missed_only_if_intervals_of_all_packs_together_say_so():
    """Of six packs at chance one would otherwise be called missed in every ninth comparison."""
    same = cosines(4, paraphrase=0.5, negation=0.54, number=0.7)
    found = {one.name: one for one in pack_changes(same, same)}
    assert found["negation"].after.high < 0.5 < found["negation"].most, "the premise: alone it would be below chance"
    assert not found["negation"].missed
    assert found["number"].missed
    assert replace(found["negation"], most=None).missed, "an older run has not recorded it"
    assert names(Learned(tuple(found.values())).missed) == ["number"]


def test_a_pack_that_was_missed_before_and_fell_is_lost_too():
    fell = pack("negation", 0.07, 0.05, -0.04, -0.01, width=0.02)
    assert Learned((fell,)).lost == Learned((fell,)).missed == (fell,)


def test_a_pack_that_was_lost_is_shown_and_a_model_that_did_not_change_has_changed_nothing():
    same = cosines(4)
    assert {(one.low, one.high, one.difference) for one in pack_changes(same, same)} == {(0.0, 0.0, 0.0)}
    assert Learned(pack_changes(same, same)).kind == CHANCE
    before, after = cosines(7, negation=0.1), cosines(8, negation=0.9)
    lost = Learned(tuple(one for one in pack_changes(before, after) if one.name == "negation"))
    assert [pair.pack for pair in chosen_pairs(lost, PACKS, before, after)] == ["negation"]


def test_the_pairs_are_of_packs_that_the_headline_names_and_the_median_of_those_that_show_it():
    before = cosines(5, paraphrase=0.5, negation=0.9, number=0.9, antonym=0.9, role_swap=0.3, quantifier=0.9)
    after = cosines(6, paraphrase=0.8, negation=0.1, number=0.2, antonym=0.9, role_swap=0.97, quantifier=0.75)
    after["number"][:10] = before["number"][:10] - 0.0001  # no change as it is shown
    after["negation"][:9] = before["negation"][:9] + 0.05  # in the other direction
    found = probe_changes(PACKS, before, after)
    assert [one.pack for one in found.pairs] == ["number", "negation", "role swap"]
    headline = line(found).text
    assert all(name in headline for name in ("negation", "numbers", "role swaps"))
    assert found.shown_pairs == found.pairs
    for pair in found.pairs:
        sides = [[round(one, 2) for one in side[pair.pack]] for side in (before, after)]
        sign = 1 if pair.pack == "role swap" else -1
        showing = [at for at, (one, other) in enumerate(zip(*sides, strict=True)) if sign * (other - one) > 0.001]
        changes = sorted((after[pair.pack] - before[pair.pack])[showing])
        assert pair.after - pair.before == changes[(len(changes) - 1) // 2]
        place = next(pack for pack in PACKS if pack.name == pair.pack).first.index(pair.first)
        assert (pair.before, pair.after) == (before[pair.pack][place], after[pair.pack][place])


def test_a_pair_that_does_not_show_what_the_headline_names_is_not_shown():
    """Older runs have recorded paraphrases, packs that did not change, and pairs that changed by 0.00."""
    showing = [("negation", 0.9, 0.2), ("quantifier", 0.7, 0.9)]
    others = [("negation", 0.983, 0.981), ("negation", 0.2, 0.9), ("quantifier", 0.9, 0.7), ("role swap", 0.99, 0.5),
              (PARAPHRASE, 0.67, 0.66)]  # fmt: skip
    pairs = tuple(PairChange(name, "a", "b", *sides) for name, *sides in (*others, *showing))
    shown = replace(learned((LEARNED, LOST, UNCHANGED), (-1.0, 2.0)), pairs=pairs)
    assert [(one.pack, one.before, one.after) for one in shown.shown_pairs] == showing
    assert len(as_json(shown)["pairs"]) == 2
    assert "Pairs that show it" not in " ".join(lines(replace(shown, pairs=pairs[:5])))


def test_how_sure_names_the_packs_of_the_headline_in_its_order():
    certainty = sure(learned((STILL_MISSED, LOST), (-1.0, 2.0)))
    assert certainty.startswith("Quantifiers (−30 points, −40 to −10) and antonyms (+14, +5 to +20): not chance.")


def text(packs, edges=None, tuned=True, **about):
    return line(learned(packs, edges, tuned, **about)).text


@pytest.mark.parametrize(
    ("item", "measure", "told", "of"),
    [
        (PAIR, SPEARMAN, "Better: similarity on own +1.5 (+1.0", "Spearman 80.00 → 81.50 on own (9 pairs)"),
        (PAIR, "Pearson", "Better: similarity on own Pearson +1.5", "Pearson 80.00 → 81.50 on own (9 pairs)"),
        (PAIR, "F1", "Better: similarity on own F1 +1.5", "F1 80.00 → 81.50 on own (9 pairs)"),
        (PAIR, "average precision", "Better: similarity on own average p", "Average precision 80.00 → 81.50 on"),
        (PAIR, DISTINGUISHED, "Better: small differences in meaning +1.5", "Share distinguished 80.00 → 81.50 on own"),
        (TRIPLET, ACCURACY, "Better: triplets in the right order on own +1.5", "Accuracy 80.00 → 81.50 on own (9 t"),
        (ROW, ACCURACY, "Better: classification on own +1.5", "Accuracy 80.00 → 81.50 on own (9 rows)"),
        (QUERY, "nDCG@10", "Better: search on own nDCG@10 +1.5 (+1.0 to +2.0)", "nDCG@10 80.00"),
        (QUERY, "MAP@100", "Better: search on own MAP@100 +1.5", "MAP@100 80.00 → 81.50 on own"),
    ],
)  # fmt: skip
def test_the_score_is_named_by_what_the_items_of_its_set_are(item, measure, told, of):
    found = learned((), (1.0, 2.0), item=item, measure=measure, name="own")
    assert line(found).text.startswith(told)
    assert sure(found).startswith(of)
    assert as_json(found)["scored_on"] == {"measure": measure, "set": "own", "items": 9, "item": item}


def test_a_score_on_trained_sentences_is_optimistic_and_chance_named_only_where_an_interval_includes_0():
    assert "optimistic" in line(replace(learned((LEARNED,), (1.0, 2.0)), optimistic=True)).text
    for packs in ((LEARNED,), (STILL_MISSED,), (UNCHANGED,)):
        found = line(learned(packs, (1.0, 2.0), tuned=False)).text
        assert "earned" not in found
        assert "till" not in found
    certainty = sure(learned((LEARNED,), (-1.0, 2.0)))
    assert "Negation (+60 points, +40 to +80): not chance." in certainty
    assert certainty.endswith("on STS-B test (9 pairs): could be chance, its 95 % CI includes 0.")
    assert "not chance, its 95 % CI excludes 0" in sure(learned((), (1.0, 2.0)))


def test_the_smallest_gain_that_the_items_tell_is_named_where_it_is_known():
    found = learned((), (-1.0, 2.0), item=QUERY)
    assert "would show" not in sure(found)
    score = replace(found.score, smallest_gain=6.04)
    found = replace(found, main=replace(found.main, verdict=score))
    assert sure(found).endswith(
        "(9 queries): could be chance, its 95 % CI includes 0. A gain of 6.0 points would show in 80 % of samples."
    )
    certain = replace(found, main=replace(found.main, verdict=replace(score, low=1.0)))
    assert "would show" not in sure(certain), "it did"


@pytest.mark.parametrize("backwards", [False, True])
def test_where_counts_the_cells_that_changed_and_names_the_largest(backwards):
    rows = [
        {
            "layer & pooling": f"mean of layer {layer}",
            "A": 50.0,
            "B": 50.0 + gap,
            "difference": gap,
            "significant": sure,
        }
        for layer, (gap, sure) in enumerate([(1.0, False), (-4.0, True), (3.0, True)])
    ]
    rows.append({"layer & pooling": "cls of layer 0", "A": None, "B": None, "difference": None, "significant": False})
    told = where(rows, "", backwards=backwards)
    assert told.startswith("In 2 of 3 layers & poolings")
    assert told.endswith(f"mean of layer 1: {'46.00 → 50.00' if backwards else '50.00 → 46.00'}.")
    assert "In none of 1 layers" in where(rows[:1], "")
    assert where([], "They differ in depth.") == "They differ in depth."


@pytest.mark.parametrize(
    ("first", "second", "strong"),
    [
        ("The shop is open today.", "The shop is not open today.", ([], ["not"])),
        ("She has two children.", "She has five children.", (["two"], ["five"])),
        ("Pandas eat bamboo.", "Pandas don't eat bamboo.", ([], ["don't"])),
        ("The shop closes at six.", "You cannot buy anything there after six.", ([], [])),
        ("the Same", "The same", ([], [])),
        ("", "", ([], [])),
    ],
)
def test_the_words_that_differ_are_emphasised_unless_most_do(first, second, strong):
    found = differing(first, second)
    assert ["".join(piece for piece, _ in side) for side in found] == [first, second]
    assert tuple([piece for piece, mark in side if mark] for side in found) == strong


def test_lines_and_json_say_the_same_and_a_text_is_escaped_piece_by_piece():
    pieces = (("<b>", False), ("*x*", True))
    assert rendered(pieces, lambda one: one.replace("<", "&lt;"), lambda one: f"[{one}]") == "&lt;b>[*x*]"
    pair = PairChange("negation", "It rains.", "It does not rain.", 0.9, 0.2)
    found = replace(learned((LEARNED,), (-1.0, 2.0)), pairs=(pair,))
    shown, content = lines(found, "In none."), as_json(found)
    assert (shown[0], shown[1]) == (content["text"], f"How sure: {content['how_sure']}")
    assert shown[-1] == "0.90 → 0.20  It rains. / It does not rain. (negation)"
    assert content["packs"][0]["after"]["value"] == 0.7
    assert lines(Learned()) == []
    assert as_json(Learned()) is None


def test_a_further_test_set_is_optimistic_by_itself():
    known = Verdict(70.0, 70.0, 72.0, 2.0, 1.0, 3.0)
    sets = {
        "test": on("STS-B test", known, 5),
        "test 2": on("mine.csv", known, 7, "accuracy", TRIPLET),
    }
    for uses in ((), ("test",), ("test 2",), ("test", "test 2")):
        found = of_run(of_uses({"test": known, "test 2": known}, uses), sets)
        assert found.optimistic == ("test" in uses)
        assert line(found).text.count("optimistic") == len(uses), uses
