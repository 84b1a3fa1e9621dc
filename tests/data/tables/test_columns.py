"""Test that kinds of rows and roles of columns are recognised by name, content and order."""

import pytest

from explorer.data.tables.columns import guess, table_kind
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
from explorer.errors import WrongColumns

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
    mapping = guess(_table(cells, cells, cells, columns=" ".join("abcd"[: len(cells)])))
    assert mapping == ColumnRoles.of(kind, chosen)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ("back_translation sentence", {"sentence": "sentence", "translated": "back_translation"}),
        ("a b", {"sentence": "a", "translated": "b"}),
        ("a text", {"sentence": "text", "translated": "a"}),
    ],
)
def test_back_translations_are_found_by_name_and_else_by_order(columns, chosen):
    table = _table((ONE, TWO), columns=columns)
    assert guess(table, BACK_TRANSLATIONS) == ColumnRoles.of(BACK_TRANSLATIONS, chosen)


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
    table = _table((ONE, TWO, "3", "news"), columns=f"sentence1 sentence2 score {part}")
    assert guess(table).column("part") == part


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
