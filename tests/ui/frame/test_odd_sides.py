"""Two sides that have little in common, and sentences that are hard to show, on every page that shows both."""

import json
import re

import pytest

from explorer.data import map_sentences, selections
from explorer.encoding.load.loading import load
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import find, of_folder
from explorer.measuring.comparing import comparison
from explorer.measuring.geometry import layer_geometry
from explorer.measuring.maps import map_tables, projection
from explorer.ui.access import selection
from explorer.ui.compare import verdict_view
from explorer.ui.map import map_form, map_view
from explorer.ui.replay import replay_view, step_grid
from explorer.ui.widgets import microscope
from tests import trainings
from tests.tiny_models import save_tiny
from tests.visits import entered, error_of, opened, words

PAGES = ("compare", "sentences", "map", "search", "layers", "layer_attention", "replay")
MARKUP = (
    "<script>alert(1)</script> and <b>fat</b>",
    "**two stars** and [a link](b) and # head",
    "$x^2$ and :red[ink] and `code`",
    "&lt;i&gt; is not <i> and %{x} is no number",
)
ODD = (*MARKUP, "🦜🎸 👩‍👩‍👧 parrots", "كم ثمن هذا الببغاء؟", "word " * 1000)
WORD = re.compile(r":gray-background\[(.*?):small\[ [+−]\d\.\d\d\]\]")  # as it is shown, and its number
# as none of it may reach what reads markup
RAW = ("<script>", "<b>fat", "**two", "[a link](", "$x^2$", ":red[", "`code`", "<i>")


@pytest.fixture(scope="module")
def place(place):
    save_tiny("gpt2", place.folder / "gpt2", n_embd=48, n_layer=3, max_position_embeddings=32)
    asked = {"steps": 4, "evaluate_every": 2, "keep_steps": True}
    trainings.train(trainings.new(place, "simcse", name="kept", settings=asked))
    return place


@pytest.fixture
def app(furnished, place):
    furnished.query_params |= {"beside": str(place.folder / "gpt2"), "sts": str(place.dev), "projection": "PCA"}
    furnished.query_params |= {"geometry": "true", "replayed": "kept"}
    return furnished


def typed(app, page, sentences):
    """The page with these sentences."""
    if page == "map":
        app.query_params |= {"mapped": map_form.MINE, selection.SENTENCES: selections.keep(sentences)}
        return opened(app, page)
    app.session_state[selection.SENTENCES] = selections.keep([" ".join(sentence.split()) for sentence in sentences])
    return opened(app, page, tab="Pair")


def told(app):
    """All text that is read as markdown, as Streamlit is given it."""
    return [one.value for kind in ("markdown", "caption", "info", "warning", "error") for one in app.get(kind)]


def plain(app):
    return " ".join(told(app)).replace("\\", "")


def figures(app):
    return [one.proto.spec for one in app.get("plotly_chart")]


def maps(app):
    """Moving maps, which write text on a canvas and as text: it is never markup."""
    return app.get("bidi_component")


def strings(value):
    """Every text of a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


def no_markup(app):
    """Nothing that was typed is markup: neither in markdown, nor in figures, where plotly reads tags."""
    for raw in RAW:
        assert not [text for text in told(app) if raw in text]
    for spec in figures(app):
        assert not [text for text in strings(json.loads(spec)) for raw in ("<script", "<b>fat", "<i>") if raw in text]


def test_the_two_have_another_width_depth_tokenizer_and_limit(place):
    sides = [load(of_folder(str(one), one), precision="float32") for one in (place.model, place.folder / "gpt2")]
    assert [side.limit(None) for side in sides] == [64, 32]
    assert [layout.last_layer(one) for one in (place.model, place.folder / "gpt2")] == [2, 3]
    tokens = [side.tokens(["a man plays"]).ids[0] for side in sides]
    assert len(tokens[0]) != len(tokens[1])


@pytest.mark.product(1)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("exchanged", [False, True], ids=["the shallow one is A", "the deep one is A"])
def test_two_that_have_little_in_common_stand_side_by_side(app, place, page, exchanged):
    if page == "replay" and exchanged:
        app.query_params["reading"] = reading = "mean of layer 3"
    if exchanged:
        app.query_params["model"], app.query_params["beside"] = str(place.folder / "gpt2"), str(place.model)
    opened(app, page)
    assert not [box for box in app.error if box.icon == ":material/error:"], "a box of a verdict has another icon"
    assert figures(app) or maps(app)
    deep, shallow = (3, 2) if exchanged else (2, 3)
    wide, narrow = (48, 32) if exchanged else (32, 48)
    if page == "compare":
        entered(app, app.segmented_control(key="tab"), "Layers")
        assert verdict_view.NO_CELLS.format(comparison.OTHER_DEPTH.format(deep, shallow)) in plain(app)
        entered(app, app.segmented_control(key="tab"), "Geometry")
        assert layer_geometry.OTHER_DEPTH.format(deep, shallow) in plain(app)
    if page == "map":
        entered(app, app.segmented_control(key="tab"), map_view.QUALITY_TAB)
        assert map_tables.OTHER_WIDTH.format(wide, narrow) in plain(app)
        assert projection.ROTATED.format(wide, narrow) in plain(app)
    if page == "replay" and exchanged:
        entered(app, app.segmented_control(key="tab"), replay_view.LAYERS)
        assert step_grid.NO_SUCH_LAYER.format(reading, 2) in plain(app)


@pytest.mark.parametrize("page", PAGES[:4])
def test_a_length_that_one_side_cannot_read_is_told_with_what_it_can(app, place, page):
    opened(app, page, max_length="50")
    deep = load(find(str(place.folder / "gpt2")), precision="float32")
    refused = error_of(lambda: deep.limit(50))
    assert words(app.error) == [refused]
    assert "3 to 32" in refused


@pytest.mark.parametrize("page", ["sentences", "map"])
def test_two_sentences_are_enough(app, page):
    typed(app, page, ["a man plays", "the dog runs"])
    assert not app.error
    if page == "map":
        assert maps(app)
        return
    drawn = []
    for part in microscope.PARTS:
        entered(app, app.segmented_control(key="pair_part"), part)
        assert not app.error
        drawn.append(len(figures(app)))
    assert drawn == [1 + 2, 1 + 3, 1 + 2], "the squares, then differences and words, layers with shares, tokens"


def test_one_sentence_two_hundred_times_is_one_on_the_map_and_too_few(app):
    sentences = ["no"] * 200
    typed(app, "map", sentences)
    assert words(app.error) == [error_of(lambda: map_sentences.of_texts(map_form.MINE, sentences))]
    assert not maps(app)


def test_odd_sentences_are_text_in_squares_and_under_the_microscope(app):
    typed(app, "sentences", ODD)
    for pair in ((0, 1), (2, 3), (4, 5), (5, 6)):
        app.session_state[selection.PAIR] = selections.keep([" ".join(ODD[number].split()) for number in pair])
        for part in microscope.PARTS:
            entered(app, app.segmented_control(key="pair_part"), part)
            assert not app.error
            no_markup(app)
            said = WORD.sub(r"\1", plain(app))
            for number in pair if part != microscope.TOKENS else ():
                assert " ".join(ODD[number].split())[:100] in said
            assert "&lt;script&gt;" in figures(app)[0]


def test_odd_sentences_are_text_on_the_map_and_among_neighbours(app):
    typed(app, "map", ODD)
    for at, text in enumerate(MARKUP):
        entered(app, app.text_input(key="find"), text[:8])
        assert not app.error
        no_markup(app)
        assert app.dataframe[0].value["sentence"].tolist() == [ODD[at]]
        assert f"“{text}”" in plain(app)
    entered(app, app.selectbox(key="map_view"), map_form.BOTH)
    assert len(figures(app)) == 2
    assert all("&lt;script&gt;" in spec for spec in figures(app))


def test_odd_sentences_are_text_in_what_is_found_and_what_changed(app, place):
    path = place.folder / "odd.txt"
    path.write_text("\n".join(ODD), encoding="utf-8")
    opened(app, "search", corpus=str(path), query=MARKUP[1])
    assert not app.error
    no_markup(app)
    assert set(MARKUP) <= {one.value for one in app.text}
