import csv
import io

from explorer.measuring.tables import as_csv, score_rows


def test_the_table_reads_back_as_it_was_shown(bundled_scores):
    rows = score_rows(bundled_scores)
    again = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["reading"] for row in again] == [row["reading"] for row in rows]
    assert float(again[-1]["spearman"]) == rows[-1]["spearman"]


def test_every_reading_has_its_row_and_the_models_own_comes_last(bundled_scores):
    rows = score_rows(bundled_scores)
    assert len(rows) == len(bundled_scores.rows) * 3 + 1
    assert rows[-1]["reading"] == "own"
    assert rows[-1]["pooling"] == bundled_scores.own_title


def test_a_missing_score_is_missing(bundled_scores):
    rows = score_rows(bundled_scores)
    assert rows[0]["spearman"] is None
    assert as_csv(rows).splitlines()[1].startswith("cls of layer 0,0,cls,,")
