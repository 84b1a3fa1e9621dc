"""Test the Map page without a browser, also on vectors on disk."""

import base64
import json

import numpy as np
import pytest

from explorer.data import map_sentences
from explorer.data.vectors.opening import opened
from explorer.data.vectors.vector_corpus import prepared
from explorer.drawing.sentences import sentence_maps
from explorer.encoding.load.declared import default
from explorer.encoding.locate.model_names import find
from explorer.measuring.maps import map_tables as large_map_module
from explorer.measuring.maps import projection
from explorer.measuring.maps.map_tables import large_map
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.ui.access import cached, jobs, selection, sidebar_choice
from explorer.ui.map import map_form, map_view, vectors_view
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


def moving(app, **link):
    """What the moving map of the page that a link opens draws."""
    (found,) = (one.proto for one in measured(app, **link).get("bidi_component"))
    assert found.component_name == "moving_map"
    return json.loads(found.json)


def figures(app, **link):
    """The figures of maps side by side."""
    return [json.loads(chart.proto.spec) for chart in measured(app, **link).get("plotly_chart")]


def numbers(value, kind="<f4"):
    if isinstance(value, dict):
        return np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"]).tolist()
    return np.frombuffer(base64.b64decode(value), dtype=kind)


def answer(app):
    return next(one for one in words(app.markdown) if one.startswith(("From ", "Of ")))


def test_without_b_the_map_of_a_stands_alone_with_a_hint_and_the_closest_two_are_named(app, place, texts):
    found = moving(app)
    assert sidebar_choice.ASK_FOR_B in words(app.info)
    assert found["frames"] == ["A"]
    assert found["texts"] == texts
    vectors = vectors_of(place.model, texts)
    cosines = [(vectors[one] @ vectors[two], one, two) for one in range(24) for two in range(one)]
    assert f"cosine {max(cosines)[0]:.2f}" in answer(app)


def vectors_of(model, texts):
    """Unit vectors in float64."""
    found = find(str(model))
    vectors = finish(of_reading(load_encoder(found, Settings()), texts, default(found.folder))).astype(np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", projection.KINDS)
def test_an_address_makes_one_map_of_the_same_sentences_in_a_and_b(app, place, texts, kind):
    found = moving(app, beside=str(place.folder / "other"), projection=kind)
    assert (found["frames"], found["title"]) == (["A", "B"], kind)
    assert numbers(found["places"]).reshape(2, 24, 2).std() > 0
    assert app.selectbox(key="map_colour").options[:2] == [map_view.MOVED, map_view.CHANGED]
    app.segmented_control(key="tab").set_value(map_view.QUALITY_TAB)
    measured(app)
    assert sum("Trustworthiness" in one for one in words(app.markdown)) == 2


def test_the_answer_counts_who_keeps_most_of_the_nearest_and_names_who_moved_most(app, place, texts):
    found = moving(app, beside=str(place.folder / "other"))
    one, other = (vectors_of(model, texts) for model in (place.model, place.folder / "other"))

    def nearest(vectors, at):
        order = sorted((two for two in range(24) if two != at), key=lambda two: -(vectors[at] @ vectors[two]))
        return set(order[:10])

    keep = sum(len(nearest(one, at) & nearest(other, at)) > 5 for at in range(24))
    moved = sorted(range(24), key=lambda at: one[at] @ other[at])
    assert f"From A to B, **{keep} of 24** sentences keep most of their 10 nearest" in answer(app)
    for at in moved[:2]:
        assert f"({1 - one[at] @ other[at]:.2f})" in answer(app)
    assert found["most"][:2] == moved[:2]


def test_side_by_side_a_and_b_are_two_figures_and_three_dimensions_too(app, place, texts):
    one, other = figures(app, beside=str(place.folder / "other"), map_view=map_form.BOTH)
    assert sentences_of(one) == sentences_of(other) == list(range(len(texts)))
    app.selectbox(key="map_view").select(map_form.DEEP)
    deep = figures(app)
    assert all(figure["data"][0]["type"] == "scatter3d" for figure in deep)


def sentences_of(figure):
    return sorted(
        place for trace in figure["data"] for place in numbers(trace.get("customdata", {"bdata": "", "dtype": "i4"}))
    )


@pytest.mark.parametrize("kind", ["UMAP", "PCA"])
def test_the_map_moves_through_the_layers_of_a_model_once_they_are_asked_for(app, texts, kind):
    before = set(jobs._jobs)
    moving(app, projection=kind)
    assert not [key for key in {*jobs._jobs} - before if key.startswith("layers")]
    app.selectbox(key="map_view").select(map_form.LAYERS_OF_A)
    found = moving(app)
    assert found["frames"] == ["layer 0", "layer 1", "layer 2"]
    assert found["title"] == kind
    assert "From layer 0 of A to layer 2" in answer(app)
    assert "t-SNE" not in app.selectbox(key="projection").options


def test_vectors_of_both_sides_can_be_taken_along(app, place):
    measured(app, beside=str(place.folder / "other"), tab=map_view.EXPORT)
    labels = [one.proto.label for one in app.get("download_button")]
    assert labels == ["Maps (CSV)", *["NumPy (.npy)", "Parquet", "Projector (.zip)"] * 2]
    assert sum(caption.value == "Vectors of B: 24 × 32" for caption in app.caption) == 1


@pytest.mark.parametrize("view", [map_form.MOVE, map_form.BOTH])
def test_what_is_found_is_lit_in_every_map_and_in_the_table_with_neighbours(app, place, texts, view):
    measured(app, beside=str(place.folder / "other"), map_view=view)
    word = texts[0].split()[0]
    app.text_input(key="find").set_value(word.upper())
    holding = [at for at, text in enumerate(texts) if word in text]
    if view == map_form.MOVE:
        assert moving(app)["selected"] == holding
    else:
        for figure in figures(app):
            lit = [numbers(t["customdata"])[row] for t in figure["data"] for row in t.get("selectedpoints", [])]
            assert sorted(lit) == holding
    assert sorted(app.dataframe[0].value["sentence"]) == sorted(texts[at] for at in holding)
    assert set(app.dataframe[1].value["from A to B"]) <= {"kept", "lost", "gained"}
    assert {"Selection (CSV)", "Neighbours (CSV)"} <= {one.label for one in app.get("download_button")}
    app.button(key="clear selection").click()
    measured(app)
    assert not app.dataframe
    assert app.text_input(key="find").value == ""


def test_the_likest_and_unlikest_pairs_are_joined_by_lines(app):
    found = moving(app, mapped=map_form.EXTREMES, tab=map_view.QUALITY_TAB)
    assert len(found["pairs"]) == 12
    assert len({shade for *_, shade in found["pairs"]}) == 2
    assert app.selectbox(key="map_colour").value == "pairs"
    assert map_sentences.AT_ENDS.format(6, 12) in words(app.caption)


def test_a_file_is_coloured_by_its_columns(app, tmp_path):
    file = tmp_path / "own.csv"
    rows = [f"<b>sentence</b> {at},{'news' if at % 2 else '*other*'},{at / 7}" for at in range(12)]
    file.write_text("\n".join(["text,topic,weight", *rows]) + "\n", encoding="utf-8")
    found = moving(app, mapped=map_form.FILE, map_file=str(file))
    assert app.selectbox(key="map_colour").options == ["topic", "weight", "words"]
    assert [name for name, _ in found["legend"]["groups"]] == ["*other*", "news"]
    shades = numbers(found["shades"], "u1")
    assert [found["palette"][shade] for shade in shades] == [found["legend"]["groups"][at % 2][1] for at in range(12)]
    assert app.selectbox(key="map_column").value == "text"
    app.selectbox(key="map_column").select("topic")
    measured(app)
    assert app.selectbox(key="map_colour").options == ["text", "weight", "words"]


@pytest.mark.parametrize("file", ["/no/such.csv", "nonsense", "\0", "x" * 5000, "/etc"])
def test_a_file_that_is_not_there_is_an_error_in_words(app, file):
    measured(app, mapped=map_form.FILE, map_file=file)
    assert app.error


def test_my_sentences_are_those_of_every_page_and_of_few_pca_is_what_the_control_says(app):
    found = moving(app, mapped=map_form.MINE, projection="UMAP")
    assert tuple(found["texts"]) == selection.FIRST_SEEN
    assert (app.selectbox(key="projection").value, found["title"]) == ("UMAP", "UMAP")
    (box,) = app.text_area
    box.set_value("one\n two  words \n\none\nthree\nשלום 🙂")
    app.button(key=map_form.USE).click()
    found = moving(app)
    assert found["texts"] == ["one", "two words", "three", "שלום 🙂"]
    assert app.selectbox(key="projection").options == ["PCA"]
    assert (app.selectbox(key="projection").value, found["title"]) == ("PCA", "PCA")
    assert "sentences" in app.query_params


@pytest.mark.parametrize("typed", ["alone", " \n ", "same\nsame"])
def test_fewer_than_two_sentences_are_refused_and_none_is_chosen(app, typed):
    measured(app, mapped=map_form.MINE)
    app.text_area[0].set_value(typed)
    app.button(key=map_form.USE).click()
    found = moving(app)
    assert map_form.TYPE_TWO in words(app.error)
    assert tuple(found["texts"]) == selection.FIRST_SEEN


@pytest.mark.parametrize("beside", ["nonsense", "run:nobody", "<b>x</b>"])
def test_a_b_that_is_not_there_is_an_error_in_words_beside_the_map_of_a(app, beside):
    by_link(app, beside=beside)
    assert app.error


@pytest.mark.parametrize(
    "link",
    [
        {"projection": "UMAP", "neighbours": "5000", "map_view": "7", "map_colour": "<b>", "min_dist": "x"},
        *({"selected": numbers} for numbers in ("9" * 5000, "٣-²-1_0-x")),
        *({"find": word} for word in ("", "  ", "w" * 5000)),
    ],
)
def test_what_is_not_possible_in_the_address_changes_and_selects_nothing(app, link):
    assert moving(app, **link)["selected"] == []
    assert not app.dataframe
    long = len(link.get("find", "")) > 200
    assert not [one for one in app.caption if one.value.startswith(lead(map_form.NONE_FOUND)) and not long]


def test_a_link_finds_the_same_and_clearing_forgets_the_word(app, texts):
    word = texts[0].split()[0]
    holding = [text for text in texts if word in text]
    assert 0 < len(holding) < len(texts)
    measured(app, find=word.upper())
    assert app.dataframe[0].value["sentence"].tolist() == holding
    assert "selected" not in app.query_params, "the word says it"
    app.selectbox(key="mapped").select(map_form.EXTREMES)
    measured(app)
    assert set(app.dataframe[0].value["sentence"]) == set(holding), "of other sentences those that hold it"


def test_a_word_that_no_sentence_holds_is_told(app):
    measured(app, find="no such word")
    for word in ("no such word", "<b>x</b> **y**", "%{x}", "ـِ", "🙂", "w" * 200):
        app.text_input(key="find").set_value(word)
        measured(app)
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
    assert found.note in words(large.caption)
    assert large.selectbox(key="projection").value == kind, "the control says what is drawn"
    (told,) = (one for one in words(large.markdown) if f"{ROWS} sentences of mine.npy" in one)
    assert found.faithfulness.text in told


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
        shown = vectors_view._content(found.digest, MapSettings("PCA", seed=seed), drawn, found)
        assert shown == sentence_maps.canvas_content(drawn.places, found.texts(drawn.rows.tolist()), drawn.names)
