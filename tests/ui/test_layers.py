"""Test the pages on evaluation sets that are no scored pairs, and on labels of 0 and 1, and what is downloaded."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from explorer import in_words
from explorer.data import sample, sources, uploads
from explorer.encoding.load import hardware
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import OWN, parse
from explorer.evaluating import kinds
from explorer.measuring.comparing.comparison import default_reading
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from explorer.ui import layers
from explorer.ui.access.sidebar_choice import ModelScores
from explorer.ui.search import neighbours
from explorer.ui.train import recipe_form
from explorer.ui.widgets import cosine_meaning, downloads
from tests import trainings
from tests.visits import entered, layer_table, opened, tab, words

ROWS = sample.triplets()
COLUMNS = {
    "queries.csv": ("query,passage", zip(ROWS.anchors, ROWS.positives, strict=True)),
    "triplets.csv": ("anchor,positive,negative", zip(ROWS.anchors, ROWS.positives, ROWS.negatives, strict=True)),
    "labels.csv": ("text,label", ((text, "ab"[at % 2]) for at, text in enumerate(ROWS.anchors[:100]))),
    "pairs.csv": (
        "sentence1,sentence2,score",
        (
            (first, second, label)
            for first, same, other in zip(ROWS.anchors, ROWS.positives, ROWS.negatives, strict=True)
            for second, label in ((same, "1"), (other, "0"))
        ),
    ),
}
FILES = {name: (header, [list(row) for row in rows]) for name, (header, rows) in COLUMNS.items()}


@pytest.fixture
def own(furnished, tmp_path, monkeypatch):
    """Every file, uploaded somewhere: the paths by name."""
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    found = {}
    for name, (header, rows) in FILES.items():
        lines = [header.replace(",", "\t"), *("\t".join(row) for row in rows)]
        found[name] = uploads.keep(name.replace(".csv", ".tsv"), "\n".join(lines).encode())
    return found


@pytest.mark.parametrize(
    ("name", "metric", "items"),
    [("queries", "nDCG@10", "queries"), ("triplets", "accuracy", "triplets"), ("labels", "accuracy", "rows")],
)
def test_layers_says_which_layer_is_best_and_shows_the_judges_numbers(furnished, place, own, name, metric, items):
    path = own[f"{name}.csv"]
    opened(furnished, "layers", sts=(label := sources.label(path)))
    assert not furnished.error
    assert label in furnished.selectbox(key="sts").options
    assert layers.BEST_ON_DEV in layer_table(furnished)
    judge = kinds.judged(kinds.evaluated_on(sources.identity(path)))
    scores = finish(judge.measured(find(str(place.model)), Settings()))
    assert scores.metrics[0] == metric
    captions = words(furnished.caption)
    assert any(f"Computed in float32 on {hardware.device_name()} in " in told for told in captions)
    tab(furnished, layers.EXPORT)
    table = furnished.dataframe[0].value.set_index("layer & pooling")
    shown = float(table.loc["mean of layer 2", metric.lower()])
    assert shown == pytest.approx(scores.score(default_reading(scores), metric), abs=1e-4)
    assert any(f"{len(scores.gold)} {items}" in told for told in captions)


def test_labels_of_0_and_1_have_average_precision_and_a_threshold(furnished, place, own):
    link = {"sts": sources.label(own["pairs.csv"]), "precision": "float32"}
    tab(opened(furnished, "layers", **link), layers.EXPORT)
    options = furnished.selectbox(key="metric").options
    assert options == ["average precision", "F1", "best accuracy", "Spearman", "Pearson"]
    assert furnished.selectbox(key="metric").value == "average precision"
    given = kinds.evaluated_on(sources.identity(own["pairs.csv"]))
    scores = finish(kinds.judged(given).measured(find(str(place.model)), Settings("float32")))
    cosines = scores.cosines_of(default_reading(scores))
    table = furnished.dataframe[0].value.set_index("layer & pooling")
    theirs = 100 * average_precision_score(np.array(given.gold), cosines)
    assert float(table.loc["mean of layer 2", "average precision"]) == pytest.approx(theirs, abs=1e-4)
    # one threshold of the best F1, of which the page says the set, with what cosines mean and without
    tab(furnished, layers.COSINES)
    (shown,) = [told for told in words(furnished.caption) if told.startswith("Best F1")]
    tab(furnished, cosine_meaning.LABEL)
    entered(furnished, furnished.toggle(key=cosine_meaning.KEY), True)
    (listed,) = [told for told in words(furnished.markdown) if "best F1: cosine" in told]
    tab(furnished, layers.COSINES)
    (again,) = [told for told in words(furnished.caption) if told.startswith("Best F1")]
    assert again == shown
    threshold = listed.partition("best F1: ")[2].partition(";")[0]
    assert threshold in shown, (threshold, shown)
    assert "chosen on" in shown, shown


def test_search_has_the_queries_of_the_evaluation_set(furnished, own):
    opened(furnished, "search", sts=sources.label(own["queries.csv"]))
    assert len(furnished.selectbox(key=neighbours.MENU).options) == len(dict.fromkeys(ROWS.anchors))


@pytest.mark.parametrize("name", FILES)
def test_every_page_takes_every_kind_of_set(furnished, own, name):
    for page in ("start", "map", "search", "size", "replay", "sentences"):
        opened(furnished, page, sts=sources.label(own[name]), projection="PCA")
        assert not furnished.error, (page, words(furnished.error))


def test_train_offers_them_as_dev_and_test_set_but_those_that_training_cannot_score(furnished, own):
    furnished.switch_page("pages/train.py").run()
    for key in (recipe_form.DEV, recipe_form.TEST):
        options = furnished.selectbox(key=key).options
        assert {sources.label(own[name]) for name in ("queries.csv", "triplets.csv", "pairs.csv")} <= {*options}
        assert sources.label(own["labels.csv"]) not in options


def test_the_figure_stands_alone(bundled_scores):
    shown = ModelScores(find("all-MiniLM-L6-v2"), sample.pairs(), bundled_scores, parse("mean of layer 6", 6))
    page = layers._html_page(shown, "Spearman", "all").decode()
    assert "all-MiniLM-L6-v2 on Sample pairs" in page
    assert "<script src=" not in page, "nothing is fetched when it is opened"


def test_a_file_name_is_safe_whatever_the_set_is_called():
    assert downloads.file_name("org/model-../../x <b>.csv") == "org-model-..-..-x-b-.csv"
    assert downloads.file_name("///") == "strata"


def test_vectors_that_another_program_computed_have_their_score_and_no_layers(furnished, place, tmp_path):
    pairs, drawn = sample.pairs(), np.random.default_rng(0)
    np.save(tmp_path / "theirs.npy", drawn.normal(size=(len(pairs.sentences), 8)))
    (tmp_path / "theirs.txt").write_text("\n".join(pairs.sentences), encoding="utf-8")
    opened(furnished, "layers", model=str(tmp_path / "theirs.npy"), sts="sample")
    assert not furnished.error
    scores = finish(kinds.judged(pairs).measured(find(str(tmp_path / "theirs.npy")), Settings()))
    score = in_words.number(scores.score(OWN, "Spearman"))
    assert {label: one.score for label, one in layer_table(furnished).items()} == {layers.DEFAULT: score}
    assert [box.value for box in furnished.selectbox if box.key == "reading"] == [OWN.title]


def test_a_file_without_vectors_of_the_set_says_how_many_are_missing(furnished, tmp_path):
    np.save(tmp_path / "theirs.npy", np.eye(3))
    (tmp_path / "theirs.txt").write_text("One.\nTwo.\nThree.", encoding="utf-8")
    opened(furnished, "layers", model=str(tmp_path / "theirs.npy"), sts="sample")
    count = len(sample.pairs().sentences)
    shown = words(furnished.error)[0].replace("\\", "")
    assert f"theirs.npy has no vector of {count:,} of {count:,} sentences" in shown


def test_rows_that_a_model_was_trained_on_are_pointed_out(furnished, place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    text = trainings.scored_pairs(tmp_path, 24)
    trainings.train(trainings.new(place, "cosent", name="of-these", data=(text,), settings={"steps": 2}))
    opened(furnished, "layers", model="run:of-these", sts=sources.label(text))
    assert "All 24 test pairs are in the training text" in " ".join(words(furnished.warning))
