import re

import pytest

from explorer import methods
from explorer.__main__ import main
from explorer.encoding.read.pooling import REFERENCES
from explorer.evaluating.tasks import suites
from explorer.measuring.sentences import word_tables
from explorer.studies import fine_tuning
from explorer.training.record import runs
from tests.live import ROOT

PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("explorer/**/*.md"))
    if ".venv" not in path.parts
)
# code spans that name a file of the program as the docs do: relative to explorer/
FILES = re.compile(r"`((?:data|encoding|measuring|evaluating|drawing|ui|methods|training|studies)/[\w/]+\.py)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_and_every_file_that_is_named_is_there(page):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [file for file in FILES.findall(text) if not (ROOT / "explorer" / file).exists()]
    assert missing == []


def test_there_are_pages_to_check():
    assert {"README.md", "CONTRIBUTING.md", "architecture.md"} <= {page.name for page in PAGES}


def test_the_readme_is_read_in_a_minute():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    for registry in ("pypi.org", "huggingface.co"):
        assert registry not in text, "registries are named, not linked"


def test_the_readme_counts_the_methods():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d+) published methods", readme) == [str(len(methods.names()))]


def test_the_page_of_methods_is_what_the_command_prints(capsys):
    assert main(["methods", "--markdown"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")


def test_the_table_of_suites_has_every_suite_in_order():
    section = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8").partition("| suite | tasks |")[2]
    named = re.findall(r"^\| `([\w-]+)` \|", section.partition("\n\n")[0], re.M)
    assert named == [*suites(), fine_tuning.SUITE]


def test_the_line_below_the_words_has_the_correlations_of_the_deletion_test():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = text.split("## Which words did it?")[1].split("\n\n|")[1]  # that of the bundled encoder
    means = {method: float(mean) for method, mean in re.findall(r"^\| ([a-z].*?) \| (-?\d\.\d\d) ", table, re.M)}
    assert {f"exact, {one}": value for one, value in word_tables.CORRELATIONS.items()}.items() <= means.items()
    for reference in REFERENCES:
        shown = [float(number.replace("−", "-")) for number in re.findall(r"−?\d\.\d\d", word_tables.trust(reference))]
        compared = (f"exact, {reference}", "states of the last layer", "random order")
        assert shown[:3] == [means[method] for method in compared]
        assert ("agree better" in word_tables.trust(reference)) == (shown[0] < shown[1])


def test_what_the_example_learned_is_quoted_as_its_card_says_it():
    card = (next(run for run in runs.examples() if run.name == "example").folder / "README.md").read_text("utf-8")
    (line,) = re.findall(r"^Learned to notice .*$", card, re.MULTILINE)
    assert f'"{line}"' in " ".join((ROOT / "docs/using.md").read_text("utf-8").split())
