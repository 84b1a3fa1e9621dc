"""Test that `search` finds the results of a slow loop, and the changes from A to B."""

import json

import numpy as np
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.measuring.sentences import sentence_vectors
from explorer.progress import finish
from tests.measuring.neighbours.test_vector_index import slow
from tests.tiny_models import save_tiny
from tests.trainings import new, texts_of, train


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", name="found", settings={"steps": 2}))


def vectors_of(model, sentences, reading):
    encoder = load(find(str(model)), precision="float32", device="cpu")
    return finish(sentence_vectors.of_reading(encoder, list(sentences), parse(reading, 2)))


def test_both_sides_find_what_a_slow_loop_finds(place, run, said):
    first, second, _ = texts_of(place.test)
    sentences = list(dict.fromkeys([*first, *second]))
    readings, models = ("cls of layer 1", "mean of layer 2"), (place.model, run.model)
    words = ["search", sentences[3], "--corpus", place.test, "--model", place.model, "--model", "run:found", "--k", 4]
    words += ["--reading", readings[0], "--other-reading", readings[1], "--precision", "float32", "--json", "--whole"]
    code, out, err = said(*words)
    assert code == 0, err
    told = json.loads(out)
    assert told["sentences"] == len(sentences)
    whole = [slow(vectors, vectors[3], 99, without=3) for vectors in map(vectors_of, models, [sentences] * 2, readings)]
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


def test_a_table_for_the_terminal_says_what_was_kept(place, run, said):
    words = ("--corpus", place.test, "--model", place.model, "--model", "run:found", "--k", "3", "--whole")
    code, out, err = said("search", "a red ball", *words)
    assert code == 0, err
    assert "A  mean of layer 2 of " in out
    assert "B  model default of run:found" in out
    assert "kept · " in out or "lost · " in out
    assert "over the whole corpus: mean Jaccard@3" in out


def test_one_model_searches_alone_and_itself_beside_itself_changes_nothing(place, said):
    _, out, _ = said("search", "the dog", "--corpus", place.test, "--model", place.model, "--json", "--k", "500")
    alone = json.loads(out)
    assert "B" not in alone
    assert len(alone["A"]["results"]) == alone["sentences"]
    same = ("search", "the dog", "--corpus", place.test, "--model", place.model, "--model", place.model)
    told = json.loads(said(*same, "--json", "--whole")[1])
    assert {row["mark"] for side in "AB" for row in told[side]["results"]} == {"kept"}
    assert told["jaccard"] == told["whole"]["mean_jaccard"] == 1


def test_models_of_different_widths_are_compared(place, tmp_path, said):
    from transformers import AutoModel

    other = save_tiny("bert", tmp_path / "wide")
    model = AutoModel.from_pretrained(other)
    config = model.config
    config.hidden_size = 48
    AutoModel.from_config(config).save_pretrained(other)
    words = ("search", "the dog", "--corpus", place.test, "--model", place.model, "--model", other, "--json", "--whole")
    code, out, err = said(*words)
    assert code == 0, err
    assert json.loads(out)["whole"]["mean_jaccard"] <= 1


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
def test_what_cannot_be_is_refused(said, given, message):
    code, out, err = said("search", *given)
    assert (code, out) == (1, "")
    assert message in err
