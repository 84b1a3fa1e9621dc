import csv
import io

from explorer.data import sample
from explorer.encoding.finding import find
from explorer.encoding.readings import parse
from explorer.measuring.tables import score_rows
from explorer.ui import downloads
from explorer.ui.panels import Measured


def test_the_table_reads_back_as_it_was_shown(bundled_scores):
    rows = score_rows(bundled_scores)
    again = list(csv.DictReader(io.StringIO(downloads._csv(rows))))
    assert [row["reading"] for row in again] == [row["reading"] for row in rows]
    assert float(again[-1]["spearman"]) == rows[-1]["spearman"]


def test_the_figure_stands_alone(bundled_scores):
    found = find("all-MiniLM-L6-v2")
    measured = Measured(found, sample.pairs(), bundled_scores, parse("mean of layer 6", 6))
    page = downloads._page(measured, "Spearman", "all").decode()
    assert "all-MiniLM-L6-v2 on Sample pairs" in page
    assert "<script src=" not in page, "nothing is fetched when it is opened"


def test_a_file_name_is_safe_whatever_the_set_is_called():
    assert downloads._file_name("org/model-../../x <b>.csv") == "org-model-..-..-x-b-.csv"
    assert downloads._file_name("///") == "strata"
