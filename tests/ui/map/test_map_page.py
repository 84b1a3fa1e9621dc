"""Test the Map page without a browser, also on vectors on disk."""

import base64
import json

import numpy as np
import pytest

from explorer.data import map_sentences
from explorer.data.vectors.opening import opened
from explorer.data.vectors.vector_corpus import prepared
from explorer.drawing.sentences import sentence_maps
from explorer.measuring.maps import map_tables as large_map_module
from explorer.measuring.maps import projection
from explorer.measuring.maps.map_tables import large_map
from explorer.measuring.maps.projection import MapSettings
from explorer.progress import finish
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.map import map_form, map_view
from tests import trainings
from tests.tiny_models import save_tiny
from tests.vectors import ROWS, TEXTS, two_clouds
from tests.visits import by_link, entered, lead, measured, words


@pytest.fixture(scope="module")
def place(place):
    save_tiny("bert", place.folder / "other")
    return place


@pytest.fixture
def texts(place):
    """The sentences that the map is of."""
    first, second, _ = trainings.texts_of(place.dev)
    return list(dict.fromkeys([*first, *second]))


@pytest.fixture
def app(furnished, place, monkeypatch):
    for name in ("_EXAGGERATED", "_STEPS", "_STEPS_OF_B", "_EPOCHS"):
        monkeypatch.setattr(projection, name, 20)
    furnished.switch_page("pages/map.py")
    furnished.query_params["sts"], furnished.query_params["projection"] = str(place.dev), "PCA"
    return furnished


def drawn(app, **link):
    """The figures of the page that a link opens."""
    return [json.loads(chart.proto.spec) for chart in measured(app, **link).get("plotly_chart")]


def numbers(value):
    if isinstance(value, dict):
        return np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"]).tolist()
    return value


def sentences_of(figure):
    return sorted(place for trace in figure["data"] for place in numbers(trace.get("customdata", [])))


def test_without_b_the_map_of_a_stands_alone_with_a_hint(app, texts):
    (figure,) = drawn(app)
    assert sidebar_choice.ASK_FOR_B in words(app.info)
    assert sentences_of(figure) == list(range(len(texts)))
    assert any(told.startswith(projection.EXPLAINED.partition(" {}.")[0].format(2)) for told in words(app.caption))


@pytest.mark.parametrize("kind", projection.KINDS)
def test_an_address_makes_two_maps_of_the_same_sentences(app, place, kind):
    one, other = drawn(app, beside=str(place.folder / "other"), projection=kind)
    assert sentences_of(one) == sentences_of(other)
    assert app.selectbox(key="map_colour").options[:2] == [map_view.MOVED, map_view.CHANGED]
    assert sum("Trustworthiness" in caption.value for caption in app.caption) == 2


def test_vectors_of_both_sides_can_be_taken_along_and_what_is_found_is_lit_in_both_and_in_the_table_with_neighbours(
    app, place, texts
):
    drawn(app, beside=str(place.folder / "other"))
    labels = [one.proto.label for one in app.get("download_button")]
    assert labels == ["Maps (CSV)", *["NumPy (.npy)", "Parquet", "Projector (.zip)"] * 2]
    assert sum(caption.value == "Vectors of B: 24 × 32" for caption in app.caption) == 1
    word = texts[0].split()[0]
    app.text_input(key="find").set_value(word.upper())
    figures = drawn(app)
    holding = [at for at, text in enumerate(texts) if word in text]
    for figure in figures:
        lit = [numbers(t["customdata"])[row] for t in figure["data"] for row in t.get("selectedpoints", [])]
        assert sorted(lit) == holding
    assert app.dataframe[0].value["sentence"].tolist() == [texts[at] for at in holding]
    assert set(app.dataframe[1].value["from A to B"]) <= {"kept", "lost", "gained"}
    assert {"Selection (CSV)", "Neighbours (CSV)"} <= {one.label for one in app.get("download_button")}
    app.button(key="clear selection").click()
    drawn(app)
    assert [list(table.value.columns)[:2] for table in app.dataframe] == [["sentence", map_view.MOVED]]


def test_the_likest_and_unlikest_pairs_are_joined_by_lines(app):
    (figure,) = drawn(app, mapped=map_form.EXTREMES)
    assert sum(trace["mode"] == "lines" for trace in figure["data"]) == 2
    assert app.selectbox(key="map_colour").value == "pairs"
    assert any(map_sentences.AT_ENDS.format(6, 12) in told for told in words(app.markdown))


def test_a_file_is_coloured_by_its_columns(app, tmp_path):
    file = tmp_path / "own.csv"
    rows = [f"<b>sentence</b> {at},{'news' if at % 2 else '*other*'},{at / 7}" for at in range(12)]
    file.write_text("\n".join(["text,topic,weight", *rows]) + "\n", encoding="utf-8")
    drawn(app, mapped=map_form.FILE, map_file=str(file))
    assert app.selectbox(key="map_colour").options == ["topic", "weight", "words"]
    assert app.selectbox(key="map_column").value == "text"
    app.selectbox(key="map_column").select("topic")
    drawn(app)
    assert app.selectbox(key="map_colour").options == ["text", "weight", "words"]


@pytest.mark.parametrize("file", ["/no/such.csv", "nonsense", "\0", "x" * 5000, "/etc"])
def test_a_file_that_is_not_there_is_an_error_in_words(app, file):
    drawn(app, mapped=map_form.FILE, map_file=file)
    assert app.error


def test_whatever_is_typed_is_mapped_or_an_error_in_words_and_nothing_is_asked_for(app):
    drawn(app, mapped=map_form.TYPED)
    for typed in ("one\n" * 200, "alone", "\t\t\n,", "<b>\n</b>", "x" * 5000 + "\nשלום\n🙂"):
        app.text_area(key="map typed").set_value(typed)
        drawn(app)
        assert app.error or app.get("plotly_chart"), typed
    app.text_area(key="map typed").set_value(" \n ").run()
    assert map_form.TYPE_TWO in words(app.info)


@pytest.mark.parametrize("beside", ["nonsense", "run:nobody", "<b>x</b>"])
def test_a_b_that_is_not_there_is_an_error_in_words_beside_the_map_of_a(app, beside):
    by_link(app, beside=beside)
    assert app.error


@pytest.mark.parametrize(
    "link",
    [
        {"projection": "UMAP", "neighbours": "5000", "axes": "7", "map_colour": "<b>", "min_dist": "x"},
        *({"selected": numbers} for numbers in ("9" * 5000, "٣-²-1_0-x")),
        *({"find": word} for word in ("", "  ", "w" * 5000)),
    ],
)
def test_what_is_not_possible_in_the_address_changes_and_selects_nothing(app, link):
    assert drawn(app, **link)
    assert not app.dataframe
    long = len(link.get("find", "")) > 200
    assert not [one for one in app.caption if one.value.startswith(lead(map_form.NONE_FOUND)) and not long]


def test_a_link_finds_the_same_and_clearing_forgets_the_word(app, texts):
    word = texts[0].split()[0]
    holding = [text for text in texts if word in text]
    assert 0 < len(holding) < len(texts)
    drawn(app, find=word.upper())
    assert app.dataframe[0].value["sentence"].tolist() == holding
    assert "selected" not in app.query_params, "the word says it"
    app.segmented_control(key="mapped").set_value(map_form.EXTREMES)
    drawn(app)
    assert set(app.dataframe[0].value["sentence"]) == set(holding), "of other sentences those that hold it"
    app.button(key="clear selection").click()
    drawn(app)
    assert not app.dataframe
    assert app.text_input(key="find").value == ""


def test_a_word_that_no_sentence_holds_is_told(app):
    drawn(app, find="no such word")
    for word in ("no such word", "<b>x</b> **y**", "%{x}", "ـِ", "🙂", "w" * 200):
        app.text_input(key="find").set_value(word)
        drawn(app)
        (told,) = (caption.value for caption in app.caption if caption.value.startswith(lead(map_form.NONE_FOUND)))
        assert word[:100] in told.replace("\\", "")
        assert "<b>" not in told
        assert not app.dataframe, word


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return two_clouds(tmp_path_factory.mktemp("vectors"))


@pytest.fixture
def large(app, source):
    """The page on vectors on disk."""
    app.query_params["mapped"], app.query_params["map_file"] = "a file", str(source)
    return app


@pytest.mark.parametrize(("projection", "kind"), [("PCA", "PCA"), ("UMAP", "UMAP"), ("t-SNE", "UMAP")])
def test_the_page_states_how_the_map_was_made_and_what_it_preserves(large, source, projection, kind):
    measured(large, projection=projection)
    found = finish(large_map(finish(prepared(opened(source))), MapSettings(kind)))
    told = words(large.caption)
    assert found.note in told
    assert found.faithfulness.text in told
    assert (map_view.NOT_POSSIBLE.format("UMAP") in told) is (projection == "t-SNE")
    assert any(f"{ROWS} sentences of mine.npy" in one for one in words(large.markdown))


def test_model_b_is_not_used_and_broken_vectors_are_an_error(large, place, source):
    measured(large, beside=str(place.model))
    assert cached.ONE_ENCODER in words(large.caption)
    assert not large.error
    bad = source.with_name("bad.npy")
    np.save(bad, np.full((ROWS, 8), np.nan))
    bad.with_suffix(".txt").write_text("\n".join(TEXTS), encoding="utf-8")
    entered(large, large.text_input(key="map_file"), str(bad))
    assert any("Row 0 of bad.npy" in one for one in words(large.error))


def test_the_points_on_the_page_are_those_of_the_seed(source, monkeypatch):
    monkeypatch.setattr(large_map_module, "MOST", 3)  # more are drawn at random, by the seed, which no text states
    found = finish(prepared(opened(source)))
    for seed in (1, 2):
        drawn = finish(large_map(found, MapSettings("PCA", seed=seed)))
        shown = map_view._content(found.digest, MapSettings("PCA", seed=seed), drawn, found)
        assert shown == sentence_maps.canvas_content(drawn.places, found.texts(drawn.rows.tolist()), drawn.names)
