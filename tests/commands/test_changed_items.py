"""Test that `compare` lists the items of every kind that improved and got worse, as plain loops over vectors say."""

import random
import re

import numpy as np
import pytest
from scipy.stats import rankdata
from sentence_transformers import SentenceTransformer

from explorer.data import sample
from explorer.measuring.comparing.item_changes import SHOWN
from strata import encode, load
from tests.trainings import WORDS, labelled_splits

COUNT = 60


@pytest.fixture(scope="module")
def columns():
    """Three columns of texts."""
    drawn, texts = random.Random(7), {}
    while len(texts) < 3 * COUNT:
        texts[" ".join(drawn.choices(WORDS, k=drawn.randint(3, 6)))] = None
    return [list(texts)[start::3] for start in range(3)]


@pytest.fixture(scope="module")
def vectors(place, other, columns):
    """Of both models, unit vectors of each column."""
    models = [SentenceTransformer(str(model), device="cpu") for model in (place.model, other)]
    return [
        [model.encode(texts, normalize_embeddings=True).astype(np.float64) for texts in columns] for model in models
    ]


def written(path, head, *rows):
    path.write_text("\n".join("\t".join(map(str, row)) for row in (head, *zip(*rows, strict=True))) + "\n")
    return path


def test_queries_say_their_ranks_and_which_passage_took_rank_1(
    place, other, columns, vectors, answered, done, tmp_path
):
    queries, passages, _ = columns
    file = written(tmp_path / "queries.tsv", ("query", "passage"), queries, passages)
    items = answered("compare", place.model, other, "--on", file, "--json")["items"]
    ranks, firsts = [], []
    for asked, found, _ in vectors:
        table = asked @ found.T
        ranks.append([1 + int((row > row[at]).sum()) for at, row in enumerate(table)])
        firsts.append([passages[row.argmax()] for row in table])
    better = [at for at in range(COUNT) if ranks[1][at] < ranks[0][at]]
    worse = [at for at in range(COUNT) if ranks[1][at] > ranks[0][at]]
    assert items["counts"] == {"improved": len(better), "got worse": len(worse)}
    assert better, "the premise"
    assert worse, "the premise"
    for kind, places in (("improved", better), ("got worse", worse)):
        assert {row["query"] for row in items[kind]} == {queries[at] for at in places}
        for row in items[kind]:
            at = queries.index(row["query"])
            assert (row["rank before"], row["rank after"]) == (ranks[0][at], ranks[1][at])
            for side, when in enumerate(("before", "after")):
                assert row[f"rank 1 {when}"] == ("" if ranks[side][at] == 1 else firsts[side][at])
    out, _ = done("compare", place.model, other, "--on", file)
    assert f"{len(better)} improved, {len(worse)} got worse, {COUNT - len(better) - len(worse)} unchanged" in out
    first = items["improved"][0]
    assert f"improved: rank {first['rank before']} → {first['rank after']}, cosine " in out
    assert f"  query: {first['query']}\n  passage: {first['passage']}\n  rank 1 before: {first['rank 1 before']}" in out
    shown = min(SHOWN, len(better)), min(SHOWN, len(worse))
    assert (out.count("\nimproved: "), out.count("\ngot worse: ")) == shown
    assert f"--json has the other {len(better) + len(worse) - sum(shown)}, too." in out


def test_triplets_say_which_came_into_order(place, other, columns, vectors, answered, done, tmp_path):
    file = written(tmp_path / "triplets.tsv", ("anchor", "positive", "negative"), *columns)
    items = answered("compare", place.model, other, "--on", file, "--json")["items"]
    right = [(one * two).sum(1) > (one * three).sum(1) for one, two, three in vectors]
    for kind, changed in (("improved", ~right[0] & right[1]), ("got worse", right[0] & ~right[1])):
        assert {row["anchor"] for row in items[kind]} == {columns[0][at] for at in np.flatnonzero(changed)}
        assert changed.any(), "the premise"
    assert "wrong → right" in done("compare", place.model, other, "--on", file)[0]


def test_labelled_texts_changed_by_as_many_as_the_score(place, other, columns, answered, tmp_path):
    texts = [text for column in columns for text in column]
    labels = ["long" if len(text.split()) > 4 else "short" for text in texts]
    folder = labelled_splits(tmp_path / "labels", [*map("\t".join, zip(labels, texts, strict=True))])
    found = answered("compare", place.model, other, "--on", folder, "--json")
    counts = found["items"]["counts"]
    gap = 100 * (counts["improved"] - counts["got worse"]) / len(texts[2::3])
    assert found["verdict"]["difference"] == pytest.approx(gap, abs=0.01)
    for kind, before in (("improved", 0), ("got worse", 100)):
        for row in found["items"][kind]:
            assert row["text"] in texts[2::3], "of the test split"
            assert row["label"] == labels[texts.index(row["text"])]
            assert (row["accuracy before"], row["accuracy after"]) == (before, 100 - before)


def test_scored_pairs_say_whose_rank_error_crossed_a_quarter(place, other, columns, vectors, answered, tmp_path):
    gold = [random.Random(at).random() for at in range(COUNT)]
    file = written(tmp_path / "pairs.tsv", ("score", "sentence1", "sentence2"), gold, *columns[:2])
    items = answered("compare", place.model, other, "--on", file, "--json")["items"]
    wrong = [np.abs(rankdata((a * b).sum(1)) - rankdata(gold)) / (COUNT - 1) > 0.25 for a, b, _ in vectors]
    kinds = {"improved": wrong[0] & ~wrong[1], "got worse": ~wrong[0] & wrong[1], "still wrong": wrong[0] & wrong[1]}
    for kind, places in kinds.items():
        assert items["counts"][kind] == places.sum() > 0
        assert {row["first"] for row in items[kind]} == {columns[0][at] for at in np.flatnonzero(places)}


def test_probe_pairs_change_by_their_share_of_couples(place, other, answered):
    items = answered("compare", other, place.model, "--on", sample.PROBE_PACKS, "--json")["items"]
    pairs, shares = sample.probe_pairs(), []
    for model in map(load, (other, place.model)):
        one, two = (encode(model, side).astype(np.float64) for side in (pairs.first, pairs.second))
        cosines = (one * two).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
        shares.append(
            [
                100 * np.mean([(mine > its) == same for its, of in zip(cosines, pairs.same, strict=True) if of != same])
                for mine, same in zip(cosines, pairs.same, strict=True)
            ]
        )
    better = [at for at in range(len(pairs)) if shares[1][at] > shares[0][at]]
    assert items["counts"]["improved"] == len(better) > 0
    for row in items["improved"]:
        at = list(zip(pairs.first, pairs.second, strict=True)).index((row["first"], row["second"]))
        got = row["share distinguished before"], row["share distinguished after"]
        assert got == pytest.approx((shares[0][at], shares[1][at]), abs=0.01)
        assert row["meaning"] == ("the same" if pairs.same[at] else "another")


def test_a_side_without_a_score_says_why_there_are_no_rows(place, other, columns, done, answered, tmp_path):
    file = written(tmp_path / "queries.tsv", ("query", "passage"), *columns[:2])
    words = ("compare", place.model, other, "--on", file, "--reading", "cls of layer 0")
    assert list(answered(*words, "--json")["items"]) == ["why_none"]
    assert "queries cannot be compared one by one" in done(*words)[0]


def test_a_long_text_is_shortened_in_the_terminal_and_whole_in_json(place, other, columns, done, answered, tmp_path):
    long = [f"{text} {'dog ' * 60}".strip() for text in columns[1]]
    file = written(tmp_path / "queries.tsv", ("query", "passage"), columns[0], long)
    out, _ = done("compare", place.model, other, "--on", file)
    assert max(map(len, re.findall(r"  passage: (.*)", out))) <= 160
    rows = answered("compare", place.model, other, "--on", file, "--json")["items"]
    assert {row["passage"] for row in (*rows["improved"], *rows["got worse"])} <= set(long)
