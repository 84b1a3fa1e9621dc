"""Test that shards divide the sentences in order, and that a changed text or a damaged shard is noticed."""

import hashlib
import json
import os
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from explorer.data.text_sets import digest_of
from explorer.data.vectors import embedding_folder
from explorer.errors import DataError, NotWeights, SetNotFound, TooFewRows, UnreadableFile
from explorer.progress import finish
from explorer.studies.embedding.corpus import TextSource, check_unchanged, indexed, sentences
from tests.spoiling import reweigh
from tests.studies.embedding.desk import LINES, ROWS, columns, furnish

TEXTS = [f"Sentence number {number}." for number in range(10)]


@pytest.fixture
def texts(tmp_path):
    """Ten sentences in a streamed file with empty lines, a table, and a streamed file with a repeat."""
    (tmp_path / "one.txt").write_text("\n".join(["", *TEXTS[:3], " ", TEXTS[3]]), encoding="utf-8")
    (tmp_path / "two.csv").write_text("\n".join(["id,sentence", *(f"{n},{TEXTS[n]}" for n in (4, 5)), "6,"]), "utf-8")
    (tmp_path / "three.txt").write_text("\n".join([*TEXTS[6:], TEXTS[0]]) + "\n", encoding="utf-8")
    return tuple(TextSource(str(tmp_path / name)) for name in ("one.txt", "two.csv", "three.txt"))


@pytest.mark.parametrize("rows", [1, 3, 4, 11, 50])
def test_shards_hold_all_sentences_in_order(texts, rows, monkeypatch):
    monkeypatch.setattr("explorer.studies.embedding.corpus.AT_ONCE", 2)
    corpus = finish(indexed(texts, rows))
    every = [*TEXTS, TEXTS[0]]
    assert (corpus.rows, corpus.empty, corpus.digest) == (11, 3, digest_of(every))
    assert [shard.start for shard in corpus.shards] == list(range(0, 11, rows))
    for number, shard in enumerate(corpus.shards):
        assert shard.number == number
        assert sentences(corpus, shard) == tuple(every[shard.start : shard.start + rows])
        assert shard.size == len("".join(every[shard.start : shard.start + rows]))


def test_published_texts_are_corpora_too_with_progress_in_bytes_of_the_files(texts, monkeypatch):
    assert finish(indexed([TextSource("sample")], 100)).rows > 100
    with pytest.raises(SetNotFound):
        finish(indexed([TextSource("no such set")], 100))
    monkeypatch.setattr("explorer.studies.embedding.corpus.REPORT", 2)
    told = list(indexed(texts, 5))
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    assert told[-1].total == sum(text.path.stat().st_size for text in texts)


def test_a_changed_sentence_is_noticed_when_its_shard_is_read(texts):
    corpus = finish(indexed(texts, 4))
    path = texts[2].path
    path.write_text(path.read_text("utf-8").replace("number 7", "number 8"), encoding="utf-8")
    assert sentences(corpus, corpus.shards[0]) == tuple(TEXTS[:4])
    with pytest.raises(DataError, match=r"changed while it was embedded: three\.txt"):
        sentences(corpus, corpus.shards[1])


@pytest.mark.parametrize("which", [0, 1])
def test_a_text_with_the_size_and_the_time_of_the_one_before_is_another(texts, which):
    corpus = finish(indexed(texts, 4))
    path = texts[which].path
    before = path.stat()
    path.write_text(path.read_text("utf-8").replace("number", "letter"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="changed while it was embedded"):
        sentences(corpus, corpus.shards[which])
    with pytest.raises(DataError, match="changed while it was embedded"):
        finish(check_unchanged(corpus))


def test_a_line_that_is_added_is_noticed_at_the_end(texts):
    corpus = finish(indexed(texts, 4))
    finish(check_unchanged(corpus))
    os.utime(texts[0].path, (1, 1))
    finish(check_unchanged(corpus))  # another date, and the same sentences
    size = texts[0].path.stat().st_size
    with texts[0].path.open("a", encoding="utf-8") as file:
        file.write("\nOne more.")
    with pytest.raises(DataError, match=rf"one\.txt \({size} bytes at the start, {size + 10} now\)"):
        finish(check_unchanged(corpus))


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [("empty.txt", "", UnreadableFile), ("blank.txt", " \n\n", TooFewRows), ("empty.csv", "", UnreadableFile)],
)
def test_a_text_without_a_sentence_is_refused(tmp_path, name, content, error):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(error, match=name):
        finish(indexed([TextSource(str(tmp_path / name))], 4))


def test_a_large_table_is_refused_with_the_form_that_may_be_large(texts, monkeypatch):
    monkeypatch.setattr("explorer.data.tables.files.LARGEST", 20)
    assert finish(indexed(texts[:1], 4)).rows == 4
    with pytest.raises(
        UnreadableFile, match=r"two\.csv has \d+ bytes; a table may have 20 bytes.*\.txt file, one per line"
    ):
        finish(indexed(texts, 4))


TITLES = ("max of layer 2", "cls of layers 0 + 2")


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
    assert (counted, desk.embed(folder=begun).embedded) == ([tuple(LINES[15:20])], 5)
    assert files_of(begun) == files_of(whole)


def test_a_shard_without_a_checksum_gets_one_that_sha256sum_reads_and_is_not_encoded_again(desk, begun, whole, counted):
    shutil.rmtree(begun / "checksums")
    checksum_of_another = begun / "checksums" / "00000002.sha256"
    checksum_of_another.parent.mkdir()
    checksum_of_another.write_text("no checksum")
    assert desk.embed(folder=begun).embedded == 0
    assert counted == []
    assert files_of(begun) == files_of(whole)
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
