"""Test the headline of a verdict: a claim for each made-up outcome, and those of runs that ship or learn nothing."""

import pytest

from explorer.data.set_items import PAIR, QUERY
from explorer.measuring.comparing.headline import line, short
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.comparing.nothing_learned import NO_RATE, NothingLearned
from explorer.measuring.scores.judge import Gap, PackChange, Share
from explorer.measuring.scores.metrics import SPEARMAN
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CHOSE,
    MIXED,
    UNKNOWN,
    UNLEARNED,
    WORSE,
    ElsewhereVerdict,
    Verdict,
    without_test,
)
from explorer.training.record import runs

# intervals of a difference × 100
UP, UP_MORE, DOWN, FLAT, DIP, DIP_LITTLE = (1, 3), (4, 6), (-3, -1), (-2, 2), (-8, 1), (-1.5, 1)


def score(ends, training=None):
    """A score that changed by the middle of these ends."""
    middle = sum(ends) / 2
    return Verdict(80.0, None, 80.0 + middle, middle, *ends, training=training)


def pack(name, before, after, training=None):
    """A pack that changed for certain, unless its shares are equal."""
    half = 0.02 if before != after else 0.1
    gap = after - before
    sides = (Share(share, max(0.0, share - 0.05), min(1.0, share + 0.05)) for share in (before, after))
    return PackChange(name, 60, *sides, gap - half, gap + half, training)


def on_main(verdict):
    """A verdict on the main set; None if it has none."""
    return None if verdict is None else ElsewhereVerdict("STS-B test", 9, 9, SPEARMAN, verdict, PAIR)


def there(ends, name="Sample search", measure="nDCG@10", item=QUERY):
    """A verdict on a set elsewhere."""
    return ElsewhereVerdict(name, 60, 60, measure, score(ends), item)


NEGATION, NUMBER, ANTONYM = pack("negation", 0.1, 0.7), pack("number", 0.2, 0.9), pack("antonym", 0.0, 0.14)
SWAP, LOST, LOST_BELOW = pack("role swap", 0.05, 0.05), pack("quantifier", 0.7, 0.4), pack("time order", 0.3, 0.1)
JUMP = pack("number", 0.0, 0.49)
LITTLE_CLOSER = PackChange("negation", 60, Share(237 / 3600, 0, 0.1), Share(0.0725, 0, 0.1), 0.001, 0.02)
BY_POOLING = pack("number", 0.7, 0.3, Gap(0.0, -0.1, 0.1))
POOLED_UP = pack("number", 0.3, 0.7, Gap(0.0, -0.1, 0.1))
ALONE = Gap(1.0, -8.0, 10.0)  # what training changed, of a score that another pooling changed

# what was measured, the kind, what the headline says in this order, and what it says nowhere
OUTCOMES = {
    "a gain alone": (
        ((NEGATION,), None, ()), BETTER,
        ["Learned to notice negation (10 → 70 % of cases; a coin: 50 %)"], ["orse"]),
    "two gains, the larger first, one coin": (
        ((NEGATION, NUMBER), None, ()), BETTER,
        ["numbers (20 → 90 %", "and negation (10 → 70 %)"], []),
    "a gain and a flat score": (
        ((NEGATION,), FLAT, ()), BETTER,
        ["Learned", "No certain change: general similarity +0.0 (−2.0 to +2.0)"], ["Perhaps"]),
    "a gain and a better score": (
        ((NEGATION,), UP, ()), BETTER,
        ["Learned", "Better: general similarity +2.0 (+1.0 to +3.0)"], ["chance"]),
    "a gain and a worse score": (
        ((NEGATION,), DOWN, ()), MIXED,
        ["Learned", "Worse: general similarity −2.0 (−3.0 to −1.0)"], ["certain"]),
    "a gain and a score that fell by what could be chance": (
        ((NEGATION,), DIP, ()), BETTER,
        ["Learned", "Perhaps lost, could be chance: general similarity −3.5 (−8.0 to +1.0)"], ["No certain"]),
    "a fall of a quarter of a point is no news": (
        ((NEGATION,), DIP_LITTLE, ()), BETTER,
        ["No certain change: general similarity"], ["Perhaps"]),
    "a gain and a loss of packs": (
        ((NEGATION, LOST), None, ()), MIXED,
        ["Learned to notice negation", "Less often noticed: quantifiers (70 → 40 %)"], []),
    "a loss of packs and a better score": (
        ((LOST,), UP, ()), MIXED,
        ["Better: general", "Less often noticed: quantifiers"], []),
    "a loss of packs and a worse score": (
        ((LOST,), DOWN, ()), WORSE,
        ["Worse: general", "Less often noticed"], ["Better"]),
    "a loss of a pack that was missed before": (
        ((LOST_BELOW,), None, ()), WORSE,
        ["Less often noticed: time order (30 → 10 %"], ["No certain"]),
    "a gain and a loss of a missed pack": (
        ((NEGATION, LOST_BELOW), FLAT, ()), MIXED,
        ["Learned", "Less often noticed: time order"], []),
    "a rise that is no better than a coin is no gain": (
        ((ANTONYM,), None, ()), CHANCE,
        ["More often right, but no better than a coin: antonyms (0 → 14 %"], ["No certain", "Still misses"]),
    "a score that did not change precedes what is no better than a coin": (
        ((ANTONYM,), FLAT, ()), CHANCE,
        ["No certain change: general similarity +0.0", ". More often right, but no better than a coin: antonyms"],
        ["nor in the small"]),
    "a certain loss precedes what is no better than a coin": (
        ((ANTONYM, LITTLE_CLOSER), DOWN, ()), WORSE,
        ["Worse: general similarity −2.0", "no better than a coin: antonyms (0 → 14 % of cases; a coin: 50 %)",
         "and negation (6.58 → 7.25 %)"], ["Still misses"]),
    "a loss of a pack precedes it, too": (
        ((ANTONYM, LOST), FLAT, ()), WORSE,
        ["Less often noticed: quantifiers", "No certain change: general", "no better than a coin: antonyms"], []),
    "a larger gain below the coin is named too": (
        ((pack("negation", 0.5, 0.7), JUMP), None, ()), BETTER,
        ["Learned to notice negation", "no better than a coin: numbers (0 → 49 %)"], []),
    "a smaller gain below the coin is not": (
        ((NEGATION, ANTONYM), None, ()), BETTER,
        ["negation"], ["no better than a coin: antonyms"]),
    "a gain, and what is still missed": (
        ((NEGATION, SWAP), None, ()), BETTER,
        ["Learned", "Still misses role swaps (5 %)"], []),
    "a worse score hides what is still missed, not the gain": (
        ((NEGATION, SWAP), DOWN, ()), MIXED,
        ["Learned", "Worse"], ["Still misses"]),
    "a better score and nothing else": (
        ((SWAP,), UP, ()), BETTER,
        ["Better: general similarity", "Still misses role swaps"], ["Learned"]),
    "a worse score and nothing else": (((), DOWN, ()), WORSE, ["Worse: general similarity"], ["etter"]),
    "nothing changed": (
        ((SWAP,), FLAT, ()), CHANCE,
        ["No certain change: general similarity +0.0 (−2.0 to +2.0), nor in the small differences"],
        ["Learned", "Better"]),
    "no score, no change": (((SWAP,), None, ()), CHANCE, ["No certain change in the small differences"], ["general"]),
    "only a score that fell by what could be chance": (
        ((SWAP,), DIP, ()), CHANCE,
        ["Perhaps lost, could be chance: general similarity", "No certain change in the small"], ["Learned"]),
    "a loss elsewhere": (
        ((NEGATION,), FLAT, (there(DOWN),)), MIXED,
        ["Learned", "Worse: search on Sample search nDCG@10 −2.0 (−3.0 to −1.0)", "No certain change: general"], []),
    "a gain elsewhere": (((), FLAT, (there(UP),)), BETTER, ["Better: search on Sample search nDCG@10 +2.0"], ["Worse"]),
    "a loss elsewhere under a better score": (
        ((), UP, (there(DOWN),)), MIXED,
        ["Better: general", "Worse: search"], []),
    "a loss of Spearman elsewhere": (
        ((), UP, (there(DOWN, "SICK-R test", SPEARMAN, "pair"),)), MIXED,
        ["Worse: similarity on SICK-R test −2.0"], []),
    "two gains of scores, the larger first": (
        ((), UP, (there(UP_MORE),)), BETTER,
        ["Better: search on Sample search nDCG@10 +5.0", "and general similarity +2.0"], []),
    "chance elsewhere": (
        ((NEGATION,), None, (there(DIP),)), BETTER,
        ["Learned", "Perhaps lost, could be chance: search on Sample search nDCG@10 −3.5"], ["Worse"]),
    "a fall by another pooling is a loss": (
        ((BY_POOLING,), None, ()), WORSE,
        ["Less often noticed: numbers (70 → 30 %"], ["No certain"]),
    "a rise by another pooling is not learned": (
        ((POOLED_UP,), None, ()), CHANCE,
        ["No certain change in the small"], ["Learned"]),
    "a gain of another pooling alone is none of training": (
        ((), score(UP, ALONE), ()), CHANCE,
        ["No certain change: general similarity +2.0 (+1.0 to +3.0; by training +1.0"], ["Better"]),
    "the set chose the model": (
        ((), without_test(70, 74), ()), CHOSE,
        ["STS-B test chose the model"], ["4.0", "Better"]),
    "gains in packs of a model that its set chose": (
        ((NEGATION,), without_test(70, 74), ()), BETTER,
        ["Learned to notice negation"], ["4.0"]),
    "four gains": (
        ((NEGATION, NUMBER, pack("antonym", 0.1, 0.8), pack("role swap", 0.1, 0.75)), None, ()), BETTER,
        ["antonyms (10 → 80 % of cases", ", numbers (20 → 90 %)", ", role swaps (10 → 75 %) and 1 more"],
        ["negation"]),
}  # fmt: skip


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_headline_of_every_outcome(outcome):
    (packs, scored, elsewhere), kind, told, untold = OUTCOMES[outcome]
    verdict = score(scored) if isinstance(scored, tuple) else scored
    found = Learned(packs, on_main(verdict), elsewhere=elsewhere)
    headline = line(found)
    assert headline.kind == kind
    places = [headline.text.find(part) for part in told]
    assert -1 not in places, headline.text
    assert places == sorted(places), headline.text
    assert not [part for part in untold if part in headline.text], headline.text
    assert headline.text.count("coin: 50") <= 1, "the coin is named once"
    assert "−0.0" not in headline.text
    assert "None" not in headline.text + short(found)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_headline_is_green_only_over_certain_gains_and_names_every_kind_of_loss(outcome):
    (packs, scored, elsewhere), *_ = OUTCOMES[outcome]
    verdict = score(scored) if isinstance(scored, tuple) else scored
    found = Learned(packs, on_main(verdict), elsewhere=elsewhere)
    scores = [one for one in (verdict, *(one.verdict for one in elsewhere)) if one is not None and not one.chose]
    fell = [one for one in packs if one.high < 0] + [one for one in scores if one.high < 0]
    rose = [one for one in packs if one.low > 0 and one.after.low > 0.5] + [one for one in scores if one.low > 0]
    text, brief = line(found).text, short(found)
    if fell:
        assert line(found).kind in (WORSE, MIXED)
        assert "Worse: " in text or "Less often noticed: " in text
        assert "worse: " in brief.lower() or "lost " in brief.lower()
    if line(found).kind in (BETTER, MIXED):
        assert rose
    for one in scores:  # a column Gain stands beside the words
        if one.difference <= -1:
            assert f"{one.difference:.1f}".replace("-", "−") in brief


def test_b_is_not_said_to_have_learned():
    found = Learned((NEGATION, SWAP), on_main(score(DOWN)), tuned=False)
    assert line(found).text.startswith("B notices more often than A: negation")
    assert "earned" not in line(found).text


def test_nothing_measured_has_no_headline_and_nothing_learned_says_so():
    assert line(Learned()) is None
    assert short(Learned()) is None
    nothing = Learned(nothing=NothingLearned(NO_RATE))
    assert (line(nothing).kind, short(nothing)) == (UNLEARNED, "Nothing was learned")
    assert line(nothing).text.startswith("Nothing was learned: no update had a learning rate.")


def test_a_set_without_a_score_is_said_to_have_none():
    lost = ElsewhereVerdict("SICK-R test", 9, 9, SPEARMAN, Verdict(80.0, None, 81.0))
    found = Learned(elsewhere=(lost,))
    assert found.kind == UNKNOWN
    assert line(found).text == "No score that can be compared: similarity on SICK-R test."


def test_the_runs_that_ship_name_what_they_learned_and_what_they_may_have_lost():
    shipped = {run.name: run.status() for run in runs.examples()}
    assert short(shipped["example"].learned) == "Learned numbers, negation; perhaps lost: Sample search −2.8"
    attention = shipped["layer-attention-example"]
    assert attention.verdict.test.high > 0 > attention.verdict.test.low, "the premise: the loss could be chance"
    assert short(attention.learned) == "Learned negation; perhaps lost: similarity −6.8"
    for status in shipped.values():
        assert status.verdict.test.shown_difference is not None
        assert line(status.learned).kind == BETTER
        assert "Perhaps lost, could be chance" in line(status.learned).text
