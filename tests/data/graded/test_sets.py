"""Test that a set means the same everywhere, and that a set's stamp changes with its file."""

import os
from pathlib import Path

import pytest
from huggingface_hub import constants

from explorer.data import sample
from explorer.data.graded import sets, sts, user_sets
from explorer.data.graded.set_identity import read
from explorer.data.kinds import GradedPairs
from explorer.errors import SetNotFound

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


def test_the_menu_has_the_sample_then_the_users_own_then_the_published() -> None:
    assert sets.known() == (sets.SAMPLE, *map(read, sts.menu()))
    own = user_sets.keep(BROUGHT)
    assert sets.known() == (sets.SAMPLE, own, *map(read, sts.menu()))


def test_every_name_of_the_menu_leads_to_its_set() -> None:
    assert sets.load(sets.SAMPLE) is sample.pairs()
    assert sets.load(user_sets.keep(BROUGHT)) == BROUGHT
    assert sets.load(read("STS17 test")) == sets.load(read("sts17")) == sts.load("STS17")


def test_the_halves_of_the_sample_have_names_but_no_place_in_the_menu() -> None:
    dev, test = sets.halves()
    assert (dev, test) == (read("Sample pairs, dev half"), read("Sample pairs, test half"))
    assert sets.load(dev) is sets.load(read("sample dev")) is sample.dev()
    assert sets.load(test) is sets.load(read("sample test")) is sample.test()
    assert not {dev, test} & set(sets.known())


def test_dev_and_test_of_a_set_are_its_halves_or_its_published_splits() -> None:
    own = user_sets.keep(BROUGHT)
    assert sets.halves(own) == (own.of_piece("dev half"), own.of_piece("test half"))
    assert sets.parts(own) == (own.of_piece("train part"), own.of_piece("dev part"))
    assert sets.dev_and_test(sets.parts(own)[0]) == sets.dev_and_test(own) == sets.halves(own)
    assert sets.dev_and_test(sets.parts()[0]) == sets.dev_and_test(sets.SAMPLE) == sets.halves()
    for text in ("STS-B test", "stsb dev", "STS-B validation", "STS-B"):
        assert sets.dev_and_test(read(text)) == (read("STS-B dev"), read("STS-B test"))
    assert sets.dev_and_test(read("SICK-R test")) == (read("SICK-R dev"), read("SICK-R test"))
    for text in ("STS-B train", "STS17 test", "STS12"):
        assert sets.dev_and_test(read(text)) is None


def test_why_a_set_has_no_halves_is_told() -> None:
    assert "mine.csv has 3 pairs" in sets.why_not_split(user_sets.keep(BROUGHT))
    rows = tuple(map(str, range(30)))
    own = user_sets.keep(GradedPairs("more.csv", rows, tuple(f"b{row}" for row in rows), tuple(range(30)), ("",) * 30))
    assert sets.why_not_split(own) == ""
    assert "more.csv, dev half has 15 pairs" in sets.why_not_split(own, sets.TRAIN_PART)


def test_the_parts_of_the_sample_have_names() -> None:
    train, dev = sets.parts()
    assert sets.load(train) is sets.load(read("sample train part")) is sample.train_part()
    assert sets.load(dev) is sets.load(read("sample dev part")) is sample.dev_part()


def test_going_online_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(sts, "hub_table", lambda *_, online: asked.append(online))
    for online in (False, True):
        with pytest.raises(SetNotFound, match="STS16 test is not available"):
            sets.load(read("STS16"), online=online)
    assert asked == [False, True]


def test_a_name_that_means_nothing_is_answered_with_those_that_do() -> None:
    with pytest.raises(SetNotFound, match="There is no set 'MNLI'"):
        sets.load(read("MNLI"))


def test_a_name_can_be_checked_without_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sts, "load", None)
    for text in ("Sample pairs", "Sample pairs, dev half", "sample", "STS-B dev", "sick", "gone.csv · 0123abcd"):
        sets.check(read(text))
    with pytest.raises(SetNotFound, match="There is no set 'MNLI'"):
        sets.check(read("MNLI"))
    with pytest.raises(SetNotFound, match="STS-B has no split 'half'"):
        sets.check(read("STS-B half"))


def test_a_stamp_stays_until_the_file_changes(folder: Path) -> None:
    own = user_sets.keep(BROUGHT)
    for given, file in ((read("STS17 test"), folder / "STS17_en" / "test.tsv"), (own, user_sets.path(own))):
        before = sets.stamp(given)
        assert before != ()
        assert hash(before) == hash(sets.stamp(given))
        content = file.read_bytes()
        file.write_bytes(content + b"\n")
        os.utime(file, ns=(0, 0))
        longer = sets.stamp(given)
        os.utime(file, ns=(0, 1))
        assert len({before, longer, sets.stamp(given)}) == 3
        file.unlink()
        assert sets.stamp(given) == ()


def test_another_folder_gives_another_stamp(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sets.stamp(read("STS17"))
    (folder / "other").mkdir()
    (folder / "STS17_en").rename(folder / "other" / "STS17_en")
    assert sets.stamp(read("STS17")) == ()
    monkeypatch.setenv(sts.VARIABLE, str(folder / "other"))
    assert sets.stamp(read("STS17")) not in ((), before)


@pytest.mark.parametrize(
    "text", ["Sample pairs", "Sample pairs, dev half", "sample dev", "STS16 test", "MNLI", "", "gone.csv · 0123abcd"]
)
def test_without_a_file_there_is_no_stamp(text: str) -> None:
    assert sets.stamp(read(text)) == ()
