"""Test that a corpus of vectors finds any row and sentence, is checked once, and is another when a file changes."""

import tracemalloc

import numpy as np
import pytest

from explorer.data.vectors import preparing
from explorer.data.vectors.opening import opened
from explorer.errors import DataError
from explorer.measuring.scores.correlation import unit
from explorer.progress import finish
from tests.data.vectors.made_vectors import ROWS, SENTENCES, VECTORS, fixed, table


def corpus(path, **given):
    return finish(preparing.corpus(opened(path, **given)))


def both(npy, tmp_path):
    return corpus(npy), corpus(table(tmp_path / "mine.parquet", fixed()))


def test_any_row_has_length_1_and_its_sentence(npy, tmp_path):
    for found in both(npy, tmp_path):
        np.testing.assert_array_equal(found.rows(np.arange(ROWS)), unit(VECTORS))
        np.testing.assert_array_equal(found.rows(np.array([5, 1])), unit(VECTORS)[[5, 1]])
        np.testing.assert_array_equal(np.concatenate([block for _, block in found.blocks()]), unit(VECTORS))
        assert isinstance(found.vectors, np.memmap)
        assert found.texts(range(ROWS)) == tuple(SENTENCES)
        assert (len(found), found.width) == VECTORS.shape


def test_a_sentence_is_found_by_its_text_whole(npy, tmp_path):
    lines = ["a b", "", "b", "ab", "a", "b", "é"]
    npy.with_suffix(".txt").write_text("\n".join(lines), encoding="utf-8")
    for found in (corpus(npy), corpus(table(tmp_path / "mine.parquet", fixed(), texts=lines))):
        assert found.texts(range(ROWS)) == tuple(lines)
        assert [found.place_of(text) for text in ("a b", "b", "ab", "a", "é", "", "c", "ba")] == [0, 2, 3, 4, 6] + [
            None
        ] * 3


def test_a_zero_vector_stays_one(npy):
    np.save(npy, np.where(np.arange(ROWS)[:, None] == 2, 0, VECTORS))
    assert not corpus(npy).rows(np.array([2])).any()


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
    seen = []
    monkeypatch.setattr(preparing, "_prepare", lambda files, folder: seen.append(folder) or iter(()))
    preparing._digests.clear()  # as in another process
    assert (corpus(npy).digest, seen) == (first.digest, [])
    npy.with_suffix(".txt").write_text("\n".join(SENTENCES[::-1]), encoding="utf-8")
    with pytest.raises(FileNotFoundError):
        corpus(npy).text(0)  # which was not prepared
    assert len(seen) == 1
    assert seen[0] != first.folder


def test_a_check_that_was_stopped_leaves_no_corpus(npy):
    np.save(npy, VECTORS + 1)  # which no other test has checked
    work = preparing.corpus(opened(npy))
    while next(work).stage != "checking mine.npy":
        pass
    work.close()
    assert corpus(npy).texts([ROWS - 1]) == (SENTENCES[-1],)


def test_vectors_are_never_in_memory_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("explorer.data.vectors.npy_file.AT_ONCE", 100)
    rows, width = 20_000, 64
    np.save(tmp_path / "large.npy", np.ones((rows, width), dtype=np.float32))
    (tmp_path / "large.txt").write_text("a\n" * rows)
    files = opened(tmp_path / "large.npy")
    monkeypatch.setattr(preparing, "BYTES", 2**16)
    tracemalloc.start()
    finish(preparing.corpus(files))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows * width * 4 / 2
