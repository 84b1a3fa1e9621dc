"""Test that passages in windows are ranked by their best window, as by hand, in evaluations and comparisons alike."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer

from explorer.__main__ import main
from explorer.data.retrieval_sets import of_pairs
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import MODEL_DEFAULT, OWN
from explorer.evaluating.kinds import judged
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import Subject
from explorer.evaluating.tasks.retrieval import Retrieval, retrieval
from explorer.measuring.neighbours.rankings import NDCG
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.spoiling import declare, encoder_of, reweigh
from tests.tiny_models import SENTENCES, WIDTH, save_tiny

LIMIT = 16
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = save_tiny("bert", tmp_path_factory.mktemp("declared") / "tiny")
    mode = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}
    declare(found, "Transformer", "Pooling", pooling=mode)
    reweigh(found, lambda weights: {name: each * (10 if each.dim() > 1 else 1) for name, each in weights.items()})
    return found


@pytest.fixture(scope="module")
def task():
    """Passages of 3 to 60 words, and queries of a few words from anywhere in theirs."""
    random = np.random.default_rng(0)
    passages = [" ".join(random.choice(WORDS, size)) for size in random.integers(3, 60, size=60)]
    queries = []
    for passage in passages:
        words = passage.split()
        start = random.integers(0, max(1, len(words) - 6))
        queries.append(" ".join(words[start : start + 6]))
    return of_pairs("made up", queries, passages)


def by_hand(folder, task, limit=LIMIT):
    """nDCG@10 of each query: the tokenizer's own windows, decoded, encoded by sentence-transformers, in plain loops."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = SentenceTransformer(str(folder), device="cpu")
    model.max_seq_length = limit
    windows, of = [], []
    for place, passage in enumerate(task.documents):
        cut = tokenizer(
            passage, truncation=True, max_length=limit, stride=(limit - 2) // 4, return_overflowing_tokens=True
        )
        for ids in cut["input_ids"]:
            windows.append(tokenizer.decode(ids, skip_special_tokens=True))
            of.append(place)
    of_windows, of_queries = (model.encode(texts).astype(np.float64) for texts in (windows, list(task.queries)))
    found = []
    for query, relevant in zip(of_queries, task.judgements, strict=True):
        best = {}
        for place, window in zip(of, of_windows, strict=True):
            cosine = float(window @ query / np.linalg.norm(window) / np.linalg.norm(query))
            best[place] = max(best.get(place, -2.0), cosine)
        ranking = sorted(best, key=lambda place: -best[place])[:10]
        gained = sum(1 / math.log2(rank + 2) for rank, place in enumerate(ranking) if place in relevant)
        found.append(gained / sum(1 / math.log2(rank + 2) for rank in range(min(10, len(relevant)))))
    return np.array(found)


def test_a_passage_counts_by_its_best_window_as_by_hand(folder, task):
    encoder = encoder_of(folder)
    found = finish(retrieval(encoder, task, titles=[MODEL_DEFAULT], max_length=LIMIT, windows=True))
    assert found.items.values == pytest.approx(by_hand(folder, task), abs=1e-9)
    longer = sum(len(passage.split()) + 2 > LIMIT for passage in task.documents)
    assert found.setting["documents in windows"] == longer > 20
    cut = finish(retrieval(encoder, task, titles=[MODEL_DEFAULT], max_length=LIMIT))
    assert found.score() > cut.score(), "the premise: what is beyond the limit matters"
    assert "windows" not in cut.setting


def test_windows_of_passages_that_fit_change_nothing(folder, task):
    encoder = encoder_of(folder)
    plain, found = (finish(retrieval(encoder, task, titles=[MODEL_DEFAULT], windows=asked)) for asked in (False, True))
    assert found.score() == plain.score()


def test_layers_and_compare_score_what_evaluate_scores(folder, task, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    given, settings = of_folder("made up", folder), Settings(max_length=LIMIT, windows=True)
    scores = finish(judged(task).measured(given, settings))
    evaluated = finish(retrieval(encoder_of(folder), task, max_length=LIMIT, windows=True))
    for reading in scores.grid:
        assert scores.score(reading, NDCG) == pytest.approx(evaluated.score(reading.title, NDCG), abs=1e-9, nan_ok=True)
    assert scores.in_windows == evaluated.setting["documents in windows"]
    again = judged(task).stored(given, settings)
    assert again.in_windows == scores.in_windows
    assert judged(task).stored(given, replace(settings, windows=False)) is None, "windows are in the key"
    cosines = scores.details_of(OWN)["cosine"]
    assert np.isfinite(cosines).all()


def test_windows_are_in_the_key_of_a_result_and_in_its_cost(folder, task):
    one = Retrieval("made up", task)
    plain, windows = (one.key(Options(windows=asked), Settings()) for asked in (False, True))
    assert plain.digest != windows.digest
    cost = finish(one.cost(Subject(of_folder("made up", folder), Settings(max_length=LIMIT)), Options(windows=True)))
    assert cost.texts > len(set(task.texts))


def test_the_commands_say_that_passages_are_in_windows(folder, tmp_path, monkeypatch, capsys):
    for name in ("CACHE", "RESULTS", "RUNS"):
        monkeypatch.setenv(f"STRATA_{name}", str(tmp_path / name))
    random = np.random.default_rng(1)
    passages = [" ".join(random.choice(WORDS, 30)) for _ in range(20)]
    rows = "\n".join(f"{' '.join(passage.split()[-5:])}\t{passage}" for passage in passages)
    (tmp_path / "queries.tsv").write_text(f"query\tpassage\n{rows}\n")
    scores = {}
    for windows in (False, True):
        words = ("evaluate", folder, "--task", tmp_path / "queries.tsv", "--max-length", LIMIT, "--json")
        assert main([str(word) for word in (*words, *["--windows"] * windows)]) == 0
        scores[windows] = json.loads(capsys.readouterr().out)
    words = ("compare", folder, folder, "--on", tmp_path / "queries.tsv", "--max-length", LIMIT, "--windows", "--json")
    assert main(list(map(str, words))) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["A"]["in_windows"] == 20
    (plain,), (cut,) = scores[False], scores[True]
    assert (cut["setting"]["windows"], cut["setting"]["documents in windows"]) == (True, 20)
    assert "documents in windows" not in plain["setting"]
    assert found["chosen"]["A"] == cut["scores"]["model default"][NDCG] > plain["scores"]["model default"][NDCG]
    assert main(["compare", str(folder), str(folder), "--on", "sample", "--windows"]) == 1
    assert "--windows is for queries with passages" in capsys.readouterr().err
