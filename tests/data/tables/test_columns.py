"""Test that roles of columns are recognised by name, content and order, and numbers read in one notation."""

import math
import re

import pytest

from explorer.data import map_sentences
from explorer.data.tables import columns
from explorer.data.tables.columns import MISSING, TEXT, check_spread, gold_scores, guess, table_kind
from explorer.data.tables.files import read_bytes
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.text_sets import (
    BACK_TRANSLATIONS,
    DOCUMENTS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
)
from explorer.errors import BadScores, WrongColumns

ONE, TWO, THREE = "A man plays a guitar.", "Someone makes some music.", "Nobody makes any sound."


def _table(*rows: tuple[str, ...], columns: str) -> Table:
    return Table("a.csv", tuple(columns.split()), rows, tuple(range(2, 2 + len(rows))))


@pytest.mark.parametrize(
    ("columns", "cells", "kind"),
    [
        ("sentence1 sentence2 score", (ONE, TWO, "4"), SCORED_PAIRS),
        ("score sentence1 sentence2", ("4", ONE, TWO), SCORED_PAIRS),
        ("sentence_A sentence_B relatedness_score", (ONE, TWO, "4"), SCORED_PAIRS),
        ("text1 text2 labels", (ONE, TWO, "0.3"), SCORED_PAIRS),
        ("premise hypothesis label", (ONE, TWO, "neutral"), SCORED_PAIRS),
        ("question1 question2 similarity", (ONE, TWO, "1"), SCORED_PAIRS),
        ("anchor positive", (ONE, TWO), PAIRS),
        ("query answer", (ONE, TWO), PAIRS),
        ("query positive", (ONE, TWO), PAIRS),
        ("anchor positive negative", (ONE, TWO, THREE), TRIPLETS),
        ("anchor positive contradiction", (ONE, TWO, THREE), TRIPLETS),
        ("sent0 sent1 hard_neg", (ONE, TWO, THREE), TRIPLETS),
        ("query positive negative_1 negative_2", (ONE, TWO, THREE, THREE), TRIPLETS),
        ("sentence back_translation", (ONE, TWO), BACK_TRANSLATIONS),
        ("text backtranslation", (ONE, TWO), BACK_TRANSLATIONS),
        ("original paraphrase bleu", (ONE, TWO, "0.3"), BACK_TRANSLATIONS),
        ("sentence paraphrase contradiction", (ONE, TWO, THREE), TRIPLETS),
        ("sentence1 sentence2 paraphrase", (ONE, TWO, THREE), PAIRS),
        ("text", (ONE,), SENTENCES),
        ("label text", ("1", ONE), SENTENCES),
        ("id sentence source", ("7", ONE, "news"), SENTENCES),
    ],
)
def test_known_names_decide(columns, cells, kind):
    table = _table(cells, cells, cells, columns=columns)
    mapping = guess(table)
    assert mapping.kind == kind
    mapping.check(table)
    assert table.column(dict(mapping.chosen)[kind.roles[0]])[0] == ONE


@pytest.mark.parametrize(
    ("cells", "kind", "chosen"),
    [
        ((ONE,), SENTENCES, {"sentence": "a"}),
        ((ONE, TWO), PAIRS, {"first": "a", "second": "b"}),
        ((ONE, TWO, THREE), TRIPLETS, {"anchor": "a", "positive": "b", "negative": "c"}),
        ((ONE, TWO, "2.5"), SCORED_PAIRS, {"first": "a", "second": "b", "score": "c"}),
        (("2.5", ONE, TWO), SCORED_PAIRS, {"first": "b", "second": "c", "score": "a"}),
        ((ONE, "2.5"), SENTENCES, {"sentence": "a"}),
        (("news", ONE, TWO, "2.5"), SCORED_PAIRS, {"first": "b", "second": "c", "score": "d"}),
        (("word", "term"), PAIRS, {"first": "a", "second": "b"}),
    ],
)
def test_unknown_names_leave_it_to_order_and_content(cells, kind, chosen):
    assert guess(_table(cells, cells, cells, columns=" ".join("abcd"[: len(cells)]))) == ColumnRoles.of(kind, chosen)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ("back_translation sentence", {"sentence": "sentence", "translated": "back_translation"}),
        ("a b", {"sentence": "a", "translated": "b"}),
        ("a text", {"sentence": "text", "translated": "a"}),
    ],
)
def test_back_translations_are_found_by_name_and_else_by_order(columns, chosen):
    assert guess(_table((ONE, TWO), columns=columns), BACK_TRANSLATIONS) == ColumnRoles.of(BACK_TRANSLATIONS, chosen)


@pytest.mark.parametrize(
    ("columns", "cells", "chosen"),
    [
        ("label text", [("1", ONE), ("0", TWO)], {"text": "text", "label": "label"}),
        ("label text fine", [("NUM", ONE, "dist"), ("LOC", TWO, "city")], {"text": "text", "label": "label"}),
        ("label sentence1 sentence2 id", [("1", ONE, TWO, "7"), ("0", TWO, THREE, "9")],
         {"text": "sentence1", "second": "sentence2", "label": "label"}),
        ("a Class b", [("7", "good", ONE), ("8", "bad", TWO)], {"text": "b", "label": "Class"}),
        ("a b c", [("7", "good", ONE), ("8", "bad", TWO), ("9", "bad", TWO), ("5", "bad", TWO)],
         {"text": "c", "label": "b"}),
        ("a b c", [("title one", "1", ONE), ("two", "0", TWO), ("three", "0", TWO), ("four", "0", THREE)],
         {"text": "c", "label": "b"}),
    ],
)  # fmt: skip
def test_text_and_label_are_found_by_name_and_else_by_words_and_repeated_values(columns, cells, chosen):
    assert guess(_table(*cells, columns=columns), LABELLED_TEXTS) == ColumnRoles.of(LABELLED_TEXTS, chosen)


def test_what_lacks_a_role_or_has_one_column_twice_is_refused_with_its_columns():
    with pytest.raises(WrongColumns, match="no role 'anchor'; their roles are first, second, score, part"):
        ColumnRoles.of(SCORED_PAIRS, {}).corrected({"anchor": "text"})
    table = _table((ONE, TWO), columns="a b")
    with pytest.raises(WrongColumns, match=r"no column 'c' for second\. Its columns: a, b"):
        ColumnRoles.of(PAIRS, {"first": "a", "second": "c"}).check(table)
    table = _table((ONE, TWO), columns="a b")
    with pytest.raises(WrongColumns, match=r"'a' of a\.csv is chosen for first and for second"):
        ColumnRoles.of(PAIRS, {"first": "a", "second": "a"}).check(table)
    table = Table("a.jsonl", ("query",), ((ONE,),), (1,), set_aside=("pos", "neg"))
    with pytest.raises(WrongColumns, match="Set aside, as they hold lists, objects or bytes: pos, neg"):
        guess(table, TRIPLETS).check(table)
    with pytest.raises(WrongColumns, match=r"no column of sentences\. Its columns: a, b"):
        guess(_table(("1", "2"), ("3", "4"), columns="a b"))
    mapping = guess(_table((ONE, "a"), (TWO, "b"), (THREE, "c"), columns="x y"), LABELLED_TEXTS)
    with pytest.raises(WrongColumns, match=r"no column for label, which labelled texts need\. Its columns: x, y"):
        mapping.check(_table((ONE, "a"), columns="x y"))


def test_one_very_long_cell_hides_no_column_and_a_name_with_a_comma_is_quoted_and_cut():
    rows = [("word " * 10_000, "It rains."), *((f"One man {row}.", f"A person {row}.") for row in range(3))]
    table = Table("a.csv", ("left", "right"), tuple(rows), (2, 3, 4, 5))
    assert guess(table).chosen == (("first", "left"), ("second", "right"))
    told = Table("a.csv", ("left,right", "word " * 100), (), ()).inventory()
    assert "'left,right'" in told
    assert len(told) < 120


@pytest.mark.parametrize("columns", ["a b pair_id grade", "a b n grade"])
def test_numbers_that_count_rows_are_no_scores(columns):
    rows = [(ONE, TWO, str(at), grade) for at, grade in enumerate(("4", "1", "3", "1"))]
    assert guess(_table(*rows, columns=columns)).column("score") == "grade"


def test_a_sub_corpus_is_not_required_and_among_numbers_fractions_are_the_scores():
    rows = [(ONE, TWO, "2012", "4.2"), (ONE, TWO, "2015", "1.0"), (ONE, TWO, "2012", "3")]
    assert guess(_table(*rows, columns="a b y g")).column("score") == "g"
    table = _table((ONE, TWO, "3"), columns="sentence1 sentence2 score")
    guess(table).check(table)
    assert guess(table).column("part") is None
    assert [one.role for one in SCORED_PAIRS.columns if not one.required] == ["part"]


@pytest.mark.parametrize("part", ["source", "subset", "part", "genre", "domain"])
def test_a_sub_corpus_is_found_by_name(part):
    assert guess(_table((ONE, TWO, "3", "news"), columns=f"sentence1 sentence2 score {part}")).column("part") == part


def test_people_can_correct_a_guess_and_ask_for_a_kind_whose_roles_stay_empty():
    table = _table((ONE,), columns="text")
    mapping = guess(table, SCORED_PAIRS)
    assert mapping == ColumnRoles.of(SCORED_PAIRS, {"first": "text"})
    with pytest.raises(WrongColumns, match=r"no column for second or score, which graded pairs need.*: text"):
        mapping.check(table)
    table = _table((ONE, TWO, "3", "5"), columns="sentence1 sentence2 score mine")
    mapping = guess(table).corrected({"score": "mine", "first": "sentence2", "second": "sentence1"})
    mapping.check(table)
    assert dict(mapping.chosen) == {"first": "sentence2", "second": "sentence1", "score": "mine"}
    assert mapping.corrected({"score": None}).column("score") is None


def test_documents_are_in_the_column_of_text_or_in_that_with_the_most_words():
    titled = guess(_table(("a b c", ONE), columns="text body"), DOCUMENTS)
    assert titled == ColumnRoles.of(DOCUMENTS, {"document": "text"})
    long = " ".join([ONE] * 9)
    assert guess(_table((ONE, long), columns="x y"), DOCUMENTS) == ColumnRoles.of(DOCUMENTS, {"document": "y"})


LONG = "a sentence of several words"
FILES = {
    "query,passage": (PAIRS, [f"{LONG} {n},{LONG} too {n}" for n in range(30)]),
    "one,other": (PAIRS, [f"{LONG} {n},{LONG} too {n}" for n in range(30)]),
    "sentence1,sentence2,score": (SCORED_PAIRS, [f"{LONG} {n},{LONG} too {n},{n / 7:.2f}" for n in range(30)]),
    "sentence1,sentence2,label": (SCORED_PAIRS, [f"{LONG} {n},{LONG} too {n},{n % 2}" for n in range(30)]),
    "sentence1,sentence2,score ": (SCORED_PAIRS, [f"{LONG} {n},{LONG} too {n},{'high' * (n % 2)}" for n in range(30)]),
    "premise,hypothesis,label": (LABELLED_TEXTS, [f"{LONG} {n},{LONG} too {n},{'yn'[n % 2]}" for n in range(30)]),
    "anchor,positive,negative": (TRIPLETS, [f"{LONG} {n},{LONG} too {n},{LONG} not {n}" for n in range(30)]),
    "text,label": (LABELLED_TEXTS, [f"{LONG} {n},topic {n % 3}" for n in range(30)]),
    "id,review,topic": (LABELLED_TEXTS, [f"{n},{LONG} {n},topic{n % 3}" for n in range(30)]),
    "id,sentence": (SENTENCES, [f"{n},{LONG} {n}" for n in range(30)]),
    "sentence,author": (SENTENCES, [f"{LONG} {n},author{n}" for n in range(30)]),
    "sentence": (SENTENCES, [f"{LONG} {n}" for n in range(30)]),
}


@pytest.mark.parametrize("header", FILES)
def test_a_file_is_recognised_by_its_names_and_its_content(header):
    kind, rows = FILES[header]
    assert table_kind(read_bytes("mine.csv", "\n".join([header, *rows]).encode())) == kind


def _column(*cells: str, column: str = "score") -> Table:
    return Table("a.csv", (column,), tuple((cell,) for cell in cells), tuple(range(2, 2 + len(cells))))


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (("1,000", "950"), (1000, 950)),
        (("-1,250", "-950"), (-1250, -950)),
        (("1,000", "1,250,000"), (1000, 1250000)),
        (("1,000", "1,000.5"), (1000, 1000.5)),
        (("1,000", ".5"), (1000, 0.5)),
        (("1,000", "0,500", "3,25"), (1.0, 0.5, 3.25)),
        (("1,000", "1234,567"), (1.0, 1234.567)),
        (("1,000", "2,5E-1"), (1.0, 0.25)),
        (("1.000", "1.000,5"), (1000, 1000.5)),
        (("1.000", "1.250.000"), (1000, 1250000)),
        (("1.000", "2.500", "5"), (1.0, 2.5, 5)),
        (("1.250e-05", "12"), (1.25e-05, 12)),
        (("1 000", "1 250 000,5"), (1000, 1250000.5)),
        (("1\u202f000", "1\u00a0000", "2\u2009000"), (1000, 1000, 2000)),
        (("1'000", "1’000.5"), (1000, 1000.5)),
        (("007", "1e3", "+5", "5."), (7, 1000, 5, 5)),
    ],
)
def test_one_notation_is_found_for_the_whole_column(cells, numbers):
    assert gold_scores(_column(*cells), "score") == (numbers, ("",) * len(cells))


@pytest.mark.parametrize(
    ("cells", "readings"),
    [
        (("1,000", "2,000"), "'1,000' can be 1000 or 1.0"),
        (("3,125", "4"), "'3,125' can be 3125 or 3.125"),
        (("100", "87,125"), "'87,125' can be 87125 or 87.125"),
        (("1.000", "950"), "'1.000' can be 1000 or 1.0"),
        (("1.000", "2,000"), "'1.000' can be 1000 or 1.0"),
        (("3,5", "1.5"), "'3,5' has a decimal comma, '1.5' a decimal point"),
        (("1.000,5", "1,000.5"), "'1.000,5' has a decimal comma, '1,000.5' a decimal point"),
    ],
)
def test_a_column_that_can_be_read_in_two_ways_is_refused_with_both(cells, readings):
    with pytest.raises(BadScores, match=rf"a\.csv, 'score': {re.escape(readings)}.*Write "):
        gold_scores(_column(*cells), "score")


@pytest.mark.parametrize("cell", ["1_000", "3_1", "٣", "３", "0x10", "1,00,000", "1,000,00", "1 00", "1,000 000", "½"])
def test_what_is_no_decimal_number_is_text(cell):
    assert gold_scores(_column("1", cell, "2.5"), "score")[1] == ("", TEXT, "")
    assert not columns.is_number(cell)


def test_bad_or_missing_cells_are_faults_beside_the_good_ones_and_decide_no_notation():
    numbers, faults = gold_scores(_column("nan", "1,000", "", "inf", "950", "-NaN"), "score")
    assert [number for number, fault in zip(numbers, faults, strict=True) if not fault] == [1000, 950]
    with pytest.raises(BadScores, match="'1,000' can be 1000"):
        gold_scores(_column("nan", "1,000", "inf", "2,000"), "score")
    cells = ("3.5", "", "nan", "inf", "high", " 4 ", "1e0")
    numbers, faults = gold_scores(_column(*cells), "score")
    assert faults == ("", MISSING, MISSING, MISSING, TEXT, "", "")
    assert [number for number, fault in zip(numbers, faults, strict=True) if not fault] == [3.5, 4.0, 1.0]
    assert math.isnan(numbers[1])
    assert math.isnan(numbers[4])
    numbers, faults = gold_scores(_column("3,5", " 4,25 ", "-0,5", ",5", "4"), "score")
    assert numbers == (3.5, 4.25, -0.5, 0.5, 4.0)
    assert not any(faults)


def test_a_map_takes_a_column_of_two_notations_for_names():
    rows = tuple((f"sentence {place}", f"{place},125") for place in range(1, 12))
    table = Table("a.csv", ("text", "count"), rows, tuple(range(2, 13)))
    assert map_sentences.of_table(table).columns[0].cells == tuple(cell for _, cell in rows)


def test_a_column_without_a_usable_score_is_refused_with_what_it_holds():
    with pytest.raises(BadScores, match="every score in 'score' is missing, NaN or infinite"):
        gold_scores(_column("nan", "", "NaN", "inf"), "score")
    with pytest.raises(BadScores, match=r"a\.csv: no score in 'score' is a number.*'٣', '2 points', '1,0,0'\."):
        gold_scores(_column("٣", "2 points", "1,0,0", "a,2"), "score")
    labels = ("neutral", "entailment", "neutral", "contradiction", "entailment", "neutral")
    message = r"'label' holds classes \(contradiction, entailment, neutral\), not scores.*make triplets"
    with pytest.raises(BadScores, match=message):
        gold_scores(_column(*labels, column="label"), "label")


@pytest.mark.parametrize("codes", [("0", "1", "2"), ("0", "2", "-1", "1", "2")])
def test_codes_of_nli_classes_are_no_scores(codes):
    with pytest.raises(BadScores, match="'label' holds only 0, 1 and 2, like NLI classes"):
        gold_scores(_column(*codes, column="label"), "label")


@pytest.mark.parametrize(
    ("codes", "column"), [(("0", "1", "2"), "score"), (("0", "1"), "label"), (("0", "1", "2", "3"), "label")]
)
def test_other_whole_numbers_are_scores(codes, column):
    numbers, faults = gold_scores(_column(*codes, column=column), column)
    assert numbers == tuple(map(float, codes))
    assert not any(faults)


def test_scores_that_are_all_the_same_are_refused_with_their_value():
    with pytest.raises(BadScores, match=r"every score in 'score' is 2\.5, so a correlation is undefined"):
        check_spread(_column(), "score", (2.5, 2.5, 2.5))
    check_spread(_column(), "score", (2.5, 2.5, 2.6))


@pytest.mark.parametrize(
    ("gold", "apart"),
    [
        ((-1e308, 1e308, 0.0), "far apart"), ((0.0, 1e200), "far apart"), ((0.0, 1e-320), "close together"),
        ((0.0, -1e-200), "close together"), ((1e9, 1e9 + 0.5), "close together"),
        ((-3.0, -3.0 + 4.5e-16), "close together"),
    ],
)  # fmt: skip
def test_scores_that_cannot_be_calculated_with_are_refused_with_their_values(gold, apart):
    low, high = sorted(gold)[0], sorted(gold)[-1]
    assert low < high
    values = rf"from {re.escape(repr(low))} to {re.escape(repr(high))}, too {apart}"
    with pytest.raises(BadScores, match=rf"a\.csv: the scores in 'score' range {values}.*for example to 0 to 5"):
        check_spread(_column(), "score", gold)


@pytest.mark.parametrize("gold", [(0.0, 1e-99, 5e-100), (-1e99, 1e99, 0.0), (1e6, 1e6 + 0.01, 1e6 + 0.02)])
def test_scores_on_any_scale_that_squares_survive_are_taken(gold):
    check_spread(_column(), "score", gold)
    mean = math.fsum(gold) / len(gold)
    assert 0 < sum((grade - mean) ** 2 for grade in gold) < math.inf
