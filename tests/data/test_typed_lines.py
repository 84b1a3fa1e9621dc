"""Test the parsing of typed sentences: kept, skipped, beyond the limit."""

from explorer.data.typed_lines import read_lines, taken


def test_empty_lines_are_counted_and_repeated_sentences_stay():
    found = read_lines("one\n\n  \ntwo  words\none\n", 10)
    assert found.sentences == ("one", "two words", "one")
    assert found.empty == 3
    assert found.left_out == 0


def test_what_does_not_fit_is_counted():
    found = read_lines("\n".join(f"sentence {number}" for number in range(7)), 5)
    assert len(found.sentences) == 5
    assert found.sentences[-1] == "sentence 4"
    assert found.left_out == 2


def test_nothing_typed_is_no_sentence():
    assert read_lines("", 5).sentences == ()


def test_a_cell_of_several_lines_is_one_sentence():
    assert taken(["first\nsecond\tthird"], 5).sentences == ("first second third",)
