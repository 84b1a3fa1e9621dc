"""Test tables in the layouts of the hub: parts that are joined, paths that are exact, and parts that are missing."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from explorer.data.labelled import clustering_sets
from explorer.data.tables.hub_files import file_of, fitting, hub_table, table_in, version_file
from explorer.data.tables.table import Table, joined
from explorer.errors import UnreadableFile

ROWS = [{"sentence1": f"One {at}.", "sentence2": f"Two {at}.", "score": float(at)} for at in range(7)]


def write_parts(folder, name="test", sizes=(3, 1, 3)):
    folder.mkdir(parents=True, exist_ok=True)
    start = 0
    for at, size in enumerate(sizes):
        table = pa.Table.from_pylist(ROWS[start : start + size])
        pq.write_table(table, folder / f"{name}-{at:05}-of-{len(sizes):05}.parquet")
        start += size


def test_the_parts_of_a_table_are_joined_in_their_order(tmp_path):
    write_parts(tmp_path / "set/data")
    write_parts(tmp_path / "set/data", "train", (7,))
    table = table_in(file_of(tmp_path, "set/test.tsv"))
    assert table.columns == ("sentence1", "sentence2", "score")
    assert table.column("sentence1") == tuple(row["sentence1"] for row in ROWS)
    assert table.lines == tuple(range(1, 8)), "no two rows are on one line"


def test_a_table_whose_parts_are_not_all_there_is_not_read(tmp_path, monkeypatch):
    snapshot = tmp_path / "datasets--org--set/snapshots" / ("0" * 40)
    write_parts(snapshot / "data")
    (tmp_path / "datasets--org--set/refs").mkdir()
    (tmp_path / "datasets--org--set/refs/main").write_text("0" * 40)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert len(hub_table("org/set", ["test"], online=False).rows) == 7
    assert len(hub_table("org/set", ["test"], "0" * 40, online=False).rows) == 7
    assert len(hub_table("org/set", ["test"], "1" * 40, online=False).rows) == 7, "another version than was asked for"
    (snapshot / "data/test-00001-of-00003.parquet").unlink()
    assert hub_table("org/set", ["test"], online=False) is None
    with pytest.raises(UnreadableFile, match=r"lacks 1 of the 3 parts.* no test-00001-of-00003\.parquet\. Download"):
        table_in(file_of(snapshot, "test.tsv"))


def test_without_a_named_version_the_newest_of_the_cache_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert hub_table("org/set", ["test"], online=False) is None
    snapshots = tmp_path / "datasets--org--set/snapshots"
    for at, sizes in enumerate([(3,), (7,), (5,)]):
        write_parts(snapshots / f"{at}" / "data", sizes=sizes)
        os.utime(snapshots / f"{at}", (0, (at % 2) * 1_000_000))
    assert len(hub_table("org/set", ["test"], online=False).rows) == 7
    assert version_file("org/set") == snapshots
    (tmp_path / "datasets--org--set/refs").mkdir()
    (tmp_path / "datasets--org--set/refs/main").write_text("2")
    assert len(hub_table("org/set", ["test"], online=False).rows) == 5
    assert version_file("org/set").read_text() == "2"
    (tmp_path / "datasets--org--set/refs/main").write_text("gone")
    assert hub_table("org/set", ["test"], online=False) is None


def test_a_word_is_looked_for_in_every_path_and_what_has_a_slash_is_the_path(tmp_path):
    for path in ("test/de-en.jsonl", "test/en.jsonl", "de-en/test-00000-of-00001.parquet", "README.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert fitting(tmp_path, ["test/en"]) == tmp_path / "test/en.jsonl"
    assert fitting(tmp_path, ["en/test*"]) is None
    assert fitting(tmp_path, ["de-en"]) == tmp_path / "de-en/test-00000-of-00001.parquet"
    assert fitting(tmp_path, ["README"]) is None, "no table"


def test_tables_are_joined_under_the_columns_of_all_of_them():
    first = Table("a", ("x", "y"), (("1", "2"),), (4,), ragged=(6,), set_aside=("v",))
    second = Table("b", ("y", "z", "x"), (("3", "4", "5"), ("6", "7", "8")), (1, 2), ragged=(3,))
    found = joined([first, second])
    assert (found.name, found.columns, found.rows) == ("a", ("x", "y"), (("1", "2"), ("5", "3"), ("8", "6")))
    assert (found.lines, found.ragged, found.set_aside) == ((4, 7, 8), (6, 9), ("v",))


def test_sets_of_texts_in_several_parts_stay_sets_of_their_own(tmp_path):
    record = {"sentences": ["a dog", "a cat", "two dogs", "two cats"], "labels": ["dog", "cat", "dog", "cat"]}
    for at in range(2):
        path = tmp_path / f"topics/data/test-{at:05}-of-00002.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record) + "\n")
    assert clustering_sets.read(tmp_path / "topics").sets == (0, 0, 0, 0, 1, 1, 1, 1)
