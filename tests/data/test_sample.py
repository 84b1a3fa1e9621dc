"""Test that the sample is as large, varied and balanced as stated, and the sentences of maps."""

import math
import random
from bisect import bisect_right
from collections import Counter
from statistics import median

import pytest

from explorer.data import sample
from explorer.data.map_sentences import extremes, of_pairs, of_table, sampled
from explorer.data.sample import FOLDER
from explorer.data.tables.files import read_bytes, read_file
from explorer.data.text_sets import BACK_TRANSLATIONS, PAIRS, SENTENCES, TRIPLETS, GradedPairs, Sentences
from explorer.errors import TooFewRows
from explorer.evaluating.tasks.word_models import word_splitter
from tests.data import held_out
from tests.named_texts import corpus, serves

TAGS_AT_LEAST = {"negation": 18, "role swap": 18, "antonym": 18, "number": 18, "paraphrase": 30, "overlap": 30}
TAGS = {*TAGS_AT_LEAST, "detail", "topic", "same", "unrelated"}
BANDS = (0, 1, 2, 3, 4, 4.5)  # where the bands of scores begin; the last ends with 5


def tags_of_pairs():
    """The difficulty of each pair, such as negation or word overlap."""
    return [list(map(str.strip, cell.split(","))) for cell in read_file(FOLDER / "pairs.tsv").column("tags")]


def _words(texts: tuple[str, ...]) -> list[int]:
    return sorted(len(text.split()) for text in texts)


def test_nothing_in_the_files_is_dropped_and_the_sizes_are_those_that_are_stated():
    for name, kept in (("pairs.tsv", sample.pairs()), ("triplets.tsv", sample.triplets())):
        table = read_file(sample.FOLDER / name)
        assert len(kept) == len(table.rows)
        assert not table.ragged
    assert list(sample.sentences().texts) == (sample.FOLDER / "sentences.txt").read_text(encoding="utf-8").splitlines()
    assert len(sample.pairs()) == len(tags_of_pairs()) == 240
    assert (len(sample.sentences()), len(sample.triplets())) == (800, 160)


def test_no_sentence_or_row_is_said_twice_whatever_its_case():
    pairs, triplets = sample.pairs(), sample.triplets()
    rows = [frozenset((one.casefold(), two.casefold())) for one, two in zip(pairs.first, pairs.second, strict=True)]
    assert len(set(rows)) == 240
    assert all(len(row) == 2 for row in rows)
    assert len({text.casefold() for text in sample.sentences().texts}) == 800
    assert len({text.casefold() for text in triplets.anchors}) == 160
    assert len({text.casefold() for text in (*triplets.anchors, *triplets.positives, *triplets.negatives)}) == 480


def test_sentences_and_paired_ones_are_short_and_long():
    words = _words(sample.sentences().texts)
    assert words[0] <= 4
    assert words[-1] >= 25
    assert 8 <= median(words) <= 14
    assert len(set(words)) >= 20
    lower, upper = words[len(words) // 4], words[3 * len(words) // 4]
    assert upper - lower >= 4
    pairs = sample.pairs()
    words = _words((*pairs.first, *pairs.second))
    assert words[0] <= 4
    assert words[-1] >= 20
    assert len(set(words)) >= 15


def test_six_domains_have_forty_pairs_each_and_scores_fill_every_band():
    assert sorted(Counter(sample.pairs().parts).values()) == [40] * 6
    gold = sample.pairs().gold
    assert 0 <= min(gold) <= max(gold) <= 5
    bands = Counter(BANDS[bisect_right(BANDS, score) - 1] for score in gold)
    assert min(bands[low] for low in BANDS) >= 34, bands


def test_every_pair_has_a_tag_and_the_sample_its_own_name():
    for at, tags in enumerate(tags_of_pairs()):
        assert tags, at
        assert set(tags) <= TAGS, (at, tags)
        assert len(set(tags)) == len(tags), (at, tags)
    assert sample.pairs().name == sample.PAIRS == "Sample pairs"
    assert sample.pairs() is sample.pairs()
    assert sample.sentences() is sample.sentences()
    assert sample.triplets() is sample.triplets()


@pytest.mark.parametrize(("tag", "least"), TAGS_AT_LEAST.items())
def test_every_tag_has_pairs_enough_to_look_at(tag, least):
    assert sum(tag in tags for tags in tags_of_pairs()) >= least


def _rows(pairs: GradedPairs) -> set[tuple[str, str, float, str]]:
    return set(zip(pairs.first, pairs.second, pairs.gold, pairs.parts, strict=True))


def test_the_halves_share_no_sentence_and_have_every_domain_and_every_band_of_scores():
    dev, test = sample.dev(), sample.test()
    assert len(dev) == len(test) == 120
    assert _rows(dev) | _rows(test) == _rows(sample.pairs())
    assert not set(dev.sentences) & set(test.sentences)
    assert (dev.name, test.name) == (sample.DEV, sample.TEST)
    assert dev.digest != test.digest
    whole = Counter(BANDS[bisect_right(BANDS, score) - 1] for score in sample.pairs().gold)
    for half in (sample.dev(), sample.test()):
        assert sorted(Counter(half.parts).values()) == [20] * 6
        bands = Counter(BANDS[bisect_right(BANDS, score) - 1] for score in half.gold)
        assert all(abs(bands[low] - whole[low] / 2) <= 3 for low in BANDS), bands
    assert abs(sum(sample.dev().gold) - sum(sample.test().gold)) / 120 < 0.02


def test_the_retrieval_set_has_two_answers_to_each_query_and_no_text_of_another_part():
    task = sample.search()
    assert (task.name, len(task), len(task.documents)) == (sample.SEARCH, 60, 600)
    assert {len(judged) for judged in task.judgements} == {2}
    assert len({place for judged in task.judgements for place in judged}) == 120
    assert len(set(task.texts)) == 660
    assert not any(task.counts.values())
    pairs, rows = sample.pairs(), sample.triplets()
    others = {*pairs.sentences, *sample.sentences().texts, *rows.anchors, *rows.positives, *rows.negatives}
    assert not others & set(sample.search().texts)


def test_words_alone_do_not_find_the_answers():
    task, stems = sample.search(), word_splitter()  # without stop words
    queries, passages = ([set(of) for of in stems(texts)] for texts in (task.queries, task.documents))
    shared = [[len(query & passage) for passage in passages] for query in queries]
    answers = [[of[place] for place in judged] for of, judged in zip(shared, task.judgements, strict=True)]
    assert sum(min(of) == 0 for of in answers) == 58, "an answer in other words"
    assert sum(max(of) == 0 for of in answers) == 15, "both in other words"
    assert sum(max(of) > max(own) for of, own in zip(shared, answers, strict=True)) == 39, "keyword traps"


PACKS = sample.probe_packs()


def words(sentence):
    return sorted(sentence.lower().replace("'", " ").strip(".").split())


def test_every_row_of_the_file_is_in_a_pack_once_and_only_paraphrases_and_typos_mean_the_same():
    pairs = [pair for pack in PACKS for pair in zip(pack.first, pack.second, strict=True)]
    assert len(pairs) == len(read_file(FOLDER / "probes.tsv").rows) == 480
    assert len(set(pairs)) == 480
    assert all(one != other for one, other in pairs)
    assert {len(pack) for pack in PACKS} == {60}
    assert [pack.name for pack in PACKS if pack.same] == ["paraphrase", "typo"]
    different = ["negation", "role swap", "antonym", "number", "quantifier", "time order"]
    assert [pack.name for pack in PACKS if not pack.same] == different
    for pack in PACKS:
        assert len({*pack.first, *pack.second}) == 2 * len(pack)


def test_a_paraphrase_shares_few_words_and_exchanged_roles_leave_nearly_every_one():
    (pack,) = (one for one in PACKS if one.name == sample.PARAPHRASE)
    pairs = [(set(words(a)), set(words(b))) for a, b in zip(pack.first, pack.second, strict=True)]
    shared = [len(a & b) / len(a | b) for a, b in pairs]
    assert sum(shared) / len(shared) < 0.25
    (pack,) = (one for one in PACKS if one.name == "role swap")
    for one, other in zip(pack.first, pack.second, strict=True):
        assert len(set(words(one)) ^ set(words(other))) <= 4, (one, other)


@pytest.mark.parametrize("name", ["antonym", "number"])
def test_a_minimal_pair_differs_in_one_word(name):
    (pack,) = (one for one in PACKS if one.name == name)
    for one, other in zip(pack.first, pack.second, strict=True):
        first, second = one.split(), other.split()
        assert len(first) == len(second)
        assert sum(a != b for a, b in zip(first, second, strict=True)) <= 2, "a number may change its noun"


BOTH = {sample.MINIMAL_PAIRS: sample.minimal_pairs(), sample.MORE_MINIMAL_PAIRS: sample.more_minimal_pairs()}
ROWS = tuple(row for of in BOTH.values() for row in zip(of.anchors, of.positives, of.negatives, strict=True))
TEXTS = tuple(sentence for row in ROWS for sentence in row)
DIFFERENT = tuple(pack for pack in sample.probe_packs() if not pack.same)
PROBES = tuple(sentence for pack in sample.probe_packs() for sentence in (*pack.first, *pack.second))
TEST = sample.test()
# with fewer words a frame such as "the _ is _" is grammar
TEMPLATE_WORDS = 3
RUN = 3


def kinds_of(name):
    """How each row's negative differs from its anchor."""
    return read_file(sample.FOLDER / f"{name.replace(' ', '_')}.tsv").column("kind")


def test_no_row_is_dropped_every_taught_difference_has_rows_and_some_protect_similarity():
    for name, triplets in BOTH.items():
        assert len(triplets) == len(kinds_of(name))
    assert len({held_out.words(text) for text in TEXTS}) == len(TEXTS)
    count, more = (Counter(kinds_of(name)) for name in BOTH)
    assert set(count) == {"negation", "antonym", "number", "paraphrase"}
    assert set(more) == {"role swap", "antonym", "detail"}
    assert min(*count.values(), *more.values()) >= 70
    assert count.total() >= 600


def test_no_probe_and_no_run_of_content_words_is_in_the_training_text():
    trained = {held_out.words(text) for text in TEXTS}
    assert not [one for one in (*PROBES, *sample.pairs().sentences) if held_out.words(one) in trained]
    trained = {run for text in TEXTS for run in held_out.runs(text, RUN)}
    for sentence in (*PROBES, *TEST.sentences):
        assert not held_out.runs(sentence, RUN) & trained, sentence


@pytest.mark.parametrize("pack", DIFFERENT, ids=lambda pack: pack.name)
def test_no_pair_of_swapped_words_of_a_probe_is_swapped_in_training(pack):
    trained = {swap for anchor, _, negative in ROWS for swap in held_out.swaps(anchor, negative)}
    for first, second in zip(pack.first, pack.second, strict=True):
        assert not held_out.swaps(first, second) & trained, (first, second)


def test_no_pair_of_swapped_words_of_the_test_half_is_swapped_in_training_whichever_comes_first():
    trained = {swap for anchor, _, negative in ROWS for swap in held_out.swaps(anchor, negative)}
    for first, second in zip(TEST.first, TEST.second, strict=True):
        assert not held_out.swaps(first, second) & trained, (first, second)
    assert held_out.swaps("It is rising.", "It is falling.") == held_out.swaps("The sun falls.", "The sun rises.")
    assert held_out.swaps("The dog saw the cat.", "The cat saw the dog.") == {frozenset(("dog", "cat"))}


def test_no_template_of_a_probe_or_a_test_pair_is_one_of_training():
    trained = {held_out.template(anchor, negative) for anchor, _, negative in ROWS}
    pairs = [pair for pack in DIFFERENT for pair in zip(pack.first, pack.second, strict=True)]
    for first, second in (*pairs, *zip(TEST.first, TEST.second, strict=True)):
        shared = held_out.template(first, second)
        assert sum(word != "_" for word in shared) < TEMPLATE_WORDS or shared not in trained, (first, second)


def test_no_row_teaches_a_quantifier_or_an_order_in_time():
    for anchor, _, negative in ROWS:
        assert not held_out.only(anchor, negative, held_out.QUANTIFIERS), (anchor, negative)
        assert not held_out.only_added_or_swapped(anchor, negative, held_out.TIME_WORDS), (anchor, negative)
        if sorted(held_out.words(anchor)) == sorted(held_out.words(negative)):
            assert not held_out.TIME_WORDS & set(held_out.words(anchor)), (anchor, negative)


def test_they_are_named_like_the_sample_and_serve_triplets_pairs_and_sentences():
    for name, of in BOTH.items():
        triplets, _ = corpus([name], TRIPLETS)
        assert triplets.columns == (of.anchors, of.positives, of.negatives)
        pairs, _ = corpus([name], PAIRS)
        assert pairs.columns == (of.anchors, of.positives)
    sentences, _ = corpus(list(BOTH), SENTENCES)
    assert sentences.columns == (TEXTS,)
    assert not any(serves("minimal pairs")[eats] for eats in (TRIPLETS, PAIRS, SENTENCES))
    assert serves("minimal pairs")[BACK_TRANSLATIONS]


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
