"""Test that the numbers of every text add up as they are shown, with one minus sign, for thousands of drawn scores."""

import math
from decimal import Decimal

import numpy as np
import pytest

from explorer import in_words
from explorer.data.retrieval_sets import of_pairs
from explorer.evaluating.results import table_formats
from explorer.evaluating.results.scored_task import QueryChoice
from explorer.evaluating.tasks.retrieval import choice_text
from explorer.measuring.comparing import (
    comparison_report,
    headline,
    learned,
    learned_facts,
    similarity_text,
    verdict_sentence,
)
from explorer.measuring.comparing.pair_changes import ItemChanges, QueryChanges
from explorer.measuring.scores import best_cell, calibration, similarity, verdict
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.judge import PackChange, PairChange, Share
from explorer.measuring.scores.probability_curve import CurveChoice
from explorer.measuring.scores.verdict import ElsewhereVerdict, Verdict
from explorer.measuring.sentences import word_tables
from explorer.measuring.sentences.probe_cosines import PackWords
from explorer.measuring.sentences.word_pairs import WordPair
from explorer.studies.plans import plan_columns, plan_report
from explorer.training.record.status import FINISHED, Status
from tests.shown_numbers import numbers
from tests.studies.plans.test_plan import found

DRAWS = 400
UNIT = Decimal("0.01")
# at the edge of two roundings, and around 0
EDGES = [(82.3149, 82.3151), (82.305, 82.3149), (10.004, 10.006), (-0.004, 0.004), (-0.001, -0.004), (0.0, 0.0)]


def scores():
    """Two scores and the interval of their difference, many times: wide and narrow, far from 0 and around it."""
    random = np.random.default_rng(0)
    for before, after in EDGES:
        for low, high in ((0.001, 0.001), (0.0, 0.0), (0.004, 0.009), (1.0, 2.0)):  # below and above the difference
            yield before, after, after - before - low, after - before + high
    for _ in range(DRAWS):
        scale = float(random.choice([0.003, 0.02, 0.3, 8.0]))
        before = float(random.uniform(-20, 99))
        after = before + float(random.normal(0, scale))
        low, high = after - before - np.abs(random.normal(0, scale, 2)) * [1, -1]
        yield before, after, float(low), float(high)


def adds_up(before, after, difference, low, high):
    """The difference is that of both scores, and the interval holds it, unless both scores are shown as one."""
    assert after - before == difference
    assert low <= high
    assert low <= difference <= high or (not difference and (low > 0 or high < 0))


def tells_from_0(exact, shown):
    """An end of an interval is shown as 0 only if it is, but for what 4 digits do not show."""
    for one, other in zip(exact, shown, strict=True):
        assert math.copysign(1, one) == math.copysign(1, other) or abs(one) < 0.0001 or not other
        assert other or abs(one) < 0.0001
        assert abs(Decimal(one) - other) <= UNIT * Decimal("1.5")


def verdicts():
    for before, after, low, high in scores():
        yield (low, high), Verdict(before, before, after, after - before, low, high)


def test_a_sentence_of_two_models_adds_up():
    for edges, one in verdicts():
        text = verdict_sentence.sentence(one, "base", "tuned", "some pairs").text
        after, before, difference, _, low, high = numbers(text)  # 95 of the CI
        adds_up(before, after, difference, low, high)
        tells_from_0(edges, (low, high))
        for written in (one.gap, verdict_sentence.gap_with_ci(one).replace("95 % CI ", "")):
            assert numbers(written) == [difference, low, high]


def test_a_difference_elsewhere_adds_up_with_the_scores_of_its_table():
    for _, one in verdicts():
        text = verdict_sentence.elsewhere([ElsewhereVerdict("SICK-R test", 9, 9, "Spearman", one)]).text
        adds_up(*numbers(in_words.arrow(one.before, one.after)), *numbers(text))


def test_what_was_learned_adds_up_with_its_scores_and_shares():
    random = np.random.default_rng(1)
    for edges, one in verdicts():
        before, after = (Share(float(share), 0.0, 1.0) for share in random.random(2))
        gap = after.value - before.value
        pack = PackChange("negation", 60, before, after, gap - 0.1, gap + 0.1)
        news = learned_facts.Learned((pack,), ElsewhereVerdict("STS-B test", 9, 9, "Spearman", one, "pair"))
        sure = learned.sure(news)
        if abs(gap) > 0.1:
            points, low, high, *_ = numbers(sure)
            shown = numbers(pack.shares)
            assert shown[1] - shown[0] == points
            assert low <= points <= high
        first, second = numbers(sure[sure.index("Spearman") :])[:2]
        line = headline._numbers(news, ElsewhereVerdict("STS-B test", 9, 9, "Spearman", one))
        difference, low, high = numbers(line)[:3]
        assert abs(second - first - difference) <= Decimal("0.05")
        assert low <= difference <= high or not difference
        assert all((end > 0) == (shown > 0) or abs(end) < 0.0005 for end, shown in zip(edges, (low, high), strict=True))


def test_a_small_change_of_shares_is_inside_its_interval_and_no_change_of_0():
    """Of 3,600 couples; in whole percent 3.42 → 4.56 was `3 → 5 %, +2 points` and 6.58 → 7.25 `+0, +0.1 to +2`."""
    random = np.random.default_rng(5)
    drawn = [(123, 164), (237, 261), *random.integers(0, 400, (DRAWS, 2)).tolist()]
    for one, other in drawn:
        if one == other:
            continue
        gap = (other - one) / 3600
        low, high = sorted((gap * random.uniform(0.1, 1), gap * random.uniform(1, 2)))
        before, after = (Share(count / 3600, 0.0, 1.0) for count in (one, other))
        pack = PackChange("negation", 60, before, after, low, high)
        points, shown_low, shown_high = numbers(learned.sure(learned_facts.Learned((pack,))))[:3]
        shown = numbers(pack.shares)
        assert shown[1] - shown[0] == points != 0, (one, other)
        assert shown_low <= points <= shown_high, (one, other)
        assert abs(float(points) - 100 * gap) <= 0.5 * 10**-pack.digits or pack.digits == 2


@pytest.mark.parametrize(
    ("cosines", "moved", "told"),
    [
        ((0.994, 0.9942), 0.0002, "The cosine is 0.99 under A and B, and no word changed visibly."),
        ((0.994, 0.9942), 0.3, "The cosine is 0.99 under A and B; “b” changed most, by +0.30 (+0.10 → +0.40)."),
        (
            (0.9963, 0.9982),
            0.3,
            "Under B the cosine is 0.002 higher (0.996 → 0.998); “b” accounts for +0.300 (+0.100 → +0.400).",
        ),
        ((0.6, 0.62), 0.001, "Under B the cosine is 0.02 higher (0.60 → 0.62); no word alone changed visibly."),
    ],
)
def test_a_word_is_named_only_if_it_changed_as_it_is_shown(cosines, moved, told):
    sides = {}
    for side, cosine, part in zip("AB", cosines, (0.1, 0.1 + moved), strict=True):
        parts = np.array([0.2, part]), np.array([0.2, 0.1])
        sides[side] = WordPair((("a", "b"),) * 2, parts, (0.1, 0.1), cosine, (1, 1))
    assert word_tables.summary(sides) == told


def test_the_words_behind_a_change_of_the_cosine_add_up():
    random = np.random.default_rng(2)
    for _ in range(DRAWS):
        sides = {}
        for side in "AB":
            parts = tuple(random.normal(0, 0.1, 3) for _ in range(2))
            sides[side] = WordPair((("a", "b", "c"),) * 2, parts, (0.1, 0.1), float(random.uniform(-1, 1)), (1, 1))
        text = word_tables.summary(sides)
        if "changed visibly" in text:
            continue
        *of_cosine, of_word, word_before, word_after = numbers(text)
        assert of_word, "a change of 0.00 is not named"
        assert word_after - word_before == of_word
        if "under A and B" not in text:
            gap, before, after = of_cosine
            assert abs(after - before) == gap
            assert ("lower" in text) == (after < before)
    text = word_tables.as_text(("a b c", "a b c"), {side: {"model": "m", "reading": "r"} for side in "AB"}, sides)
    assert numbers(text)


def test_cosines_that_are_shown_alike_are_said_to_be_alike():
    for before, after in ((0.871, 0.874), (0.874, 0.876)):
        sides = {
            side: WordPair((("a",),) * 2, (np.array([of]),) * 2, (0.1, 0.1), cosine, (1, 1))
            for side, of, cosine in (("A", 0.2, before), ("B", 0.3, after))
        }
        assert ("under A and B" in word_tables.summary(sides)) == (f"{before:.2f}" == f"{after:.2f}")


def test_the_chosen_cells_of_two_models_add_up():
    for edges, one in verdicts():
        interval = Interval(*map(np.asarray, one.known[2:]))
        shown = numbers(comparison_report.difference_text((one.before, one.after), interval))
        adds_up(*numbers(in_words.arrow(one.before, one.after)), *shown)
        tells_from_0(edges, shown[1:])
        words = best_cell.difference_in_words((one.before, one.after), interval, "another")
        if "equal" not in words:
            *size, low, high = numbers(words)
            assert ("as high as" in words) == (shown[0] == 0) == (not size)
            assert [-one if "below" in words else one for one in size] == [shown[0]] * len(size)
            assert [low, high] == shown[1:]


def test_the_brier_scores_of_two_models_add_up():
    random = np.random.default_rng(3)
    count = calibration.PairCount("pairs", 60, 30)
    for _ in range(DRAWS):
        one, other = (
            similarity.CosineMeaning(
                name,
                "mean",
                calibration.Calibration(4.0, count, count, {}, {}, CurveChoice({}, 0.0), (), random.random(60) ** 2),
            )
            for name in ("a", "b")
        )
        text = similarity_text.change(one, other).text
        first, second, difference, _, low, high = numbers(text[: text.index(" on 60")])
        adds_up(first, second, difference, low, high)


def test_the_words_that_differ_of_a_pack_add_up():
    random = np.random.default_rng(4)
    for _ in range(DRAWS):
        one, other, *cosines = (float(value) for value in random.normal(0, 0.2, 4))
        change = (other - one, other - one - 0.1, other - one + 0.1)
        sides = {"A": (one, one - 0.1, one + 0.1), "B": (other, other - 0.1, other + 0.1)}
        found = PackWords("negation", 60, sides, dict(zip("AB", cosines, strict=True)), change)
        first, second, difference, _, low, high, of_cosines = numbers(str(found))
        adds_up(first, second, difference, low, high)
        first, second = numbers(in_words.arrow(*cosines))
        assert second - first == of_cosines
        assert [numbers(mean)[0] for mean, _ in found.written.values()] == [*numbers(str(found))[:3]]
        alone = PackWords("negation", 60, {"A": sides["A"]}, {"A": cosines[0]}, None)
        mean, _, low, high = numbers(str(alone))
        assert low <= mean <= high


def test_queries_and_groups_of_them_add_up():
    task = of_pairs("queries", *zip(*[(f"word {number}", f"text {number}") for number in range(50)], strict=True))
    random = np.random.default_rng(5)
    for _ in range(10):
        changes = QueryChanges(task, random.random(50), random.random(50))
        for row in (*changes.groups(), *changes.query_rows()):
            one, other, gap = (Decimal(repr(row[name])) for name in ("A", "B", "B - A"))
            assert other - one == gap
        for row in changes.groups():
            low, high = numbers(row["95 % CI"])
            assert low <= Decimal(repr(row["B - A"])) <= high
    found = ItemChanges(
        {}, random.random(5), random.random(5), cosines=(random.random(5) - 0.5, random.random(5) - 0.5)
    )
    assert all(len(numbers(found.cosines_text(item))) == 2 for item in range(5))


def test_the_layer_and_pooling_that_queries_choose_adds_up():
    for edges, one in verdicts():
        choice = QueryChoice("mean of layer 3", one.after, one.before, *one.known[2:])
        text = choice_text(choice)
        after, before, difference, _, low, high = numbers(text[text.index("it has") :])
        adds_up(before, after, difference, low, high)
        tells_from_0(edges, (low, high))


def test_a_plan_adds_up_in_its_table_in_its_verdict_and_in_its_figure(tmp_path):
    for edges, one in list(verdicts())[:60]:
        status = Status(FINISHED, verdict=verdict.RunVerdict(one, one), seconds=10.0)
        table = found(tmp_path, (status,) * 2)
        header, (base, row) = table_formats.shown(*plan_columns.written(table))
        cells = {name.partition(" (")[0]: at for at, name in enumerate(header)}
        (before,), (after, _) = numbers(base[cells["test"]]), numbers(row[cells["test"]])
        difference, low, high = numbers(row[cells[plan_columns.GAIN]])
        adds_up(before, after, difference, low, high)
        tells_from_0(edges, (low, high))
        said = plan_report.verdict(table).text
        assert numbers(said[said.index("Spearman): ") :])[:6] == [after, 0, difference, 95, low, high]
        (mark,) = plan_report.marks(plan_report.scored(table))
        assert numbers(mark.change) == [difference, low, high]


@pytest.mark.parametrize(
    ("value", "digits", "plain", "signed"),
    [
        (0.0, 2, "0.00", "+0.00"), (-0.001, 2, "0.00", "+0.00"), (-0.006, 2, "−0.01", "−0.01"),
        (82.035, 1, "82.0", "+82.0"), (-3.0, 0, "−3", "−3"), (None, 2, "none", "none"), (math.nan, 2, "none", "none"),
    ],
)  # fmt: skip
def test_a_number_has_one_minus_sign_and_no_minus_before_0(value, digits, plain, signed):
    assert in_words.number(value, digits) == plain
    assert in_words.signed(value, digits) == signed


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.42, -0.101, 0.94), "+0.42 (−0.10 to +0.94)"),
        ((0.42, 0.003, 0.94), "+0.42 (+0.003 to +0.94)"),
        ((-0.42, -0.94, -0.00021), "−0.42 (−0.94 to −0.0002)"),
        ((0.42, 1e-9, 0.94), "+0.42 (+0.00 to +0.94)"),
        ((0.43, -0.1, 0.424), "+0.43 (−0.10 to +0.43)"),
        ((0.0, 0.003, 0.008), "+0.00 (+0.003 to +0.01)"),
        ((0.5, 0.9, 1.2), "+0.50 (+0.90 to +1.20)"),
    ],
)
def test_an_end_is_never_rounded_to_0_nor_past_the_difference_beside_it(numbers, text):
    assert in_words.change(*numbers) == text


def test_a_file_for_programs_has_a_hyphen_for_a_minus_and_texts_keep_theirs():
    header = [table_formats.TableColumn("a", is_text=True), table_formats.TableColumn("b", "Spearman")]
    gap = table_formats.Number(-0.4211, low=-0.891, high=1.05, text=in_words.change(-0.42, -0.891, 1.05))
    rows = [["m−1", table_formats.Number(-3.2, 0.1)], ["m−2", gap]]
    csv = table_formats.written("csv", header, rows).splitlines()[1:]
    assert csv == ["m−1,b,,Spearman,-3.2,0.1,,,1", "m−2,b,,Spearman,-0.4211,,-0.891,1.05,1"]
    latex = table_formats.written("latex", header, rows)
    assert "m$-$2 & $-$0.42 ($-$0.89 to +1.05) \\\\" in latex
    assert "m$-$1 & $-$3.20 $\\pm$ 0.10 \\\\" in latex
    assert "−0.42" in table_formats.written("markdown", header, rows)


def test_pairs_of_the_packs_are_shown_with_one_minus_sign():
    pair = PairChange("negation", "It rains.", "It does not rain.", 0.004, -0.234)
    news = learned_facts.Learned(
        pairs=(pair,), packs=(PackChange("negation", 60, Share(0.1, 0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    )
    assert learned.lines(news)[-1].startswith("0.00 → −0.23")
