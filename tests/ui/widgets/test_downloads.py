from explorer.data import sample
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.ui import layers
from explorer.ui.access.sidebar_choice import ModelScores
from explorer.ui.widgets import downloads


def test_the_figure_stands_alone(bundled_scores):
    shown = ModelScores(find("all-MiniLM-L6-v2"), sample.pairs(), bundled_scores, parse("mean of layer 6", 6))
    page = layers._html_page(shown, "Spearman", "all").decode()
    assert "all-MiniLM-L6-v2 on Sample pairs" in page
    assert "<script src=" not in page, "nothing is fetched when it is opened"


def test_a_file_name_is_safe_whatever_the_set_is_called():
    assert downloads.file_name("org/model-../../x <b>.csv") == "org-model-..-..-x-b-.csv"
    assert downloads.file_name("///") == "strata"
