"""Test that shards divide the sentences of texts in order, and that a change of a text is noticed."""

import os

import pytest

from explorer.data.text_sets import digest_of
from explorer.errors import BadChoice, DataError, SetNotFound, TooFewRows, UnreadableFile
from explorer.progress import finish
from explorer.studies.embedding.corpus import TextSource, check_unchanged, indexed, sentences

LINES = [f"Sentence number {number}." for number in range(10)]


@pytest.fixture
def texts(tmp_path):
    """Ten sentences in a streamed file with empty lines, a table, and a streamed file with a repeat."""
    (tmp_path / "one.txt").write_text("\n".join(["", *LINES[:3], " ", LINES[3]]), encoding="utf-8")
    (tmp_path / "two.csv").write_text("\n".join(["id,sentence", *(f"{n},{LINES[n]}" for n in (4, 5)), "6,"]), "utf-8")
    (tmp_path / "three.txt").write_text("\n".join([*LINES[6:], LINES[0]]) + "\n", encoding="utf-8")
    return tuple(TextSource(str(tmp_path / name)) for name in ("one.txt", "two.csv", "three.txt"))


@pytest.mark.parametrize("rows", [1, 3, 4, 11, 50])
def test_shards_hold_all_sentences_in_order(texts, rows, monkeypatch):
    monkeypatch.setattr("explorer.studies.embedding.corpus.AT_ONCE", 2)
    corpus = finish(indexed(texts, rows))
    every = [*LINES, LINES[0]]
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
    assert sentences(corpus, corpus.shards[0]) == tuple(LINES[:4])
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


@pytest.mark.parametrize("rows", [0, -1, 10**23])
def test_shards_have_rows(texts, rows):
    with pytest.raises(BadChoice, match=f"{rows:,} rows per shard"):
        finish(indexed(texts, rows))


def test_a_large_table_is_refused_with_the_form_that_may_be_large(texts, monkeypatch):
    monkeypatch.setattr("explorer.data.tables.files.LARGEST", 20)
    assert finish(indexed(texts[:1], 4)).rows == 4
    with pytest.raises(
        UnreadableFile, match=r"two\.csv has \d+ bytes; a table may have 20 bytes.*\.txt file, one per line"
    ):
        finish(indexed(texts, 4))
