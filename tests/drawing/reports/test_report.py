"""Test the report: self-contained, with the numbers of the JSON, texts escaped."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from plotly.subplots import make_subplots

from explorer.data.set_items import Attribute
from explorer.drawing.reports import standalone
from explorer.drawing.reports.report import MOST, report
from explorer.encoding.read.head_facts import PartFacts
from explorer.measuring.comparing import headline, learned, splits
from explorer.measuring.comparing.comparison_report import as_json, as_text, chosen
from explorer.measuring.comparing.comparison_verdict import Tuning, judge
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.comparing.pair_changes import KINDS
from explorer.measuring.scores.judge import PackChange, PairChange, Share
from explorer.measuring.scores.layer_scores import for_people
from explorer.measuring.sentences.word_pairs import ExplainedPairs
from tests.drawing import made_up
from tests.drawing.made_up import CLS
from tests.html_tables import tables, told


@pytest.fixture(scope="module")
def findings():
    return made_up.findings(made_up.geometry())


@pytest.fixture(scope="module")
def page(findings):
    return report(findings).decode()


def test_tables_hold_the_numbers_of_the_json(findings, page):
    numbers = json.loads(as_json(findings))
    found = tables(page)
    assert found[0] == numbers["cosines_by_grade"]
    assert found[1] == for_people(numbers["geometry"]["layers"])
    assert found[2] == for_people(numbers["geometry"]["drift"])
    assert found[-3] == told(for_people(numbers["cells"]))
    assert any(row["difference"] is None for row in found[-3]), "what is missing is empty"
    assert found[-3][-1]["layer & pooling"] == "model default"
    models = {row[""]: row for row in found[-2]}
    assert models["digest"]["A"] == numbers["A"]["model_digest"]
    assert models["maximum tokens"]["B"] == "64"
    how = {row["value"] for row in found[-1]}
    assert {numbers["set_digest"], "Spearman", "1,000", "60"} <= how
    assert any(f"torch {numbers['versions']['torch']}" in value for value in how)


def test_the_report_opens_on_the_verdict_and_the_chosen_difference_and_every_text_is_there_as_text(findings, page):
    body = page[page.index("<body>") :]
    told = headline.line(findings.learned)
    first = re.search(r"<p class=\"verdict (\w+)\">(.*?)</p>", body)
    assert first[1] == told.kind
    assert unescape(re.sub("<[^>]+>", "", first[2])).endswith(told.text)
    assert first.start() < body.index('class="card')
    row = chosen(findings)
    for side in "AB":
        assert f"<b>{row[side]:.2f}</b>" in page
    assert f"<b>{row['difference']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})</b>" in page
    assert "<script>alert" not in body
    assert "<img" not in body
    assert "<b>one</b>" not in body
    errors = findings.comparison.rank_errors()
    flipped = tables(page)[3:6]
    for rows, kind in zip(flipped, KINDS, strict=True):
        places = errors.places(kind)[:MOST]
        assert 0 < len(rows) == len(places)
        for row, place in zip(rows, places, strict=True):
            assert row["first"] == findings.pairs.first[place].encode("utf-8", "replace").decode()
            assert row["tag"] == findings.pairs.tags[place]
    assert any("script" in row["first"] + row["second"] for rows in flipped for row in rows), "the premise"
    assert "<b>one</b> and run:'other\" on <b>set</b> & more" in unescape(page[: page.index("</title>")])


def test_the_report_shows_the_pairs_with_their_differing_words_and_nothing_of_them_is_markup():
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "<b>It</b> rains here.", "<b>It</b> never rains here.", 0.9, 0.2),)
    page = report(replace(made_up.findings(), probes=Learned(packs, pairs=pairs))).decode()
    assert "<strong>negation</strong> (10 → 70 % of cases; a coin: 50 %)" in page
    assert "&lt;b&gt;It&lt;/b&gt; <strong>never</strong> rains here." in page
    assert "0.90 → 0.20" in page
    why_none = Learned(why_none=learned.NOT_HELD_OUT)
    assert learned.NOT_HELD_OUT in report(replace(made_up.findings(), probes=why_none)).decode()


def test_a_model_whose_words_cannot_be_weighed_leaves_a_note(findings, page):
    assert "Which words did it?" not in page
    told = report(findings, words=ExplainedPairs(why_none="<i>t5</i> cannot be weighed.")).decode()
    assert "Which words did it? &lt;i&gt;t5&lt;/i&gt; cannot be weighed." in told
    assert tables(told) == tables(page)


@pytest.mark.parametrize("trained", [CLS, replace(CLS, maps=(PartFacts("Dense", {"width": 32}),))])
def test_of_a_tuned_model_the_report_shows_three_numbers_or_says_why_two(trained):
    found = made_up.findings()
    comparison = found.verdict
    gap, tuning = found.differences.chosen, Tuning(1, trained)
    judged = judge(found.found, found.pairs, found.comparison, gap, "Spearman", "all", tuning)
    page = report(replace(found, of_models=judged)).decode()
    cards = page[page.index('<p class="verdict') : page.index('<p class="note">')]
    scores = [comparison.before.score, *([judged.same.score] if judged.same else []), comparison.after.score]
    assert [float(number) for number in re.findall(r"<b>(\d+\.\d+)</b>", cards)][: len(scores)] == [
        round(score, 2) for score in scores
    ]
    assert ("is not a cell of the grid" in unescape(page)) == (judged.same is None)


def test_it_stands_alone(page):
    assert page.count("plotly.js v") >= 1
    assert page.count("<script>/**") == 1, "the library is there once"
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|img|iframe|link)[^>]*(src|href)", page[page.index("<body>") :])
    assert page.count("plotly-graph-div") - page.count(".plotly-graph-div") >= 13


def drawn(page):
    """The data and the layout that the first figure of a page gives to plotly.js."""
    given, found = page.partition("Plotly.newPlot(")[2], []
    for opening in "[{":
        part, end = json.JSONDecoder().raw_decode(given[given.index(opening) :])
        found.append(part)
        given = given[given.index(opening) + end :]
    return found


@pytest.mark.parametrize("axis_titles", [{}, {"xaxis2_title": "cosine", "yaxis_title": "pairs"}])
def test_a_picture_is_what_plotly_makes_of_its_figure_with_clear_colours(axis_titles):
    figure = make_subplots(1, 2).add_bar(x=np.arange(3.0), y=[1, 2, 3], row=1, col=2)
    figure.update_layout(margin={"r": 20, "t": 70}, **axis_titles)
    found = drawn(standalone.picture(figure, "Pairs"))
    clear, quiet = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"
    figure.update_layout(template="none", paper_bgcolor=clear, plot_bgcolor=clear, margin={"t": 34, "b": 10, "l": 8})
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(automargin=True, title_standoff=8, gridcolor=quiet, zerolinecolor=quiet)
    assert found == drawn(figure.to_html())


def test_encoders_of_another_depth_have_a_report_of_what_can_be_said():
    page = report(made_up.findings(made_up.geometry((2, 1)), (2, 1))).decode()
    assert "A has 2 layers and B 1: cell by cell they cannot be compared." in page
    assert "their layers do not correspond" in page
    assert [row["layer & pooling"] for row in tables(page)[-3]] == ["model default"]
    assert "Embedding geometry by layer" not in report(made_up.findings()).decode()


def test_a_side_without_cosines_has_no_flipped_pairs_and_says_why():
    whole = made_up.findings()
    one = whole.comparison.one
    cosines = one.cosines.copy()
    cosines[one.place(whole.comparison.one_reading)] = np.nan
    comparison = replace(whole.comparison, one=replace(one, cosines=cosines, precision="bfloat16"))
    found = replace(whole, comparison=comparison, differences=comparison.differences())
    page = report(found).decode()
    assert chosen(found)["A"] is chosen(found)["difference"] is None
    assert "A: mean of layer 2 is not measurable in bfloat16" in page
    assert not any(f"<h3>{kind}" in page for kind in KINDS)
    numbers = json.loads(as_json(found))
    assert numbers["A"]["not_measurable"] == "mean of layer 2"
    assert numbers["B"]["not_measurable"] is None
    assert [row["median cosine A"] for row in numbers["cosines_by_grade"]] == [None] * 5
    assert "A: Not measurable in bfloat16: mean of layer 2." in as_text(found)


def test_a_split_has_a_figure_and_a_table_with_the_numbers_of_the_json(findings, page):
    column = Attribute("<language>", tuple("abc"[place % 3] for place in range(len(findings.pairs))))
    with_split = replace(findings, split=splits.split(findings.comparison, column, "Spearman"))
    found = report(with_split).decode()
    rows = json.loads(as_json(with_split))["split"]["groups"]
    assert len(rows) == 3
    shown = [{"<language>": row.pop("group"), **row} for row in rows]
    assert told(for_people(shown)) in tables(found)
    assert "By &lt;language&gt;" in found
    assert "<language>" not in found[found.index("<body>") :]
    assert "By &lt;language&gt;" not in page, "nothing of it where no column is chosen"
