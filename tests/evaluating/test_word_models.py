"""Test models without a transformer against slow computations: baselines of words, word vectors, and BM25."""

import gzip
import hashlib
import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from explorer.data.graded import sts
from explorer.data.retrieval_sets import of_pairs
from explorer.data.sample import triplets
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError, UnreadableFile
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import word_vectors
from explorer.evaluating.tasks.retrieval import Retrieval
from explorer.evaluating.tasks.sts import ScoredPairs
from explorer.evaluating.tasks.word_models import (
    BAG,
    K1,
    B,
    BagOfWords,
    WordSubject,
    bm25,
    is_word_model,
    word_scores,
)
from explorer.evaluating.tasks.word_vectors import WordVectors, forms_of, read_word_vectors
from explorer.measuring.neighbours.rankings import MEASURES, measures
from explorer.progress import finish

FOLDER = Path(os.environ.get("STRATA_DATA") or "no folder")
WORDS = ("dog", "cat", "runs", "sleeps", "mat", ".", "n't", "ball", "Paris", "the", "a")
STOP_WORDS = {"the", "a", "on", ".", "?", "!"}  # of those that occur here


@pytest.fixture(scope="module")
def pairs():
    drawn = np.random.default_rng(0)
    first, second = ([" ".join(drawn.choice(WORDS, size=drawn.integers(1, 9))) for _ in range(50)] for _ in "12")
    first[3], second[8] = "Zebra zebra!", "?"  # without a known vector
    parts = tuple("abb"[at % 3] for at in range(50))
    return GradedPairs("mine", tuple(first), tuple(second), tuple(drawn.integers(0, 6, 50).tolist()), parts)


@pytest.fixture(scope="module")
def glove():
    vectors = np.random.default_rng(1).normal(size=(len(WORDS), 7)).astype(np.float32)
    return WordVectors("toy.txt", {word: at for at, word in enumerate(WORDS)}, vectors, "", len(WORDS))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the dog chases a Ball!", ["dog", "ball"]),
        ("(Paris) is on the mat.", ["Paris", "mat"]),
        ("paris", []),  # lower-cased already, and not known so
        ("Dog's", []),
        ("dog . dog", ["dog", "dog"]),
        ("The, a: ON", []),
        ("  ", []),
    ],
)
def test_words_are_looked_up_by_the_stated_rule(glove, text, words):
    assert glove._places(text) == sorted(glove.place[word] for word in words)
    assert {*words} <= forms_of(text), "otherwise their vectors would not be read"


def slow_words(text, known):
    """The known words of a text, one by one."""
    found = []
    for written in text.split():
        bare = written.strip("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        for form in (written, bare, bare.lower()):
            if form in STOP_WORDS:
                break
            if form in known:
                found.append(form)
                break
    return found


def mean_cosine(glove, one, other):
    """The cosine of two means of word vectors, number by number."""
    means = []
    for text in (one, other):
        known = [glove.vectors[glove.place[word]] for word in slow_words(text, glove.place)]
        if not known:
            return 0.0
        means.append([sum(float(vector[at]) for vector in known) / len(known) for at in range(glove.width)])
    dot = sum(a * b for a, b in zip(*means, strict=True))
    return dot / math.prod(math.sqrt(sum(a * a for a in mean)) for mean in means)


def bag_cosine(model, one, other):
    """The cosine of two binary vectors, word by word."""
    texts = ["".join(mark if mark.isalnum() else f" {mark} " for mark in text.lower()).split() for text in (one, other)]
    vocabulary = sorted({*texts[0], *texts[1]})
    rows = [[1 if word in words else 0 for word in vocabulary] for words in texts]
    lengths = math.prod(math.sqrt(sum(a * a for a in row)) for row in rows)
    return sum(a * b for a, b in zip(*rows, strict=True)) / lengths if lengths else 0.0


@pytest.mark.parametrize(("model", "slow"), [("glove", mean_cosine), (BagOfWords(), bag_cosine)], ids=["mean", "bag"])
def test_scores_are_those_of_a_slow_loop_and_scipy(model, slow, pairs, request):
    model = request.getfixturevalue(model) if isinstance(model, str) else model
    found = word_scores(model, pairs)
    cosines = np.array([slow(model, *pair) for pair in zip(pairs.first, pairs.second, strict=True)])
    assert found.items.values == pytest.approx(cosines, abs=1e-12)
    gold, parts = np.array(pairs.gold), np.array(pairs.parts)
    rounded = cosines.round(12)  # equal sentences tie
    of_parts = [stats.spearmanr(gold[parts == name], rounded[parts == name])[0] for name in "ab"]
    linear = [stats.pearsonr(gold[parts == name], cosines[parts == name])[0] for name in "ab"]
    wanted = [stats.spearmanr(gold, rounded)[0], stats.pearsonr(gold, cosines)[0]]
    wanted += [np.mean(of_parts), np.mean(linear)]
    wanted += [np.average(each, weights=[17, 33]) for each in (of_parts, linear)]
    ways = [f"{metric}{way}" for way in ("", " mean", " wmean") for metric in ("spearman", "pearson")]
    assert found.measures == tuple(ways)
    assert found.table[0, :, 0] == pytest.approx(100 * np.array(wanted), abs=1e-9)
    assert (found.titles, found.items.gold.tolist()) == (("model default",), list(pairs.gold))
    assert (found.items.parts, found.items.digest) == (pairs.parts, pairs.digest)


def test_sentences_without_a_known_word_have_cosine_0_and_sets_without_parts_no_mean_over_them(glove, pairs):
    found = word_scores(glove, pairs)
    assert found.items.values[[3, 8]].tolist() == [0, 0]
    unknown = [text for text in pairs.sentences if not slow_words(text, glove.place)]
    assert found.setting["sentences without a known word"] == len(unknown) > 2, "some are of stop words only"
    assert word_scores(BagOfWords(), pairs).setting["sentences without a known word"] == 0
    empty = GradedPairs("mine", ("", "a", "b"), ("a", "b", "b"), (1, 2, 3), ("",) * 3)
    assert word_scores(BagOfWords(), empty).items.values.tolist() == [0, 0, 1]
    assert word_scores(BagOfWords(), empty).setting["sentences without a known word"] == 1
    found = word_scores(BagOfWords(), GradedPairs("mine", pairs.first, pairs.second, pairs.gold, ("",) * 50))
    assert (found.measures, found.table.shape) == (("spearman", "pearson"), (1, 2, 1))


def test_the_same_words_in_another_order_have_cosine_1_exactly(glove):
    texts = ("the cat sleeps on the mat .", "a dog n't runs"), ("on the mat the cat sleeps .", "runs n't dog a")
    assert glove.cosines(*texts).tolist() == [1, 1]
    assert BagOfWords().cosines(*texts).tolist() == [1, 1]
    drawn = np.random.default_rng(2)
    orders = [" ".join(drawn.permutation(WORDS)) for _ in range(30)]
    uneven = glove.vectors * 1e3 ** np.arange(-5, 6, dtype=np.float32)[:, None]  # sums depend on the order
    assert len(np.unique(WordVectors("toy.txt", glove.place, uneven, "", len(WORDS)).means(orders), axis=0)) == 1


def test_vectors_have_one_row_per_sentence_and_only_those_of_the_words_of_the_text_are_read(glove, tmp_path):
    found = glove.means(["dog cat dog", "zebra"])
    of = {word: glove.vectors[at].astype(float) for word, at in glove.place.items()}
    assert (found[0], found[1].tolist()) == (pytest.approx((2 * of["dog"] + of["cat"]) / 3), [0] * 7)
    (tmp_path / "small.txt").write_text("the 1 2\ncat 3 4\ndog 5 6\nsat 5 8\n")
    found = read(tmp_path / "small.txt", *forms_of("The cat!"), *forms_of("The cat sat"))
    assert set(found.place) == {"the", "cat", "sat"}
    assert (found.means(["Cat, the sat?"]).tolist(), found.name) == ([[4, 6]], "small.txt")


def test_vectors_are_those_of_sentence_transformers(tmp_path, pairs):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings

    drawn = np.random.default_rng(3).normal(size=(len(WORDS), 5)).round(4)
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, drawn, strict=True)]
    (tmp_path / "toy.txt").write_text("\n".join(lines) + "\n")
    words = WordEmbeddings.from_text_file(str(tmp_path / "toy.txt"))
    theirs = SentenceTransformer(modules=[words, Pooling(5, "mean")], device="cpu")
    texts = [text for text in pairs.sentences if slow_words(text, WORDS)]
    found = read(tmp_path / "toy.txt", *(form for text in texts for form in forms_of(text)))
    assert found.means(texts) == pytest.approx(theirs.encode(texts), abs=1e-6)


@pytest.mark.parametrize(
    ("task", "split"),
    [
        ("STS-B", "test"),
        ("STS-B validation", "dev"),
        ("Sample pairs, dev half", "all"),
        ("my pairs.tsv", "all"),
        ("STS-B dev, 9 items", "all"),
    ],
)
def test_the_split_is_that_of_the_published_set(pairs, task, split):
    assert finish(WordSubject(BAG).score(ScoredPairs(task, pairs), Options())).split == split


# worked out without Strata: Spearman × 100 over all pairs, but for the Pearson of Cer et al. 2017, track 5
ANCHORS = {
    ("STS12", "test", "spearman"): 43.88, ("STS13", "test", "spearman"): 49.56, ("STS14", "test", "spearman"): 52.67,
    ("STS14", "test", "spearman mean"): 58.90, ("STS14", "test", "spearman wmean"): 60.27,
    ("STS-B", "dev", "spearman"): 63.52, ("STS-B", "test", "spearman"): 52.79, ("SICK-R", "test", "spearman"): 57.47,
    ("STS17", "test", "pearson"): 72.68,
}  # fmt: skip


@pytest.mark.parametrize(("task", "split", "measure"), ANCHORS)
def test_shared_words_score_as_worked_out_elsewhere(task, split, measure):
    try:
        pairs = sts.load(task, split, FOLDER)
    except DataError:
        pytest.skip(f"{task} is not in the folder STRATA_DATA names")
    found = word_scores(BagOfWords(), pairs).score(measure=measure)
    assert found == pytest.approx(ANCHORS[task, split, measure], abs=0.01)


LINES = ("the 0.5 -1 2e-1", "cat 1 2 3", "été 4 5 6", ". 7 8 9", "dog 0 0 1")


def put(folder, *lines, name="vectors.txt", end="\n"):
    path = folder / name
    data = (end.join(lines) + end).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def read(path, *words, **options):
    return finish(read_word_vectors(path, words, **options))


@pytest.mark.parametrize(
    ("lines", "name", "end"),
    [
        (LINES, "vectors.txt", "\n"),
        (LINES, "vectors.txt", " \r\n"),
        (LINES, "vectors.txt.gz", "\n"),
        (("5 3", *LINES), "vectors.vec", "\n"),
        (tuple(line.replace(" ", "\t") for line in LINES), "vectors.txt", "\n"),
    ],
    ids=["glove", "spaces at line ends", "gz", "word2vec", "tabs"],
)
def test_the_wanted_words_are_kept(tmp_path, lines, name, end):
    found = read(put(tmp_path, *lines, name=name, end=end), "cat", "été", "bird")
    assert (found.name, found.width, found.words_in_file) == (name, 3, 5)
    rows = {word: found.vectors[at].tolist() for word, at in found.place.items()}
    assert rows == {"cat": [1, 2, 3], "été": [4, 5, 6]}


def test_the_first_vector_of_a_word_counts_and_words_with_spaces_are_skipped(tmp_path):
    found = read(put(tmp_path, *LINES, "", "cat 9 9 9", ""), "cat")
    assert (found.vectors.tolist(), found.words_in_file) == ([[1, 2, 3]], 6)
    found = read(put(tmp_path, *LINES, "at name@domain.com 1 2 3", ". . . 4 5 6"), "at", ".")
    assert {word: found.vectors[at].tolist() for word, at in found.place.items()} == {".": [7, 8, 9]}
    assert found.words_in_file == 7


def test_the_digest_is_that_of_the_whole_text_and_progress_in_bytes_of_the_file(tmp_path, monkeypatch):
    plain, packed = (read(put(tmp_path, *LINES, name=name), "cat") for name in ("a.txt", "b.txt.gz"))
    assert plain.digest == packed.digest == hashlib.sha256((tmp_path / "a.txt").read_bytes()).hexdigest()
    assert read(put(tmp_path, *LINES[:-1], "dog 0 0 2"), "cat").digest != plain.digest
    monkeypatch.setattr(word_vectors, "EVERY", 2)
    told = []
    path = put(tmp_path, *LINES)
    finish(read_word_vectors(path, {"cat"}), told.append)
    assert [(one.done <= one.total, one.total, one.unit) for one in told] == [(True, path.stat().st_size, "bytes")] * 3


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ((*LINES, "bird 1 2"), "line 6 has 2 numbers after 'bird'; expected: 3"),
        ((*LINES, "bird 1 2 3 4", "x 1 2 3"), "line 6 has 4 numbers after 'bird'; expected: 3"),
        (("5 3", *LINES[:2], "bird", *LINES[3:]), "line 4 has 0 numbers after 'bird'; expected: 3"),
        ((*LINES, "cow 1 two 3"), "line 6 has 'two' where a finite number"),
        ((*LINES, "cow 1 nan 3"), "line 6 has 'nan' where a finite number"),
        (("A sentence, not a vector", *LINES), "line 1 has 'sentence,' where a finite number"),
        (("word", *LINES), "line 1 has '' where a finite number"),
        (("6 3", *LINES), "line 1 announces 6 words, but there are 5.*truncated"),
        (("",), "it is empty"),
        (("5 3",), "it is empty"),
    ],
)
def test_a_damaged_line_is_named_with_what_was_expected(tmp_path, lines, found):
    with pytest.raises(UnreadableFile, match=found):
        read(put(tmp_path, *lines), "cow")


def test_a_binary_file_more_vectors_than_the_limit_and_a_text_without_a_known_word_are_refused(tmp_path):
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"5 3\n" + b"the \x00\x01\x80\xff" * 400_000)
    with pytest.raises(UnreadableFile, match="line 2"):
        read(path, "the")
    path = put(tmp_path, *LINES)
    assert len(read(path, "the", "dog", most_bytes=24).place) == 2
    with pytest.raises(UnreadableFile, match=r"3 words found up to line 5 take 36 bytes; at most 24 bytes are allowed"):
        read(path, "the", "cat", "dog", most_bytes=24)
    with pytest.raises(UnreadableFile, match=r"None of the 2 words .* among the 5 of vectors\.txt"):
        read(put(tmp_path, *LINES), "bird", "The")


def test_a_missing_file_a_folder_and_a_damaged_archive_are_refused(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(UnreadableFile, match="There is no file"):
            read(path, "cat")
    packed = put(tmp_path, *LINES * 500, name="vectors.txt.gz")
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(UnreadableFile, match="no whole gzip file"):
        read(packed, "cat")
    with pytest.raises(UnreadableFile, match="no whole gzip file"):
        read(put(tmp_path, *LINES).rename(tmp_path / "plain.gz"), "cat")


@pytest.fixture(scope="module")
def task():
    rows = triplets()
    return of_pairs("Paraphrases", rows.anchors[:80], rows.positives[:80])


def slow_scores(query, documents):
    """Lucene's BM25 of lists of words, from its formula."""
    lengths = [len(words) for words in documents]
    mean = sum(lengths) / len(lengths)
    scores = []
    for words in documents:
        counts, score = Counter(words), 0.0
        for word in query:
            having = sum(word in other for other in documents)
            rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            score += rarity * counts[word] / (counts[word] + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return np.array(scores)


def test_it_equals_a_slow_loop(task):
    from explorer.evaluating.tasks.word_models import word_splitter

    words = word_splitter()
    documents = words(task.documents)
    places = np.full((len(task), len(documents)), -1)
    for query, asked in enumerate(words(task.queries)):
        scores = slow_scores(asked, documents)
        found = [at for at in np.argsort(-scores.round(5), kind="stable") if scores[at] > 0]
        places[query, : len(found)] = found
    expected = measures(places, task.judgements).mean(axis=1)
    found = finish(bm25(task))
    for row, measure in enumerate(MEASURES):
        assert found.score(MODEL_DEFAULT, measure) == pytest.approx(100 * expected[row], abs=1e-6), measure
    assert 20 < found.score() < 100, "the premise: words find some paraphrases, not all"


def test_words_are_compared_by_their_stems_and_unknown_ones_find_nothing():
    task = of_pairs("Three", ["the hunted owls", "of the"], ["An owl is hunting.", "The tax of the year."])
    assert finish(bm25(task)).items.values.tolist() == [1, 0]
    task = of_pairs("Two", ["zebras", "bread"], ["Owls hunt at night.", "Bread rises."])
    assert finish(bm25(task)).items.values.tolist() == [0, 1]


def test_it_is_a_model_on_retrieval_sets_alone(task, few_pairs):
    assert is_word_model("bm25")
    subject = WordSubject("bm25")
    assert finish(subject.score(Retrieval("Paraphrases", task), Options())).measures[0] == "nDCG@10"
    with pytest.raises(DataError, match="scored on retrieval sets only, not on some pairs"):
        finish(subject.score(ScoredPairs("some pairs", few_pairs), Options()))
    with pytest.raises(DataError, match="bag-of-words is scored on STS sets"):
        finish(WordSubject("bag-of-words").score(Retrieval("Paraphrases", task), Options()))
