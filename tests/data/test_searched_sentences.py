"""Test that sentences are searched once, and that no scored pair shares one with dev or test pairs in training."""

import pytest

from explorer.data import corpora, sample
from explorer.data.corpora import of_pairs, of_source, without_evaluated
from explorer.data.graded import sts
from explorer.data.text_sets import PAIRS, SCORED_PAIRS, SENTENCES, Corpus, GradedPairs
from explorer.errors import BadScores, StrataError, TooFewRows

FEW = GradedPairs("few", ("a b", "c d", "a b"), ("e f", "a b", "g h"), (1.0, 2.0, 3.0), ("", "", ""))


def test_sentences_of_pairs_stand_once_in_order_and_repeats_are_counted(tmp_path):
    found = of_pairs(FEW)
    assert found.texts == FEW.sentences == ("a b", "c d", "e f", "g h")
    assert found.note == "4 sentences of few; 2 repeated are left out."
    path = tmp_path / "same.txt"
    path.write_text("The same.\n" * 200, encoding="utf-8")
    assert of_source(str(path)).note == "1 sentence of same.txt; 199 repeated are left out."


def test_the_sample_is_that_of_the_training_page():
    assert of_source("sample").texts == corpora.corpus(("sample",), SENTENCES)[0].columns[0]
    assert of_source("Sample pairs").texts == sample.pairs().sentences


def test_a_set_without_a_split_is_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv(sts.VARIABLE, str(tmp_path))
    for name, pairs in (("train", 4500), ("trial", 500), ("test", 4927)):
        path = tmp_path / "SICK" / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        rows = "".join(f"{at % 6}\t{name} {at}.\tThe same.\n" for at in range(pairs))
        path.write_text("score\tsentence1\tsentence2\n" + rows, encoding="utf-8")
    assert of_source("SICK-R").note == "9,928 sentences of SICK-R; 9,926 repeated are left out."
    assert of_source("SICK-R trial").texts[:2] == ("trial 0.", "trial 1.")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.txt", "One two.\nThree four.\n\nOne two.\n"),
        ("mine.csv", "text\nOne two.\nThree four.\nOne two.\n"),
        ("mine.tsv",
         "score\tsentence1\tsentence2\n1\tOne two.\tThree four.\n4\tOne two.\tThree four.\n2\tOne two.\tOne two.\n"),
        ("mine.jsonl", '{"text": "One two."}\n{"text": "Three four."}\n{"text": "One  two."}\n'),
    ],
)  # fmt: skip
def test_a_file_gives_its_sentences_once_and_says_how_many_came_again(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    found = of_source(str(path))
    assert found.texts == ("One two.", "Three four.")
    assert f"{content.count('One') + content.count('Three') - 2} repeated" in found.note
    assert name in found.note


def test_of_too_many_sentences_some_are_taken_from_all_over(monkeypatch):
    monkeypatch.setattr(corpora, "MOST", 10)
    found = of_pairs(GradedPairs("many", tuple(map(str, range(40))), ("39",) * 40, (1.0,) * 40, ("",) * 40))
    assert found.texts == tuple(map(str, range(0, 40, 4)))
    assert "40 repeated" in found.note
    assert "10 sentences of many, spread evenly over its 40 (of a text, 10 are searched at most" in found.note


@pytest.mark.parametrize(
    "source",
    ["nonsense", "/no/such/file.txt", "", "x" * 5000, "x" * 5000 + ".txt", "\0.txt", "a\0b", "<b>x</b>", "~/.ssh"],
)
def test_what_is_no_corpus_is_an_error_in_words(source):
    with pytest.raises(StrataError):
        of_source(source)


ROWS = Corpus(
    "mine", SCORED_PAIRS, (("a", "c", "e", "g", "i"), ("b", "d", "f", "h", "a"), (0.0, 0.25, 0.25, 0.75, 1.0))
)


def pairs(*rows: tuple[str, str]) -> tuple[str, ...]:
    """The sentences of some scored pairs."""
    first, second = zip(*rows, strict=True)
    return GradedPairs("evaluated", first, second, tuple(map(float, range(len(rows)))), ("",) * len(rows)).sentences


def test_a_row_goes_that_shares_either_sentence_with_either_set():
    left, told = without_evaluated(ROWS, [pairs(("x", "a"), ("y", "z")), pairs(("f", "x"))], 2)
    assert left.columns == (("c", "g"), ("d", "h"), (0.25, 0.75))
    assert (left.name, left.kind) == ("mine", SCORED_PAIRS)
    assert left.digest != ROWS.digest
    assert told.startswith("held out: 3 of 5 rows of mine share a sentence with the dev or test pairs")
    assert "2 rows are left" in told


def test_rows_that_share_nothing_stay_as_they_are_and_other_text_whole():
    assert without_evaluated(ROWS, [pairs(("x", "y"), ("A", "b "))], 5) == (ROWS, "")
    assert without_evaluated(ROWS, [], 6) == (ROWS, ""), "a batch that the text does not fill is refused with the text"
    for eats, columns in ((SENTENCES, (("a", "b"),)), (PAIRS, (("a",), ("b",)))):
        rows = Corpus("other", eats, columns)
        assert without_evaluated(rows, [pairs(("a", "b"))], 64) == (rows, "")


@pytest.mark.parametrize(
    ("evaluated", "batch", "message"),
    [
        (pairs(("a", "c"), ("e", "g")), 2, "All 5 rows of mine share a sentence .* Choose other dev or test pairs"),
        (pairs(("a", "c")), 3, "3 of 5 rows of mine share.*; 2 are left, but a batch takes 3. Set batch_size to 2 or"),
        (pairs(("a", "c"), ("g", "x")), 2, "1 are left, but a batch takes 2. Choose other dev or test pairs"),
    ],
)
def test_too_little_that_is_left_is_an_error_with_a_way_out(evaluated, batch, message):
    with pytest.raises(TooFewRows, match=message):
        without_evaluated(ROWS, [evaluated], batch)


def test_scores_that_are_all_the_same_in_what_is_left_are_an_error_with_a_way_out():
    with pytest.raises(
        BadScores, match=r"Every score in mine is the same once 3 of 5 rows .* Choose text whose scores"
    ):
        without_evaluated(ROWS, [pairs(("a", "g"))], 2)
