"""Test the line on what was learned: at most two clauses, no loss hidden, and the words that differ."""

import itertools
from dataclasses import replace

import pytest

from explorer.measuring.comparing.comparison_report import where
from explorer.measuring.comparing.learned import Learned, as_json, differing, line, lines, sure
from explorer.measuring.scores.judge import PairChange
from explorer.measuring.scores.metrics import ACCURACY, DISTINGUISHED, SPEARMAN
from explorer.measuring.scores.verdict import rendered
from tests.measuring.comparing.test_learned import (
    AT_CHANCE,
    EVERY,
    LEARNED,
    LOST,
    STILL_MISSED,
    UNCHANGED,
    learned,
    pack,
)


def text(packs, edges=None, tuned=True, **about):
    return line(learned(packs, edges, tuned, **about)).text


def test_what_was_learned_comes_first_and_then_the_score():
    packs = (LEARNED, pack("number", 0.03, 0.74, 0.6, 0.8))
    assert text((*packs, STILL_MISSED), (-3.2, 5.6)) == (
        "Learned to notice numbers (3 → 74 % of cases) and negation (10 → 70 %). "
        "General similarity: no certain change (+1.2, −3.2 to +5.6)."
    )
    assert [piece for piece, strong in line(learned(packs)).pieces if strong] == ["numbers", "negation"]


@pytest.mark.parametrize(
    ("packs", "edges", "told"),
    [
        (
            (LEARNED, UNCHANGED),
            None,
            ["Learned to notice negation", "Still misses role swaps (4 %; a coin would get 50"],
        ),
        ((UNCHANGED,), (1.0, 2.0), ["General similarity: better", "Still misses role swaps"]),
        ((STILL_MISSED,), (-1.0, 2.0), ["Still misses antonyms (0 → 14 % of cases)", "General similarity: no certain"]),
        (
            (AT_CHANCE,),
            (-1.0, 2.0),
            ["No better than a coin, but better than before at numbers", "General similarity: no"],
        ),
        (
            (UNCHANGED,),
            (-1.0, 2.0),
            ["No certain change: neither in general similarity (+0.5, −1.0 to +2.0) nor in the small differences"],
        ),
        ((UNCHANGED,), None, ["No certain change in the small differences"]),
        ((), (-1.0, 2.0), ["General similarity: no certain change"]),
        ((), (-2.0, -1.0), ["General similarity: worse"]),
        ((LOST, UNCHANGED), (-1.0, 2.0), ["Less often noticed: quantifiers (70 → 40 %"]),
        ((LOST, LEARNED), (-2.0, -1.0), ["Learned to notice negation", "worse", "less often noticed: quantifiers"]),
    ],
)
def test_the_news_by_rule(packs, edges, told):
    found = text(packs, edges)
    places = [found.find(part) for part in told]
    assert -1 not in places, found
    assert places == sorted(places)


def test_nothing_that_got_worse_is_ever_left_out_and_there_are_at_most_two_clauses():
    for count in range(len(EVERY) + 1):
        for packs in itertools.combinations(EVERY, count):
            for edges in (None, (-1.0, 1.0), (1.0, 2.0), (-2.0, -1.0)):
                found = learned(packs, edges)
                news = line(found)
                assert (news is None) == (not packs and edges is None)
                if news is None:
                    continue
                assert news.text.count(". ") <= 1, news.text
                assert ("quantifiers" in news.text) >= (LOST in packs)
                assert (": worse" in news.text) == (edges == (-2.0, -1.0))
                best = news.text.partition("Learned to notice ")[2].partition(". ")[0]
                assert ("negation" in best) == (LEARNED in packs)
                assert "numbers" not in best
                assert "antonyms" not in best


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        (SPEARMAN, "Similarity on mine.csv: better"),
        (ACCURACY, "Triplets in the right order on mine.csv: better"),
        (DISTINGUISHED, "Small differences in meaning: better"),
        ("MRR@10", "Search on mine.csv: finds the right text sooner (MRR@10 +1.5, +1.0 to +2.0)"),
    ],
)
def test_the_score_is_named_by_what_it_measures(measure, told):
    assert text((), (1.0, 2.0), measure=measure, on="mine.csv").startswith(told)


def test_a_score_on_trained_sentences_is_called_optimistic():
    assert "optimistic" in text((LEARNED,), (1.0, 2.0), optimistic=True)


def test_of_two_models_none_has_learned_from_the_other():
    for packs in ((LEARNED,), (STILL_MISSED,), (UNCHANGED,)):
        found = text(packs, (1.0, 2.0), tuned=False)
        assert "earned" not in found
        assert "till" not in found


def test_how_sure_names_chance_only_where_an_interval_includes_0():
    text = sure(learned((LEARNED,), (-1.0, 2.0)))
    assert "Negation (+60 points, +40 to +80): not chance." in text
    assert text.endswith("on STS-B test (9 pairs): could be chance, its 95 % CI includes 0.")
    assert "not chance, its 95 % CI excludes 0" in sure(learned((), (1.0, 2.0)))


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


def test_a_text_is_escaped_piece_by_piece():
    pieces = (("<b>", False), ("*x*", True))
    assert rendered(pieces, lambda one: one.replace("<", "&lt;"), lambda one: f"[{one}]") == "&lt;b>[*x*]"


def test_lines_and_json_say_the_same_and_nothing_is_none():
    pair = PairChange("negation", "It rains.", "It does not rain.", 0.9, 0.2)
    found = replace(learned((LEARNED,), (-1.0, 2.0)), pairs=(pair,))
    shown, content = lines(found, "In none."), as_json(found)
    assert (shown[0], shown[1]) == (content["text"], f"How sure: {content['how_sure']}")
    assert shown[-1] == "0.90 → 0.20  It rains. / It does not rain. (negation)"
    assert content["packs"][0]["after"]["value"] == 0.7
    assert lines(Learned()) == []
    assert as_json(Learned()) is None
