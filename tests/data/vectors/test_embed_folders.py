"""Test that a folder of `embed` is searched only if its manifest is possible and its shards are those it states."""

import json
import os
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from explorer.data.vectors import vector_corpus
from explorer.data.vectors.vector_corpus import opened
from explorer.errors import CannotResume, DataError, UnreadableFile
from explorer.progress import finish
from tests.studies.embedding.desk import LINES, furnish


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    desk = furnish(tmp_path_factory.mktemp("desk"))
    desk.embed(with_text=True, merge=False)
    return desk.folder / "vectors"


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "vectors")


def shard(folder, number):
    return folder / "shards" / f"{number:08d}.parquet"


def restated(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


HUGE = 10**12
IMPOSSIBLE = [
    ({"shards": HUGE}, CannotResume, r"is damaged: 26 rows in shards of 5 are 6 shards, and not 1,000,000,000,000"),
    ({"shards": 0}, CannotResume, "its 'shards' is 0, which must be a whole number of at least 1"),
    ({"shards": -1}, CannotResume, "its 'shards' is -1"),
    ({"rows": True}, CannotResume, "its 'rows' is True"),
    ({"rows_per_shard": 0}, CannotResume, "its 'rows_per_shard' is 0"),
    ({"vectors": [{"title": "model default", "width": 0}]}, CannotResume, "its 'vectors' is .* list of objects"),
    ({"rows": HUGE, "shards": HUGE, "rows_per_shard": 1}, DataError,
     r"lacks 999,999,999,994 of 1,000,000,000,000 .*06"),
    ({"rows": 31, "shards": 7}, DataError, r"lacks 1 of 7 shards, such as 00000006\.parquet"),
    ({"rows": 27}, DataError, r"00000000\.parquet of vectors does not have the rows that its manifest\.json states"),
    ({"precision": "bfloat16"}, DataError, r"00000000\.parquet of vectors does not have the rows"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "words"), IMPOSSIBLE, ids=range(len(IMPOSSIBLE)))
def test_a_manifest_that_is_not_of_these_shards_is_refused_at_once(folder, changes, error, words):
    restated(folder, **changes)
    with pytest.raises(error, match=words):
        opened(folder)


def test_a_manifest_or_shard_that_is_none_is_refused_at_once(folder):
    shutil.copy(shard(folder, 1), shard(folder, 3))
    with pytest.raises(
        DataError, match=r"00000003\.parquet of vectors does not have the rows .* Start the same `embed`"
    ):
        opened(folder)
    shard(folder, 3).unlink()
    os.mkfifo(shard(folder, 3))
    with pytest.raises(DataError, match=r"lacks 1 of 6 shards, such as 00000003\.parquet"):
        opened(folder)
    with (folder / "manifest.json").open("r+b") as file:
        file.truncate(10**12)  # a hole: it takes no room
    with pytest.raises(CannotResume, match=r"has 1,000,000,000,000 bytes; a manifest has at most"):
        opened(folder)


def test_a_changed_bit_in_the_vectors_is_noticed(folder, whole):
    data = bytearray(shard(folder, 3).read_bytes())
    start = pq.read_metadata(shard(folder, 3)).row_group(0).column(2).data_page_offset
    data[start + 300] ^= 1
    shard(folder, 3).write_bytes(data)
    files = opened(folder)
    with pytest.raises(
        UnreadableFile, match=r"00000003\.parquet is not a readable Parquet file \(could not verify page"
    ):
        list(files.blocks())
    assert np.concatenate([vectors for vectors, _ in opened(whole).blocks()]).shape == (len(LINES), 32)


def test_any_changed_byte_of_a_shard_is_noticed(folder):
    """Also one in the header of a page, which its checksum in the file does not cover."""
    data = shard(folder, 3).read_bytes()
    for at in range(0, len(data), 101):
        shard(folder, 3).write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        with pytest.raises(DataError, match=r"00000003\.parquet"):
            finish(vector_corpus.prepared(opened(folder)))
    shard(folder, 3).write_bytes(data)
    assert finish(vector_corpus.prepared(opened(folder))).texts(range(len(LINES))) == tuple(LINES)
