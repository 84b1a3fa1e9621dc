"""Test the ways in on the Start page, and its form for a file of one's own pairs, from the upload to Train."""

import os
from unittest import mock

import pytest
from transformers import AutoTokenizer

from explorer import run_folder
from explorer.data import corpora, sources, splitting, uploads
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.data.sources import identity
from explorer.data.tables import files, text_rows
from explorer.data.text_sets import SCORED_PAIRS, GradedPairs
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.locate.model_names import find
from explorer.measuring.scores.metrics import LEAST_PAIRS
from explorer.training.record import runs
from explorer.ui import layers
from explorer.ui.runs import training_form
from explorer.ui.start import file_cautions, own_pairs_form, ways_in
from explorer.ui.train import text_form
from tests import trainings
from tests.visits import buttons, cards, error_of, layer_table, measured, opened, pressed, tab, words


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def start(furnished, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    return furnished


@pytest.fixture
def no_example(monkeypatch, tmp_path):
    for module in (run_folder, runs):
        monkeypatch.setattr(module, "examples_folder", lambda: tmp_path / "nothing ships")


def rails(app):
    """The steps of each door, and whether each is called done."""
    told = [one for one in words(app.markdown) if ways_in.OPEN in one or ways_in.DONE in one]
    return [[line.strip().endswith("(done)") for line in rail.splitlines()] for rail in told]


def ways(app, **link):
    """The page with the tab of the three ways, measured."""
    return measured(app, tab=ways_in.WAYS, **link)


def through(app, key):
    """Click a door's button and go where it leads, which without a browser takes two steps."""
    with mock.patch("streamlit.switch_page") as led:
        app.button(key=key).click().run()
    (page,) = led.call_args.args
    app.switch_page(page)
    measured(app)
    return app.title[0].value


def test_the_first_door_leads_to_the_example(app, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    ways(app)
    assert rails(app)[0] == [True, True, False]
    assert through(app, "door compare") == "Compare"
    assert app.selectbox(key="model").value == "all-MiniLM-L6-v2"
    assert app.selectbox(key="beside").value == "run:example"
    assert app.selectbox(key="sts").value == "Sample pairs, test half"
    assert any(name in told for told in words(app.success) for name in ("**negation**", "**numbers**")), (
        "what it learned"
    )
    assert not words(app.error)


@pytest.mark.usefixtures("no_example")
def test_without_an_example_the_first_door_leads_to_a_run_of_ones_own(start):
    ways(start)
    assert rails(start) == [[True, False, False]] * 3
    assert through(start, "door train defaults") == "Train"


def test_without_own_pairs_a_door_leads_to_the_layers_of_the_sample_and_one_to_the_upload_box_without_an_error(start):
    measured(start)
    assert through(start, "door layers sample") == "Layers"
    assert start.selectbox(key="sts").value == "Sample pairs"
    opened(start, "start")
    assert through(start, "door train") == "Train"
    assert start.multiselect(key="data").value == []
    assert text_form.ASKED in words(start.info)
    assert words(start.error) == []
    assert start.button(key="run start").disabled


def test_own_pairs_are_scored_by_a_click_and_the_text_of_the_form_by_another(start):
    first, second = (tuple(f"{what} {row}" for row in range(60)) for what in ("it rains", "it pours"))
    pairs = GradedPairs("mine.csv", first, second, tuple(float(row % 7) for row in range(60)), ("",) * 60)
    uploaded = sets.keep(pairs)
    ways(start)
    assert rails(start)[1:] == [[True, True, False], [True, True, False]]
    assert through(start, "door layers") == "Layers"
    assert start.selectbox(key="sts").value == uploaded.written
    tab(opened(start, "start"), ways_in.WAYS)
    assert rails(start)[1] == [True, True, True], "they have been scored since"
    assert through(start, "door train own") == "Train"
    assert start.multiselect[0].value == [uploaded.written], "few rows are all trained on, and all judged"


def test_own_pairs_that_cannot_be_split_say_why_in_place_of_the_button(start, cache):
    few = GradedPairs("few.csv", ("a", "b"), ("c", "d"), (1.0, 2.0), ("", ""))
    sets.keep(few)
    ways(start)
    assert "door train own" not in {one.key for one in start.button}
    assert error_of(lambda: splitting.halves(few)) in words(start.caption)


@pytest.mark.usefixtures("no_example")
def test_a_tuned_model_is_compared_with_its_base_on_its_test_set(start, place, tmp_path):
    name = "mine"
    trained = trainings.train(trainings.new(place, "simcse", name=f"{name}-made", settings={"steps": 2}))
    (tmp_path / "runs").mkdir()
    trained.folder.rename(tmp_path / "runs" / name)
    ways(start, reading="cls of layer 1")
    assert rails(start)[0] == [True, True, False]
    assert through(start, "door compare") == "Compare"
    assert start.selectbox(key="model").value == str(place.model)
    assert start.selectbox(key="beside").value == f"run:{name}"
    assert start.selectbox(key="sts").value == str(place.test)
    assert start.selectbox(key="reading").value == "model default"


def test_the_models_of_the_three_newest_runs_are_listed_and_those_of_older_ones_folded(start, no_example, tmp_path):
    for age, name in enumerate(("newest", "second", "third", "fourth", "oldest")):
        run = tmp_path / "runs" / name
        (run / "model").mkdir(parents=True)
        os.utime(run, (1e9 - age, 1e9 - age))
    measured(start, tab=ways_in.MODELS)
    listed = [one.value for one in start.text if one.value.startswith("run:")]
    assert listed == ["run:newest", "run:second", "run:third"]
    assert ways_in.OLDER.format(2) in [one.label for one in start.expander]


FIND, TRAIN, USE = "find best layer", "train on pairs", "use pairs"  # the keys of the buttons below the pairs

SCORES = ("0", "1,5", "3", "4,25", "5")


def lines(count=60, score=lambda row: SCORES[row % 5]):
    """Sentences of different words, so that no two rows are a family; odd names, semicolons, decimal commas."""
    rows = [f"{row} men play a guitar;{row + 1000} people sing in a hall;{score(row)}" for row in range(count)]
    return "\n".join(("phrase_left;phrase_right;wie_aehnlich", *rows)).encode()


@pytest.fixture
def fresh(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    return app


def halves(count):
    """The halves of pairs of which none share a sentence."""
    first, second = (tuple(f"{side} {row}" for row in range(count)) for side in ("one", "other"))
    scores = tuple(float(row % 5) for row in range(count))
    return splitting.halves(GradedPairs("mine.csv", first, second, scores, ("",) * count))


def upload(app, data, name="mine.csv"):
    app.query_params["tab"] = ways_in.OWN
    app.run().file_uploader[0].set_value((name, data, "text/csv"))
    return measured(app)


def kept():
    (own,) = sets.kept_sets()
    return own.written


def test_odd_names_and_decimal_commas_are_read_the_splits_are_told_and_a_click_uses_the_pairs_and_says_so(fresh):
    upload(fresh, lines())
    roles = {"first": "phrase_left", "second": "phrase_right", "score": "wie_aehnlich"}
    assert {role: fresh.selectbox(key=f"column mine.csv {role}").value for role in roles} == roles
    assert cards(fresh)[own_pairs_form.SCORES] == "0 to 5"
    (told,) = (
        one for one in words(fresh.markdown) if own_pairs_form.SPLIT_PAIRS.format("60 pairs", "60 families") in one
    )
    assert own_pairs_form.HALVES.format(30, 30) in told
    assert told.endswith(f"{own_pairs_form.CROSS_FITTED}. {own_pairs_form.APART}.")
    assert words(fresh.error) == words(fresh.warning) == []
    assert list(fresh.dataframe[0].value.columns) == ["wie_aehnlich", "phrase_left", "phrase_right"]
    pressed(fresh, USE)
    assert fresh.title[0].value == "Strata"
    assert fresh.selectbox(key="sts").value == kept()
    assert words(fresh.success) == [own_pairs_form.CHOSEN.format(kept())]


@pytest.mark.parametrize("odd", [False, True])
def test_find_the_best_layer_opens_layers_with_the_pairs_chosen_and_no_page_reads_the_title(fresh, monkeypatch, odd):
    if odd:
        title = property(lambda given: f"{given.piece} <- {given.digest} <- {given.name}"[::-1])
        monkeypatch.setattr(SetIdentity, "title", title)
    upload(fresh, lines())
    fresh.button(key=FIND).click().run()
    assert fresh.title[0].value == "Layers"
    assert fresh.selectbox(key="sts").value == kept()
    opened(fresh, "layers")  # the test's own runs start from the page it knows of
    assert layers.BEST_ON_DEV in layer_table(fresh)


@pytest.mark.parametrize("scored", [True, False])
def test_an_upload_says_how_many_texts_the_model_and_the_fitting_method_cut(fresh, monkeypatch, scored):
    """By the tokenizer of transformers, for a model that reads 256 tokens and a method that trains on 128."""
    columns = "sentence1,sentence2,score" if scored else "query,passage"
    rows = [f"The dog sees the cat {row}.,{'the cat and the dog ' * (20 * row)}{row}" for row in range(1, 31)]
    upload(
        fresh, "\n".join([columns, *(row + f",{number % 5}.5" * scored for number, row in enumerate(rows))]).encode()
    )
    tokenizer = AutoTokenizer.from_pretrained(str(find(BUNDLED).folder))
    texts = {cell.strip() for row in rows for cell in row.split(",")}
    tokens = [len(tokenizer(text, truncation=False)["input_ids"]) for text in texts]
    told = " ".join(words(fresh.warning))
    for limit in (128, 256):
        longer = sum(one > limit for one in tokens)
        assert f"{longer} of {len(texts)} texts are longer than the {limit} tokens" in told
    assert "Raise max_length, up to 256" in told


def test_a_file_of_any_kind_can_be_deleted_like_pairs_and_is_used_where_models_are_scored_on_it(fresh):
    own = sets.keep(GradedPairs("mine.csv", tuple("abc"), tuple("def"), (1.0, 2.0, 3.0), ("",) * 3))
    pairs = uploads.keep("queries.csv", b"query,passage\nWhere?,Here it is.\nWhen?,At noon.\nWho?,The cook.\n")
    texts = uploads.keep("lines.txt", b"One line.\nAnother line.\n")
    fresh.query_params["tab"] = ways_in.OWN
    fresh.run()
    names = [sources.label(pairs), sources.label(texts), own.written]
    shown = {one.key for one in fresh.button if one.key}
    assert {f"forget {name}" for name in names} <= shown
    assert {name for name in names if f"use {name}" in shown} == {sources.label(pairs), own.written}
    fresh.button(key=f"use {sources.label(pairs)}").click().run()
    assert fresh.selectbox(key="sts").value == sources.label(pairs)
    fresh.button(key=f"forget {sources.label(pairs)}").click().run()
    assert uploads.paths() == [texts]
    assert fresh.selectbox(key="sts").value == sets.SAMPLE.written
    fresh.button(key=f"forget {sources.label(texts)}").click().run()
    assert (uploads.paths(), sets.kept_sets()) == ([], (own,))


@pytest.mark.parametrize(
    "header", ["sentence1,sentence2,score", "query,passage", "text,label", "anchor,positive,negative"]
)
def test_a_file_without_rows_is_an_error_and_offers_nothing(fresh, header):
    fresh.query_params["tab"] = ways_in.OWN
    before = {one.key for one in fresh.run().button}
    upload(fresh, f"{header}\n".encode())
    assert words(fresh.error) == [error_of(lambda: files.read_bytes("mine.csv", f"{header}\n".encode()))]
    assert {one.key for one in fresh.button} == before


def test_train_on_them_opens_train_with_text_dev_and_test_set(fresh, nothing_is_measured):
    upload(fresh, lines())
    fresh.button(key=TRAIN).click().run()
    assert fresh.title[0].value == "Train"
    assert fresh.multiselect(key="data").value == [kept()]
    assert fresh.selectbox(key="recipe dev").value == sources.CROSS_FITTED
    assert fresh.selectbox(key="recipe test").value == sources.CROSS_FITTED


@pytest.mark.parametrize("few", [corpora.FEW, 1])
def test_of_many_pairs_the_train_part_is_trained_on_beside_dev_part_and_test_half(
    few, fresh, nothing_is_measured, monkeypatch
):
    monkeypatch.setattr(corpora, "FEW", few)
    upload(fresh, lines())
    assert any(own_pairs_form.PARTS_APART in told for told in words(fresh.markdown)) == (few == 1)
    fresh.button(key=TRAIN).click().run()
    own = identity(kept())
    train, dev = (one.written for one in sets.parts(own))
    assert (fresh.multiselect(key="data").value == [train]) == (few == 1)
    assert (fresh.selectbox(key="recipe dev").value == dev) == (few == 1)
    assert (fresh.selectbox(key="recipe test").value == sets.halves(own)[1].written) == (few == 1)


def test_a_file_too_small_to_split_can_be_trained_on_and_looked_at(fresh, nothing_is_measured):
    upload(fresh, lines(12))
    assert words(fresh.warning) == [error_of(lambda: halves(12))]
    assert not fresh.button(key=TRAIN).disabled
    fresh.button(key=FIND).click().run()
    assert fresh.title[0].value == "Layers"


def test_a_file_too_small_for_a_score_says_so_and_offers_nothing(fresh):
    upload(fresh, lines(LEAST_PAIRS - 1))
    (told,) = words(fresh.error)
    assert f"too few usable rows: {LEAST_PAIRS - 1}. Scored pairs need at least {LEAST_PAIRS}" in told
    assert not {FIND, TRAIN, USE} & {*buttons(fresh)}


FIND_CLASSES = "file to pages/layers.py"


def labelled(**classes):
    rows = (f"{label} question {row},{label}" for label, count in classes.items() for row in range(count))
    return "\n".join(["text,label", *rows]).encode()


def test_a_labelled_file_names_its_small_classes_and_is_scored_all_the_same(fresh):
    upload(fresh, labelled(HUM=60, LOC=57, ABBR=3))
    (told,) = words(fresh.warning)
    assert told == file_cautions.RARE.format(text_rows.FEW_OF_CLASS, "'ABBR' 3")
    assert not fresh.button(key=FIND_CLASSES).disabled


def test_a_labelled_file_with_enough_rows_of_each_class_has_no_caution(fresh):
    upload(fresh, labelled(HUM=60, LOC=40))
    assert words(fresh.warning) == []


def test_a_labelled_file_that_cannot_be_scored_says_so_before_the_next_page(fresh):
    upload(fresh, labelled(HUM=40, LOC=40))
    (told,) = words(fresh.warning)
    assert "has 80 rows; 10 folds need at least 100" in told
    assert fresh.button(key=FIND_CLASSES).disabled


BAD = {
    "all scores equal": (lines(score=lambda row: "3"), "every score in 'wie_aehnlich' is 3"),
    "no column of numbers": (lines(score=lambda row: f"about {row}"), "has no column for score"),
    "the same sentence on both sides": (
        b"a;b;c\n" + b"".join(b"sentence %d here;sentence %d here;%d\n" % (row, row, row % 5) for row in range(40)),
        "hold the same sentence",
    ),
}


@pytest.mark.parametrize(("data", "told"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_says_what_to_do_and_offers_nothing(fresh, data, told):
    upload(fresh, data)
    holds = next(box for box in fresh.selectbox if (box.key or "").startswith("holds "))
    holds.set_value(SCORED_PAIRS.title).run()
    assert any(told in one and "Choose" in one for one in words(fresh.error))
    assert not {FIND, TRAIN, USE} & {*buttons(fresh)}


def test_rows_with_one_sentence_twice_are_warned_of(fresh):
    upload(fresh, lines() + b"\nwe sing a song;we sing a song;2\n")
    assert file_cautions.SAME_TWICE.format(1) in words(fresh.warning)


def test_an_outlying_score_and_pairs_with_two_scores_are_warned_of(fresh):
    upload(fresh, lines() + b"\nwe sing a song;they hum a tune;2\nthey hum a tune;we sing a song;9e9\n")
    shown = words(fresh.warning)
    assert file_cautions.CONTRADICTING.format(2) in shown
    (told,) = (one for one in shown if one.startswith(file_cautions.OUTLIERS.partition("{")[0]))
    assert "9e+09 (line " in told


def test_pairs_of_one_family_say_what_to_do(fresh):
    rows = b"".join(b"the same sentence;%d other words here;%d\n" % (row, row % 5) for row in range(40))
    upload(fresh, b"a;b;c\n" + rows)
    linked = GradedPairs("mine.csv", ("a",) * 40, tuple(map(str, range(40))), tuple(map(float, range(40))), ("",) * 40)
    assert words(fresh.warning) == [error_of(lambda: splitting.halves(linked))]


def test_a_disk_that_cannot_be_written_to_is_told_and_nothing_is_opened(fresh, tmp_path, monkeypatch):
    upload(fresh, lines())
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    fresh.button(key=FIND).click().run()
    assert fresh.title[0].value == "Strata"
    (told,) = words(fresh.error)
    assert str(tmp_path / "file") in told


def test_a_summary_counts_what_the_splits_hold():
    rows = range(60)
    pairs = GradedPairs("a", *(tuple(f"{x}{row}" for row in rows) for x in "xy"), tuple(rows), ("",) * 60)
    summary = splitting.summary(pairs)
    assert summary.sizes.keys() == {"dev half", "test half", "train part", "dev part"}
    assert summary.families == 60


PAIRS_FILE = b"query,passage\n" + b"".join(b"what are %d men playing,%d people sing\n" % (n, n) for n in range(40))


@pytest.mark.parametrize(
    ("page", "key"), [("pages/search.py", "corpus"), ("pages/map.py", "map_file"), ("pages/train.py", "data")]
)
def test_a_file_of_pairs_is_recognised_and_leads_to_each_page_that_uses_it(fresh, request, page, key):
    upload(fresh, PAIRS_FILE)
    assert any("40 rows of pairs" in told for told in words(fresh.markdown))
    request.getfixturevalue("nothing_is_measured")  # on the page that is opened
    fresh.button(key=f"file to {page}").click().run()
    chosen = fresh.session_state[key]
    assert "mine.csv" in (chosen if isinstance(chosen, str) else chosen[0])


@pytest.mark.parametrize(
    ("header", "texts", "count", "method"),
    [("text", 1, 40, "setfit"), ("text", 1, 140, "classify"), ("sentence1,sentence2", 2, 40, "sbert-nli")],
)
def test_labelled_texts_lead_to_the_method_that_fits_one_sentence_or_two(fresh, request, header, texts, count, method):
    rows = (",".join([*(f"{n} men play {at}" for at in range(texts)), "yes" if n % 2 else "no"]) for n in range(count))
    upload(fresh, "\n".join([f"{header},label", *rows]).encode())
    assert "file to pages/plans.py" in [one.key for one in fresh.button], (
        "whether to fine-tune is answered of them, too"
    )
    request.getfixturevalue("nothing_is_measured")  # on the page that is opened
    fresh.button(key="file to pages/train.py").click().run()
    assert fresh.session_state[training_form.METHOD] == method


def test_a_file_uploaded_here_is_among_the_evaluation_sets_of_every_page(fresh):
    upload(fresh, PAIRS_FILE)
    pressed(fresh, "file to pages/layers.py")
    assert fresh.selectbox(key="sts").value.startswith("mine.csv")
    assert fresh.selectbox(key="sts").value in fresh.selectbox(key="sts").options
    assert not fresh.error
    assert fresh.selectbox(key="metric").value == "nDCG@10"
    assert layers.BEST_ON_DEV in layer_table(fresh)


def test_a_file_that_is_no_table_says_where_it_belongs(fresh):
    upload(fresh, b"vectors", name="mine.npy")
    assert any("Search" in told and "Map" in told for told in words(fresh.info))
