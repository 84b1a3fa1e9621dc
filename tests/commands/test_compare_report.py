"""Test the HTML report of a comparison on every kind of data: it holds what the JSON does, and what repeats it."""

import json
import random
import re
import shlex
from html import unescape

import pytest

from explorer.data import sample
from explorer.drawing.reports.report import MOST
from explorer.measuring.scores.layer_scores import for_people
from tests.html_tables import tables, told
from tests.trainings import WORDS, labelled_splits

KINDS = {
    "queries": ("query", "passage"),
    "triplets": ("anchor", "positive", "negative"),
    "labels": ("label", "text"),
    "pairs": ("score", "sentence1", "sentence2"),
}

ROWS = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of each kind; labelled texts are a folder of splits."""
    folder, drawn = tmp_path_factory.mktemp("kinds"), random.Random(11)
    for name, head in KINDS.items():
        rows = [[" ".join(drawn.choices(WORDS, k=drawn.randint(3, 6))) for _ in head] for _ in range(ROWS)]
        for at, row in enumerate(rows):
            row[0] = {"labels": ("long", "short")[at % 2], "pairs": f"{drawn.random():.2f}"}.get(name, row[0])
        path, lines = folder / f"{name}.tsv", [*map("\t".join, rows)]
        if name == "labels":
            labelled_splits(path, lines)
        else:
            path.write_text("\n".join(["\t".join(head), *lines, ""]), encoding="utf-8")
    return folder


def shown(rows):
    """Rows as the tables of a page have them: numbers are floats, and what is missing or empty is None."""
    return [
        {name: None if cell == "" else float(cell) if isinstance(cell, int) else cell for name, cell in row.items()}
        for row in told(for_people(rows))
    ]


@pytest.mark.parametrize("kind", [*KINDS, sample.PROBE_PACKS])
def test_a_report_of_every_kind_has_the_verdict_all_layers_and_what_changed(place, other, folder, done, tmp_path, kind):
    source, file = folder / f"{kind}.tsv" if kind in KINDS else kind, tmp_path / "report.html"
    out, _ = done("compare", place.model, other, "--on", source, "--json", "--report", file)
    numbers, page = json.loads(out), file.read_text(encoding="utf-8")
    text = unescape(re.sub("<[^>]+>", "", page))
    assert numbers["learned"]["text"] in text
    found = tables(page)
    assert found[-3] == shown(numbers["cells"])
    items = numbers["items"]
    changed = [items[one][:MOST] for one in items["counts"] if items[one]]
    assert changed, "the premise"
    assert found[-3 - len(changed) : -3] == [shown(rows) for rows in changed]
    counts = ", ".join(f"{count:,} {one}" for one, count in items["counts"].items())
    assert counts in text
    assert page.count('aria-label="Gains and losses of ') == 1
    settings = {row[""]: row["value"] for row in found[-1]}
    assert settings["set digest"] == numbers["set_digest"]
    assert settings["seed"] == "0"
    assert re.search(r"Written on \d+ \w+ 20\d\d\.", text)
    assert ("Embedding geometry by layer" in text) == (kind != "labels") == ("geometry" in numbers)


@pytest.mark.parametrize(
    "flags",
    [
        ("--reading", "cls of layer 1", "--seed", "3", "--max-length", "12", "--metric", "mrr@10", "--pooling", "max"),
        ("--other-reading", "max of layer 1"),
        ("--dev", "queries.tsv"),
    ],
)
def test_the_command_in_a_report_gives_the_same_report_again(place, other, folder, done, monkeypatch, tmp_path, flags):
    """Its paths are the last parts of those that were given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").symlink_to(place.model)
    (tmp_path / "model").symlink_to(other)
    lines = (folder / "queries.tsv").read_text().splitlines()
    (tmp_path / "queries.tsv").write_text("\n".join(lines[: ROWS // 2]))
    (tmp_path / "test.tsv").write_text("\n".join([lines[0], *lines[ROWS // 2 :]]))
    out, _ = done(
        "compare", "./tiny", "./model", "--on", tmp_path / "test.tsv", *flags, "--json", "--report", "one.html"
    )
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    command = unescape(re.search(r"<pre>(.*?)</pre>", page, re.S)[1])
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "explorer"]
    assert str(tmp_path) not in page
    again, _ = done(*words[3:], "--json")
    first, second = json.loads(out), json.loads(again)
    for side in "AB":
        first[side].pop("model")
        second[side].pop("model")
    assert {name: first[name] for name in ("cells", "items", "chosen", "A", "B", "metric", "seed")} == {
        name: second[name] for name in ("cells", "items", "chosen", "A", "B", "metric", "seed")
    }
    assert tables((tmp_path / "report.html").read_text(encoding="utf-8"))[:-2] == tables(page)[:-2]


def test_labelled_texts_have_no_geometry_and_a_dev_set_is_of_the_same_kind(place, other, folder, refused):
    words = ("compare", place.model, other, "--on")
    assert "labels.tsv has single texts with labels" in refused(*words, folder / "labels.tsv", "--geometry")
    wrong = refused(*words, folder / "queries.tsv", "--dev", folder / "pairs.tsv")
    assert "has no nDCG@10, by which queries.tsv is scored" in wrong


def test_queries_choose_the_layer_on_queries_of_a_dev_set(place, other, folder, answered, tmp_path):
    lines = (folder / "queries.tsv").read_text().splitlines()
    dev, test = tmp_path / "dev.tsv", tmp_path / "test.tsv"
    dev.write_text("\n".join(lines[: ROWS // 2]))
    test.write_text("\n".join([lines[0], *lines[ROWS // 2 :]]))
    found = answered("compare", place.model, other, "--on", test, "--dev", dev, "--json")
    for side, model in (("A", place.model), ("B", other)):
        on_dev, on_test = (
            {row["reading"]: row["ndcg@10"] for row in answered("score", model, "--on", one, "--json")["readings"]}
            for one in (dev, test)
        )
        best = max(on_dev, key=lambda one: -1 if on_dev[one] is None else on_dev[one])
        assert found["chosen"][f"layer & pooling {side}"] == best
        assert found["chosen"][side] == on_test[best]
