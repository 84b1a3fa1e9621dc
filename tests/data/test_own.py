import pytest

from explorer.data import own
from explorer.data.kinds import GradedPairs
from explorer.errors import SetNotFound


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))


def pairs(name="mine.csv", score=1.5):
    return GradedPairs(name, ("a", "ü"), ("b", "\u2028"), (score, 0.1 + 0.2), ("", "x"))


def test_what_was_brought_comes_back_with_the_same_digest():
    name = own.keep(pairs())
    assert own.is_own(name)
    assert own.graded_pairs(name) == pairs()
    assert own.graded_pairs(name).digest == pairs().digest


def test_two_files_of_one_name_are_told_apart():
    names = {own.keep(pairs()), own.keep(pairs(score=2.0))}
    assert len(names) == 2
    assert set(own.names()) == names


def test_a_forgotten_file_is_named_with_the_next_step():
    name = own.keep(pairs())
    own.forget(name)
    assert own.names() == ()
    with pytest.raises(SetNotFound, match=r"'mine.csv · [0-9a-f]{8}' is no longer kept.*Bring it again"):
        own.graded_pairs(name)


@pytest.mark.parametrize("name", ["Sample pairs", "STS-B test", "../../etc/passwd", "x · ../../secret"])
def test_other_names_are_not_files_of_the_user(name):
    assert not own.is_own(name)
