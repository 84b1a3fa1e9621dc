"""Test that the cases of a product that `make test` runs have every pair of levels, or every level."""

from itertools import combinations, product

import pytest

from tests.products import covering, spared

PRODUCTS = {
    "families and poolings": list(product(range(14), range(3))),
    "three factors": list(product(range(4), range(3), "ab")),
    "a product with gaps": [case for case in product(range(5), range(4), range(3)) if sum(case) % 4],
}


@pytest.mark.parametrize("cases", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("together", [1, 2])
def test_every_level_or_pair_of_levels_of_the_product_is_in_a_chosen_case(cases, together):
    chosen = [cases[place] for place in covering(cases, together)]
    for places in combinations(range(len(cases[0])), together):
        assert {tuple(case[at] for at in places) for case in chosen} == {
            tuple(case[at] for at in places) for case in cases
        }
    assert len(set(chosen)) == len(chosen)


def test_levels_take_turns_and_far_fewer_cases_than_all_are_chosen():
    cases = PRODUCTS["families and poolings"]
    chosen = [cases[place] for place in covering(cases, 1)]
    assert len(chosen) == 14
    by_pooling = [sum(pooling == wanted for _, pooling in chosen) for wanted in range(3)]
    assert max(by_pooling) - min(by_pooling) <= 1
    assert len(covering(PRODUCTS["three factors"], 2)) == 12


FILE = """
import pytest

@pytest.fixture(params=range(5))
def family(request):
    return request.param

@pytest.mark.product(1)
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_marked(family, pooling):
    pass

@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_unmarked(family, pooling):
    pass
"""


class Collected:
    """The names of the tests that are collected, and of those that are spared."""

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "product")

    def pytest_collection_finish(self, session):
        self.items = [item.name for item in session.items]
        self.spared = [item.name for item in spared(session.items)]


def test_of_a_marked_test_alone_cases_are_spared_and_each_of_its_levels_is_left(tmp_path):
    (tmp_path / "test_it.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]", encoding="utf-8")
    found = Collected()
    words = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini"), str(tmp_path)]
    assert pytest.main(words, plugins=[found]) == 0
    assert len(found.items) == 2 * 5 * 3
    assert all(name.startswith("test_marked[") for name in found.spared)
    left = [name[len("test_marked[") : -1].split("-") for name in set(found.items) - set(found.spared) if "_m" in name]
    assert len(left) == 5
    assert [set(levels) for levels in zip(*left, strict=True)] == [set("01234"), {"cls", "mean", "max"}]
