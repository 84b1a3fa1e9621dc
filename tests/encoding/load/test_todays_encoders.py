"""Test that the encoders of today are read, trained, exported and cut as docs/encoders.md says."""

import pytest

from explorer.encoding.locate.todays_names import TODAYS_NAMES
from tests import todays_encoders
from tests.live import ROOT
from tests.todays_encoders import KINDS, NATIVE, Routed

EQUAL = 1e-5
REFUSED = [kind for kind in KINDS if isinstance(kind, Routed)]


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    return todays_encoders.check_all(tmp_path_factory.mktemp("encoders"))


def test_their_vectors_and_those_after_a_step_and_an_export_are_those_of_sentence_transformers(checked):
    for one in checked:
        if one.kind not in REFUSED:
            assert not one.refused, one.kind.names
            assert {what for what, gap in one.differences.items() if not gap <= EQUAL} == set(), one.kind.names
            assert one.after_a_step <= EQUAL, one.kind.names
            asked = {"queries": "query", "documents": "document"}
            of_roles = {what for what, name in asked.items() if one.kind.prompts.get(name)}
            assert of_roles - set(one.differences) == set(), one.kind.names


def test_twenty_architectures_and_more_are_read(checked):
    assert len({one.kind.family for one in checked if not one.refused}) >= 20


def test_what_cannot_be_read_is_refused_with_a_next_step(checked):
    refused = [one for one in checked if one.refused]
    assert [one.kind for one in refused] == REFUSED
    assert all("hoose" in one.refused for one in refused)


def test_the_page_of_encoders_says_what_was_found(checked):
    assert (ROOT / "docs" / "encoders.md").read_text(encoding="utf-8") == todays_encoders.page(checked)


def test_those_are_suggested_whose_files_on_the_hub_are_read_as_they_are():
    elsewhere = NATIVE, "merged"  # remarks on those whose files on the hub are others
    read = (kind for kind in KINDS if kind not in REFUSED and not kind.remark.startswith(elsewhere))
    bundled, *others = (name for kind in read for name in kind.names)
    assert bundled == "sentence-transformers/all-MiniLM-L6-v2"
    assert list(TODAYS_NAMES) == others
