"""Test the Sentences page, and the microscope from the Compare page, without a browser."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from explorer.data import sample, selections
from explorer.data.tables.files import read_bytes
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import Reading, Row
from explorer.measuring.sentences import word_tables
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.ui import messages
from explorer.ui.access import selection, sidebar_choice
from explorer.ui.compare import changes_view
from explorer.ui.sentences import layers_tab, matrices, own_sentences, pair_tab, probe_view
from explorer.ui.widgets import microscope
from tests import shown_numbers
from tests.shown_numbers import value_of
from tests.tiny_models import save_tiny
from tests.visits import buttons, cards, entered, error_of, measured, opened, pressed, words

TYPED = "a man plays a guitar\n\nthe dog runs\nno\n<b>two</b> women *talk*"

WORD = re.compile(r":gray-background\[(.*?):small\[ [+−]\d\.\d\d\]\]")  # as it is shown, and its number


@pytest.fixture(scope="module")
def place(place):
    save_tiny("gpt2", place.folder / "gpt2")
    return place


@pytest.fixture
def app(furnished):
    furnished.switch_page("pages/sentences.py")
    furnished.query_params["tab"] = "Pair"
    return furnished


def typed(app, text):
    """Run the page with this in its box."""
    if not app.text_area:
        app.run()
    app.text_area(key=own_sentences.BOX).set_value(text)
    return measured(app)


def look_at(app, part):
    """The page with this part of the microscope open."""
    return entered(app, app.segmented_control(key="pair_part"), part)


def selected(app, key):
    """The sentences, or the pair, that the visitor has chosen."""
    mark = app.session_state.get(key, "")
    return selections.read(mark) if mark else ()


def figures(app):
    return [json.loads(one.proto.spec) for one in app.get("plotly_chart")]


def cosines(figure):
    """The matrices of a figure, the first of each panel."""
    heats = [one["z"] for one in figure["data"] if one["type"] == "heatmap"]
    return [matrix for matrix in map(array, heats) if len(matrix) > 1]


def array(values):
    flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    return flat.reshape([int(side) for side in values["shape"].split(",")])


def test_without_b_there_is_one_matrix_and_what_was_typed_is_there_after_another_page(app):
    typed(app, TYPED)
    assert sidebar_choice.ASK_FOR_B in words(app.caption)
    assert len(figures(app)) == 1 + 2  # the matrix, what differs, words
    assert any("adds most to the cosine of" in one for one in words(app.markdown))
    (matrix,) = cosines(figures(app)[0])
    assert matrix.shape == (4, 4)
    assert any(own_sentences.SKIPPED.format(1, "") in told for told in words(app.caption))
    look_at(app, microscope.LAYERS)
    assert set(cards(app)) == {"Cosine A"}
    assert len(figures(app)) == 1 + 2  # by layer, shares
    assert len(figures(look_at(app, microscope.TOKENS))) == 1 + 1
    app.switch_page("pages/start.py").run()
    opened(app, "sentences")
    assert app.text_area(key=own_sentences.BOX).value == TYPED
    assert selected(app, selection.SENTENCES) == (
        "a man plays a guitar",
        "the dog runs",
        "no",
        "<b>two</b> women *talk*",
    )
    pressed(app, "reset sentences")
    assert app.text_area(key=own_sentences.BOX).value.split("\n") == list(selection.FIRST_SEEN)


def test_the_boxes_choose_the_pair_of_the_app_and_one_sentence_twice_is_no_pair(app):
    typed(app, TYPED)
    first = app.selectbox(key=pair_tab.BOXES[0])
    assert selected(app, selection.PAIR) == ()
    first.set_value(3)
    measured(app)
    pair = selected(app, selection.PAIR)
    assert pair[0] == "<b>two</b> women *talk*"
    app.selectbox(key=pair_tab.BOXES[1]).set_value(3)
    measured(app)
    assert pair_tab.SAME.format(4) in words(app.info)
    assert selected(app, selection.PAIR) == pair


def test_a_pair_of_other_sentences_is_shown_and_framed_nowhere(app):
    app.query_params["pair_part"] = microscope.LAYERS
    typed(app, TYPED)
    app.session_state[selection.PAIR] = selections.keep(("a bird sings", "no bird sings"))
    measured(app)
    assert [app.selectbox(key=label).value for label in pair_tab.BOXES] == [None, None]
    assert not figures(app)[0]["layout"].get("shapes")
    assert any(one.value == "> a bird sings" for one in app.markdown)


def test_the_matrices_of_every_layer_are_those_of_the_vectors_of_that_layer(app, place):
    app.query_params["beside"] = str(place.folder / "gpt2")
    typed(app, TYPED)
    figure = figures(app)[0]
    one, other, difference = cosines(figure)
    assert difference == pytest.approx(other - one, abs=1e-6, nan_ok=True)
    sentences = selected(app, selection.SENTENCES)
    for number, source in enumerate((place.model, place.folder / "gpt2")):
        encoder = load(of_folder(str(source), source), precision="float32")
        for step, frame in enumerate(figure["frames"]):
            heats = [array(part["z"]) for part in frame["data"] if part["type"] == "heatmap"]
            layer = Reading(Row((min(step, encoder.rows[-1].layers[-1]),)), "mean")
            vectors = finish(of_reading(encoder, sentences, layer)).astype(np.float64)
            unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            slow = unit @ unit.T
            np.fill_diagonal(slow, np.nan)
            assert heats[number] == pytest.approx(slow, abs=1e-5, nan_ok=True)
    assert [frame["name"] for frame in figure["frames"]] == ["0", "1", "2"]


def test_a_is_drawn_while_b_is_being_encoded(app, place, monkeypatch):
    whole = sidebar_choice.Reader.layers
    monkeypatch.setattr(sidebar_choice.Reader, "layers", lambda side, of: whole(side, of) if side.name == "A" else None)
    app.query_params.update(beside=str(place.folder / "gpt2"), order="clustered by B")
    typed(app, TYPED)
    assert [matrix.shape for matrix in cosines(figures(app)[0])] == [(4, 4)]
    assert any("A finds" in told for told in words(app.markdown))
    assert sidebar_choice.ASK_FOR_B not in words(app.caption)
    monkeypatch.undo()
    assert len(cosines(figures(measured(app))[0])) == 3


def test_with_b_the_pair_is_the_one_that_changed_most_and_each_has_the_axes_of_its_tokenizer(app, place):
    app.query_params.update(beside=str(place.folder / "gpt2"), pair_part=microscope.LAYERS)
    typed(app, TYPED)
    one, other, difference = cosines(figures(app)[0])
    shown = cards(app)
    assert abs(value_of(shown["B − A"])) == pytest.approx(np.nanmax(np.abs(difference)), abs=0.0011)  # of what is shown
    assert shown["B − A"] == shown_numbers.difference(*(value_of(shown[f"Cosine {side}"]) for side in "AB"), digits=3)
    (answer,) = (one for one in words(app.markdown) if one.startswith("Most changed"))
    place = np.unravel_index(np.nanargmax(np.abs(difference)), difference.shape)
    assert shown_numbers.difference(float(one[place]), float(other[place])) in answer
    typed(app, "a man plays\nthe dog runs")
    assert len(figures(app)) == 1 + 1 + 2, "shares are one figure for each tokenizer"
    look_at(app, microscope.TOKENS)
    one, other = figures(app)[1:]
    assert "[CLS]" in one["layout"]["yaxis"]["ticktext"]
    assert "[CLS]" not in other["layout"]["yaxis"]["ticktext"]
    look_at(app, microscope.WORDS)
    assert len(figures(app)) == 1 + 2, "what differs and the words are the same"
    assert any(one.startswith("Under B the cosine is") for one in words(app.markdown))


def test_a_chosen_layer_and_pooling_that_is_no_single_layer_has_a_step_of_its_own(app):
    app.query_params["reading"] = "mean of layers 0 + 2"
    typed(app, TYPED)
    slider = figures(app)[0]["layout"]["sliders"][0]
    assert [step["label"] for step in slider["steps"]] == ["0", "1", "2", matrices.AS_CHOSEN]
    assert slider["active"] == 3


def test_marked_pairs_name_a_layer_and_pooling_that_one_click_chooses_for_every_page(app):
    app.query_params["tab"] = "Layers"
    typed(app, TYPED)
    assert any(one.startswith(layers_tab.MARK) for one in words(app.caption))
    pairs = (("a man plays a guitar", "the dog runs"), ("no", "the dog runs"), ("no", "a man plays a guitar"))
    for pair, label in zip(pairs, ("Same", "Different", "Different"), strict=True):
        app.session_state[selection.PAIR] = selections.keep(pair)
        measured(app)
        pressed(app, f"mark {label}")
    (told,) = (one for one in words(app.markdown) if one.startswith("**A: "))
    assert "3 marks" in told
    assert layers_tab.GUESS in told
    use = app.button(key="use the best of A")
    assert use.label.removeprefix("Use ") in told
    pressed(app, "use the best of A")
    assert app.session_state["reading"] == use.label.removeprefix("Use ")
    pressed(app, "mark Different")  # the mark of the chosen pair is taken back
    (told,) = (one for one in words(app.markdown) if one.startswith("**A: "))
    assert "2 marks" in told
    pressed(app, "clear marks")
    assert any(one.startswith(layers_tab.MARK) for one in words(app.caption))


def test_a_clustered_order_is_that_of_every_matrix(app, place):
    app.query_params.update(beside=str(place.folder / "gpt2"), order="clustered by B")
    typed(app, "no\na man plays a guitar\nno\na man plays a guitar\nno")
    layout = figures(app)[0]["layout"]
    orders = [[text[0] for text in layout[axis]["ticktext"]] for axis in ("xaxis", "xaxis2", "xaxis3", "yaxis")]
    assert orders[0] == orders[1] == orders[2] == orders[3]
    assert orders[0] in (["1", "3", "5", "2", "4"], ["2", "4", "1", "3", "5"]), "those that are the same stand together"


def test_fewer_than_two_sentences_are_asked_for_in_words(app):
    typed(app, "one alone")
    assert own_sentences.TYPE_TWO in words(app.info)
    assert not figures(app)
    typed(app, "  \n\n")
    assert selected(app, selection.SENTENCES) == ()
    assert app.text_area(key=own_sentences.BOX).value.split("\n") == list(selection.FIRST_SEEN)


def test_the_same_sentence_two_hundred_times_is_drawn_and_more_are_left_out(app):
    typed(app, "\n".join(["no"] * 203))
    assert own_sentences.LEFT_OUT.format(200, 3) in words(app.warning)
    assert np.nanmin(cosines(figures(app)[0])[0]) == pytest.approx(1)


def test_any_words_are_coloured_in_their_places_with_their_numbers(app):
    for text in (
        "]]:red[x] <b>q</b> **w** `c` $x^2$ # 1. [a](http://b.example) :small[] & &amp; :material/home: me@x.example",
        "guitar",
        "man dog " * 200,
        "🎸 🎸 🙂!",
        "הילד לא אוכל תפוח. الولد لا يأكل",
    ):
        typed(app, f"{text}\na man plays a guitar")
        assert not app.error, text
        first, second = (one for one in words(app.markdown) if one.startswith(":gray-background["))
        assert WORD.sub(r"\1", first) == " ".join(text.split())
        assert WORD.sub(r"\1", second) == "a man plays a guitar"
        (style,) = (one.proto.body for one in app.get("html") if ".st-key-coloured" in one.proto.body)
        assert style.count("background-color: #") == len(WORD.findall(first)) + len(WORD.findall(second)), text


def test_long_sentences_are_cut_in_the_open(app):
    long = "dog " * 80
    typed(app, f"a man plays\n{long}")
    assert word_tables.CUT.format(64, 82, "second") in words(app.warning)
    for part in (microscope.LAYERS, microscope.TOKENS):
        look_at(app, part)
        assert messages.CUT.format(64, messages.shortened(long)) in words(app.warning)


def test_under_cls_there_are_no_shares_and_the_page_says_why(app):
    app.query_params["reading"] = title = "cls of layer 1"
    typed(app, TYPED)
    assert len(figures(app)) == 1 + 2, "words are weighed under every pooling"
    look_at(app, microscope.LAYERS)
    assert f"A: {microscope.ONE_TOKEN.format(title)}" in words(app.info)
    assert len(figures(app)) == 1 + 1, "the cosine by layer"
    assert len(figures(look_at(app, microscope.TOKENS))) == 1 + 1


def test_layers_that_a_side_lacks_are_told(app):
    app.query_params.update(token_layer="99", pair_part=microscope.TOKENS)
    typed(app, TYPED)
    assert app.selectbox(key="token_layer").value == microscope.AS_CHOSEN


def test_packs_show_bars_numbers_and_pairs(app, place):
    measured(app, tab="Probe packs", beside=str(place.folder / "gpt2"))
    assert set(cards(app)) == {"Distinguished by A", "Distinguished by B"}
    assert len(app.dataframe[0].value) == 8
    (verdicts,) = (one.value.split("\n") for one in app.markdown if "a coin would get 50 %" in one.value)
    shares = app.dataframe[0].value.set_index("pack")
    packs = ("negation", "role swap", "antonym", "number", "quantifier", "time order")
    for line, pack in zip(verdicts, packs, strict=True):
        said_of_a, said_of_b = line.removeprefix(f"- **{pack}**: ").split("a coin would get 50 %.")[:2]
        for name, said in (("A", said_of_a), ("B", said_of_b)):
            assert f"{name} " in said
            assert f"in {shares[f'distinguished {name}'][pack]} of cases" in said
    entered(app, app.segmented_control(key="probe_part"), probe_view.PAIRS)
    assert len(app.dataframe[0].value) == len(sample.probe_packs()[0])
    app.segmented_control(key="pack").set_value("number").run()
    assert app.dataframe[0].value["first"][0] == "The meeting starts at seven."


def test_a_flipped_pair_of_the_compare_page_is_looked_at_token_by_token(app, place):
    other = str(place.folder / "gpt2")
    opened(app, "compare", model=str(place.model), sts="Sample pairs", beside=other, tab="Pairs")
    assert changes_view.SELECT_ROW in words(app.caption)
    key = app.dataframe[0].proto.id.split("-", 2)[2]
    assert key.startswith("flipped ")
    pair = [app.dataframe[0].value[column][0] for column in ("first", "second")]
    app.session_state[key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    measured(app)
    pressed(app, "words of the selected pair")
    assert [WORD.sub(r"\1", one) for one in words(app.markdown) if one.startswith(":gray-background[")] == 2 * pair
    app.session_state[selection.PAIR] = selections.keep(pair)  # as the selection of a row in a browser does
    entered(app, app.segmented_control(key="tab"), "Words and probes")
    look_at(app, microscope.LAYERS)
    assert {"Cosine A", "Cosine B"} <= set(cards(app))
    assert [one[2:] for one in words(app.markdown) if one.startswith("> ")] == pair
    look_at(app, microscope.TOKENS)
    assert [name for name in ("A", "B") if any(one.startswith(f"**{name}** ") for one in words(app.markdown))] == [
        "A",
        "B",
    ]


def test_a_side_of_fewer_layers_says_which_it_lacks(app, place):
    deep = save_tiny("bert", place.folder / "deep", num_hidden_layers=6)
    app.query_params.update(model=str(deep), beside=str(place.model), token_layer="5", pair_part=microscope.TOKENS)
    typed(app, "a man plays\nthe dog runs")
    assert microscope.NO_SUCH_LAYER.format("B", 5, 2) in words(app.info)
    look_at(app, microscope.LAYERS)
    assert set(cards(app)) == {"Cosine A", "Cosine B", "B − A"}


def test_a_file_fills_the_box_from_the_column_that_holds_sentences(app):
    measured(app)
    (uploader,) = app.get("file_uploader")
    rows = "id,text\n1,a man plays a guitar\n2,\n3,<b>no</b>\n4,a man plays a guitar\n"
    uploader.set_value(("own.csv", rows.encode(), "text/csv"))
    app.run()
    assert not any(text.startswith("The first ") for text in words(app.caption))
    pressed(app, "use sentences of file")
    assert app.text_area(key=own_sentences.BOX).value == "a man plays a guitar\n<b>no</b>\na man plays a guitar"
    uploader = app.get("file_uploader")[0]
    uploader.set_value(("own.csv", picture := b"\x89PNG", "text/csv"))
    app.run()
    assert words(app.error) == [error_of(lambda: read_bytes("own.csv", picture))]
    rows = "".join(f"sentence {number}\n" for number in range(selection.MOST + 1))
    app.get("file_uploader")[0].set_value(("own.txt", rows.encode(), "text/plain"))
    app.run()
    assert "The first 200 of 201 sentences." in words(app.caption)


def test_the_words_that_differ_in_a_pack_are_weighed_on_a_click_and_kept(app, place, monkeypatch):
    few = tuple(replace(pack, first=pack.first[:3], second=pack.second[:3]) for pack in sample.probe_packs())
    monkeypatch.setattr(sample, "probe_packs", lambda: few)
    measured(
        app, tab="Probe packs", probe_part=probe_view.WORDS, word_pack="negation", beside=str(place.folder / "gpt2")
    )
    assert not any("words that differ add" in one for one in words(app.markdown))
    pressed(app, "weigh pack words")
    (told,) = (one for one in words(app.markdown) if "words that differ add" in one)
    table = app.dataframe[0].value
    assert list(table["pack"]) == ["negation"]
    for number in (table["A"][0], table["B"][0], f"change {table['change'][0]}", table["95 % CI change"][0]):
        assert number in told
    app.segmented_control(key="word_pack").set_value("number").run()
    assert "weigh pack words" in buttons(app), "another pack has not been asked for"
    app.segmented_control(key="word_pack").set_value("negation").run()
    assert told in words(app.markdown)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["one", "", "  ", "two  words", "one", ""], (("one", "two words", "one"), 3, 0)),
        (list("abcdefg"), (tuple("abcde"), 0, 2)),
        ([""], ((), 1, 0)),
        (["first\nsecond\tthird"], (("first second third",), 0, 0)),
    ],
    ids=["empty lines are counted, a repeated sentence stays", "too many", "nothing", "a cell of several lines"],
)
def test_given_lines_are_sentences_and_what_is_skipped_or_left_out_is_counted(given, read):
    assert own_sentences.read_lines(given, 5) == read
