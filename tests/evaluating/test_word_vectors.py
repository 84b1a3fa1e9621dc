"""Test files of word vectors: what is kept of them, and damaged ones."""

import gzip
import hashlib

import pytest

from explorer.errors import UnreadableFile
from explorer.evaluating.tasks import word_vectors
from explorer.evaluating.tasks.word_vectors import read_word_vectors
from explorer.progress import finish

LINES = ("the 0.5 -1 2e-1", "cat 1 2 3", "été 4 5 6", ". 7 8 9", "dog 0 0 1")


def put(folder, *lines, name="vectors.txt", end="\n"):
    path = folder / name
    data = (end.join(lines) + end).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def read(path, *words, **options):
    return finish(read_word_vectors(path, words, **options))


@pytest.mark.parametrize(
    ("lines", "name", "end"),
    [
        (LINES, "vectors.txt", "\n"),
        (LINES, "vectors.txt", " \r\n"),
        (LINES, "vectors.txt.gz", "\n"),
        (("5 3", *LINES), "vectors.vec", "\n"),
        (tuple(line.replace(" ", "\t") for line in LINES), "vectors.txt", "\n"),
    ],
    ids=["glove", "spaces at line ends", "gz", "word2vec", "tabs"],
)
def test_the_wanted_words_are_kept(tmp_path, lines, name, end):
    found = read(put(tmp_path, *lines, name=name, end=end), "cat", "été", "bird")
    assert (found.name, found.width, found.words_in_file) == (name, 3, 5)
    assert {word: found.vectors[at].tolist() for word, at in found.place.items()} == {
        "cat": [1, 2, 3],
        "été": [4, 5, 6],
    }


def test_the_first_vector_of_a_word_counts_and_blank_lines_do_not(tmp_path):
    found = read(put(tmp_path, *LINES, "", "cat 9 9 9", ""), "cat")
    assert found.vectors.tolist() == [[1, 2, 3]]
    assert found.words_in_file == 6


def test_words_with_spaces_as_in_a_published_file_are_skipped(tmp_path):
    found = read(put(tmp_path, *LINES, "at name@domain.com 1 2 3", ". . . 4 5 6"), "at", ".")
    assert {word: found.vectors[at].tolist() for word, at in found.place.items()} == {".": [7, 8, 9]}
    assert found.words_in_file == 7


def test_the_digest_is_that_of_the_whole_text(tmp_path):
    plain, packed = (read(put(tmp_path, *LINES, name=name), "cat") for name in ("a.txt", "b.txt.gz"))
    assert plain.digest == packed.digest == hashlib.sha256((tmp_path / "a.txt").read_bytes()).hexdigest()
    assert read(put(tmp_path, *LINES[:-1], "dog 0 0 2"), "cat").digest != plain.digest


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((*LINES, "bird 1 2"), "line 6 has 2 numbers after 'bird'; expected: 3"),
        ((*LINES, "bird 1 2 3 4", "x 1 2 3"), "line 6 has 4 numbers after 'bird'; expected: 3"),
        (("5 3", *LINES[:2], "bird", *LINES[3:]), "line 4 has 0 numbers after 'bird'; expected: 3"),
        ((*LINES, "cow 1 two 3"), "line 6 has 'two' where a finite number"),
        ((*LINES, "cow 1 nan 3"), "line 6 has 'nan' where a finite number"),
        (("A sentence, not a vector", *LINES), "line 1 has 'sentence,' where a finite number"),
        (("word", *LINES), "line 1 has '' where a finite number"),
        (("6 3", *LINES), "line 1 announces 6 words, but there are 5.*truncated"),
        (("",), "it is empty"),
        (("5 3",), "it is empty"),
    ],
)
def test_a_damaged_line_is_named_with_what_was_expected(tmp_path, lines, found):
    with pytest.raises(UnreadableFile, match=found):
        read(put(tmp_path, *lines), "cow")


def test_a_binary_file_is_refused(tmp_path):
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"5 3\n" + b"the \x00\x01\x80\xff" * 400_000)
    with pytest.raises(UnreadableFile, match="line 2"):
        read(path, "the")


def test_more_vectors_than_the_limit_are_refused(tmp_path):
    path = put(tmp_path, *LINES)
    assert len(read(path, "the", "dog", most_bytes=24).place) == 2
    with pytest.raises(UnreadableFile, match=r"3 words found up to line 5 take 36 bytes; at most 24 bytes are allowed"):
        read(path, "the", "cat", "dog", most_bytes=24)


def test_a_text_without_a_known_word_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match=r"None of the 2 words .* among the 5 of vectors\.txt"):
        read(put(tmp_path, *LINES), "bird", "The")


def test_a_missing_file_a_folder_and_a_damaged_archive_are_refused(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(UnreadableFile, match="There is no file"):
            read(path, "cat")
    packed = put(tmp_path, *LINES * 500, name="vectors.txt.gz")
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(UnreadableFile, match="no whole gzip file"):
        read(packed, "cat")
    with pytest.raises(UnreadableFile, match="no whole gzip file"):
        read(put(tmp_path, *LINES).rename(tmp_path / "plain.gz"), "cat")


def test_progress_is_in_bytes_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(word_vectors, "EVERY", 2)
    told = []
    path = put(tmp_path, *LINES)
    finish(read_word_vectors(path, {"cat"}), told.append)
    assert [(one.done <= one.total, one.total, one.unit) for one in told] == [(True, path.stat().st_size, "bytes")] * 3
