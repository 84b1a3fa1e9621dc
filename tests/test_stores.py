"""Test that no store of computed numbers takes one input for another, and that equal ones share an entry.

A number is never kept under a name and taken for another with the same name. Each store of the table in
docs/architecture.md is tried with inputs that differ in one part: the ones that decide its numbers, and the others.
"""

import ast
import re
from random import Random

import pytest

from tests.live import ROOT
from tests.stores import in_memory, on_disk, vectors
from tests.stores.store import Desk, Guard, Store, decided, drawn

REGISTRY = {**on_disk.STORES, **in_memory.STORES, **vectors.STORES}
EACH = [
    (f"{name} {place}".removesuffix(" 0"), one)
    for name, stores in REGISTRY.items()
    for place, one in enumerate(stores if isinstance(stores, tuple) else (stores,))
]
STORES = [(name, store) for name, store in EACH if isinstance(store, Store)]
GUARDS = [(name, guard) for name, guard in EACH if isinstance(guard, Guard)]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    for folder in ("CACHE", "RUNS", "RESULTS", "DATA"):
        monkeypatch.setenv(f"STRATA_{folder}", str(tmp_path / folder.lower()))
    (tmp_path / "desk").mkdir()
    return Desk(tmp_path / "desk", monkeypatch)


@pytest.mark.parametrize(("name", "store"), STORES, ids=[name for name, _ in STORES])
def test_inputs_share_an_entry_exactly_if_they_decide_the_same_number(name, store, desk):
    entries, inputs = {}, {}
    for changed, given in drawn(store, Random(name)):
        what = decided(store, given)
        given.number = desk.numbers.setdefault(what, len(desk.numbers))
        entry = store.entry(desk, given)
        assert entries.setdefault(what, entry) == entry, f"equal inputs miss each other: {changed} {given}"
        first = inputs.setdefault(entry, given)
        assert decided(store, first) == what, f"two inputs share an entry: {first} and {given}"
    if store.read:
        for what, entry in entries.items():
            assert store.read(desk, entry) == desk.numbers[what], what


@pytest.mark.parametrize(("name", "guard"), GUARDS, ids=[name for name, _ in GUARDS])
def test_work_goes_on_exactly_with_what_decides_it(name, guard, desk):
    for changed, given in drawn(guard, Random(name)):
        if not changed:
            begun = given
            guard.begin(desk, begun)
        assert guard.goes_on(desk, given) == (decided(guard, given) == decided(guard, begun)), (changed, begun, given)


SECTION = (
    (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("\n## Stores\n")[2].partition("\n## ")[0]
)
DECORATORS = {"cache", "lru_cache", "cache_resource", "cache_data", "by_stamp"}
CALLS = {"jobs.result", "jobs.known", "jobs.finished_job", "jobs.follow", "cache"}


def keeps_values(file):
    """Whether a file of the program keeps what it has computed in the process."""
    text = file.read_text(encoding="utf-8")
    tree = list(ast.walk(ast.parse(text))) if re.search(r"cache|jobs", text) else []
    decorators = (one for node in tree if isinstance(node, ast.FunctionDef) for one in node.decorator_list)
    called = {ast.unparse(getattr(one, "func", one)).rpartition(".")[2] for one in decorators}
    calls = {ast.unparse(getattr(one, "func", one)) for one in tree if isinstance(one, ast.Call | ast.Attribute)}
    return bool(called & DECORATORS or calls & CALLS)


def test_every_store_of_the_tables_is_tried_and_the_other_way_round():
    lines = [line.strip("|").split("|") for line in SECTION.splitlines() if line.startswith("| ")]
    assert sorted(cells[0].strip() for cells in lines if cells[0].strip() != "store") == sorted(REGISTRY)


def test_every_file_that_keeps_values_is_named_in_the_section():
    files = (
        file.relative_to(ROOT / "explorer").as_posix()
        for file in (ROOT / "explorer").rglob("*.py")
        if keeps_values(file)
    )
    named = set(re.findall(r"`([\w/]+\.py)`", SECTION))
    assert [file for file in files if file not in named] == []
    assert not [file for file in (ROOT / "pages").glob("*.py") if keeps_values(file)]
