"""Test the answer whether to fine-tune by its numbers: which of the three it is, and what would help."""

from dataclasses import replace

import pytest

from explorer.data.graded.sets import CROSS_FITTED, HELD_OUT, halves
from explorer.data.sources import identity, texts
from explorer.data.text_sets import SCORED_PAIRS, SENTENCES
from explorer.measuring.scores.in_use import AtRecall, FoundFirst, TooFewMatches
from explorer.measuring.scores.judge import Gap, Share
from explorer.measuring.scores.verdict import BETTER, CHANCE, WORSE
from explorer.studies.plans import advice, amounts, answer, own_data
from explorer.studies.plans.advice import AdviceOptions
from explorer.training.record.run_facts import RunFacts
from explorer.training.record.status import Status

(A,), B = texts(["a"]), identity("b")
ROWS = own_data.OwnData("text.csv", SCORED_PAIRS.name, A, CROSS_FITTED, CROSS_FITTED, 60, 5, 60)


@pytest.mark.parametrize(
    ("gap", "word", "why"),
    [
        (Gap(2.0, 0.3, 3.7), "Yes", ""),
        (Gap(-2.0, -3.7, -0.3), "No", "tried, and each method makes the model worse."),
        (Gap(-0.5, -2.0, 1.3), "No", "tried, and not better by more than 1.3 Spearman."),
        (Gap(0.2, -0.5, 0.9), "No", "tried, and not better by more than 0.9 Spearman."),
        (Gap(0.0, -11.0, 11.0), "Cannot tell",
         "60 rows could show a gain of 6.0 Spearman or more; what was seen is +0.00 Spearman."),
        (Gap(2.1, -2.0, 6.2), "Cannot tell",
         "60 rows could show a gain of 6.0 Spearman or more; what was seen is +2.1 Spearman; with about 490 rows it "
         "could be told."),
    ],
)  # fmt: skip
def test_there_are_three_answers_and_each_says_what_could_be_seen(gap, word, why):
    smallest = 6.0
    needed = round(60 * (smallest / gap.difference) ** 2) if gap.difference > 0 else None
    kind = BETTER if gap.rose else WORSE if gap.fell else CHANCE
    found = answer._word(gap, round(gap.difference, 1), kind, smallest, needed, advice.Advice(ROWS), "Spearman")
    assert (found[0], found[1].replace("+2.10", "+2.1")) == (word, why)


def test_no_more_items_are_named_than_were_scored_where_so_many_would_do():
    few = answer._word(Gap(5.9, -0.1, 11.9), 5.9, CHANCE, 6.0, 60, advice.Advice(ROWS), "Spearman")[1]
    assert few.endswith("what was seen is +5.90 Spearman."), few


def test_more_items_than_anybody_could_collect_are_not_named():
    few = answer._word(Gap(0.07, -4.0, 4.2), 0.07, CHANCE, 6.0, 370_000, advice.Advice(ROWS), "Spearman")[1]
    assert few.endswith("what was seen is +0.07 Spearman."), few


def test_a_gain_of_another_pooling_alone_is_no_yes():
    assert answer._word(Gap(2.0, 0.3, 3.7), 2.0, CHANCE, 6.0, 540, advice.Advice(ROWS), "Spearman")[0] == "Cannot tell"


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ((None, None), ""),
        ((1.0, 1.0), ""),
        ((0.5, None), ", blended at 0.5"),
        ((0.75, 0.5), ", blended at 0.5 to 0.75"),
    ],
)
def test_the_shares_of_all_seeds_are_told_from_the_smallest_to_the_largest(shares, text):
    assert answer._blended([Status(facts=RunFacts(blend=share)) for share in shares]) == text


def reached(before, **data):
    """What would help a plan whose base has this score."""
    known = replace(own_data.OwnData("text.csv", SCORED_PAIRS.name, A, B, halves()[1], 1000, 0, 500), **data)
    return answer.helps(advice.Advice(known, amount=amounts.Amount(1000)), "Spearman", before, "tiny")


@pytest.mark.parametrize(
    ("before", "data", "helps"),
    [
        (80.0, {}, ["The answer is of Sample pairs, test half, not of your text."]),
        (91.0, {}, ["The base already has a Spearman of 91.0", "The answer is of"]),
        (80.0, {"rows": 4000}, ["1,000 of 4,000 rows fit the time limit", "The answer is of"]),
        (80.0, {"kind": SENTENCES.name}, ["Sentences alone teach little", "The answer is of"]),
        (80.0, {"test": HELD_OUT}, ["Try a base other than tiny, or rows that the base gets wrong."]),
    ],
)
def test_what_would_help_follows_from_what_was_measured(before, data, helps):
    found = reached(before, **data)
    assert len(found) == len(helps)
    assert all(part in one for part, one in zip(helps, found, strict=True))


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (
            AtRecall(0.9, (0.62, 0.5814), (Share(0.712, 0.66, 0.75), Share(0.804, 0.77, 0.84)), (0.89, 0.9049),
                     Gap(9.2, 5.0, 13.14), 1000, 370, 500),
            "At a recall of 90 %, precision is 71.2 % before and 80.4 % after, +9.2 (95 % CI +5.0 to +13.1) on own.csv "
            "(1,000 pairs, 37 % of them match); threshold 0.620 → 0.581, chosen on the dev set (500 pairs), with a "
            "recall of 89.0 % → 90.5 % there.",
        ),
        (
            FoundFirst(200, (Share(0.6, 0.5, 0.7), Share(0.66, 0.6, 0.7)), Gap(6.0, -0.5, 12.0),
                       (Share(0.9, 0.8, 1.0), Share(0.88, 0.8, 0.9)), Gap(-2.0, -4.0, 0.0)),
            "Of 200 queries of own.csv, a right passage is at rank 1 for 60.0 % before and 66.0 % after, +6.0 (95 % CI "
            "−0.5 to +12.0), and among the first 10 for 90.0 % before and 88.0 % after, −2.0 (95 % CI −4.0 to +0.0).",
        ),
        (
            TooFewMatches("dev", 7, 393),
            "The precision at a stated recall needs 20 pairs that match and 20 that do not: the dev set has 7 and 393.",
        ),
        (None, ""),
    ],
)  # fmt: skip
def test_what_a_product_needs_is_said_in_a_sentence(known, text):
    assert answer._in_use_text(known, "own.csv") == text


def test_who_names_a_test_set_is_not_told_to_name_one():
    data = own_data.OwnData("text.txt", SENTENCES.name, A, B, identity("own.csv"), 1000, 0, 500)
    given = advice.Advice(data, AdviceOptions(test="own.csv"), amount=amounts.Amount(1000))
    assert not any("name them" in line for line in answer.helps(given, "Spearman", 80.0, "tiny"))
