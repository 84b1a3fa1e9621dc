"""Test the sentences that are kept on disk: read again by their mark, and refused by anything else."""

import pytest

from explorer.data import selections
from explorer.errors import UnreadableFile
from explorer.places import cache_folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))


def test_sentences_are_read_as_they_were_typed_in_their_order():
    texts = ("Zwölf  Boxkämpfer", "<b>no html</b>", "same", "same", "\N{GRINNING FACE}")
    assert selections.read(selections.keep(texts)) == texts
    assert selections.keep(texts) == selections.keep(texts) != selections.keep(texts[::-1])


@pytest.mark.parametrize("mark", ["", "../../../etc", "0123456789ag", "0123456789abc", "0123456789AB"])
def test_a_mark_that_is_none_is_refused_and_names_no_file(mark):
    with pytest.raises(UnreadableFile, match="names no sentences"):
        selections.read(mark)


def test_what_is_missing_damaged_or_changed_is_refused():
    with pytest.raises(UnreadableFile, match="not on this disk"):
        selections.read("0123456789ab")
    mark = selections.keep(["a", "b"])
    path = cache_folder() / "selections" / f"{mark}.json"
    for text, why in (
        ('["a", "c"]', "changed"),
        ('{"a": 1}', "damaged"),
        ("[1]", "damaged"),
        ("[", "not on this disk"),
    ):
        path.write_text(text)
        with pytest.raises(UnreadableFile, match=why):
            selections.read(mark)
