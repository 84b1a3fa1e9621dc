"""Test that `search` finds the results of a slow loop, the changes from A to B, and what an index costs and misses."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.measuring.neighbours.test_vector_index import slow
from tests.studies.embedding.desk import LINES, furnish
from tests.tiny_models import save_tiny
from tests.trainings import new, texts_of, train


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", name="found", settings={"steps": 2}))


def test_both_sides_find_what_a_slow_loop_finds(place, run, answered):
    first, second, _ = texts_of(place.test)
    sentences = list(dict.fromkeys([*first, *second]))
    readings, models = ("cls of layer 1", "mean of layer 2"), (place.model, run.model)
    words = ["search", sentences[3], "--corpus", place.test, "--model", place.model, "--model", "run:found", "--k", 4]
    words += ["--reading", readings[0], "--other-reading", readings[1], "--precision", "float32", "--json", "--whole"]
    told = answered(*words)
    assert told["sentences"] == len(sentences)
    encoders = (load(find(str(model)), precision="float32", device="cpu") for model in models)
    sides = (of_reading(one, sentences, parse(reading, 2)) for one, reading in zip(encoders, readings, strict=True))
    whole = [slow(vectors, vectors[3], 99, without=3) for vectors in map(finish, sides)]
    near = [{sentences[place] for place in places[:4]} for places, _ in whole]
    for at, side in enumerate("AB"):
        rows, (places, cosines) = told[side]["results"], whole[at]
        assert [row["sentence"] for row in rows] == [sentences[place] for place in places[:4]]
        assert [row["cosine"] for row in rows] == pytest.approx(cosines[:4], abs=1e-5)
        assert [row["rank"] for row in rows] == [1, 2, 3, 4]
        for row in rows:
            elsewhere = [sentences[place] for place in whole[1 - at][0]].index(row["sentence"]) + 1
            assert row[f"rank in {'BA'[at]}"] == elsewhere
            assert row["mark"] == ("kept" if elsewhere <= 4 else ("lost", "gained")[at])
    assert told["kept"] == len(near[0] & near[1])
    assert told["jaccard"] == pytest.approx(len(near[0] & near[1]) / len(near[0] | near[1]), abs=1e-4)
    changed = {row["sentence"]: row["jaccard"] for row in told["whole"]["changed"]}
    assert changed[sentences[3]] == told["jaccard"], "over the whole corpus it is the same query"
    assert told["whole"]["mean_jaccard"] == pytest.approx(np.mean(list(changed.values())), abs=1e-3)
    assert sum(told["whole"]["sentences_by_neighbours_kept"]) == len(sentences)


def test_a_table_for_the_terminal_says_what_was_kept(place, run, done):
    words = ("--corpus", place.test, "--model", place.model, "--model", "run:found", "--k", "3", "--whole")
    out, _ = done("search", "a red ball", *words)
    assert "A  mean of layer 2 of " in out
    assert "B  model default of run:found" in out
    assert "kept · " in out or "lost · " in out
    assert "over the whole corpus: mean Jaccard@3" in out


def test_one_model_searches_alone_and_itself_beside_itself_changes_nothing(place, answered):
    alone = answered("search", "the dog", "--corpus", place.test, "--model", place.model, "--json", "--k", "500")
    assert "B" not in alone
    assert len(alone["A"]["results"]) == alone["sentences"]
    same = ("search", "the dog", "--corpus", place.test, "--model", place.model, "--model", place.model)
    told = answered(*same, "--json", "--whole")
    assert {row["mark"] for side in "AB" for row in told[side]["results"]} == {"kept"}
    assert told["jaccard"] == told["whole"]["mean_jaccard"] == 1


def test_models_of_different_widths_are_compared(place, tmp_path, answered):
    from transformers import AutoModel

    other = save_tiny("bert", tmp_path / "wide")
    config = AutoModel.from_pretrained(other).config
    config.hidden_size = 48
    AutoModel.from_config(config).save_pretrained(other)
    words = ("search", "the dog", "--corpus", place.test, "--model", place.model, "--model", other, "--json", "--whole")
    assert answered(*words)["whole"]["mean_jaccard"] <= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((" \n ",), "The query is empty"),
        (("x", "--k", "0"), "--k cannot be '0'"),
        (("x", "--whole"), "--whole compares two encoders"),
        (("x", *["--model", "all-MiniLM-L6-v2"] * 3), "--model was given 3 times"),
        (("x", "--corpus", "nonsense"), "There is no set 'nonsense'"),
        (("x", "--model", "run:nobody"), "No run 'nobody' has a model"),
        (("x", "--reading", "mean of layer 99"), "There is no layer & pooling"),
    ],
)
def test_what_cannot_be_is_refused(refused, given, message):
    assert message in refused("search", *given)


TITLES = ("mean of layer 2", "cls of layer 1")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    desk = furnish(tmp_path_factory.mktemp("desk"))
    desk.embed("vectors", titles=TITLES, with_text=True)
    return desk


def vectors_of_desk(desk, sentences, title=TITLES[0]):
    return finish(of_reading(load(find(str(desk.model)), "float32", "cpu"), sentences, parse(title, 2)))


def words(desk, query, *more, vectors="vectors"):
    return ("search", query, "--vectors", desk.folder / vectors, "--precision", "float32", "--k", 4, *more)


@pytest.mark.parametrize("kind", ["exact", "ivf", "hnsw"])
@pytest.mark.parametrize("title", TITLES)
def test_a_query_finds_what_a_slow_loop_finds(desk, answered, title, kind):
    told = answered(*words(desk, "a new query", "--model", desk.model, "--reading", title, "--index", kind), "--json")
    vectors, (query,) = vectors_of_desk(desk, LINES, title), vectors_of_desk(desk, ["a new query"], title)
    places, cosines = slow(vectors, query, 4)
    assert [row["row"] for row in told["results"]] == places
    assert [row["cosine"] for row in told["results"]] == pytest.approx(cosines, abs=1e-5)
    assert [row["sentence"] for row in told["results"]] == [LINES[place] for place in places]
    assert (told["sentences"], told["reading"], told["index"]["kind"]) == (len(LINES), title, kind)
    assert told["milliseconds"] > 0
    assert told["index"]["recall_at_10"] == 1
    assert (told["index"]["recall_measured_on"] > 0) is (kind != "exact")


def test_a_sentence_of_the_corpus_needs_no_encoder_and_does_not_find_itself(desk, said, answered, tmp_path):
    vectors = vectors_of_desk(desk, LINES)
    np.save(tmp_path / "mine.npy", vectors)
    (tmp_path / "other.txt").write_text("\n".join(LINES), encoding="utf-8")
    files = ("--vectors", tmp_path / "mine.npy", "--text", tmp_path / "other.txt")
    given = (*files, "--k", "3", "--precision", "float32")
    told = answered("search", LINES[7], *given, "--json")
    assert [row["row"] for row in told["results"]] == slow(vectors, vectors[7], 3, without=7)[0]
    assert told["query_row"] == 7
    assert "model" not in told
    code, _, err = said("search", "a new query", *given)
    assert (code, "Name the encoder with --model" in err) == (1, True)
    told = answered("search", "a new query", *given, "--model", desk.model, "--reading", TITLES[0], "--json")
    assert [row["row"] for row in told["results"]] == slow(vectors, vectors_of_desk(desk, ["a new query"])[0], 3)[0]


def test_rows_with_a_zero_vector_are_counted_and_named(said, answered, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(len(LINES), 4))
    vectors[[2, 9]] = 0
    np.save(tmp_path / "mine.npy", vectors)
    (tmp_path / "mine.txt").write_text("\n".join(LINES), encoding="utf-8")
    told = answered("search", LINES[7], "--vectors", tmp_path / "mine.npy", "--k", len(LINES), "--json")
    assert (told["sentences"], told["zero_vectors"], told["zero_rows"]) == (len(LINES), 2, [2, 9])
    assert sorted(row["row"] for row in told["results"]) == [row for row in range(len(LINES)) if row not in (2, 7, 9)]
    _, out, _ = said("search", LINES[7], "--vectors", tmp_path / "mine.npy")
    assert "2 rows are left out" in out


def test_the_terminal_is_told_index_recall_and_cost(desk, done):
    out, _ = done(*words(desk, LINES[3], "--reading", TITLES[0], "--index", "ivf"))
    assert f"{len(LINES)} sentences of vectors" in out
    assert "Recall@10 1.000" in out
    assert "ms for this query" in out
    assert f"row {LINES.index(LINES[3])} of the corpus" in out


def test_an_encoder_of_another_width_or_other_weights_is_refused(desk, said, refused, tmp_path):
    save_tiny("bert", tmp_path / "wide", hidden_size=48, intermediate_size=48)
    save_tiny("bert", tmp_path / "other", initializer_range=0.5)
    np.save(tmp_path / "mine.npy", vectors_of_desk(desk, LINES))
    (tmp_path / "mine.txt").write_text("\n".join(LINES), encoding="utf-8")
    err = refused("search", "a new query", "--vectors", tmp_path / "mine.npy", "--model", tmp_path / "wide")
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


def test_long_texts_are_searched_in_windows_and_the_best_window_is_printed(place, tmp_path, answered, done, refused):
    text = " ".join(texts_of(place.test)[0])
    end = " ".join(text.split()[-6:])
    (tmp_path / "corpus.txt").write_text(f"the cat sat on a mat\n{text}\na red ball\n")
    words = ["search", end, "--corpus", tmp_path / "corpus.txt", "--model", place.model, "--max-length", 16]
    first = answered(*words, "--windows", "--json")["A"]["results"][0]
    assert first["sentence"] == text
    assert first["window"] in text
    assert set(end.split()) <= set(first["window"].split())
    cut = {row["sentence"]: row["cosine"] for row in answered(*words, "--json")["A"]["results"]}
    assert first["cosine"] > cut[text], "without windows its end is not read"
    out, _ = done(*words, "--windows")
    assert f"… {first['window']} …" in out
    assert "--windows" in refused(*words, "--windows", "--whole")


def test_of_vectors_of_windows_the_windows_are_found(place, tmp_path, answered):
    texts = texts_of(place.test)[0]
    end = " ".join(texts[5].split()[-4:])
    (tmp_path / "corpus.txt").write_text(f"a red ball\n{' '.join(texts[:6])}\n")
    of = [place.model, tmp_path / "corpus.txt", "--max-length", 12, "--windows", "--with-text"]
    told = answered("embed", *of, "--out", tmp_path / "vectors")
    rows = pq.read_table(tmp_path / "vectors" / "shards").to_pydict()
    assert (told["rows"], told["windows"]) == (2, len(rows["text"]))
    assert len(rows["text"]) > 3
    asked = ["search", f"so {end}", "--model", place.model, "--json"]
    found = answered(*asked, "--vectors", tmp_path / "vectors", "--k", 50)
    assert [rows["text"][row["row"]] for row in found["results"]] == [row["sentence"] for row in found["results"]]
    cut = answered(*asked, "--corpus", tmp_path / "corpus.txt", "--windows", "--max-length", 12)["A"]["results"]
    assert found["results"][0]["cosine"] == pytest.approx(cut[0]["cosine"], abs=1e-5)
    assert found["results"][0]["sentence"] == (cut[0]["window"] or cut[0]["sentence"])
