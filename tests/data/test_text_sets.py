"""Test that a digest depends on the texts alone, and that no sentence is in both halves or searched twice."""

import random
from dataclasses import replace
from itertools import combinations
from statistics import mean, pstdev

import pytest

from explorer.data import corpora, sample, splitting
from explorer.data.corpora import of_pairs, without_evaluated
from explorer.data.graded import sts
from explorer.data.set_items import counted
from explorer.data.text_sets import (
    BACK_TRANSLATIONS,
    KINDS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    Corpus,
    GradedPairs,
    Labelled,
    Sentences,
    Triplets,
    digest_of,
)
from explorer.errors import BadScores, CannotSplit, StrataError, TooFewRows
from tests.named_texts import corpus, of_source

MINE = GradedPairs("mine", ("a", "b"), ("b", "c"), (1.0, 2.0), ("", ""))


def test_borders_kinds_and_columns_of_texts_count_in_a_digest():
    assert digest_of(("ab", "c")) != digest_of(("a", "bc")) != digest_of(("abc",))
    pairs, back = (Corpus("x", kind, (("a",), ("b",))) for kind in (PAIRS, BACK_TRANSLATIONS))
    assert len({Sentences("x", ("a", "b")).digest, pairs.digest, back.digest, digest_of(("a", "b"))}) == 4
    three = Corpus("x", LABELLED_TEXTS, (("a", "b", "c"), ("0", "1", "1")))
    assert three.digest != Corpus("x", LABELLED_TEXTS, (("a", "b"), ("c", "'0'"), ("1", "1"))).digest
    rows = Corpus("x", LABELLED_TEXTS, (("a", "b"), ("0", "1")))
    uses = [{}, {"validation": rows}, {"test": rows}, {"validation": rows, "test": rows}]
    assert len({replace(rows, **use).digest for use in uses}) == len(uses)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Sentences("x", ("a",)), Sentences("y", ("a",))),
        (Corpus("x", PAIRS, (("a",), ("b",))), Corpus("y", PAIRS, (("a",), ("b",)))),
        (Triplets("x", ("a",), ("b",), ("c",)), Triplets("y", ("a",), ("b",), ("c",))),
        (MINE, GradedPairs("yours", MINE.first, MINE.second, MINE.gold, MINE.parts)),
    ],
)
def test_a_name_does_not_change_a_digest(one, other):
    assert one.digest == other.digest


@pytest.mark.parametrize(
    "other",
    [
        GradedPairs("mine", ("b", "a"), ("b", "c"), (1.0, 2.0), ("", "")),
        GradedPairs("mine", ("a", "b"), ("b", "c"), (1.0, 2.5), ("", "")),
        GradedPairs("mine", ("a", "b"), ("b", "c"), (1.0, 2.0), ("", "news")),
    ],
)
def test_order_grades_and_parts_change_a_digest(other):
    assert other.digest != MINE.digest


def test_texts_labels_and_second_sentences_change_the_digest_of_labelled_rows():
    given = Labelled("x", ("a", "b"), ("0", "1"))
    others = [
        Labelled("x", ("b", "a"), ("0", "1")),
        Labelled("x", ("a", "b"), ("1", "0")),
        Labelled("x", ("a",), ("0", "1"), ("b",)),
        Labelled("x", ("a", "b"), ("0", "1"), ("c", "d")),
    ]
    assert given.digest == Labelled("y", ("a", "b"), ("0", "1")).digest
    assert len({given.digest, *(other.digest for other in others)}) == 5
    assert (len(given), given.classes) == (2, ("0", "1"))


def test_every_kind_counts_its_rows_and_each_sentence_of_pairs_is_listed_once():
    assert MINE.sentences == ("a", "b", "c")
    assert len(MINE) == 2
    assert len(Sentences("x", ("a", "b", "c"))) == 3
    assert len(Corpus("x", PAIRS, (("a",), ("b",)))) == len(Triplets("x", ("a",), ("b",), ("c",))) == 1
    assert len(Corpus("x", BACK_TRANSLATIONS, (("a", "b"), ("c", "d")))) == 2


def test_every_kind_of_rows_has_its_own_name_roles_and_the_digest_of_older_runs():
    assert [kind.name for kind in KINDS] == [
        "sentences", "pairs", "triplets", "back-translations", "graded pairs", "labelled texts", "documents"
    ], "old recipes, digests and commands have these names"  # fmt: skip
    for kind in KINDS:
        assert (len(set(kind.roles)), kind.texts[0].relation) == (len(kind.roles), "")
        assert kind.gives(kind)
    assert Corpus("x", PAIRS, (("a",), ("b",))).digest == digest_of(("pairs", "a", "b"))
    assert Corpus("x", SCORED_PAIRS, (("a",), ("b",), (0.5,))).digest == digest_of(("graded pairs", "a", "b", "0.5"))


def made_up(seed, count=200, sentences=600, parts=("news", "forum")):
    """Pairs drawn at random, so that some share a sentence; scores as uneven as people's."""
    draw = random.Random(seed)
    texts = [f"sentence {number}" for number in range(sentences)]
    first, second = ([draw.choice(texts) for _ in range(count)] for _ in range(2))
    gold = [round(5 * draw.random() ** 2, draw.choice((0, 1))) for _ in range(count)]
    return GradedPairs("mine.csv", *map(tuple, (first, second, gold, draw.choices(parts, k=count))))


def apart(count=200):
    """Pairs without a sentence in common."""
    rows = range(count)
    first, second = (tuple(f"{side} {row}" for row in rows) for side in ("one", "other"))
    return GradedPairs("mine.csv", first, second, tuple(row % 50 / 10 for row in rows), ("",) * count)


def shuffled(pairs, seed):
    rows = list(range(len(pairs)))
    random.Random(seed).shuffle(rows)
    columns = ([column[row] for row in rows] for column in (pairs.first, pairs.second, pairs.gold, pairs.parts))
    return GradedPairs(pairs.name, *map(tuple, columns))


def rows_of(pairs):
    return sorted(zip(pairs.first, pairs.second, pairs.gold, pairs.parts, strict=True))


def pieces(pairs):
    dev, test = splitting.halves(pairs)
    return (*splitting.parts(dev, pairs.name), test)


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_sentence_is_in_two_splits_no_pair_is_lost_and_neither_orders_nor_the_name_matter(seed):
    pairs = made_up(seed)
    made = pieces(pairs)
    for one, other in combinations(made, 2):
        assert not set(one.sentences) & set(other.sentences)
    assert sorted(row for one in made for row in rows_of(one)) == rows_of(pairs)
    other = replace(shuffled(pairs, seed), name="renamed.csv")
    swapped = replace(pairs, first=pairs.second, second=pairs.first)
    for one, again, turned in zip(pieces(pairs), pieces(other), pieces(swapped), strict=True):
        assert rows_of(one) == rows_of(again)
        assert rows_of(one) == rows_of(replace(turned, first=turned.second, second=turned.first))


@pytest.mark.parametrize("seed", SEEDS)
def test_families_are_what_a_slow_search_finds(seed):
    pairs = made_up(seed, count=60, sentences=80)
    found = []
    left = set(range(60))
    while left:
        family = {left.pop()}
        while True:
            texts = {text for row in family for text in (pairs.first[row], pairs.second[row])}
            more = {row for row in left if {pairs.first[row], pairs.second[row]} & texts}
            if not more:
                break
            family |= more
            left -= more
        found.append(tuple(sorted(family)))
    assert sorted(splitting.families(pairs)) == sorted(found)


def test_rows_stay_in_the_order_of_the_file_with_their_tags_and_parts():
    pairs = replace(made_up(0), tags=tuple(map(str, range(200))))
    for one in pieces(pairs):
        rows = list(map(int, one.tags))
        assert rows == sorted(rows)
        assert one.parts == tuple(pairs.parts[row] for row in rows)
        assert one.gold == tuple(pairs.gold[row] for row in rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_scores_and_sub_corpora_are_balanced(seed):
    pairs = made_up(seed, count=400, sentences=1600)
    train, dev, test = pieces(pairs)
    for one, share in ((train, 0.375), (dev, 0.125), (test, 0.5)):
        assert len(one) == pytest.approx(share * 400, abs=6)
        assert mean(one.gold) == pytest.approx(mean(pairs.gold), abs=0.15)
        assert pstdev(one.gold) == pytest.approx(pstdev(pairs.gold), abs=0.15)
        assert one.parts.count("news") / len(one) == pytest.approx(pairs.parts.count("news") / 400, abs=0.06)


def test_the_pieces_are_named_after_the_file_and_their_rows_found_in_the_whole():
    names = ["mine.csv, train part", "mine.csv, dev part", "mine.csv, test half"]
    assert [one.name for one in pieces(apart())] == names
    assert [splitting.piece(apart(), name).name for name in (*splitting.PARTS, splitting.TEST_HALF)] == names
    pairs = made_up(3)
    dev, test = splitting.halves(pairs)
    rows = pairs.rows_of(dev)
    assert tuple(pairs.first[row] for row in rows) == dev.first
    assert tuple(pairs.gold[row] for row in rows) == dev.gold
    assert sorted((*rows, *pairs.rows_of(test))) == list(range(200))


def test_a_sentence_in_other_letters_or_a_pair_that_is_there_twice_is_in_one_half():
    pairs = apart()
    dev, test = splitting.halves(replace(pairs, first=(*pairs.first[:100], *map(str.upper, pairs.first[:100]))))
    assert not {text.casefold() for text in dev.sentences} & {text.casefold() for text in test.sentences}
    pairs = apart(60)
    twice = GradedPairs("mine.csv", pairs.first * 2, (*pairs.second, *pairs.first), pairs.gold * 2, pairs.parts * 2)
    dev, test = splitting.halves(twice)
    assert len(dev) == len(test) == 60
    assert not set(dev.sentences) & set(test.sentences)


def test_what_cannot_be_split_is_told_with_the_reason():
    with pytest.raises(CannotSplit, match=r"mine.csv has 19 pairs; .*dev half and test half needs at least 20. Add"):
        splitting.halves(apart(19))
    dev, _ = splitting.halves(apart(30))
    with pytest.raises(CannotSplit, match=r"mine.csv, dev half has 15 pairs; .*train part and dev part"):
        splitting.parts(dev, "mine.csv")
    pairs = replace(apart(60), gold=(5.0,) + (3.0,) * 59)
    with pytest.raises(
        CannotSplit, match=r"every score in mine.csv, (dev|test) half would be 3, .*Add pairs with other"
    ):
        splitting.halves(pairs)


def test_a_family_that_holds_most_pairs_is_told_with_its_size():
    pairs = apart(60)
    linked = replace(pairs, first=("the same",) * 45 + pairs.first[45:])
    with pytest.raises(CannotSplit, match=r"45 of its 60 pairs are linked by shared sentences.*Add pairs of other"):
        splitting.halves(linked)
    dev, test = splitting.halves(replace(pairs, first=("the same",) * 30 + pairs.first[30:]))
    assert not set(dev.sentences) & set(test.sentences)
    assert min(len(dev), len(test)) >= 24


def test_the_parts_of_the_sample_leave_its_test_half_alone():
    train, dev = sample.train_part(), sample.dev_part()
    assert (len(train), len(dev)) == (90, 30)
    assert rows_of(sample.dev()) == sorted([*rows_of(train), *rows_of(dev)])
    assert not set(train.sentences) & {*dev.sentences, *sample.test().sentences}
    assert mean(train.gold) == pytest.approx(mean(dev.gold), abs=0.15)


FEW = GradedPairs("few", ("a b", "c d", "a b"), ("e f", "a b", "g h"), (1.0, 2.0, 3.0), ("", "", ""))


def test_sentences_of_pairs_stand_once_in_order_and_repeats_are_counted(tmp_path):
    found = of_pairs(FEW)
    assert found.texts == FEW.sentences == ("a b", "c d", "e f", "g h")
    assert found.note == "4 sentences of few; 2 repeated are left out."
    path = tmp_path / "same.txt"
    path.write_text("The same.\n" * 200, encoding="utf-8")
    assert of_source(str(path)).note == "1 sentence of same.txt; 199 repeated are left out."


def test_the_sample_is_that_of_the_training_page():
    assert of_source("sample").texts == corpus(("sample",), SENTENCES)[0].columns[0]
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


def test_a_count_of_items_is_singular_only_for_one():
    assert [counted(1, "family"), counted(2, "family"), counted(1, "pair"), counted(1200, "query")] == [
        "1 family", "2 families", "1 pair", "1,200 queries"]  # fmt: skip
