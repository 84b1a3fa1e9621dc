"""Test AGENTS.md: its commands run on a tiny model in place of the bundled one, and answer with the fields it names."""

import re
import shlex

import pytest

from explorer.measuring.scores import verdict
from tests.live import ROOT

PAGE = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"```sh\npython -m explorer ((?:.|\n)*?)\n```\n\n\| field \| \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE
)
FOLDERS = {"STRATA_RUNS", "STRATA_CACHE", "STRATA_RESULTS"}


def values(answer: object, path: str) -> list[object]:
    """What is at a path such as `sets[].verdict.kind`; a KeyError if it is not there."""
    found = [answer]
    for step in path.split("."):
        name = step.removesuffix("[]")
        found = [one[name] for one in found] if name else found
        if step.endswith("[]"):
            found = [item for one in found for item in one]
    return found


@pytest.fixture
def own_folders(monkeypatch, tmp_path):
    for variable in FOLDERS:
        monkeypatch.setenv(variable, str(tmp_path / variable))


def test_every_command_answers_with_the_fields_that_are_named(own_folders, place, answered):
    small = {"all-MiniLM-L6-v2": place.model, "sample": place.triplets, "sample dev": place.dev}
    small |= dict.fromkeys(("sample test", "Sample search"), place.test) | {"20": "2"}
    assert [command.split()[0] for command, _ in EXAMPLES] == [
        "score", "train", "compare", "compare", "evaluate", "search",
    ]  # fmt: skip
    for command, table in EXAMPLES:
        words = [small.get(word, word) for word in shlex.split(command.replace("\\\n", ""))]
        answer = answered(*words, *["--elsewhere", "none"] * (words[0] == "train"))
        fields = [field for row in table.splitlines() for field in re.findall("`(.*?)`", row.split(" | ")[0])]
        for field in fields:
            assert values(answer, field), (command, field)


def test_every_kind_of_verdict_is_explained():
    paragraph = re.search(r"^A kind is (.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)[1]
    assert set(re.findall("`(.*?)`", paragraph)) == {*verdict.WORDS, verdict.MIXED}


def test_every_variable_that_names_a_folder_is_explained():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "explorer").rglob("*.py")]
    read = {name for source in sources for name in re.findall(r'"(STRATA_[A-Z]+)"', source)}
    assert set(re.findall(r"`(STRATA_[A-Z]+)`", PAGE)) == read > FOLDERS
