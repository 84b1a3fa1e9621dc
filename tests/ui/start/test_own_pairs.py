"""The form for a file of one's own scored pairs on the Start page, from the upload to Layers and Train."""

import pytest

from explorer.data import splitting
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.data.sources import identity, written
from explorer.data.text_sets import SCORED_PAIRS, GradedPairs
from explorer.ui import layers
from explorer.ui.runs import training_form
from explorer.ui.start import own_pairs_form
from tests.visits import buttons, cards, error_of, measured, opened, pressed, words

FIND, TRAIN, USE = "find best layer", "train on pairs", "use pairs"  # the keys of the buttons below the pairs

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


def halves(count):
    """The halves of pairs of which none share a sentence."""
    first, second = (tuple(f"{side} {row}" for row in range(count)) for side in ("one", "other"))
    scores = tuple(float(row % 5) for row in range(count))
    return splitting.halves(GradedPairs("mine.csv", first, second, scores, ("",) * count))


def why_no_parts(count):
    """What keeps so many pairs from being split for training."""
    return error_of(lambda: splitting.parts(halves(count)[0], "mine.csv"))


def uploaded(app, data, name="mine.csv"):
    app.run().file_uploader[0].set_value((name, data, "text/csv"))
    return measured(app)


def kept():
    (own,) = sets.kept_sets()
    return written(own)


def test_odd_names_and_decimal_commas_are_read_and_the_splits_are_told(start):
    uploaded(start, lines())
    roles = {"first": "phrase_left", "second": "phrase_right", "score": "wie_aehnlich"}
    assert {role: start.selectbox(key=f"column mine.csv {role}").value for role in roles} == roles
    assert cards(start)[own_pairs_form.SCORES] == "0 to 5"
    (told,) = (one for one in words(start.markdown) if own_pairs_form.SPLIT_PAIRS.format(60, 60) in one)
    assert own_pairs_form.HALVES.format(30, 30) in told
    assert words(start.error) == words(start.warning) == []
    assert list(start.dataframe[0].value.columns) == ["wie_aehnlich", "phrase_left", "phrase_right"]


@pytest.mark.parametrize("odd", [False, True])
def test_find_the_best_layer_opens_layers_with_the_pairs_chosen_and_no_page_reads_the_title(start, monkeypatch, odd):
    if odd:
        title = property(lambda given: f"{given.piece} <- {given.digest} <- {given.name}"[::-1])
        monkeypatch.setattr(SetIdentity, "title", title)
    uploaded(start, lines())
    start.button(key=FIND).click().run()
    assert start.title[0].value == "Layers"
    assert start.selectbox(key="sts").value == kept()
    opened(start, "layers")  # the test's own runs start from the page it knows of
    assert layers.BEST_ON_DEV in cards(start)


def test_train_on_them_opens_train_with_text_dev_and_test_set(start):
    uploaded(start, lines())
    start.button(key=TRAIN).click().run()
    assert start.title[0].value == "Train"
    own = identity(kept())
    train, dev = map(written, sets.parts(own))
    assert start.multiselect(key="data").value == [train]
    assert start.selectbox(key="recipe dev").value == dev
    assert start.selectbox(key="recipe test").value == written(sets.halves(own)[1])


def test_use_these_pairs_stays_and_says_that_they_are_chosen(start):
    uploaded(start, lines())
    pressed(start, USE)
    assert start.title[0].value == "Strata"
    assert start.selectbox(key="sts").value == kept()
    assert words(start.success) == [own_pairs_form.CHOSEN.format(kept())]


def test_a_file_too_small_to_split_says_what_to_do_and_can_be_looked_at(start):
    uploaded(start, lines(12))
    assert words(start.warning) == [error_of(lambda: halves(12))]
    assert start.button(key=TRAIN).disabled
    start.button(key=FIND).click().run()
    assert start.title[0].value == "Layers"


def test_a_file_with_halves_too_small_for_training_says_so(start):
    uploaded(start, lines(30))
    assert words(start.warning) == [why_no_parts(30)]
    assert start.button(key=TRAIN).disabled
    assert not start.button(key=FIND).disabled


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
    holds = next(box for box in start.selectbox if (box.key or "").startswith("holds "))
    holds.set_value(SCORED_PAIRS.title).run()
    assert any(told in one and "Choose" in one for one in words(start.error))
    assert not {FIND, TRAIN, USE} & {*buttons(start)}


def test_rows_with_one_sentence_twice_are_warned_of(start):
    uploaded(start, lines() + b"\nwe sing a song;we sing a song;2\n")
    assert own_pairs_form.SAME_TWICE.format(1) in words(start.warning)


def test_pairs_of_one_family_say_what_to_do(start):
    rows = b"".join(b"the same sentence;%d other words here;%d\n" % (row, row % 5) for row in range(40))
    uploaded(start, b"a;b;c\n" + rows)
    linked = GradedPairs("mine.csv", ("a",) * 40, tuple(map(str, range(40))), tuple(map(float, range(40))), ("",) * 40)
    assert words(start.warning) == [error_of(lambda: splitting.halves(linked))]


def test_a_disk_that_cannot_be_written_to_is_told_and_nothing_is_opened(start, tmp_path, monkeypatch):
    uploaded(start, lines())
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    start.button(key=FIND).click().run()
    assert start.title[0].value == "Strata"
    (told,) = words(start.error)
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
def test_a_file_of_pairs_is_recognised_and_leads_to_each_page_that_uses_it(start, page, key):
    uploaded(start, PAIRS_FILE)
    assert any("40 rows of pairs" in told for told in words(start.markdown))
    pressed(start, f"file to {page}")
    chosen = start.session_state[key]
    assert "mine.csv" in (chosen if isinstance(chosen, str) else chosen[0])


@pytest.mark.parametrize(
    ("header", "texts", "method"), [("text", 1, "classify"), ("sentence1,sentence2", 2, "sbert-nli")]
)
def test_labelled_texts_lead_to_the_method_that_fits_one_sentence_or_two(start, header, texts, method):
    rows = (",".join([*(f"{n} men play {at}" for at in range(texts)), "yes" if n % 2 else "no"]) for n in range(40))
    uploaded(start, "\n".join([f"{header},label", *rows]).encode())
    pressed(start, "file to pages/train.py")
    assert start.session_state[training_form.METHOD] == method


def test_a_file_uploaded_here_is_among_the_evaluation_sets_of_every_page(start):
    uploaded(start, PAIRS_FILE)
    pressed(start, "file to pages/layers.py")
    assert start.selectbox(key="sts").value.startswith("mine.csv")
    assert start.selectbox(key="sts").value in start.selectbox(key="sts").options
    assert not start.error
    assert start.selectbox(key="metric").value == "nDCG@10"
    assert layers.BEST_ON_DEV in cards(start)


def test_a_file_that_is_no_table_says_where_it_belongs(start):
    uploaded(start, b"vectors", name="mine.npy")
    assert any("Search" in told and "Map" in told for told in words(start.info))
