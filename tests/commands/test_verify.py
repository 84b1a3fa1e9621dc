"""Test `verify`: every format of vectors from elsewhere, its exit code, and errors in a line."""

import base64
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strata
from tests.tiny_models import SENTENCES

TEXTS = [*SENTENCES, "the dog waits in the rain"]


@pytest.fixture
def folder(place, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def vectors(place):
    return strata.encode(str(place.model), TEXTS)


def answer(vectors, coded=False):
    """The answer of an API, in another order."""

    def written(vector):
        return base64.b64encode(vector.astype("<f4").tobytes()).decode() if coded else vector.tolist()

    rows = [{"object": "embedding", "index": row, "embedding": written(vector)} for row, vector in enumerate(vectors)]
    return {"object": "list", "model": "served", "data": rows[::-1]}


def write(folder, form, vectors):
    """A file of vectors, and the words that name it."""
    path, text = folder / f"vectors.{form.partition(' ')[0]}", ("--text", folder / "texts.txt")
    if form == "npy":
        np.save(path, vectors)
        return path, *text
    if form == "parquet":
        pq.write_table(
            pa.table({"sentence": TEXTS, "vector": pa.array(vectors.tolist(), pa.list_(pa.float32()))}), path
        )
        return (path,)
    both = [{"text": one, "embedding": vector.tolist()} for one, vector in zip(TEXTS, vectors, strict=True)]
    documents = {
        "jsonl": "\n".join(map(json.dumps, both)),
        "json of rows": json.dumps(both),
        "json of an API": json.dumps(answer(vectors)),
        "json in base64": json.dumps(answer(vectors, coded=True)),
        "json of lists": json.dumps({"embeddings": vectors.tolist()}),
    }
    path.write_text(documents[form], encoding="utf-8")
    return (path, *text) if form in ("json of an API", "json in base64", "json of lists") else (path,)


FORMS = ("npy", "parquet", "jsonl", "json of rows", "json of an API", "json in base64", "json of lists")


@pytest.mark.parametrize("form", FORMS)
def test_vectors_of_every_format_agree(place, folder, vectors, form, answered):
    found = answered("verify", place.model, *write(folder, form, vectors), "--json")
    assert (found["kind"], found["agrees"], found["rows"]) == ("agrees", True, len(TEXTS))
    assert found["best"]["difference"] < 1e-6


def test_a_fault_is_named_first_with_what_to_do_and_the_exit_code_is_1(place, folder, said):
    pooled = strata.encode(str(place.model), TEXTS, "cls of layer 2")
    np.save(folder / "served.npy", pooled)
    code, out, _ = said("verify", place.model, folder / "served.npy", "--text", folder / "texts.txt")
    verdict, remedy, *rest = out.splitlines()
    assert code == 1
    assert verdict.startswith("The vectors differ")
    assert "Explained by: cls in place of mean, with which all 6 sentences agree" in verdict
    assert remedy.startswith("In the server: Pool with mean: `(states * mask).sum(1)")
    assert any(line.startswith("Settings tried") for line in rest)
    found = strata.verify(str(place.model), pooled, TEXTS)
    assert (found.agrees, found.causes) == (False, ("cls in place of mean",))
    assert found.to_frame()["setting"][0] == "cls in place of mean"
    assert strata.verify(str(place.model), folder / "served.npy", folder / "texts.txt").remedy == found.remedy


def test_a_notebook_gives_a_list_with_an_array_and_a_file_with_a_file(place, folder, vectors):
    with pytest.raises(strata.errors.BadChoice, match="so the sentences are a list"):
        strata.verify(str(place.model), vectors)
    np.save(folder / "served.npy", vectors)
    with pytest.raises(strata.errors.BadChoice, match="so the sentences are one, too"):
        strata.verify(str(place.model), folder / "served.npy", TEXTS)


BAD = {
    "{": "is not readable JSON",
    "[]": "holds an empty list",
    '{"error": "busy"}': "holds no list of vectors",
    "[[1, 2], [3]]": "Row 1 of served.json has 1 numbers; the first row has 2",
    '[{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]': "index is not 0 to 1",
    '{"data": [{"index": 0, "embedding": "not base64"}]}': "0 columns of lists of numbers",
    "[[1, 2]]": "served.json has 1 vectors, but texts.txt has 6 lines",
    "[[1, 2], [1, 2], [NaN, 2], [1, 2], [1, 2], [1, 2]]": "Row 2 of served.json has the number nan",
    json.dumps([[1.0] * 999] * len(TEXTS)): "vectors of width 999; tiny has 32",
}


@pytest.mark.parametrize("content", BAD, ids=BAD.values())
def test_what_cannot_be_compared_is_refused_in_a_line(place, folder, refused, content):
    (folder / "served.json").write_text(content, encoding="utf-8")
    assert BAD[content] in refused("verify", place.model, folder / "served.json", "--text", folder / "texts.txt")


def test_rows_with_sentences_take_no_text_file_and_a_column_is_named(place, folder, vectors, refused, answered):
    rows = [{"a": one, "b": "", "v": vector.tolist()} for one, vector in zip(TEXTS, vectors, strict=True)]
    (folder / "served.json").write_text(json.dumps(rows), encoding="utf-8")
    words = "verify", place.model, folder / "served.json"
    assert "could hold the sentences: 'a', 'b'" in refused(*words)
    assert "holds its own sentences" in refused(*words, "--text", folder / "texts.txt")
    assert answered(*words, "--column", "sentence=a", "--json")["agrees"]
    del rows[2]["a"]
    (folder / "served.json").write_text(json.dumps(rows), encoding="utf-8")
    assert "Row 2 of served.json has no sentence: 'a' is not text" in refused(*words, "--column", "sentence=a")
