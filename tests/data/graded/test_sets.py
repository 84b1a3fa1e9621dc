"""Test that sets of scored pairs are found by their identity, and uploads are kept, unchanged, and forgotten."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from explorer.data import sample, sources, splitting, uploads
from explorer.data.graded import published_sets, sets, sts
from explorer.data.graded.sets import SetIdentity, SetKind, read
from explorer.data.tables.files import read_file
from explorer.data.text_sets import GradedPairs
from explorer.errors import BadChoice, CannotSplit, NotWritable, SetNotFound, UnreadableFile

BROUGHT = GradedPairs("mine.csv", ("a", "b", "c"), ("d", "e", "f"), (1.0, 2.0, 3.0), ("", "", ""))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sets with STS17 alone, an empty cache, and no hub."""
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(sts.VARIABLE, str(tmp_path))
    monkeypatch.setattr(sts, "hub_table", lambda *_, **__: None)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    rows = "".join(f"{at % 6}\tOne {at}.\tTwo {at}.\n" for at in range(250))
    (tmp_path / "STS17_en").mkdir()
    (tmp_path / "STS17_en" / "test.tsv").write_text("score\tsentence1\tsentence2\n" + rows, encoding="utf-8")
    return tmp_path


def test_the_menu_has_the_sample_then_the_users_own_then_the_published_and_every_name_leads_to_its_set():
    assert sets.known() == (sets.SAMPLE, *map(read, sts.menu()))
    own = sets.keep(BROUGHT)
    assert sets.known() == (sets.SAMPLE, own, *map(read, sts.menu()))
    assert sets.load(sets.SAMPLE) is sample.pairs()
    assert sets.load(sets.keep(BROUGHT)) == BROUGHT
    assert sets.load(read("STS17 test")) == sets.load(read("sts17")) == sts.load("STS17")


def test_sets_on_this_disk_come_first_in_the_menu(tmp_path):
    assert sts.on_disk() == {("STS17", "test")}
    assert sts.menu()[0] == "STS17 test"
    assert sets.known()[1] == read("STS17 test")
    cached = tmp_path / "hub" / "datasets--mteb--stsbenchmark-sts" / "refs"
    cached.mkdir(parents=True)
    (cached / "main").write_text("a" * 40)
    split = {f"STS-B {name}" for name in ("train", "dev", "test")}
    assert {*sts.menu()[:4]} == {"STS17 test", *split}
    assert len({*sts.menu()}) == len(sts.menu()) == sum(len(one.splits) for one in published_sets.SETS)


def test_halves_and_parts_of_the_sample_have_names_but_no_place_in_the_menu():
    dev, test = sets.halves()
    assert (dev, test) == (read("Sample pairs, dev half"), read("Sample pairs, test half"))
    assert sets.load(dev) is sets.load(read("sample dev")) is sample.dev()
    assert sets.load(test) is sets.load(read("sample test")) is sample.test()
    assert not {dev, test} & set(sets.known())
    train, dev = sets.parts()
    assert sets.load(train) is sets.load(read("sample train part")) is sample.train_part()
    assert sets.load(dev) is sets.load(read("sample dev part")) is sample.dev_part()


def test_pairs_are_divided_into_what_belongs_to_them_and_into_halves_if_that_is_not_there():
    known = sets.divided(read("sample test"), sample.test())
    assert (known.dev, known.test, known.whole, known.why) == (sample.dev(), sample.test(), sample.pairs(), "")
    pairs = sets.load(read("STS17 test"))
    for text, why in (("STS17 test", ""), ("STS-B test", "STS-B dev")):
        found = sets.divided(read(text), pairs)
        assert ((found.dev, found.test), found.whole) == (splitting.halves(pairs), pairs)
        assert why in found.why
        assert bool(why) == bool(found.why)


def test_dev_and_test_of_a_set_are_its_halves_or_its_published_splits():
    own = sets.keep(BROUGHT)
    assert sets.halves(own) == (own.of_piece("dev half"), own.of_piece("test half"))
    assert sets.parts(own) == (own.of_piece("train part"), own.of_piece("dev part"))
    assert sets.dev_and_test(sets.parts(own)[0]) == sets.dev_and_test(own) == sets.halves(own)
    assert sets.dev_and_test(sets.parts()[0]) == sets.dev_and_test(sets.SAMPLE) == sets.halves()
    for text in ("STS-B test", "stsb dev", "STS-B validation", "STS-B"):
        assert sets.dev_and_test(read(text)) == (read("STS-B dev"), read("STS-B test"))
    assert sets.dev_and_test(read("SICK-R test")) == (read("SICK-R dev"), read("SICK-R test"))
    for text in ("STS-B train", "STS17 test", "STS12"):
        assert sets.dev_and_test(read(text)) is None


def test_the_dev_and_test_set_that_belong_to_a_train_part_are_of_the_same_set():
    own = sets.keep(BROUGHT)
    assert sets.of_train_part(sets.parts(own)[0]) == (own.of_piece("dev part"), own.of_piece("test half"))
    for text in ("STS-B train", "STS-B", "stsb train", "STS-B train, 9 items"):
        assert sets.of_train_part(read(text)) == (read("STS-B dev"), read("STS-B test"))
    for given in (own, own.of_piece("dev part"), *map(read, ("STS-B dev", "STS-B test", "STS12", "my.csv"))):
        assert sets.of_train_part(given) is None


def test_why_a_set_has_no_halves_is_told():
    assert "mine.csv has 3 pairs" in sets.why_not_split(sets.keep(BROUGHT))
    rows = tuple(map(str, range(30)))
    own = sets.keep(GradedPairs("more.csv", rows, tuple(f"b{row}" for row in rows), tuple(range(30)), ("",) * 30))
    assert sets.why_not_split(own) == ""
    assert "more.csv, dev half has 15 pairs" in sets.why_not_split(own, sets.TRAIN_PART)


def test_going_online_is_passed_on(monkeypatch):
    asked: list[bool] = []
    monkeypatch.setattr(sts, "hub_table", lambda *_, online: asked.append(online))
    for online in (False, True):
        with pytest.raises(SetNotFound, match="STS16 test is not available"):
            sets.load(read("STS16"), online=online)
    assert asked == [False, True]


def test_a_name_can_be_checked_without_reading_and_one_that_means_nothing_is_refused(monkeypatch):
    with pytest.raises(SetNotFound, match="There is no set 'MNLI'"):
        sets.load(read("MNLI"))
    monkeypatch.setattr(sts, "load", None)
    for text in ("Sample pairs", "Sample pairs, dev half", "sample", "STS-B dev", "sick", "gone.csv · 0123abcd"):
        sets.check(read(text))
    with pytest.raises(SetNotFound, match="There is no set 'MNLI'"):
        sets.check(read("MNLI"))
    with pytest.raises(SetNotFound, match="STS-B has no split 'half'"):
        sets.check(read("STS-B half"))


def test_a_stamp_stays_until_the_file_changes(folder):
    own = sets.keep(BROUGHT)
    for given, file in ((read("STS17 test"), folder / "STS17_en" / "test.tsv"), (own, sets.upload_path(own))):
        before = sets.stamp(given)
        assert before != ()
        assert hash(before) == hash(sets.stamp(given))
        file.write_bytes(file.read_bytes() + b"\n")
        os.utime(file, ns=(0, 0))
        longer = sets.stamp(given)
        os.utime(file, ns=(0, 1))
        assert len({before, longer, sets.stamp(given)}) == 3
        file.unlink()
        assert sets.stamp(given) == ()


def test_another_folder_gives_another_stamp(folder, monkeypatch):
    before = sets.stamp(read("STS17"))
    (folder / "other").mkdir()
    (folder / "STS17_en").rename(folder / "other" / "STS17_en")
    assert sets.stamp(read("STS17")) == ()
    monkeypatch.setenv(sts.VARIABLE, str(folder / "other"))
    assert sets.stamp(read("STS17")) not in ((), before)


@pytest.mark.parametrize(
    "text", ["Sample pairs", "Sample pairs, dev half", "sample dev", "STS16 test", "MNLI", "", "gone.csv · 0123abcd"]
)
def test_without_a_file_there_is_no_stamp(text):
    assert sets.stamp(read(text)) == ()


def pairs(name="mine.csv", score=1.5):
    return GradedPairs(name, ("a", "ü"), ("b", "\u2028"), (score, 0.1 + 0.2), ("", "x"))


def test_what_was_brought_comes_back_with_the_same_digest_and_two_of_one_name_are_told_apart():
    name = sets.keep(pairs())
    assert (name.kind, name.name, name.piece) == (SetKind.UPLOADED, "mine.csv", "")
    assert pairs().digest.startswith(name.digest)
    assert (sets.uploaded_pairs(name), sets.uploaded_pairs(name).digest) == (pairs(), pairs().digest)
    names = {sets.keep(pairs()), sets.keep(pairs(score=2.0))}
    assert len(names) == 2
    assert set(sets.kept_sets()) == names


def twin(number):
    """Pairs whose digest begins with 427a98f4, for 20524 and for 45870."""
    return GradedPairs("mine.csv", ("a", "b", "c"), ("d", "e", f"f {number}"), (1.0, 2.0, 3.0), ("", "", ""))


def test_pairs_whose_digests_begin_alike_are_never_taken_for_one_another():
    one, other = twin(20524), twin(45870)
    assert one.digest[:8] == other.digest[:8], "the premise"
    names = [sets.keep(pairs) for pairs in (one, other, other, one)]
    assert names[0] == names[3] == SetIdentity(SetKind.UPLOADED, "mine.csv", "427a98f4")
    assert names[1] == names[2] != names[0]
    assert [sets.uploaded_pairs(name) for name in names[:2]] == [one, other]
    assert set(sets.kept_sets()) == set(names)


def test_a_forgotten_file_is_named_with_the_next_step():
    name = sets.keep(pairs())
    sets.forget(name)
    assert sets.kept_sets() == ()
    with pytest.raises(SetNotFound, match=r"'mine.csv · [0-9a-f]{8}' is no longer stored.*Upload it again"):
        sets.uploaded_pairs(name)


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
    name = sets.keep(pairs())
    broken = SetIdentity(SetKind.UPLOADED, "b.csv", "0123abcd")
    sets.upload_path(broken).write_bytes(content)
    assert set(sets.kept_sets()) in ({name}, {name, broken})
    assert sets.uploaded_pairs(name) == pairs()
    with pytest.raises(SetNotFound, match=r"'b.csv · 0123abcd' (can no longer be read|was changed).*Upload it again"):
        sets.uploaded_pairs(broken)
    sets.forget(broken)
    assert sets.kept_sets() == (name,)


def test_what_else_lies_in_the_folder_is_left_alone():
    name = sets.keep(pairs())
    folder = sets.upload_path(name).parent
    (folder / "0123abcd.json").write_text('{"name": "an older release"}')
    (folder / "notes.jsonl").write_text('{"name": "notes"}')
    (folder / "0123abcd.jsonl").symlink_to(folder / "gone")  # as if deleted between listing and reading
    (folder / "4567abcd.jsonl").mkdir()
    assert sets.kept_sets() == (name,)


def test_a_file_that_was_edited_is_not_taken_for_what_was_brought():
    name = sets.keep(pairs())
    file = sets.upload_path(name)
    assert b"1.5" in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(b"1.5", b"2.5"))
    with pytest.raises(SetNotFound, match=r"was changed after the upload\. Upload it again"):
        sets.uploaded_pairs(name)
    assert sets.keep(pairs()) == name
    assert sets.uploaded_pairs(name) == pairs(), "uploaded again"


def test_the_newest_comes_first_and_gives_its_name():
    names = [sets.keep(pairs(score=score)) for score in (1.0, 2.0, 3.0)]
    for age, at in enumerate((1, 0, 2)):
        os.utime(sets.upload_path(names[at]), (1e9 - age, 1e9 - age))
    assert sets.kept_sets() == (names[1], names[0], names[2])
    again = sets.keep(pairs("again.csv", score=3.0))
    assert sets.kept_sets() == (again, names[1], names[0], names[2])


def test_equal_pairs_under_two_names_are_two_sets():
    one, other = sets.keep(pairs("one.csv")), sets.keep(pairs("other.csv"))
    for given, name in ((one, "one.csv"), (other, "other.csv")):
        assert sets.uploaded_pairs(given) == pairs(name)
    assert set(sets.kept_sets()) == {one, other}
    assert sets.stamp(one) != sets.stamp(other)
    sets.forget(one)
    assert sets.kept_sets() == (other,)
    assert sets.uploaded_pairs(other) == pairs("other.csv")
    with pytest.raises(SetNotFound, match=r"'one.csv · [0-9a-f]{8}' is no longer stored"):
        sets.uploaded_pairs(one)


def kept_by_digest_alone(given):
    """A set as it was stored before its file had its name: another upload of the same pairs took its place."""
    path = sets.keep(given)
    file = sets.upload_path(path)
    return path, file.rename(file.with_name(f"{path.digest}.jsonl"))


def test_what_was_stored_by_its_digest_alone_is_found_under_every_name_that_it_had():
    last, file = kept_by_digest_alone(pairs("last.csv"))
    first = replace(last, name="first.csv")
    assert sets.kept_sets() == (last,)
    for given in (first, last):
        assert sets.uploaded_pairs(read(given.written)) == pairs(given.name)
        assert sets.stamp(given) != ()
    assert sets.keep(pairs("last.csv")) == last
    assert sets.keep(pairs("first.csv")) == first
    assert set(sets.kept_sets()) == {first, last}
    assert file.exists()
    sets.forget(last)
    assert sets.kept_sets() == (first,)
    assert sets.uploaded_pairs(first) == pairs("first.csv")
    assert not file.exists()
    sets.forget(first)
    assert list(file.parent.iterdir()) == []


def test_names_are_read_without_the_pairs_and_may_hold_anything():
    odd = pairs("a\n\u2028 \ud800 · 0123abcd")
    name = sets.keep(odd)
    assert (sets.kept_sets(), sets.uploaded_pairs(name)) == ((name,), odd)
    sets.forget(name)
    name = sets.keep(pairs())
    file = sets.upload_path(name)
    head, _ = file.read_bytes().split(b"\n")
    file.write_bytes(head + b"\n\xff no pairs")
    assert sets.kept_sets() == (name,)


def test_a_file_that_cannot_be_deleted_stays_and_is_told(monkeypatch):
    name = sets.keep(pairs())

    def refuse(path, **_):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(NotWritable, match=r"'mine.csv · .*' cannot be deleted: .*jsonl: Read-only file system. Make"):
        sets.forget(name)
    assert sets.uploaded_pairs(name) == pairs()


def test_a_full_or_locked_disk_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    assert sets.kept_sets() == ()
    with pytest.raises(NotWritable, match=r"cannot be written to.*STRATA_CACHE"):
        sets.keep(pairs())


def many(count=80):
    rows = range(count)
    first, second = (tuple(f"{side} {row}" for row in rows) for side in ("one", "other"))
    return GradedPairs("mine.csv", first, second, tuple(row % 6 for row in rows), ("",) * count)


def test_the_pieces_of_a_set_are_computed_and_are_not_in_the_menu():
    name = sets.keep(many())
    for piece in splitting.PIECES:
        one = name.of_piece(piece)
        assert one.whole == name.whole == name != one
        assert sets.uploaded_pairs(one).digest == splitting.piece(many(), piece).digest
    assert sets.kept_sets() == (name,)
    name = sets.keep(pairs())
    with pytest.raises(CannotSplit, match=r"mine\.csv has 2 pairs"):
        sets.uploaded_pairs(name.of_piece(splitting.TEST_HALF))


def test_the_pieces_of_pairs_that_are_equal_but_for_the_sign_of_a_zero_have_their_own_scores():
    plain = many()
    for pairs in (plain, replace(plain, gold=tuple(score or -0.0 for score in plain.gold))):
        dev, test = splitting.halves(pairs)
        assert sorted(map(repr, (*dev.gold, *test.gold))) == sorted(map(repr, pairs.gold))


def test_some_items_are_drawn_by_their_text_alone_and_have_an_identity_of_their_own():
    whole = sets.keep(many())
    some, pairs = whole.of_piece(splitting.TEST_HALF).drawn(12), sets.load(whole.of_piece(splitting.TEST_HALF))
    found = sets.load(read(some.written))
    assert (len(found), found.name) == (12, "mine.csv, test half, 12 items")
    every = [(*both, gold) for *both, gold in zip(pairs.first, pairs.second, pairs.gold, strict=True)]
    rows = [every.index(row) for row in zip(found.first, found.second, found.gold, strict=True)]
    assert rows == sorted(rows) != list(range(12)), "in their order, and not the first ones"
    turned = pairs.taken(range(len(pairs))[::-1], pairs.name)
    again = sets.keep(turned).drawn(12)
    assert set(sets.load(again).first) == set(found.first), "whatever the order of the set"
    assert (some.is_divided, sets.dev_and_test(some), some.whole) == (False, None, whole)
    assert sets.dev_and_test(read("STS-B dev, 9 items")) is None
    assert read("STS-B dev" + 2000 * ", 3 items").kind == SetKind.OTHER, "an address may be long"
    assert some.of_piece(splitting.DEV_HALF) == whole.of_piece(splitting.DEV_HALF), "a piece of it has all items"
    assert sets.load(whole.drawn(80)).digest == sets.load(whole).digest
    with pytest.raises(BadChoice, match=r"'mine.csv' has 80 items, not 81. Choose fewer"):
        sets.load(whole.drawn(81))


NAMES = (
    "mine.csv", "a · 0123abcd · test half", "x · 0123abcd", "two\nlines\u2028 · ", "קובץ · \u202ex.csv",
    "half \ud800", "test rows of run:mine", "a (0123abcd)", "Sample pairs", "STS-B dev", "n" * 200, "",
)  # fmt: skip
TEXTS = (  # as addresses and recipes have them
    ("mine.csv · 1a2b3c4d", SetIdentity(SetKind.UPLOADED, "mine.csv", "1a2b3c4d")),
    ("mine.csv · 1a2b3c4d · test half", SetIdentity(SetKind.UPLOADED, "mine.csv", "1a2b3c4d", "test half")),
    ("mine.txt (1a2b3c4d)", SetIdentity(SetKind.UPLOADED_FILE, "mine.txt", "1a2b3c4d")),
    ("test rows of run:mine", SetIdentity(SetKind.TEST_ROWS, "mine")),
    ("Sample pairs", sets.SAMPLE),
    ("Sample pairs, dev part", sets.SAMPLE.of_piece("dev part")),
    ("STS-B", SetIdentity(SetKind.PUBLISHED, "STS-B")),
    ("STS17-ar-ar test", SetIdentity(SetKind.PUBLISHED, "STS17-ar-ar", piece="test")),
    ("STS-B dev, 500 items", SetIdentity(SetKind.PUBLISHED, "STS-B", piece="dev", items=500)),
    ("Sample pairs, dev half, 20 items", SetIdentity(SetKind.SAMPLE, sample.PAIRS, "", "dev half", 20)),
    ("a, 3 items · 0123abcd, 7 items", SetIdentity(SetKind.UPLOADED, "a, 3 items", "0123abcd", items=7)),
    ("STS-B, 500 items", SetIdentity(SetKind.OTHER, "STS-B, 500 items")),
    ("STS-B dev, 0 items", SetIdentity(SetKind.OTHER, "STS-B dev, 0 items")),
    ("STS-B dev, 9 items, 3 items", SetIdentity(SetKind.OTHER, "STS-B dev, 9 items, 3 items")),
    ("STS-B half", SetIdentity(SetKind.OTHER, "STS-B half")),
    ("../../etc/passwd", SetIdentity(SetKind.OTHER, "../../etc/passwd")),
    ("x · ../../secret", SetIdentity(SetKind.OTHER, "x · ../../secret")),
    ("x · 0123abcd · other half", SetIdentity(SetKind.OTHER, "x · 0123abcd · other half")),
    ("", SetIdentity(SetKind.OTHER, "")),
)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("digest", ["1a2b3c4d", "0" * 64])
def test_an_uploaded_set_of_any_name_is_read_as_it_was_written(name, digest):
    for piece in ("", *splitting.PIECES):
        given = SetIdentity(SetKind.UPLOADED, name, digest, piece)
        assert read(given.written) == given
        assert read(given.drawn(12).written) == given.drawn(12)


@pytest.mark.parametrize(("text", "given"), TEXTS)
def test_every_kind_of_set_has_one_text(text, given):
    assert read(text) == given
    assert given.written == text


def test_one_module_reads_and_writes_the_text_and_other_spellings_are_the_same_set():
    calls = re.compile(r"(?<!question_)\bsets\.read\b|graded\.sets import [^\n]*\bread\b")
    package = Path(sets.__file__).parents[2]
    assert [file.name for file in package.rglob("*.py") if calls.search(file.read_text("utf-8"))] == ["sources.py"]
    assert read("sts-b validation") == read("STS-B dev")
    assert read("sample train part") == read(sample.TRAIN_PART)
    assert {read(title) for title in sts.menu()} == set(sets.known()) - {sets.SAMPLE}


LINES = b"a man plays a guitar\nthe dog runs\n"


def test_files_whose_digests_begin_alike_are_kept_side_by_side():
    one, other = b"one line 39846\n", b"one line 63895\n"  # the SHA-256 of both begins with df9b954f
    paths = [uploads.keep("mine.txt", data) for data in (one, other, other, one)]
    assert paths[0] == paths[3] != paths[1] == paths[2]
    assert [Path(path).read_bytes() for path in paths[:2]] == [one, other]
    assert uploads.paths() == sorted(paths[:2])
    assert {uploads.name_of(path) for path in paths} == {"mine.txt"}
    assert len({sources.label(path) for path in paths}) == len({uploads.name_and_mark(path) for path in paths}) == 2


def test_equal_files_under_two_names_are_two_uploads():
    one, other = (uploads.keep(name, b"a,b\n") for name in ("one.csv", "other.csv"))
    assert uploads.paths() == sorted([one, other])
    Path(one).unlink()
    assert (uploads.paths(), uploads.name_of(other)) == ([other], "other.csv")


def test_a_file_that_was_edited_is_not_taken_for_what_was_uploaded():
    path = uploads.keep("mine.txt", LINES)
    assert read_file(path).name == "mine.txt"
    Path(path).write_bytes(LINES.upper())
    with pytest.raises(UnreadableFile, match=r"mine\.txt was changed after the upload\. Upload it again"):
        read_file(path)
    assert uploads.keep("mine.txt", LINES) == path
    assert len(read_file(path).rows) == 2, "uploaded again"


def test_a_file_whose_name_is_not_utf8_which_no_page_can_show_is_not_offered():
    kept = uploads.keep("mine.txt", b"one\ntwo\n")
    Path(kept).with_name(os.fsdecode(b"1a2b3c4d-bad\xff.txt")).touch()
    assert uploads.paths() == [kept]


def test_a_label_leads_to_the_file_and_says_if_it_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    path = uploads.keep("mine.csv", b"a,b")
    given = sources.identity(sources.label(path))
    assert given == sources.identity(path)
    assert sources.located(given) == path
    assert sources.located(sources.identity("STS-B test")) == "STS-B test"
    Path(path).unlink()
    with pytest.raises(SetNotFound, match="Upload it again"):
        sources.located(given)
    (tmp_path / given.written).touch()
    monkeypatch.chdir(tmp_path)
    assert sources.located(given) == given.written, "a file that is called so"
