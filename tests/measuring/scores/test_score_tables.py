import csv
import io
import json
from dataclasses import replace

import numpy as np

from explorer.data import sample
from explorer.encoding.locate.model_names import find
from explorer.measuring.scores.layer_scores import as_csv, as_json, as_text, for_people, score_rows


def test_the_table_reads_back_as_it_was_shown_with_a_row_for_every_reading(bundled_scores):
    rows = score_rows(bundled_scores)
    again = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["layer & pooling"] for row in again] == [row["reading"] for row in rows]
    assert float(again[-1]["spearman"]) == rows[-1]["spearman"]
    rows = score_rows(bundled_scores)
    assert (len(rows), rows[-1]["reading"]) == (len(bundled_scores.rows) * 3 + 1, "model default")
    assert rows[-1]["pooling"] == bundled_scores.own_title
    rows = score_rows(bundled_scores)
    assert rows[0]["spearman"] is None
    assert as_csv(rows).splitlines()[1].startswith("cls of layer 0,0,cls,,")


def test_what_is_not_measurable_is_empty_and_named(bundled_scores):
    cosines = bundled_scores.cosines.copy()
    cosines[3, 0] = np.nan
    scores = replace(bundled_scores, cosines=cosines, precision="bfloat16")
    row = next(row for row in score_rows(scores) if row["reading"] == "cls of layer 3")
    assert [row[name] for name in row if name.startswith(("spearman", "pearson"))] == [None] * 6
    assert json.loads(as_json(find("all-MiniLM-L6-v2"), sample.pairs(), scores))["not_measurable"] == ["cls of layer 3"]
    told = as_text(find("all-MiniLM-L6-v2"), sample.pairs(), scores, "Spearman", "all")
    assert "Not measurable in bfloat16: cls of layer 3." in told
    assert "Not measurable" not in as_text(find("all-MiniLM-L6-v2"), sample.pairs(), bundled_scores, "Spearman", "all")


def test_a_table_for_people_has_no_name_of_the_code_and_no_truth_value():
    sure = {"reading": "cls of layer 1", "A": None, "sure": True}
    rows = [sure, {"reading": "mean of layer 2", "A": 1.5, "sure": False}]
    assert for_people(rows) == [
        {"layer & pooling": "cls of layer 1", "A": None, "significant": "yes"},
        {"layer & pooling": "mean of layer 2", "A": 1.5, "significant": "no"},
    ]
    assert as_csv(rows).splitlines()[1] == "cls of layer 1,,yes"
