import json
import re
from statistics import mean

import pytest

from explorer import methods
from explorer.__main__ import main
from explorer.encoding.read.pooling import REFERENCES, parse
from explorer.evaluating.tasks import suites
from explorer.measuring.sentences import word_tables
from explorer.studies import fine_tuning
from explorer.training.record import runs
from explorer.ui.sentences.layers_tab import TEN_MARKS
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


def test_vectors_that_a_command_searches_were_embedded_with_their_text():
    lines = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8").splitlines()
    made = {found[1]: line for line in lines if (found := re.search(r"explorer embed .* --out (\S+)", line))}
    searched = [found[1] for line in lines if (found := re.search(r"explorer search .* --vectors (\./\S+)", line))]
    assert searched
    assert all("--with-text" in made[folder] for folder in searched)


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


def test_the_trust_in_ten_marks_is_the_mean_of_the_measured_shares():
    table = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").split("## Marked pairs")[1].split("\n\n- ")[0]
    of_ten = re.findall(
        r"^\| (all-MiniLM-L6-v2|run:example)(, cut \S+ \S+ \d)? \|.*\| (\d+) % \| \d+ % \|$", table, re.M
    )
    whole = [int(share) for _, cut, share in of_ten if not cut]
    cut_encoders = [int(share) for _, cut, share in of_ten if cut]
    assert (len(whole), len(cut_encoders)) == (2, 8)
    assert (f"{mean(whole):.0f} %", f"{mean(cut_encoders):.0f} %") == TEN_MARKS


QUOTED = json.loads((ROOT / "docs" / "quoted_scores.json").read_text(encoding="utf-8"))


def test_the_scores_that_results_quote_are_those_that_the_bench_wrote():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").split("## Scores and their exactness")[1]
    none = {"float32": "none", "bfloat16": "not measurable"}
    for title, scores in QUOTED["STS-B test"].items():
        (cells,) = re.findall(rf"^\| {title} \| (.*?) \| (.*?) \|$", text.split("On the sample:")[0], re.MULTILINE)
        for cell, (precision, score) in zip(cells, scores.items(), strict=True):
            if score is None:
                assert cell.startswith(("none", none[precision])), (title, precision)
            else:
                assert cell == f"{score:.2f}", (title, precision)
    sample = ", ".join(f"{title} {scores['float32']:.2f}" for title, scores in QUOTED["Sample pairs"].items())
    assert f"On the sample: {sample}." in text


def test_the_scores_on_the_sample_that_docs_quote_are_those_that_are_measured(bundled_scores):
    for title, scores in QUOTED["Sample pairs"].items():
        assert bundled_scores.score(parse(title, bundled_scores.last)) == pytest.approx(scores["float32"], abs=0.006)


def test_wk_pooling_has_one_score_in_all_docs():
    runs = json.loads((ROOT / "explorer/data/measured/one_budget.json").read_text(encoding="utf-8"))
    (score,) = (row["test"][0] for row in runs["rows"] if row["method"] == "wk")
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert re.findall(r"WK pooling \(layers 4 to 6, the last three\) scores (\d+\.\d\d)", text) == [f"{score:.2f}"]
    assert re.findall(r"its layers 4 to 6 score (\d+\.\d\d)", text) == [f"{score:.2f}"]
    assert re.findall(r"^\| `wk` \| Wikipedia \| \S+ \| (\S+) \|", text, re.MULTILINE) == [f"{score:.2f}"]


def test_what_the_example_learned_is_quoted_as_its_card_says_it():
    card = (next(run for run in runs.examples() if run.name == "example").folder / "README.md").read_text("utf-8")
    (line,) = re.findall(r"^Learned to notice .*$", card, re.MULTILINE)
    assert f'"{line}"' in " ".join((ROOT / "docs/using.md").read_text("utf-8").split())
