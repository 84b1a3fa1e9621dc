"""Test that jsonl, json and parquet give the same rows, and that invalid content is refused."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.data.tables.records import json_table, jsonl_table, parquet_table
from explorer.errors import UnreadableFile


def _parquet(**columns: list[Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def test_one_object_a_line_becomes_one_row() -> None:
    table = jsonl_table("a.jsonl", '{"s": "One.", "n": 3.5}\n\n{"n": 4, "s": "Two."}\n')
    assert table.columns == ("s", "n")
    assert table.rows == (("One.", "3.5"), ("Two.", "4"))
    assert table.lines == (1, 3)


@pytest.mark.parametrize("text", ['[{"s": "One."}, {"s": "Two."}]', '{"s": "One."}\n{"s": "Two."}'])
def test_json_may_be_a_list_of_objects_or_one_a_line(text: str) -> None:
    assert json_table("a.json", text).rows == (("One.",), ("Two.",))


def test_what_a_record_lacks_is_empty() -> None:
    table = jsonl_table("a.jsonl", '{"s": "One."}\n{"s": null, "n": 1}')
    assert table.rows == (("One.", ""), ("", "1"))


def test_a_broken_line_is_named() -> None:
    with pytest.raises(UnreadableFile, match=r"a\.jsonl, line 2 is not JSON: .* at character 7\. Write each record"):
        jsonl_table("a.jsonl", '{"s": "One."}\n{"s": "Two.\n{"s": "Three."}')


def test_a_broken_list_is_named_with_its_line() -> None:
    with pytest.raises(UnreadableFile, match=r"a\.json, line 2 is not JSON: .* at character 7\. Write each record"):
        json_table("a.json", '[{"s": "One."},\n{"s": }]')


DEEP, LONG = "[" * 100_000 + "]" * 100_000, "9" * 4301
TOO_MUCH = [(DEEP, r"nested too deeply\. Remove that field"), (LONG, r"thousands of digits\. Shorten it")]


@pytest.mark.parametrize(("value", "fault"), TOO_MUCH)
def test_what_the_parser_gives_up_on_is_named_with_its_line(value: str, fault: str) -> None:
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


def test_a_field_that_a_record_states_twice_is_named() -> None:
    good, bad = '{"s": "One.", "n": {"a": 1}}', '{"s": "Two.", "score": 1, "n": {"a": 1, "a": 2}, "score": 5}'
    with pytest.raises(UnreadableFile, match=r"a\.jsonl, record 3 has 'score' twice\. Keep one of them"):
        jsonl_table("a.jsonl", f"{good}\n\n{bad}")
    with pytest.raises(UnreadableFile, match=r"a\.json, record 2 has 'score' twice\. Keep one of them"):
        json_table("a.json", f"[{good}, {bad}]")
    assert jsonl_table("a.jsonl", bad.replace('"score": 5', '"more": 5')).set_aside == ("n",)


VALUES = [
    ('"One."', "text"),
    ("[1, 2]", "a list"),
    ("3", "a number"),
    ("0.5", "a number"),
    ("NaN", "a number"),
    ("true", "true or false"),
    ("null", "null"),
]


@pytest.mark.parametrize(("line", "kind"), VALUES)
def test_a_line_that_is_no_object_is_named_with_what_it_is(line: str, kind: str) -> None:
    with pytest.raises(UnreadableFile, match=f"record 2 holds {kind}, not an object with named fields"):
        jsonl_table("a.jsonl", '{"s": "One."}\n' + line)


def test_nested_fields_are_set_aside_and_the_others_kept() -> None:
    table = jsonl_table("a.jsonl", '{"s": "One.", "v": [1, 2]}\n{"s": "Two.", "o": {"k": 1}}')
    assert table.columns == ("s",)
    assert table.set_aside == ("v", "o")


def test_nested_fields_alone_are_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"only columns of lists, objects or bytes \(v\)\. Flatten it"):
        jsonl_table("a.jsonl", '{"v": ["One.", "Two."]}')


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    table = jsonl_table("a.jsonl", r'{"s": "So \ud83d"}' + "\n" + r'{"s": "So \ud83d\ude00"}')
    assert table.rows == (("So ?",), ("So 😀",))


def test_parquet_becomes_rows_of_text() -> None:
    table = parquet_table("a.parquet", _parquet(score=[1.5, None], text=["One.", "Two."], label=[True, False]))
    assert table.columns == ("score", "text", "label")
    assert table.rows == (("1.5", "One.", "True"), ("", "Two.", "False"))
    assert table.lines == (1, 2)


def test_vectors_and_bytes_in_parquet_are_set_aside() -> None:
    data = _parquet(text=["One."], vector=[[0.1, 0.2]], picture=[b"\x89PNG"], __index_level_0__=[0])
    table = parquet_table("a.parquet", data)
    assert table.columns == ("text",)
    assert table.set_aside == ("vector", "picture")


def test_parquet_of_vectors_alone_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"only columns of lists.*\(vector\)"):
        parquet_table("a.parquet", _parquet(vector=[[0.1, 0.2]]))


@pytest.mark.parametrize("data", [b"PAR1", b"not parquet at all", _parquet(text=["One."])[:-20]])
def test_broken_parquet_is_named(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match=r"a\.parquet is not a readable Parquet file .*Write it again"):
        parquet_table("a.parquet", data)
