"""Test that `search --vectors` finds the results of a slow loop, and says what its index costs and misses."""

import json

import numpy as np
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.measuring.neighbours.test_vector_index import slow
from tests.studies.embedding.desk import LINES, furnish
from tests.tiny_models import save_tiny

TITLES = ("mean of layer 2", "cls of layer 1")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    desk = furnish(tmp_path_factory.mktemp("desk"))
    desk.embed("vectors", titles=TITLES, with_text=True)
    return desk


def vectors_of(desk, sentences, title=TITLES[0]):
    return finish(of_reading(load(find(str(desk.model)), "float32", "cpu"), sentences, parse(title, 2)))


def words(desk, query, *more, vectors="vectors"):
    return ("search", query, "--vectors", desk.folder / vectors, "--precision", "float32", "--k", 4, *more)


def found(said, *given):
    code, out, err = said(*given, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("kind", ["exact", "ivf", "hnsw"])
@pytest.mark.parametrize("title", TITLES)
def test_a_query_finds_what_a_slow_loop_finds(desk, said, title, kind):
    told = found(said, *words(desk, "a new query", "--model", desk.model, "--reading", title, "--index", kind))
    vectors, (query,) = vectors_of(desk, LINES, title), vectors_of(desk, ["a new query"], title)
    places, cosines = slow(vectors, query, 4)
    assert [row["row"] for row in told["results"]] == places
    assert [row["cosine"] for row in told["results"]] == pytest.approx(cosines, abs=1e-5)
    assert [row["sentence"] for row in told["results"]] == [LINES[place] for place in places]
    assert (told["sentences"], told["reading"], told["index"]["kind"]) == (len(LINES), title, kind)
    assert told["milliseconds"] > 0
    assert told["index"]["recall_at_10"] == 1
    assert (told["index"]["recall_measured_on"] > 0) is (kind != "exact")


def test_a_sentence_of_the_corpus_needs_no_encoder_and_does_not_find_itself(desk, said, tmp_path):
    vectors = vectors_of(desk, LINES)
    np.save(tmp_path / "mine.npy", vectors)
    (tmp_path / "other.txt").write_text("\n".join(LINES), encoding="utf-8")
    files = ("--vectors", tmp_path / "mine.npy", "--text", tmp_path / "other.txt")
    given = (*files, "--k", "3", "--precision", "float32")
    told = found(said, "search", LINES[7], *given)
    assert [row["row"] for row in told["results"]] == slow(vectors, vectors[7], 3, without=7)[0]
    assert told["query_row"] == 7
    assert "model" not in told
    code, _, err = said("search", "a new query", *given)
    assert (code, "Name the encoder with --model" in err) == (1, True)
    told = found(said, "search", "a new query", *given, "--model", desk.model, "--reading", TITLES[0])
    assert [row["row"] for row in told["results"]] == slow(vectors, vectors_of(desk, ["a new query"])[0], 3)[0]


def test_rows_with_a_zero_vector_are_counted_and_named(said, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(len(LINES), 4))
    vectors[[2, 9]] = 0
    np.save(tmp_path / "mine.npy", vectors)
    (tmp_path / "mine.txt").write_text("\n".join(LINES), encoding="utf-8")
    told = found(said, "search", LINES[7], "--vectors", tmp_path / "mine.npy", "--k", len(LINES))
    assert (told["sentences"], told["zero_vectors"], told["zero_rows"]) == (len(LINES), 2, [2, 9])
    assert sorted(row["row"] for row in told["results"]) == [row for row in range(len(LINES)) if row not in (2, 7, 9)]
    _, out, _ = said("search", LINES[7], "--vectors", tmp_path / "mine.npy")
    assert "2 rows are left out" in out


def test_the_terminal_is_told_index_recall_and_cost(desk, said):
    code, out, err = said(*words(desk, LINES[3], "--reading", TITLES[0], "--index", "ivf"))
    assert code == 0, err
    assert f"{len(LINES)} sentences of vectors" in out
    assert "Recall@10 1.000" in out
    assert "ms for this query" in out
    assert f"row {LINES.index(LINES[3])} of the corpus" in out


def test_an_encoder_of_another_width_or_other_weights_is_refused(desk, said, tmp_path):
    save_tiny("bert", tmp_path / "wide", hidden_size=48, intermediate_size=48)
    save_tiny("bert", tmp_path / "other", initializer_range=0.5)
    np.save(tmp_path / "mine.npy", vectors_of(desk, LINES))
    (tmp_path / "mine.txt").write_text("\n".join(LINES), encoding="utf-8")
    code, _, err = said("search", "a new query", "--vectors", tmp_path / "mine.npy", "--model", tmp_path / "wide")
    assert code == 1
    assert "48 dimensions" in err
    assert " 32" in err
    for model, reason in ((tmp_path / "other", "other weights"), (None, "was made by 'tiny'")):
        more = ("--model", model) if model else ()
        code, _, err = said(*words(desk, "a new query", "--reading", TITLES[0], *more))
        assert (code, reason in err) == (1, True), err


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (("--vectors", "x.npy", "--corpus", "sample"), "--corpus has no effect with --vectors"),
        (("--vectors", "x.npy", "--whole"), "--whole has no effect"),
        (("--index", "ivf"), "--index needs --vectors"),
        (("--text", "x.txt"), "--text needs --vectors"),
        (("--vectors", "x.npy", "--model", "a", "--model", "b"), "One encoder made the vectors"),
        (("--vectors", "x.npy"), "There is no x.npy"),
        (("--vectors", "x.npy", "--k", "0"), "--k cannot be '0'"),
    ],
)
def test_flags_without_an_effect_are_refused(said, flags, reason):
    code, _, err = said("search", "a query", *flags)
    assert (code, reason in err) == (1, True), err
