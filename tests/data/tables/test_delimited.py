"""Test the detection of delimiter, quotes, header and ragged rows."""

import pytest

from explorer.data.tables.delimited import csv_table, tsv_table, txt_table
from explorer.errors import UnreadableFile

ROWS = (("3.5", "A man, a plan.", 'He said "no".'), ("1", "Two; or three?", "It is | a pipe."))


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_the_delimiter_is_found_among_those_inside_quotes(delimiter: str) -> None:
    lines = [delimiter.join(map(_quoted, row)) for row in (("score", "sentence1", "sentence2"), *ROWS)]
    table = csv_table("a.csv", "\n".join(lines))
    assert table.columns == ("score", "sentence1", "sentence2")
    assert table.rows == ROWS


def test_tabs_in_a_csv_are_found_too_and_leave_quotes_alone() -> None:
    table = csv_table("a.csv", 'score\tsentence1\tsentence2\n1\t"Open, he said\tAnd closed\n')
    assert table.rows == (("1", '"Open, he said', "And closed"),)


def test_unbalanced_quotes_in_a_tsv_swallow_nothing() -> None:
    table = tsv_table("a.tsv", 'sentence1\tsentence2\n"Then he left.\tHe left.\n"So"\tso "\n')
    assert table.rows == (('"Then he left.', "He left."), ('"So"', 'so "'))


def test_a_csv_of_one_column_keeps_the_commas_of_its_sentences() -> None:
    table = csv_table("a.csv", "text\nOne, two, three.\nNo comma.\nHello, you.\n")
    assert table.columns == ("text",)
    assert table.rows == (("One, two, three.",), ("No comma.",), ("Hello, you.",))


def test_a_quoted_field_may_span_lines_and_rows_know_where_they_start() -> None:
    table = csv_table("a.csv", 'sentence1,sentence2\n"One\ntwo",three\nfour,five\n')
    assert table.rows == (("One\ntwo", "three"), ("four", "five"))
    assert table.lines == (2, 4)


def test_a_quote_that_is_never_closed_is_named_with_its_line() -> None:
    with pytest.raises(UnreadableFile, match=r"a\.csv, from line 3: .*double every quote.*\.tsv"):
        csv_table("a.csv", 'sentence1,sentence2\nOne,two\n"Three,four\nfive,six\n')


def test_rows_of_another_width_are_set_apart_with_their_lines() -> None:
    table = tsv_table("a.tsv", "sentence1\tsentence2\na\tb\nonly one\nc\td\n1\t2\t3\ne\tf\n")
    assert table.rows == (("a", "b"), ("c", "d"), ("e", "f"))
    assert table.lines == (2, 4, 6)
    assert table.ragged == (3, 5)


def test_a_file_of_which_most_rows_are_ragged_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"2 of 3 rows do not have the 2 fields of the header.*line 3"):
        tsv_table("a.tsv", "sentence1\tsentence2\na\tb\nc\nd\n")


def test_a_number_over_numbers_means_there_is_no_header() -> None:
    table = csv_table("a.csv", "A man.,A guy.,4.2\nA dog.,A cat.,1\nA sea.,An ocean.,5\n")
    assert not table.header
    assert table.columns == ("column 1", "column 2", "column 3")
    assert len(table.rows) == 3


def test_a_first_row_of_sentences_means_there_is_no_header() -> None:
    table = tsv_table("a.tsv", "A man is playing the guitar.\tSomeone makes music on a guitar.\nShort.\tToo.\n")
    assert not table.header
    assert len(table.rows) == 2


@pytest.mark.parametrize("header", ["score,sentence1,sentence2", "mean rating,one,other", "2012,left,right"])
def test_a_header_is_believed_unless_its_cells_speak_against_it(header: str) -> None:
    rows = "high,A man.,A guy.\nlow,A dog.,A cat.\n" if header.startswith("2012") else "1,a,b\n2,c,d\n"
    table = csv_table("a.csv", f"{header}\n{rows}")
    assert table.header
    assert table.columns == tuple(header.split(","))


def test_a_column_without_a_name_is_called_by_its_place() -> None:
    assert csv_table("a.csv", ",text\n0,Hello there.\n1,Bye.\n").columns == ("column 1", "text")


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"more than one column called 'text'.*Rename"):
        csv_table("a.csv", "text,text\na,b\n")


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_field_may_be_longer_than_python_allows_unasked(delimiter: str) -> None:
    long = "word " * 30_000
    assert len(long) > 131_072  # csv.field_size_limit() of a fresh process
    table = csv_table("a.csv", f"one{delimiter}two\n{long}{delimiter}b\nc{delimiter}d\n")
    assert table.rows == ((long, "b"), ("c", "d"))
    assert tsv_table("a.tsv", f"one\ttwo\n{long}\tb\n").rows == ((long, "b"),)


def test_known_names_are_columns_however_long_a_line_below_them_is() -> None:
    for line in ("word " * 30_000, "word, " * 30_000):
        with pytest.raises(UnreadableFile, match=r"1 of 1 rows do not have the 2 fields of the header"):
            csv_table("a.csv", f"sentence1,sentence2\n{line}\n")
    assert csv_table("a.csv", "sentence1;sentence2\nA man, a dog.;A cat, a sea.\n").columns == (
        "sentence1",
        "sentence2",
    )


def test_a_quote_that_swallows_very_much_is_still_named_with_its_line() -> None:
    with pytest.raises(UnreadableFile, match=r"from line 3: unexpected end of data.*double every quote"):
        csv_table("a.csv", 'one,two\na,b\n"Three,four\n' + 50_000 * "five,six\n")


def test_a_file_of_delimiters_alone_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="has only empty fields"):
        csv_table("a.csv", ",,\n,,\n")


def test_text_has_a_sentence_a_line_and_blank_lines_are_layout() -> None:
    table = txt_table("a.txt", "One, two.\n\n  \nThree.\n")
    assert table.columns == ("sentence",)
    assert table.rows == (("One, two.",), ("Three.",))
    assert table.lines == (1, 4)


@pytest.mark.parametrize("odd", ["", "\nA line alone.", "\n \n\n"])
def test_a_text_cut_by_tabs_is_read_as_the_table_it_is(odd: str) -> None:
    text = "score\tsentence1\tsentence2\n" + "3\tOne, two.\tTwo.\n" * 10 + "1\tA.\tB." + odd
    assert txt_table("a.txt", text) == tsv_table("a.txt", text)
    assert txt_table("a.txt", text).rows[0] == ("3", "One, two.", "Two.")


@pytest.mark.parametrize("text", ["\tOne.\n\tTwo.\n", "A\tb.\n", "A\tb.\nC d.\nE f.\n", "A b.\nC\td.\nE\tf.\n"])
def test_a_tab_here_and_there_makes_no_table(text: str) -> None:
    table = txt_table("a.txt", text)
    assert table.columns == ("sentence",)
    assert len(table.rows) == len(text.splitlines())
