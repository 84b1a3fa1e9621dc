"""Test that an embedding that is resumed takes no shard for another, writes damaged ones again, and writes no NaN."""

import hashlib
import json
import os
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from explorer.data.vectors import embedding_folder
from explorer.errors import NotWeights
from explorer.studies.embedding import embedding as module
from tests.spoiling import reweigh
from tests.studies.embedding.desk import LINES, ROWS, columns, furnish

TITLES = ("max of layer 2", "cls of layers 0 + 2")


@pytest.fixture
def counted(monkeypatch):
    """The first sentence of each shard that is encoded."""
    seen, real = [], module.vectors_of
    monkeypatch.setattr(
        module, "vectors_of", lambda plan, texts, told: seen.append(texts[0]) or real(plan, texts, told)
    )
    return seen


@pytest.fixture
def begun(desk, whole, tmp_path):
    """A copy of a whole embedding, to be damaged."""
    return shutil.copytree(whole, tmp_path / "begun")


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shard(folder, number):
    return folder / "shards" / f"{number:08d}.parquet"


def checksum(folder, number):
    return folder / "checksums" / f"{number:08d}.sha256"


def copied(folder):
    shutil.copy(shard(folder, 1), shard(folder, 3))


def copied_with_its_checksum(folder):
    copied(folder)
    checksum(folder, 3).write_text(checksum(folder, 1).read_text().replace("00000001", "00000003"))


def copied_without_a_checksum(folder):
    copied(folder)
    checksum(folder, 3).unlink()


def flipped(share):
    def flip(folder):
        data = bytearray(shard(folder, 3).read_bytes())
        data[int(share * (len(data) - 1))] ^= 16
        shard(folder, 3).write_bytes(data)

    return flip


def page_flipped_without_a_checksum(folder):
    offset = pq.read_metadata(shard(folder, 3)).row_group(0).column(1).data_page_offset + 300
    data = bytearray(shard(folder, 3).read_bytes())
    data[offset] ^= 1
    shard(folder, 3).write_bytes(data)
    checksum(folder, 3).unlink()


def cut_off(folder):
    shard(folder, 3).write_bytes(shard(folder, 3).read_bytes()[:-9])


def a_pipe(folder):
    shard(folder, 3).unlink()
    os.mkfifo(shard(folder, 3))


DAMAGES = [copied, copied_with_its_checksum, copied_without_a_checksum, cut_off, page_flipped_without_a_checksum,
           a_pipe, *map(flipped, (0, 0.5, 0.95))]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_shard_is_written_again_and_no_other(desk, begun, whole, counted, damage):
    (begun / "vectors.parquet").unlink()
    damage(begun)
    assert (counted, desk.embed(folder=begun).embedded) == ([LINES[15]], 5)
    assert files_of(begun) == files_of(whole)


def test_a_shard_without_a_checksum_gets_one_and_is_not_encoded_again(desk, begun, whole, counted):
    shutil.rmtree(begun / "checksums")
    checksum_of_another = begun / "checksums" / "00000002.sha256"
    checksum_of_another.parent.mkdir()
    checksum_of_another.write_text("no checksum")
    assert desk.embed(folder=begun).embedded == 0
    assert counted == []
    assert files_of(begun) == files_of(whole)


def test_a_checksum_is_one_that_sha256sum_reads(whole):
    for path in (shard(whole, 2), whole / "vectors.parquet"):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        told = (whole / "checksums" / f"{path.stem}.sha256").read_text()
        assert told == f"{digest}  {path.relative_to(whole)}\n"


@pytest.mark.parametrize("share", [0.3, 0.99])
def test_a_damaged_merged_file_is_written_again(desk, begun, whole, counted, share):
    data = bytearray((begun / "vectors.parquet").read_bytes())
    data[int(share * len(data))] ^= 16
    (begun / "vectors.parquet").write_bytes(data)
    assert desk.embed(folder=begun).embedded == 0
    assert files_of(begun) == files_of(whole)


def test_a_merged_file_of_other_shards_is_written_again(desk, begun, whole):
    other = pq.read_table(shard(begun, 2))
    pq.write_table(other, shard(begun, 2), compression="none")  # the same rows in other bytes, as of another release
    embedding_folder.write_checksum(begun, shard(begun, 2), embedding_folder.computed_checksum(shard(begun, 2)))
    before = (begun / "vectors.parquet").read_bytes()
    desk.embed(folder=begun, merge=False)
    assert (begun / "vectors.parquet").read_bytes() == before
    assert desk.embed(folder=begun).embedded == 0
    assert (begun / "vectors.parquet").read_bytes() != before
    assert pq.read_table(begun / "vectors.parquet").equals(pq.read_table(whole / "vectors.parquet"))


@pytest.mark.parametrize("titles", [(), TITLES])
def test_no_shard_holds_a_number_that_is_not_finite(tmp_path, titles):
    other = furnish(tmp_path)
    vocabulary = json.loads((other.model / "tokenizer.json").read_text())["model"]["vocab"]
    assert ["stage" in line for line in LINES].index(True) == 2 * ROWS

    def spoil(weights):
        weights["embeddings.word_embeddings.weight"][vocabulary["stage"]] = float("nan")
        return weights

    reweigh(other.model, spoil)
    with pytest.raises(NotWeights, match="They come from its embedding layer, whose weights are damaged"):
        other.embed(titles=titles)
    for shard in other.shards():
        assert np.isfinite(np.concatenate([np.stack(column) for column in list(columns(shard).values())[1:]])).all()
    assert len(other.shards()) == 2
