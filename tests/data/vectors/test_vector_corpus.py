"""Test that a corpus of vectors is checked and copied once, and each row is found."""

import os
import shutil
import tracemalloc

import numpy as np
import pytest

from explorer import places
from explorer.data.vectors import vector_corpus
from explorer.data.vectors.opening import opened
from explorer.data.vectors.vector_corpus import unit
from explorer.errors import DataError
from explorer.progress import finish
from tests.data.vectors.made_vectors import ROWS, SENTENCES, VECTORS, fixed, table


def corpus(path, **given):
    return finish(vector_corpus.prepared(opened(path, **given)))


def both(npy, tmp_path):
    return corpus(npy), corpus(table(tmp_path / "mine.parquet", fixed()))


def test_any_row_has_length_1_and_its_sentence_which_is_found_by_its_text_whole(npy, tmp_path):
    for found in both(npy, tmp_path):
        np.testing.assert_array_equal(found.rows(np.arange(ROWS)), unit(VECTORS.astype(float)))
        np.testing.assert_array_equal(found.rows(np.array([5, 1])), unit(VECTORS.astype(float))[[5, 1]])
        assert isinstance(found.vectors, np.memmap)
        assert found.texts(range(ROWS)) == tuple(SENTENCES)
        assert (len(found), found.width) == VECTORS.shape
    lines = ["a b", "", "b", "ab", "a", "b", "é"]
    npy.with_suffix(".txt").write_text("\n".join(lines), encoding="utf-8")
    for found in (corpus(npy), corpus(table(tmp_path / "mine.parquet", fixed(), texts=lines))):
        assert found.texts(range(ROWS)) == tuple(lines)
        asked = "a b", "b", "ab", "a", "é", "", "c", "ba"
        assert [found.place_of(text) for text in asked] == [0, 2, 3, 4, 6, None, None, None]
    lines = ["a  b", "a", " a\u00a0a ", "a b", "\tb", "b "]
    npy.with_suffix(".txt").write_text("\n".join([*lines, "b"]), encoding="utf-8")
    for found in (corpus(npy), corpus(table(tmp_path / "mine.parquet", fixed(), texts=[*lines, "b"]))):
        assert found.texts(range(ROWS)) == (*lines, "b")
        assert [found.place_of(text) for text in (*lines, "b")] == list(range(ROWS)), "as written"
        assert [found.place_of(text) for text in ("a a", "a   b", " b", "a  a  a")] == [2, 3, 6, None], "by its words"


@pytest.mark.parametrize(
    ("zero", "words"),
    [
        ([2], " Row 2 is left out: its vector is zero, which has no cosine."),
        ([0, 6], " 2 rows are left out: their vectors are zero, which has no cosine (rows 0, 6)."),
        (range(6), " 6 rows are left out: their vectors are zero, which has no cosine (rows 0, 1, 2, 3, 4, …)."),
        ([], ""),
    ],
)
def test_rows_with_a_zero_vector_are_named_and_keep_their_numbers(npy, tmp_path, zero, words):
    vectors = np.where(np.isin(np.arange(ROWS), zero)[:, None], 0, VECTORS)
    np.save(npy, vectors)
    others = [row for row in range(ROWS) if row not in zero]
    for found in (corpus(npy), corpus(table(tmp_path / "mine.parquet", fixed(vectors)))):
        assert found.note.endswith(f"of width 4.{words}")
        assert (len(found), found.searched, found.zero.tolist()) == (ROWS, len(others), list(zero))
        assert found.rows_searched(np.array([-1, *range(len(others))])).tolist() == [-1, *others]
        assert found.zero_between(1, 6).tolist() == [row for row in zero if 1 <= row < 6]
        np.testing.assert_array_equal(found.rows(np.arange(ROWS)), unit(vectors.astype(float)))


def test_vectors_that_are_all_zero_are_refused(npy):
    np.save(npy, 0 * VECTORS)
    with pytest.raises(DataError, match=r"Every vector of mine\.npy is zero"):
        corpus(npy)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named_with_its_row(npy, tmp_path, value):
    bad = VECTORS.copy()
    bad[4, 1] = value
    np.save(npy, bad)
    for path in (npy, table(tmp_path / "mine.parquet", fixed(bad))):
        with pytest.raises(DataError, match=f"Row 4 of .* has the number {value}"):
            corpus(path)


def test_what_was_checked_is_not_checked_again_until_a_file_changes(npy, monkeypatch):
    first = corpus(npy)
    seen, real = [], vector_corpus._prepare
    monkeypatch.setattr(vector_corpus, "_prepare", lambda *given: seen.append(given[-1]) or real(*given))
    vector_corpus._digests.clear()  # as in another process
    assert (corpus(npy).digest, seen) == (first.digest, [])
    npy.with_suffix(".txt").write_text("\n".join(SENTENCES[::-1]), encoding="utf-8")
    assert corpus(npy).text(0) == SENTENCES[-1]
    assert len(seen) == 1
    assert seen[0] != first.folder


def again(path, vectors):
    """Write other vectors into a file; its size and the time of its content stay."""
    before = path.stat()
    np.save(path, vectors)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_corpus_that_is_open_outlives_its_copy_and_the_file_that_is_written_again(npy):
    found = corpus(npy)
    shutil.rmtree(found.folder)
    np.testing.assert_array_equal(found.rows(np.arange(ROWS)), unit(VECTORS.astype(float)))
    assert (found.texts(range(ROWS)), found.place_of(SENTENCES[3])) == (tuple(SENTENCES), 3)
    before = corpus(npy)
    again(npy, VECTORS[::-1])
    np.testing.assert_array_equal(before.rows(np.arange(ROWS)), unit(VECTORS.astype(float)))
    npy.write_bytes(b"")  # the pages of a mapped file would be gone
    np.testing.assert_array_equal(before.rows(np.arange(ROWS)), unit(VECTORS.astype(float)))
    assert before.texts(range(ROWS)) == tuple(SENTENCES)


@pytest.mark.parametrize("how", ["in its place", "by a link to another file"])
def test_a_file_with_the_size_and_the_time_of_another_is_another_corpus(npy, tmp_path, monkeypatch, how):
    monkeypatch.setattr(vector_corpus, "SETTLED", -(10**12))  # as if both were old
    before = corpus(npy)
    if how == "in its place":
        again(npy, VECTORS[::-1])
    else:
        shutil.copy2(npy, tmp_path / "other.npy")
        again(tmp_path / "other.npy", VECTORS[::-1])
        npy.unlink()
        npy.symlink_to(tmp_path / "other.npy")
    after = corpus(npy)
    assert after.digest != before.digest
    np.testing.assert_array_equal(after.rows(np.arange(ROWS)), unit(VECTORS[::-1].astype(float)))


def test_a_file_that_changed_within_the_last_second_is_read_again_but_not_by_the_header_of_another(npy):
    before = corpus(npy)
    assert not vector_corpus._digests.keys() & {tuple(map(places.stamp, opened(npy).files))}
    again(npy, VECTORS[::-1])
    assert corpus(npy).digest != before.digest
    files = opened(npy)
    np.save(npy, VECTORS.reshape(4, 7))
    with pytest.raises(DataError, match="changed while it was read"):
        finish(vector_corpus.prepared(files))


@pytest.mark.parametrize(
    "change", [VECTORS[::-1], VECTORS[:-1], VECTORS.reshape(4, 7), VECTORS.astype(np.float16), None]
)
def test_a_file_that_changes_during_the_check_leaves_nothing(npy, change):
    np.save(npy, VECTORS + 2)  # which no other test has checked
    work = vector_corpus.prepared(opened(npy))
    while next(work).stage != "checking mine.npy":
        pass
    npy.unlink() if change is None else np.save(npy, change)
    with pytest.raises(DataError, match=r"mine\.npy changed while it was read"):
        finish(work)
    folders = places.cache_folder() / vector_corpus.FOLDER
    assert not [one for one in folders.iterdir() if not (one / vector_corpus.ABOUT).exists() and any(one.iterdir())]


@pytest.mark.parametrize("name", ["vectors.npy", "zero.npy", "ends.npy", "texts.bin", "corpus.json"])
def test_a_damaged_copy_is_made_again(npy, name):
    folder = corpus(npy).folder
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    found = corpus(npy)
    np.testing.assert_array_equal(found.rows(np.arange(ROWS)), unit(VECTORS.astype(float)))
    assert found.texts(range(ROWS)) == tuple(SENTENCES)


def test_a_check_that_was_stopped_leaves_no_corpus(npy):
    np.save(npy, VECTORS + 1)  # which no other test has checked
    work = vector_corpus.prepared(opened(npy))
    while next(work).stage != "checking mine.npy":
        pass
    work.close()
    assert corpus(npy).texts([ROWS - 1]) == (SENTENCES[-1],)


def test_vectors_are_never_in_memory_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("explorer.data.vectors.vector_files.AT_ONCE", 100)
    rows, width = 20_000, 64
    np.save(tmp_path / "large.npy", np.ones((rows, width), dtype=np.float32))
    (tmp_path / "large.txt").write_text("a\n" * rows)
    files = opened(tmp_path / "large.npy")
    monkeypatch.setattr(vector_corpus, "BYTES", 2**16)
    tracemalloc.start()
    finish(vector_corpus.prepared(files))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows * width * 4 / 2


NORMAL = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)


@pytest.mark.parametrize("factor", [1, 1e30, 1e-30, 1e-42, -3e37])
def test_the_size_of_the_numbers_does_not_matter(factor):
    scaled = NORMAL * np.float32(factor)
    exact = scaled.astype(float) / np.linalg.norm(scaled.astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(unit(scaled), exact, atol=1e-7)


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e-320])
def test_nor_does_it_in_float64(factor):
    exact = NORMAL.astype(float) / np.linalg.norm(NORMAL.astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(unit(NORMAL.astype(float) * factor), exact, atol=1e-3 if factor < 1e-310 else 1e-7)


def test_vectors_of_usual_size_have_the_digits_of_a_plain_division_and_zero_vectors_stay():
    np.testing.assert_array_equal(unit(NORMAL), NORMAL / np.linalg.norm(NORMAL, axis=1, keepdims=True))
    odd = np.array([[0, 0], [np.nan, 1], [np.inf, 1], [1, 0]], dtype=np.float32)
    with np.errstate(invalid="ignore"):
        found = unit(odd)
    assert found[[0, 3]].tolist() == [[0, 0], [1, 0]]
    assert np.isnan(found[1:3]).any(axis=1).all()
    assert unit(np.empty((2, 0), dtype=np.float32)).shape == (2, 0)
    assert unit(np.empty((0, 2), dtype=np.float32)).shape == (0, 2)
