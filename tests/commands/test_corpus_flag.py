"""Test that `--corpus` searches queries among more passages, as a file with these passages would."""

import json

import pytest

from explorer.data import sample
from tests.tiny_models import save_tiny


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A model, a file of queries and passages, a corpus, and a folder in BEIR's layout with the passages of both."""
    folder = tmp_path_factory.mktemp("corpus")
    save_tiny("bert", folder / "model")
    pairs = sample.pairs()
    rows = [(f"{pairs.first[row]} {row}", f"{pairs.second[row]} {row}") for row in range(40)]
    others = [f"{text} too" for text in pairs.first[50:110]]
    (folder / "queries.tsv").write_text("query\tpassage\n" + "".join(f"{query}\t{text}\n" for query, text in rows))
    (folder / "corpus.txt").write_text("\n".join([*others, *(text for _, text in rows[:5])]))
    whole = folder / "whole"
    (whole / "qrels").mkdir(parents=True)
    texts = dict.fromkeys((*(text for _, text in rows), *others))
    places = {text: f"d{at}" for at, text in enumerate(texts)}
    written = {
        "corpus.jsonl": [{"_id": at, "text": text} for text, at in places.items()],
        "queries.jsonl": [{"_id": f"q{at}", "text": query} for at, (query, _) in enumerate(rows)],
    }
    for name, lines in written.items():
        (whole / name).write_text("\n".join(map(json.dumps, lines)))
    judged = "".join(f"q{at}\t{places[text]}\t1\n" for at, (_, text) in enumerate(rows))
    (whole / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    return folder


def test_evaluate_searches_among_the_passages_of_the_corpus_and_says_among_how_many(there, answered, done, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(there / "results"))
    words = ("evaluate", there / "model", "--task", there / "queries.tsv")
    (found,) = answered(*words, "--corpus", there / "corpus.txt", "--json")
    (whole,) = answered("evaluate", there / "model", "--task", there / "whole", "--json")
    (alone,) = answered(*words, "--json")
    assert found["scores"] == whole["scores"]
    assert found["data"] == whole["data"] != alone["data"]
    harder, easier = (one["scores"]["model default"]["MRR@10"] for one in (found, alone))
    assert harder < easier, "the premise: more passages matter"
    out, _ = done(*words, "--corpus", there / "corpus.txt")
    assert "40 queries among 100 passages" in out


def test_compare_searches_among_them_and_the_corpus_is_part_of_the_set(there, answered, done, refused):
    words = ("compare", there / "model", there / "model", "--on", there / "queries.tsv")
    found = answered(*words, "--corpus", there / "corpus.txt", "--json")
    whole = answered("compare", there / "model", there / "model", "--on", there / "whole", "--json")
    alone = answered(*words, "--json")
    assert found["passages"] == 100
    assert found["chosen"] == whole["chosen"]
    assert found["set_digest"] == whole["set_digest"] != alone["set_digest"]
    out, _ = done(*words, "--corpus", there / "corpus.txt", "--on", "sample")
    assert "40 queries among 100 passages" in out
    said = refused("compare", there / "model", there / "model", "--on", "sample", "--corpus", there / "corpus.txt")
    assert "--corpus is for queries with passages" in said


def test_tasks_without_passages_are_refused(there, refused, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(there / "results"))
    (there / "scored.tsv").write_text(
        "sentence1\tsentence2\tscore\n" + "".join(f"a {n}\tb {n}\t{n}\n" for n in range(9))
    )
    said = refused("evaluate", there / "model", "--task", there / "scored.tsv", "--corpus", there / "corpus.txt")
    assert "A corpus is for queries with passages" in said
