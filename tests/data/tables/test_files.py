"""Test that each format of a file becomes a table, and that each fault is refused with its line."""

import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.data.tables import files
from explorer.data.tables.files import (
    ENDINGS,
    LARGEST,
    csv_table,
    json_table,
    jsonl_table,
    parquet_table,
    read_bytes,
    read_file,
    tsv_table,
    txt_table,
)
from explorer.data.tables.table import LISTED, LONGEST_NAME, MOST_COLUMNS, Table, listed
from explorer.errors import LONGEST, StrataError, UnreadableFile, WrongColumns


def test_a_file_and_an_upload_of_the_same_bytes_give_the_same_table_whatever_the_case_of_the_ending(tmp_path):
    content = "score\tsentence1\tsentence2\n3\tOne.\tTwo.\n".encode("utf-8-sig")
    (tmp_path / "a.tsv").write_bytes(content)
    assert read_file(tmp_path / "a.tsv") == read_bytes("a.tsv", content)
    assert read_bytes("A.TXT", b"One.\n").rows == (("One.",),)


def test_a_file_over_the_limit_is_refused_without_being_read_and_an_upload_too(tmp_path, monkeypatch):
    path = tmp_path / "big.csv"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)  # a sparse file: nothing is written
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))
    with pytest.raises(UnreadableFile, match=r"big\.csv has 200 MB; at most 200 MB are allowed.*head -n"):
        read_file(path)
    monkeypatch.setattr(files, "LARGEST", 3)
    with pytest.raises(UnreadableFile, match="has 4 bytes; at most 3 bytes"):
        read_bytes("a.txt", b"Four")


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file_of_any_ending_is_called_empty(ending):
    with pytest.raises(UnreadableFile, match=f"a{ending} is empty"):
        read_bytes(f"a{ending}", b"")


@pytest.mark.parametrize(("name", "found"), [("a.xlsx", r"ends in \.xlsx"), ("README", "has no ending")])
def test_an_unknown_ending_is_answered_with_those_that_are_known(name, found):
    with pytest.raises(UnreadableFile, match=rf"{found}\. Supported: \.csv, \.tsv.* and \.parquet\."):
        read_bytes(name, b"PK\x03\x04")


def test_a_path_that_is_no_file_is_named_with_what_it_is(tmp_path):
    with pytest.raises(UnreadableFile, match=r"There is no file .*gone\.csv"):
        read_file(tmp_path / "gone.csv")
    with pytest.raises(UnreadableFile, match=r"is a folder\. Choose a file in it"):
        read_file(tmp_path)
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(UnreadableFile, match=r"zero\.txt is a device, not a file"):
        read_file(tmp_path / "zero.txt")


def test_a_column_is_found_by_its_name_in_one_line_among_as_many_as_allowed():
    table = read_bytes("a.csv", b"one,two\na,b\n")
    assert table.column("two") == ("b",)
    with pytest.raises(WrongColumns, match=r"no column 'three'\. Its columns: one, two\."):
        table.column("three")
    header = ",".join(f"c{place}" for place in range(MOST_COLUMNS))
    table = read_bytes("a.csv", f"{header}\n{','.join(['some text'] * MOST_COLUMNS)}\n".encode())
    assert len(table.columns) == MOST_COLUMNS
    with pytest.raises(WrongColumns, match=f"and {MOST_COLUMNS - LISTED:,} more"):
        table.column("none such")
    for length in (LONGEST_NAME, LONGEST_NAME + 1):
        shown = listed(["n" * length])
        assert len(shown) == LONGEST_NAME
        assert shown.endswith("…") == (length > LONGEST_NAME)
    table = read_bytes("a.csv", b'"first\nhalf",score\nA long sentence is here.,1\nAnother one is here.,2\n')
    assert table.columns == ("first half", "score")


def test_a_hundred_thousand_rows_are_all_read():
    row = "3.5\tA man is playing the guitar in the park.\tSomeone is making music out of doors.\tnews\n"
    data = ("score\tsentence1\tsentence2\tsource\n" + 100_000 * row).encode()
    assert len(read_bytes("a.tsv", data).rows) == 100_000


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_named_pipe_is_refused_at_once_and_is_not_called_empty(tmp_path, ending):
    os.mkfifo(tmp_path / f"a{ending}")
    with pytest.raises(UnreadableFile, match=rf"a{ending} is a named pipe, not a file\. Save its content"):
        read_file(tmp_path / f"a{ending}")


ROWS = (("3.5", "A man, a plan.", 'He said "no".'), ("1", "Two; or three?", "It is | a pipe."))


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_the_delimiter_is_found_among_those_inside_quotes(delimiter):
    rows = (("score", "sentence1", "sentence2"), *ROWS)
    lines = [delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    table = csv_table("a.csv", "\n".join(lines))
    assert (table.columns, table.rows) == (("score", "sentence1", "sentence2"), ROWS)


def test_quotes_of_a_table_with_tabs_are_characters():
    table = csv_table("a.csv", 'score\tsentence1\tsentence2\n1\t"Open, he said\tAnd closed\n')
    assert table.rows == (("1", '"Open, he said', "And closed"),)
    table = tsv_table("a.tsv", 'sentence1\tsentence2\n"Then he left.\tHe left.\n"So"\tso "\n')
    assert table.rows == (('"Then he left.', "He left."), ('"So"', 'so "'))


def test_a_csv_of_one_column_keeps_its_commas_and_one_without_a_name_is_called_by_its_place():
    table = csv_table("a.csv", "text\nOne, two, three.\nNo comma.\nHello, you.\n")
    assert table.columns == ("text",)
    assert table.rows == (("One, two, three.",), ("No comma.",), ("Hello, you.",))
    assert csv_table("a.csv", ",text\n0,Hello there.\n1,Bye.\n").columns == ("column 1", "text")


def test_a_quoted_field_may_span_lines_and_rows_of_another_width_are_set_apart_with_their_lines():
    table = csv_table("a.csv", 'sentence1,sentence2\n"One\ntwo",three\nfour,five\n')
    assert (table.rows, table.lines) == ((("One\ntwo", "three"), ("four", "five")), (2, 4))
    table = tsv_table("a.tsv", "sentence1\tsentence2\na\tb\nonly one\nc\td\n1\t2\t3\ne\tf\n")
    assert (table.rows, table.lines) == ((("a", "b"), ("c", "d"), ("e", "f")), (2, 4, 6))
    assert table.ragged == (3, 5)


def test_a_first_row_of_numbers_or_sentences_means_there_is_no_header():
    table = csv_table("a.csv", "A man.,A guy.,4.2\nA dog.,A cat.,1\nA sea.,An ocean.,5\n")
    assert not table.header
    assert (table.columns, len(table.rows)) == (("column 1", "column 2", "column 3"), 3)
    table = tsv_table("a.tsv", "A man is playing the guitar.\tSomeone makes music on a guitar.\nShort.\tToo.\n")
    assert not table.header
    assert len(table.rows) == 2


@pytest.mark.parametrize("header", ["score,sentence1,sentence2", "mean rating,one,other", "2012,left,right"])
def test_a_header_is_believed_unless_its_cells_speak_against_it(header):
    rows = "high,A man.,A guy.\nlow,A dog.,A cat.\n" if header.startswith("2012") else "1,a,b\n2,c,d\n"
    table = csv_table("a.csv", f"{header}\n{rows}")
    assert table.header
    assert table.columns == tuple(header.split(","))


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_field_may_be_longer_than_python_allows_unasked(delimiter):
    long = "word " * 30_000
    assert len(long) > 131_072  # csv.field_size_limit() of a fresh process
    table = csv_table("a.csv", f"one{delimiter}two\n{long}{delimiter}b\nc{delimiter}d\n")
    assert table.rows == ((long, "b"), ("c", "d"))
    assert tsv_table("a.tsv", f"one\ttwo\n{long}\tb\n").rows == ((long, "b"),)


def test_known_names_are_columns_however_long_a_line_below_them_is():
    for line in ("word " * 30_000, "word, " * 30_000):
        with pytest.raises(UnreadableFile, match=r"1 of 1 rows do not have the 2 fields of the header"):
            csv_table("a.csv", f"sentence1,sentence2\n{line}\n")
    table = csv_table("a.csv", "sentence1;sentence2\nA man, a dog.;A cat, a sea.\n")
    assert table.columns == ("sentence1", "sentence2")


def test_text_has_a_sentence_a_line_and_blank_lines_are_layout():
    table = txt_table("a.txt", "One, two.\n\n  \nThree.\n")
    assert (table.columns, table.rows) == (("sentence",), (("One, two.",), ("Three.",)))
    assert table.lines == (1, 4)


@pytest.mark.parametrize("odd", ["", "\nA line alone.", "\n \n\n"])
def test_a_text_cut_by_tabs_is_read_as_the_table_it_is(odd):
    text = "score\tsentence1\tsentence2\n" + "3\tOne, two.\tTwo.\n" * 10 + "1\tA.\tB." + odd
    assert txt_table("a.txt", text) == tsv_table("a.txt", text)
    assert txt_table("a.txt", text).rows[0] == ("3", "One, two.", "Two.")


@pytest.mark.parametrize("text", ["\tOne.\n\tTwo.\n", "A\tb.\n", "A\tb.\nC d.\nE f.\n", "A b.\nC\td.\nE\tf.\n"])
def test_a_tab_here_and_there_makes_no_table(text):
    table = txt_table("a.txt", text)
    assert (table.columns, len(table.rows)) == (("sentence",), len(text.splitlines()))


def _parquet(**columns: list[Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_one_object_a_line_becomes_one_row_with_empty_cells_and_without_nested_fields():
    table = jsonl_table("a.jsonl", '{"s": "One.", "n": 3.5}\n\n{"n": 4, "s": "Two."}\n')
    assert (table.columns, table.rows) == (("s", "n"), (("One.", "3.5"), ("Two.", "4")))
    assert table.lines == (1, 3)
    table = jsonl_table("a.jsonl", '{"s": "One."}\n{"s": null, "n": 1}')
    assert table.rows == (("One.", ""), ("", "1"))
    table = jsonl_table("a.jsonl", '{"s": "One.", "v": [1, 2]}\n{"s": "Two.", "o": {"k": 1}}')
    assert (table.columns, table.set_aside) == (("s",), ("v", "o"))
    table = jsonl_table("a.jsonl", r'{"s": "So \ud83d"}' + "\n" + r'{"s": "So \ud83d\ude00"}')
    assert table.rows == (("So ?",), ("So 😀",))


@pytest.mark.parametrize("text", ['[{"s": "One."}, {"s": "Two."}]', '{"s": "One."}\n{"s": "Two."}'])
def test_json_may_be_a_list_of_objects_or_one_a_line(text):
    assert json_table("a.json", text).rows == (("One.",), ("Two.",))


DEEP, LONG = "[" * 100_000 + "]" * 100_000, "9" * 4301
TOO_MUCH = [(DEEP, r"nested too deeply\. Remove that field"), (LONG, r"thousands of digits\. Shorten it")]


@pytest.mark.parametrize(("value", "fault"), TOO_MUCH)
def test_what_the_parser_gives_up_on_is_named_with_its_line(value, fault):
    with pytest.raises((RecursionError, ValueError), match=r"recursion depth|Exceeds the limit"):
        json.loads(value)
    good, bad = '{"s": "One."}', f'{{"s": "Two.", "n": {value}}}'
    with pytest.raises(UnreadableFile, match=rf"a\.jsonl, line 3 has .*{fault}"):
        jsonl_table("a.jsonl", f"{good}\n\n{bad}\n{good}")
    for at in range(1, 5):
        lines = [good] * 4
        lines[at - 1] = bad
        with pytest.raises(UnreadableFile, match=rf"a\.json, line {at} has .*{fault}"):
            json_table("a.json", "[" + ",\n".join(lines) + "]")


def test_a_field_that_a_record_states_twice_is_named():
    good, bad = '{"s": "One.", "n": {"a": 1}}', '{"s": "Two.", "score": 1, "n": {"a": 1, "a": 2}, "score": 5}'
    with pytest.raises(UnreadableFile, match=r"a\.jsonl, record 3 has 'score' twice\. Keep one of them"):
        jsonl_table("a.jsonl", f"{good}\n\n{bad}")
    with pytest.raises(UnreadableFile, match=r"a\.json, record 2 has 'score' twice\. Keep one of them"):
        json_table("a.json", f"[{good}, {bad}]")
    assert jsonl_table("a.jsonl", bad.replace('"score": 5', '"more": 5')).set_aside == ("n",)


NO_TABLES = [
    ("a.csv", 'sentence1,sentence2\nOne,two\n"Three,four\nfive,six\n', r"a\.csv, from line 3: .*double every.*\.tsv"),
    ("a.csv", 'one,two\na,b\n"Three,four\n' + 50_000 * "five,six\n",
     "line 3: unexpected end of data.*double every quote"),
    ("a.tsv", "sentence1\tsentence2\na\tb\nc\nd\n", "2 of 3 rows do not have the 2 fields of the header.*line 3"),
    ("a.csv", "text,text\na,b\n", "more than one column called 'text'.*Rename"),
    ("a.csv", ",,\n,,\n", "has only empty fields"),
    ("a.jsonl", '{"s": "One."}\n{"s": "Two.\n{"s": "Three."}',
     r"a\.jsonl, line 2 is not JSON: .* 7\. Write each record"),
    ("a.json", '[{"s": "One."},\n{"s": }]', r"a\.json, line 2 is not JSON: .* at character 7\. Write each record"),
    ("a.jsonl", '{"v": ["One.", "Two."]}', r"only columns of lists, objects or bytes \(v\)\. Flatten it"),
]  # fmt: skip
KINDS = {'"One."': "text", "[1, 2]": "a list", "3": "a number", "0.5": "a number", "NaN": "a number"}
KINDS |= {"true": "true or false", "null": "null"}
NO_TABLES += [
    ("a.jsonl", '{"s": "One."}\n' + value, f"record 2 holds {kind}, not an object with named fields")
    for value, kind in KINDS.items()
]


@pytest.mark.parametrize(("name", "text", "fault"), NO_TABLES, ids=[fault[:50] for _, _, fault in NO_TABLES])
def test_a_text_that_is_no_table_is_refused_with_its_fault_and_line(name, text, fault):
    with pytest.raises(UnreadableFile, match=fault):
        read_bytes(name, text.encode())


def test_parquet_becomes_rows_of_text_without_vectors_and_bytes():
    table = parquet_table("a.parquet", _parquet(score=[1.5, None], text=["One.", "Two."], label=[True, False]))
    assert table.columns == ("score", "text", "label")
    assert (table.rows, table.lines) == ((("1.5", "One.", "True"), ("", "Two.", "False")), (1, 2))
    data = _parquet(text=["One."], vector=[[0.1, 0.2]], picture=[b"\x89PNG"], __index_level_0__=[0])
    table = parquet_table("a.parquet", data)
    assert (table.columns, table.set_aside) == (("text",), ("vector", "picture"))
    with pytest.raises(UnreadableFile, match=r"only columns of lists.*\(vector\)"):
        parquet_table("a.parquet", _parquet(vector=[[0.1, 0.2]]))


@pytest.mark.parametrize("data", [b"PAR1", b"not parquet at all", _parquet(text=["One."])[:-20]])
def test_broken_parquet_is_named(data):
    with pytest.raises(UnreadableFile, match=r"a\.parquet is not a readable Parquet file .*Write it again"):
        parquet_table("a.parquet", data)


WIDE = 100_000  # columns


WHOLE = _parquet(**{"sätze": ["It räins.", "It snows.", "Nobody came."], "score": [1.0, 2.5, 4.0]})


def outcome(name: str, data: bytes) -> Table | None:
    """The table, or None if the file was refused as it should be."""
    try:
        return read_bytes(name, data)
    except StrataError as error:
        refused = str(error)
    assert len(refused) <= LONGEST
    assert "\n" not in refused
    return None


@pytest.mark.parametrize("seed", range(8))
def test_a_parquet_file_with_changed_bytes_is_read_or_refused(seed):
    drawn = random.Random(seed)
    for _ in range(40):
        mutant = bytearray(WHOLE)
        for place in drawn.sample(range(len(mutant)), drawn.choice((1, 1, 2, 8))):
            mutant[place] = drawn.randrange(256)
        outcome("a.parquet", bytes(mutant))


def test_a_column_whose_name_is_no_text_is_refused():
    assert outcome("a.parquet", WHOLE) is not None
    assert outcome("a.parquet", WHOLE.replace("sätze".encode(), b"s\xff\xfetze"[:6])) is None


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("wide.csv", ",".join(f"c{place}" for place in range(WIDE)) + "\n" + ",".join(["x"] * WIDE) + "\n"),
        ("wide.tsv", "\t".join(f"c{place}" for place in range(WIDE)) + "\n" + "\t".join(["x"] * WIDE) + "\n"),
        ("keys.jsonl", "".join(f'{{"key {place}": "text"}}\n' for place in range(2_000))),
        ("keys.json", "[" + ",".join(f'{{"key {place}": "text"}}' for place in range(2_000)) + "]"),
    ],
)
def test_a_file_of_too_many_columns_is_refused(name, data):
    with pytest.raises(UnreadableFile, match=f"at most {MOST_COLUMNS:,} are allowed"):
        read_bytes(name, data.encode())
