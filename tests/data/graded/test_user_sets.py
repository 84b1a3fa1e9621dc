"""Test that uploaded sets are restored completely, and that a broken file does not affect others."""

import os
from pathlib import Path

import pytest

from explorer.data import splitting
from explorer.data.graded import user_sets
from explorer.data.graded.set_identity import SetIdentity, SetKind
from explorer.data.kinds import GradedPairs
from explorer.errors import CannotSplit, NotWritable, SetNotFound


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))


def pairs(name="mine.csv", score=1.5):
    return GradedPairs(name, ("a", "ü"), ("b", "\u2028"), (score, 0.1 + 0.2), ("", "x"))


def test_what_was_brought_comes_back_with_the_same_digest():
    name = user_sets.keep(pairs())
    assert (name.kind, name.name, name.piece) == (SetKind.UPLOADED, "mine.csv", "")
    assert pairs().digest.startswith(name.digest)
    assert user_sets.graded_pairs(name) == pairs()
    assert user_sets.graded_pairs(name).digest == pairs().digest


def test_two_files_of_one_name_are_told_apart():
    names = {user_sets.keep(pairs()), user_sets.keep(pairs(score=2.0))}
    assert len(names) == 2
    assert set(user_sets.kept_sets()) == names


def twin(number):
    """Pairs whose digest begins with 427a98f4, for 20524 and for 45870."""
    return GradedPairs("mine.csv", ("a", "b", "c"), ("d", "e", f"f {number}"), (1.0, 2.0, 3.0), ("", "", ""))


def test_pairs_whose_digests_begin_alike_are_never_taken_for_one_another():
    one, other = twin(20524), twin(45870)
    assert one.digest[:8] == other.digest[:8], "the premise"
    names = [user_sets.keep(pairs) for pairs in (one, other, other, one)]
    assert names[0] == names[3] == SetIdentity(SetKind.UPLOADED, "mine.csv", "427a98f4")
    assert names[1] == names[2] != names[0]
    assert [user_sets.graded_pairs(name) for name in names[:2]] == [one, other]
    assert set(user_sets.kept_sets()) == set(names)


def test_a_forgotten_file_is_named_with_the_next_step():
    name = user_sets.keep(pairs())
    user_sets.forget(name)
    assert user_sets.kept_sets() == ()
    with pytest.raises(SetNotFound, match=r"'mine.csv · [0-9a-f]{8}' is no longer stored.*Upload it again"):
        user_sets.graded_pairs(name)


BROKEN = {
    "empty": b"",
    "cut off in its name": b'{"na',
    "cut off in its columns": b'{"name": "b.csv"}\n{"first": ["a',
    "of another size": b'{"name": "b.csv"}\n{"first": ["a"], "second": [], "gold": [1.0], "parts": []}',
    "of other types": b'{"name": "b.csv"}\n{"first": [1], "second": [2], "gold": "x", "parts": [null]}',
    "a score that is too large": b'{"name": "b.csv"}\n{"first": ["a"], "second": ["b"], "gold": [%s], "parts": [""]}'
    % (b"9" * 400),
    "a list": b"[1]\n[2]",
    "nested": b"[" * 100_000,
    "a long number": b"9" * 5000,
    "binary": b"PAR1\xff\x00",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_hides_no_other_and_says_what_to_do(content):
    name = user_sets.keep(pairs())
    broken = SetIdentity(SetKind.UPLOADED, "b.csv", "0123abcd")
    user_sets.path(broken).write_bytes(content)
    assert set(user_sets.kept_sets()) in ({name}, {name, broken})
    assert user_sets.graded_pairs(name) == pairs()
    with pytest.raises(SetNotFound, match=r"'b.csv · 0123abcd' (can no longer be read|was changed).*Upload it again"):
        user_sets.graded_pairs(broken)
    user_sets.forget(broken)
    assert user_sets.kept_sets() == (name,)


def test_what_else_lies_in_the_folder_is_left_alone():
    name = user_sets.keep(pairs())
    folder = user_sets.path(name).parent
    (folder / "0123abcd.json").write_text('{"name": "an older release"}')
    (folder / "notes.jsonl").write_text('{"name": "notes"}')
    (folder / "0123abcd.jsonl").symlink_to(folder / "gone")  # as if deleted between listing and reading
    (folder / "4567abcd.jsonl").mkdir()
    assert user_sets.kept_sets() == (name,)


def test_a_file_that_was_edited_is_not_taken_for_what_was_brought():
    name = user_sets.keep(pairs())
    file = user_sets.path(name)
    assert b"1.5" in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(b"1.5", b"2.5"))
    with pytest.raises(SetNotFound, match=r"was changed after the upload\. Upload it again"):
        user_sets.graded_pairs(name)
    assert user_sets.keep(pairs()) == name
    assert user_sets.graded_pairs(name) == pairs(), "uploaded again"


def test_the_newest_comes_first_and_gives_its_name():
    names = [user_sets.keep(pairs(score=score)) for score in (1.0, 2.0, 3.0)]
    for age, at in enumerate((1, 0, 2)):
        os.utime(user_sets.path(names[at]), (1e9 - age, 1e9 - age))
    assert user_sets.kept_sets() == (names[1], names[0], names[2])
    again = user_sets.keep(pairs("renamed.csv", score=3.0))
    assert user_sets.kept_sets() == (again, names[1], names[0])
    assert user_sets.graded_pairs(names[2]).name == "renamed.csv"


def test_a_name_may_hold_anything():
    odd = pairs("a\n\u2028 \ud800 · 0123abcd")
    name = user_sets.keep(odd)
    assert user_sets.kept_sets() == (name,)
    assert user_sets.graded_pairs(name) == odd


def test_names_are_read_without_the_pairs():
    name = user_sets.keep(pairs())
    file = user_sets.path(name)
    head, _ = file.read_bytes().split(b"\n")
    file.write_bytes(head + b"\n\xff no pairs")
    assert user_sets.kept_sets() == (name,)


def test_a_file_that_cannot_be_deleted_stays_and_is_told(monkeypatch):
    name = user_sets.keep(pairs())

    def refuse(path, **_):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(NotWritable, match=r"'mine.csv · .*' cannot be deleted: .*jsonl: Read-only file system. Make"):
        user_sets.forget(name)
    assert user_sets.graded_pairs(name) == pairs()


def test_a_full_or_locked_disk_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    assert user_sets.kept_sets() == ()
    with pytest.raises(NotWritable, match=r"cannot be written to.*STRATA_CACHE"):
        user_sets.keep(pairs())


def many(count=80):
    rows = range(count)
    first, second = (tuple(f"{side} {row}" for row in rows) for side in ("one", "other"))
    return GradedPairs("mine.csv", first, second, tuple(row % 6 for row in rows), ("",) * count)


def test_the_pieces_of_a_set_are_computed_and_are_not_in_the_menu():
    name = user_sets.keep(many())
    for piece in splitting.PIECES:
        one = name.of_piece(piece)
        assert one.whole == name.whole == name != one
        assert user_sets.graded_pairs(one).digest == splitting.piece(many(), piece).digest
    assert user_sets.kept_sets() == (name,)


def test_a_piece_of_a_file_that_cannot_be_split_says_why():
    name = user_sets.keep(pairs())
    with pytest.raises(CannotSplit, match=r"mine\.csv has 2 pairs"):
        user_sets.graded_pairs(name.of_piece(splitting.TEST_HALF))
