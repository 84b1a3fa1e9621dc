import math
import random

import pytest

from explorer.data.map_sentences import extremes, of_pairs, of_table, sampled
from explorer.data.tables.files import read_bytes
from explorer.data.text_sets import GradedPairs, Sentences
from explorer.errors import TooFewRows


def table(text, name="own.csv"):
    return read_bytes(name, text.encode())


def cells(described, name):
    return dict(zip(described.texts, described.column(name).cells, strict=True))


def test_a_sentence_of_several_pairs_has_their_mean_score_and_its_sub_corpus(few_pairs):
    found = of_pairs(few_pairs)
    assert found.texts == few_pairs.sentences
    assert [column.name for column in found.columns] == ["words", "score of its pairs"]
    scores = cells(found, "score of its pairs")
    assert (scores["a small boat"], scores["nobody came"]) == (pytest.approx((4.5 + 2.5) / 2), 4.0)
    assert cells(found, "words")["nobody came"] == 2.0
    pairs = GradedPairs("two", ("a", "b", "c"), ("d", "e", "f"), (1.0, 2.0, 3.0), ("news", "forum", "news"))
    assert cells(of_pairs(pairs), "sub-corpus") == dict(zip("abcdef", ("news", "forum", "news") * 2, strict=True))


def test_the_likest_and_unlikest_pairs_are_joined_and_named_by_their_scores(few_pairs):
    count = 50
    first, second = (tuple(f"{side} {number}" for number in range(count)) for side in ("one", "other"))
    golds = tuple(float(number // 5) for number in range(count))  # five pairs have each score
    found = extremes(GradedPairs("many", first, second, golds, ("",) * count), seed=0, count=7)
    assert (found.name, len(found.lines)) == ("many, scored 8 to 9 and scored 0 to 1", 14)
    for place, (one, other) in enumerate(found.lines):
        number = int(found.texts[one].split()[1])
        assert found.texts[other] == f"other {number}"
        assert golds[number] >= 8 if place < 7 else golds[number] <= 1
        assert found.columns[0].cells[one] == ("scored 8 to 9" if place < 7 else "scored 0 to 1")
    ties = {frozenset(extremes(GradedPairs("m", first, second, golds, ("",) * count), s, 7).texts) for s in range(5)}
    assert len(ties) > 1, "the seed decides among equal scores"
    assert len(extremes(few_pairs, seed=0).lines) == 4


def test_columns_of_a_file_come_along_as_numbers_or_names():
    rows = ["text,topic,weight,label,words"]
    rows += [f"sentence number {at},{'news' if at % 2 else ''},{at / 3 if at else ''},{at % 2},x" for at in range(12)]
    found = of_table(table("\n".join([*rows, rows[3], ",news,1,1,x"]) + "\n"))
    assert (len(found), found.note) == (12, "2 of 14 rows are empty, or repeat a sentence.")
    weights = found.column("weight").cells
    assert math.isnan(weights[0])
    assert weights[3] == 1.0
    assert found.column("topic").cells[:2] == ("", "news")
    assert not found.column("label").counts, "a class by number is a name"
    assert found.column("words").counts
    assert found.column("words (of the file)").cells[0] == "x"
    found = of_table(table("first,second\na b c,d e f\ng h i,j k l\n"), "second")
    assert found.texts == ("d e f", "j k l")
    found = of_table(table("sentence,text,words\nyes,a b c,one\nno,d e f,two\n"), "text")
    assert [column.name for column in found.columns] == ["sentence (of the file)", "words (of the file)", "words"]


@pytest.mark.parametrize("text", ["the same\n" * 200, "alone\n"])
def test_one_sentence_is_too_few_and_the_message_says_so(text):
    with pytest.raises(TooFewRows, match=r"has 1 distinct sentences .* at least 2"):
        of_table(table(text, "own.txt"))


def test_a_sample_keeps_the_shares_of_the_sub_corpora_and_says_so():
    names = ["large"] * 700 + ["middle"] * 200 + ["small"] * 100
    random.Random(0).shuffle(names)
    golds = tuple(float(at % 3) for at in range(1000))
    first = tuple(f"sentence {at}" for at in range(1000))
    whole = of_pairs(GradedPairs("many", first, first, golds, tuple(names)))
    found = sampled(whole, 101)
    kept = found.column("sub-corpus").cells
    assert len(found) == 101
    assert [kept.count(name) for name in ("large", "middle", "small")] == [71, 20, 10]
    assert list(found.texts) == sorted(found.texts, key=whole.texts.index)
    assert found.note == "101 of 1,000 sentences, drawn at random, with the shares of 'sub-corpus' kept."
    assert cells(found, "sub-corpus") == {text: cells(whole, "sub-corpus")[text] for text in found.texts}
    assert sampled(whole, 1000) is whole


def test_the_digest_is_of_the_sentences_in_their_order():
    assert Sentences("a", ("x", "y"), ()).digest == Sentences("b", ("x", "y"), ()).digest
    assert Sentences("a", ("x", "y"), ()).digest != Sentences("a", ("y", "x"), ()).digest
