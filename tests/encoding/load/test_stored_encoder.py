"""Test that vectors of another program are a model: its scores are those of the encoder that made them."""

import json
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from explorer.data import sample
from explorer.data.retrieval_sets import RetrievalSet, of_pairs
from explorer.encoding.load import declared, loading
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import find, of_folder
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import OWN
from explorer.encoding.tune import editing
from explorer.errors import DataError, NotAModelFolder, NoVector, UnsupportedModel
from explorer.evaluating.kinds import judged
from explorer.measuring.scores.measure import Settings, load_encoder, measure
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.spoiling import declare
from tests.tiny_models import WIDTH, save_tiny

TEXTS = ["It rains.", "It  rains hard.", "Parrots talk."]
VECTORS = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 1.0]], dtype=np.float32)
NPY, LINES = "theirs.npy", "theirs.jsonl"


def lines(path, texts, vectors):
    rows = zip(texts, np.asarray(vectors, dtype=float).tolist(), strict=True)
    path.write_text("".join(json.dumps({"text": text, "embedding": vector}) + "\n" for text, vector in rows))
    return str(path)


def saved(folder, texts, vectors):
    np.save(folder / NPY, vectors)
    (folder / "theirs.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(folder / NPY)


def sentences_of(given):
    return (*given.queries, *given.documents) if isinstance(given, RetrievalSet) else given.sentences


def vectors_of(source, texts):
    return finish(of_reading(load_encoder(find(source), Settings()), texts, OWN))


def test_a_sentence_has_its_vector_as_given(tmp_path):
    source = lines(tmp_path / LINES, TEXTS, VECTORS)
    asked = [TEXTS[2], TEXTS[0], TEXTS[1], "It rains hard.", TEXTS[0]]
    np.testing.assert_allclose(vectors_of(source, asked), VECTORS[[2, 0, 1, 1, 0]], rtol=1e-6)
    found = find(source)
    assert (found.name, of_folder("x", found.folder).digest) == (LINES, found.digest)
    assert (layout.last_layer(found.folder), declared.grid(found.folder)) == (0, ())
    assert declared.described(declared.default(found.folder), found.folder) == "model default (vectors as given)"


def test_the_spaces_of_a_sentence_are_compared_as_written_where_two_differ_in_them_alone(tmp_path):
    texts = ["a b", "a  b", "caf\u00e9", "cafe\u0301", " c"]
    source = lines(tmp_path / LINES, texts, np.eye(5) + 1)
    np.testing.assert_allclose(vectors_of(source, texts), np.eye(5) + 1, rtol=1e-6)
    np.testing.assert_allclose(vectors_of(source, ["c"]), (np.eye(5) + 1)[[4]], rtol=1e-6)


def test_every_kind_of_set_has_the_scores_of_the_encoder_that_made_the_vectors(tmp_path):
    folder = save_tiny("bert", tmp_path / "tiny")
    mode = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}
    declare(folder, "Transformer", "Pooling", "Normalize", pooling=mode)
    some = sample.triplets().taken(range(30))
    queries = of_pairs("queries", some.anchors, some.positives, some.negatives)
    sets = sample.dev().taken(range(30)), some, queries
    texts = list(dict.fromkeys(text for one in sets for text in sentences_of(one)))
    theirs = find(saved(tmp_path, texts, SentenceTransformer(str(folder)).encode(texts)))
    for given in sets:
        scores = [finish(judged(given).measured(one, Settings())) for one in (find(str(folder)), theirs)]
        for metric in scores[0].metrics:
            own, other = (one.score(OWN, metric) for one in scores)
            assert other == pytest.approx(own, abs=1e-4), (given.name, metric)


def test_sentences_without_a_vector_are_counted_named_and_listed(tmp_path):
    source = saved(tmp_path, TEXTS, VECTORS)
    others = [f"Not there {number}." for number in range(7)]
    with pytest.raises(
        NoVector, match=r"no vector of 7 of 9 sentences: 'Not there 0\.', .*'Not there 4\.', …"
    ) as caught:
        vectors_of(source, [*others, *TEXTS[:2], others[0]])
    assert caught.value.sentences == tuple(others)
    path = Path(str(caught.value).partition("listed in ")[2].partition(". Compute")[0])
    assert [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()] == others


def test_files_of_one_folder_are_one_model(tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    saved(folder, TEXTS, VECTORS)
    lines(folder / "more.jsonl", ["New."], [[9.0, 9.0, 1.0]])
    np.testing.assert_allclose(vectors_of(str(folder), ["New.", TEXTS[0]]), [[9, 9, 1], VECTORS[0]], rtol=1e-6)


def test_a_zero_vector_and_two_vectors_of_one_sentence_are_refused_once_they_are_needed(tmp_path):
    texts = [*TEXTS, "Zero.", "Twice.", "Twice.", "Again.", "Again."]
    vectors = [*VECTORS, [0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [2, 0.01, 0]]
    source = lines(tmp_path / LINES, texts, vectors)
    assert len(vectors_of(source, [*TEXTS, "Again."])) == 4
    with pytest.raises(DataError, match=r"Row 3 of theirs\.jsonl, 'Zero\.', has the vector zero"):
        vectors_of(source, ["Zero."])
    with pytest.raises(DataError, match=r"Rows 4 and 5 of theirs\.jsonl have the same sentence, 'Twice\.'"):
        vectors_of(source, ["Twice."])


def test_another_file_is_another_model_and_a_broken_one_is_none(tmp_path):
    source = saved(tmp_path, TEXTS, VECTORS)
    before = find(source).digest
    saved(tmp_path, TEXTS, VECTORS + 1)
    assert find(source).digest != before
    (tmp_path / "theirs.txt").write_text("One line.\n")
    with pytest.raises(NotAModelFolder, match=r"has 3 vectors, but theirs\.txt has 1 lines"):
        find(source)
    with pytest.raises(NotAModelFolder, match=r"There is no .*absent\.npy"):
        find(str(tmp_path / "absent.npy"))


def test_what_needs_the_model_itself_is_refused_by_name(tmp_path):
    found = find(saved(tmp_path, TEXTS, VECTORS))
    for load in (loading.load, lambda found: loading.load(found, attention=EAGER)):
        with pytest.raises(UnsupportedModel, match=r"'theirs\.npy' is vectors that another program computed"):
            load(found)
    with pytest.raises(UnsupportedModel, match="needs the model itself"):
        editing.cut(load_encoder(found, Settings()), 0)


def test_scores_are_kept_under_the_digest_of_the_vectors(tmp_path):
    pairs = sample.pairs()
    drawn = np.random.default_rng(0).normal(size=(len(pairs.sentences), 8))
    found = find(saved(tmp_path, pairs.sentences, drawn))
    scores = finish(measure(found, pairs, Settings()))
    assert scores.limit is None
    (tmp_path / NPY).unlink()
    assert judged(pairs).stored(found, Settings()).score(OWN, "Spearman") == scores.score(OWN, "Spearman")
