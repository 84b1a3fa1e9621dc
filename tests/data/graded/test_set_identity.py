"""Test that the text of a set in addresses and recipes gives back its identity, whatever its file is called."""

import re
from pathlib import Path

import pytest

from explorer.data import sample, splitting
from explorer.data.graded import sets, sts
from explorer.data.graded.sets import SetIdentity, SetKind, read

NAMES = (
    "mine.csv",
    "a · 0123abcd · test half",
    "x · 0123abcd",
    "two\nlines\u2028 · ",
    "קובץ · \u202ex.csv",
    "half \ud800",
    "test rows of run:mine",
    "a (0123abcd)",
    "Sample pairs",
    "STS-B dev",
    "n" * 200,
    "",
)
TEXTS = (  # as addresses and recipes have them
    ("mine.csv · 1a2b3c4d", SetIdentity(SetKind.UPLOADED, "mine.csv", "1a2b3c4d")),
    ("mine.csv · 1a2b3c4d · test half", SetIdentity(SetKind.UPLOADED, "mine.csv", "1a2b3c4d", "test half")),
    ("mine.txt (1a2b3c4d)", SetIdentity(SetKind.UPLOADED_FILE, "mine.txt", "1a2b3c4d")),
    ("test rows of run:mine", SetIdentity(SetKind.TEST_ROWS, "mine")),
    ("Sample pairs", sets.SAMPLE),
    ("Sample pairs, dev part", sets.SAMPLE.of_piece("dev part")),
    ("STS-B", SetIdentity(SetKind.PUBLISHED, "STS-B")),
    ("STS17-ar-ar test", SetIdentity(SetKind.PUBLISHED, "STS17-ar-ar", piece="test")),
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


@pytest.mark.parametrize(("text", "given"), TEXTS)
def test_every_kind_of_set_has_one_text(text, given):
    assert read(text) == given
    assert given.title == text


def test_one_module_reads_and_writes_the_text():
    calls = re.compile(r"(?<!question_)\bsets\.read\b|graded\.sets import [^\n]*\bread\b")
    package = Path(sets.__file__).parents[2]
    assert [file.name for file in package.rglob("*.py") if calls.search(file.read_text("utf-8"))] == ["sources.py"]


def test_other_spellings_are_the_same_set():
    assert read("sts-b validation") == read("STS-B dev")
    assert read("sample train part") == read(sample.TRAIN_PART)
    assert {read(title) for title in sts.menu()} == set(sets.known()) - {sets.SAMPLE}
