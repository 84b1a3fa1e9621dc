"""Test that the probe packs are minimal pairs without duplicates."""

import pytest

from explorer.data import sample
from explorer.data.sample import FOLDER
from explorer.data.tables.files import read_file

PACKS = sample.probe_packs()


def words(sentence):
    return sorted(sentence.lower().replace("'", " ").strip(".").split())


def test_every_row_of_the_file_is_in_a_pack_and_no_pair_twice():
    pairs = [pair for pack in PACKS for pair in zip(pack.first, pack.second, strict=True)]
    assert len(pairs) == len(read_file(FOLDER / "probes.tsv").rows) == 480
    assert len(set(pairs)) == 480
    assert all(one != other for one, other in pairs)
    assert {len(pack) for pack in PACKS} == {60}


def test_paraphrases_and_typos_mean_the_same_and_the_others_do_not():
    assert [pack.name for pack in PACKS if pack.same] == ["paraphrase", "typo"]
    different = ["negation", "role swap", "antonym", "number", "quantifier", "time order"]
    assert [pack.name for pack in PACKS if not pack.same] == different


def test_a_pack_has_no_sentence_twice():
    for pack in PACKS:
        assert len({*pack.first, *pack.second}) == 2 * len(pack)


def test_a_paraphrase_shares_few_words():
    (pack,) = (one for one in PACKS if one.name == sample.PARAPHRASE)
    shared = [
        len(set(words(a)) & set(words(b))) / len({*words(a), *words(b)})
        for a, b in zip(pack.first, pack.second, strict=True)
    ]
    assert sum(shared) / len(shared) < 0.25


def test_exchanged_roles_leave_nearly_every_word():
    (pack,) = (one for one in PACKS if one.name == "role swap")
    for one, other in zip(pack.first, pack.second, strict=True):
        assert len(set(words(one)) ^ set(words(other))) <= 4, (one, other)


@pytest.mark.parametrize("name", ["antonym", "number"])
def test_a_minimal_pair_differs_in_one_word(name):
    (pack,) = (one for one in PACKS if one.name == name)
    for one, other in zip(pack.first, pack.second, strict=True):
        first, second = one.split(), other.split()
        assert len(first) == len(second)
        assert sum(a != b for a, b in zip(first, second, strict=True)) <= 2, "a number may change its noun"
