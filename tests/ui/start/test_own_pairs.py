"""The form for a file of one's own scored pairs on the Start page, from the upload to Layers and Train."""

import pytest

from explorer.data import splitting
from explorer.data.graded import sets, user_sets
from tests.visits import button, cards, measured, words

SCORES = ("0", "1,5", "3", "4,25", "5")


def lines(count=60, score=lambda row: SCORES[row % 5]):
    """Sentences of different words, so that no two rows are a family; odd names, semicolons, decimal commas."""
    rows = [f"{row} men play a guitar;{row + 1000} people sing in a hall;{score(row)}" for row in range(count)]
    return "\n".join(("phrase_left;phrase_right;wie_aehnlich", *rows)).encode()


@pytest.fixture
def start(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    return app


def uploaded(app, data, name="mine.csv"):
    app.run().file_uploader[0].set_value((name, data, "text/csv"))
    measured(app)
    assert not app.exception
    return app


def kept():
    (name,) = user_sets.names()
    return name


def test_odd_names_and_decimal_commas_are_read_and_the_splits_are_told(start):
    uploaded(start, lines())
    assert [start.selectbox(key=f"column mine.csv {role}").value for role in ("first", "second", "score")] == [
        "phrase_left",
        "phrase_right",
        "wie_aehnlich",
    ]
    assert cards(start)["Scores"] == "0 to 5"
    (told,) = (one for one in words(start.markdown) if "families" in one)
    assert "**60 pairs** in 60 families" in told
    assert "30 in the dev half, 30 in the test half" in told
    assert words(start.error) == words(start.warning) == []
    assert list(start.dataframe[0].value.columns) == ["wie_aehnlich", "phrase_left", "phrase_right"]


def test_find_the_best_layer_opens_layers_with_the_pairs_chosen(start):
    uploaded(start, lines())
    button(start, "Find the best layer on them").click().run()
    assert not start.exception
    assert start.title[0].value == "Layers"
    assert start.selectbox(key="sts").value == kept()
    measured(start.switch_page("pages/layers.py"))  # the test's own runs start from the page it knows of
    assert "Best on the dev set" in cards(start)


def test_train_on_them_opens_train_with_text_dev_and_test_set(start):
    uploaded(start, lines())
    button(start, "Train on them").click().run()
    assert not start.exception
    assert start.title[0].value == "Train"
    train, dev = sets.parts(kept())
    assert start.multiselect(key="data").value == [train]
    assert start.selectbox(key="recipe dev").value == dev
    assert start.selectbox(key="recipe test").value == sets.halves(kept())[1]


def test_use_these_pairs_stays_and_says_that_they_are_chosen(start):
    uploaded(start, lines())
    button(start, "Use these pairs").click()
    measured(start)
    assert start.title[0].value == "Strata"
    assert start.selectbox(key="sts").value == kept()
    assert any(kept() in told for told in words(start.success))


def test_a_file_too_small_to_split_says_what_to_do_and_can_be_looked_at(start):
    uploaded(start, lines(12))
    assert any("needs at least 20. Add pairs" in told for told in words(start.warning))
    assert button(start, "Train on them").disabled
    button(start, "Find the best layer on them").click().run()
    assert start.title[0].value == "Layers"


def test_a_file_with_halves_too_small_for_training_says_so(start):
    uploaded(start, lines(30))
    assert any("dev half has 15 pairs" in told for told in words(start.warning))
    assert button(start, "Train on them").disabled
    assert not button(start, "Find the best layer on them").disabled


BAD = {
    "all scores equal": (lines(score=lambda row: "3"), "every score in 'wie_aehnlich' is 3"),
    "no column of numbers": (lines(score=lambda row: f"about {row}"), "has no column for score"),
    "the same sentence on both sides": (
        b"a;b;c\n" + b"".join(b"sentence %d here;sentence %d here;%d\n" % (row, row, row % 5) for row in range(40)),
        "hold the same sentence",
    ),
}


@pytest.mark.parametrize(("data", "told"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_says_what_to_do_and_offers_nothing(start, data, told):
    uploaded(start, data)
    assert any(told in one and "Choose" in one for one in words(start.error))
    assert not [one for one in start.button if "them" in one.label]


def test_rows_with_one_sentence_twice_are_warned_of(start):
    uploaded(start, lines() + b"\nwe sing a song;we sing a song;2\n")
    assert any(told.startswith("1 rows hold the same sentence twice") for told in words(start.warning))


def test_pairs_of_one_family_say_what_to_do(start):
    rows = b"".join(b"the same sentence;%d other words here;%d\n" % (row, row % 5) for row in range(40))
    uploaded(start, b"a;b;c\n" + rows)
    assert any("40 of its 40 pairs are linked" in told and "Add pairs" in told for told in words(start.warning))


def test_a_disk_that_cannot_be_written_to_is_told_and_nothing_is_opened(start, tmp_path, monkeypatch):
    uploaded(start, lines())
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    button(start, "Find the best layer on them").click().run()
    assert start.title[0].value == "Strata"
    assert any("cannot be written to" in told for told in words(start.error))


def test_a_summary_counts_what_the_splits_hold():
    name = {"dev half": 30, "test half": 30, "train part": 22, "dev part": 8}
    rows = range(60)
    pairs = user_sets.GradedPairs("a", *(tuple(f"{x}{row}" for row in rows) for x in "xy"), tuple(rows), ("",) * 60)
    assert splitting.summary(pairs).sizes.keys() == name.keys()
    assert splitting.summary(pairs).families == 60
