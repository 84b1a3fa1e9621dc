"""Test the parsing of typed sentences: kept, skipped, beyond the limit."""

from explorer.ui.sentences.own_sentences import read_lines


def test_empty_lines_are_counted_and_repeated_sentences_stay():
    assert read_lines(["one", "", "  ", "two  words", "one", ""], 10) == (("one", "two words", "one"), 3, 0)


def test_what_does_not_fit_is_counted():
    sentences, empty, left_out = read_lines([f"sentence {number}" for number in range(7)], 5)
    assert (len(sentences), sentences[-1], empty, left_out) == (5, "sentence 4", 0, 2)


def test_nothing_typed_is_no_sentence():
    assert read_lines([""], 5) == ((), 1, 0)


def test_a_cell_of_several_lines_is_one_sentence():
    assert read_lines(["first\nsecond\tthird"], 5) == (("first second third",), 0, 0)
