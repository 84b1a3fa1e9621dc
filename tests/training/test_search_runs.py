"""Test runs without scored pairs: evaluated on a retrieval set, or on rows of pairs that are held out."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from explorer.__main__ import _options
from explorer.commands.train import _recipe
from explorer.data import corpora
from explorer.data.graded import sets
from explorer.data.sources import HELD_OUT, identity
from explorer.data.text_sets import PAIRS, TRIPLETS, Corpus
from explorer.errors import BadChoice, TooFewRows
from explorer.evaluating.kinds import run_set
from explorer.evaluating.kinds.queries import RankingJudge
from explorer.measuring.comparing import learned
from explorer.measuring.neighbours.rankings import MRR
from explorer.run_folder import LOG, Evaluation
from explorer.training import text_defaults
from explorer.training.loop import training_texts
from explorer.training.loop.preparing import TRAINED_TOO
from explorer.training.record import recorder, run_results
from tests import named_texts
from tests.training.unbroken import assert_same, break_off_in_training
from tests.trainings import WORDS, new, train

ROWS = 60


def rows(count: int = ROWS, seed: int = 4) -> list[tuple[str, str]]:
    """Queries, and passages that share half of their words."""
    drawn = random.Random(seed)
    found = {}
    while len(found) < count:
        words, others = drawn.sample(WORDS, 6), drawn.sample(WORDS, 3)
        found[" ".join(words)] = " ".join(words[:3] + others)
    return list(found.items())


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    path.write_text("\n".join(["query,passage", *map(",".join, rows())]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """A retrieval set of its own, as a BEIR folder."""
    folder = tmp_path_factory.mktemp("sets") / "search"
    (folder / "qrels").mkdir(parents=True)
    made = rows(30, seed=9)
    for name, texts in (("queries", [one for one, _ in made[:12]]), ("corpus", [other for _, other in made])):
        lines = [f'{{"_id": "{name}{at}", "text": "{text}"}}' for at, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    judged = [f"queries{at}\tcorpus{at}\t1" for at in range(12)] + ["queries0\tcorpus20\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    return folder


@pytest.fixture(scope="module")
def run(place, pairs, search):
    """Trained on pairs, with held-out pairs as dev set and a retrieval set as test set."""
    settings = {"steps": 6, "evaluate_every": 2}
    return train(new(place, "contrast", data=(str(pairs),), dev=HELD_OUT, test=str(search), settings=settings))


def of_sentence_transformers(folder, task) -> dict[str, float]:
    evaluator = InformationRetrievalEvaluator(
        {str(at): text for at, text in enumerate(task.queries)},
        {str(at): text for at, text in enumerate(task.documents)},
        {str(at): {*map(str, judged)} for at, judged in enumerate(task.judgements)},
        write_csv=False,
    )
    return evaluator(SentenceTransformer(str(folder), device="cpu"))


def test_base_and_export_score_what_sentence_transformers_says(place, pairs, search, run):
    verdict = run.status().verdict
    dev = training_texts.read_texts(run.recipe()).dev
    test = run_set(identity(str(search)))
    for task, found, measure in ((test, verdict.test, "cosine_ndcg@10"), (dev, verdict.dev, "cosine_mrr@10")):
        for folder, score in ((place.model, found.before), (run.model, found.after)):
            assert score == pytest.approx(100 * of_sentence_transformers(folder, task)[measure], abs=1e-3)


def test_a_run_keeps_where_its_queries_find_a_right_passage(place, pairs, search, run):
    kept, test = recorder.in_use(run, run.recipe().seeds[0]), run_set(identity(str(search)))
    for side, folder in (("before", place.model), ("after", run.model)):
        theirs = of_sentence_transformers(folder, test)["cosine_accuracy@10"]
        assert kept[f"test first 10 {side}"].mean() == pytest.approx(theirs)
    assert "test rank 1 before" not in kept, "nDCG of two right passages does not say which is first"
    dev = training_texts.read_texts(run.recipe()).dev
    judge = RankingJudge(dev, MRR)
    encoder = SentenceTransformer(str(run.model), device="cpu")
    items = judge.items(encoder.encode(list(judge.texts), convert_to_tensor=True))
    found = judge.in_use("test", {"after": items})
    theirs = of_sentence_transformers(run.model, dev)
    assert found["test rank 1 after"].mean() == pytest.approx(theirs["cosine_accuracy@1"])
    assert found["test first 10 after"].mean() == pytest.approx(theirs["cosine_accuracy@10"])


def test_the_best_checkpoint_is_chosen_on_held_out_pairs(run):
    looks = [line for line in run.metrics() if isinstance(line, Evaluation)]
    best = max(looks[1:], key=lambda one: one.dev)
    assert run.status().best_step == best.step
    assert run.status().best == best.dev
    facts = run.status().facts
    assert facts.measures == {"dev": "MRR@10", "test": "nDCG@10"}
    assert facts.pools == {"dev": ROWS, "test": 30}, "held-out queries are searched among all passages of the file"
    assert facts.pairs == {"dev": 10, "test": 12}
    assert facts.rows == ROWS - 10
    assert all(-1 <= one.alike <= 1 and np.isfinite(one.uniformity) for one in looks)


def test_words_name_queries_and_the_measure(run):
    told = learned.lines(run.status().learned)
    assert " nDCG@10 " in told[0]
    assert "(12 queries among 30 passages)" in told[1]
    card = (run.model / "README.md").read_text()
    assert "search (test, 12 queries among 30 passages)" in card
    assert "On the dev set: MRR@10 × 100, the mean over queries" in card
    assert "type: cosine_ndcg@10" in card
    assert "pearman" not in card.partition("## Training")[0], "how far repeats differ was measured in it"
    (result,) = run_results.of_one(run, run.status())
    measured = result.measured
    assert (measured.measures, measured.setting["queries"]) == (("nDCG@10",), 12)


def test_dev_and_test_rows_share_no_text_with_each_other_or_with_what_is_trained_on(pairs):
    whole = named_texts.corpus([str(pairs)], PAIRS)[0]
    left, test = _held_out(whole)
    left, dev = _held_out(left)
    parts = [{*test.sentences}, {*dev.sentences}, {text for column in left.texts for text in column}]
    assert sum(map(len, parts)) == len({text for part in parts for text in part}) == 2 * ROWS
    backwards = replace(whole, columns=tuple(column[::-1] for column in whole.columns))
    assert {*_held_out(backwards)[1].sentences} == parts[0], "which rows follows from the text alone"


def _held_out(whole):
    """The rows to train on, and the set of those held out."""
    left, held = training_texts.held_out_rows(whole)
    return left, training_texts.set_of_rows(held, HELD_OUT, whole)


@pytest.mark.parametrize("most", [5, 12, 25, 1000])
def test_held_out_queries_are_searched_among_all_passages_of_the_file_or_as_many_as_are_allowed(pairs, most):
    """Those of the held-out rows themselves are always there, and which others follows from the text alone."""
    whole = named_texts.corpus([str(pairs)], PAIRS)[0]
    _, held = training_texts.held_out_rows(whole)
    found = training_texts.set_of_rows(held, HELD_OUT, whole, most)
    assert {*held.texts[1]} <= {*found.documents} <= {*whole.texts[1]}
    assert found.pool == len({*found.documents}) == max(len(held), min(most, ROWS))
    backwards = replace(whole, columns=tuple(column[::-1] for column in whole.columns))
    assert {*training_texts.set_of_rows(held, HELD_OUT, backwards, most).documents} == {*found.documents}


def test_held_out_queries_are_searched_among_the_passages_of_a_named_corpus_too(place, pairs, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    whole = named_texts.corpus((str(pairs),), PAIRS)[0]
    others = [f"{passage} as well" for _, passage in rows(50, seed=7)]
    (tmp_path / "corpus.txt").write_text("\n".join([*others, *whole.texts[1][:9]]))
    given = {"data": (str(pairs),), "dev": HELD_OUT, "test": HELD_OUT, "settings": {"steps": 2}}
    run = train(new(place, "contrast", **given, corpus=str(tmp_path / "corpus.txt")))
    facts = run.status().facts
    assert facts.pools == {"dev": ROWS + 50, "test": ROWS + 50}, "a passage that is in both is one"
    texts = training_texts.read_texts(run.recipe())
    (test,) = texts.tests
    assert {*test.documents} == {*whole.texts[1], *others}
    plain = training_texts.read_texts(replace(run.recipe(), corpus=None))
    assert test.queries == plain.tests[0].queries, "the same rows are held out"
    assert test.digest != plain.tests[0].digest
    assert run.recipe().digest_of("test") == test.digest
    again = run_results.load_test_rows(run_results.test_rows_of(run))
    assert again.digest == test.digest
    with pytest.raises(BadChoice, match=r"only held-out or cross-fitted rows of queries and passages"):
        training_texts.read_texts(replace(run.recipe(), dev="Sample search", test=None))


def test_negatives_of_held_out_triplets_are_documents_too():
    whole = named_texts.corpus(["sample"], TRIPLETS)[0]
    held = _held_out(whole)[1]
    negatives = {text for row, text in enumerate(whole.texts[2]) if whole.texts[0][row] in held.queries}
    assert negatives <= {*held.documents} == {*whole.texts[1], *whole.texts[2]}
    assert not negatives & {held.documents[place] for judged in held.judgements for place in judged}


def test_a_family_of_rows_is_as_likely_to_be_held_out_as_any_other():
    """Else a large family, whose texts are easily confused, would rather be in the first set than in the second."""
    drawn = 0
    for seed in range(200):
        singles = [(f"{seed} query {row}", f"{seed} passage {row}") for row in range(40)]
        family = [(f"{seed} question {row}", f"{seed} answer") for row in range(4)]
        given = Corpus("made up", PAIRS, tuple(zip(*singles, *family, strict=True)))
        drawn += any("question" in query for query in _held_out(given)[1].queries)
    assert 20 <= drawn <= 65, "ten of 44 rows: about one in five, less because four rows have to fit"


@pytest.mark.parametrize(
    ("method", "dev", "error", "told"),
    [
        ("simcse", HELD_OUT, BadChoice, "Held-out rows of sentences cannot be an evaluation set"),
        ("contrast", HELD_OUT, TooFewRows, "at least 10 are needed. Use more rows, or name another evaluation set"),
    ],
)
def test_rows_that_cannot_be_held_out_are_refused(place, tmp_path, method, dev, error, told):
    few = tmp_path / "few.csv"
    few.write_text("query,passage\n" + "".join(f"{one} {at},x{at}\n" for at, one in enumerate("abcdefgh")))
    data = {"data": (str(few),)} if method == "contrast" else {}
    with pytest.raises(error, match=told):
        train(new(place, method, dev=dev, **data))


def test_rows_of_two_held_out_sets_are_counted_together(place, tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("\n".join(["query,passage", *map(",".join, rows(14))]) + "\n")
    told = r"own\.csv has 14 rows, and 4 of them can be held out .* besides the 10 of another evaluation set"
    with pytest.raises(TooFewRows, match=told):
        train(new(place, "contrast", data=(str(own),), dev=HELD_OUT, test=HELD_OUT))


@pytest.mark.parametrize(("method", "header"), [("contrast", "query,passage"), ("cosent", "sentence1,sentence2,score")])
def test_where_every_row_would_be_held_out_none_is_left_to_train_on(place, tmp_path, method, header):
    few = tmp_path / "twenty.csv"
    lines = [f"question {at},answer {at}" + f",{at}" * (method == "cosent") for at in range(20)]
    few.write_text("\n".join([header, *lines]))
    told = r"All rows of twenty\.csv would be held out, .* use 'cross-fitted rows', which trains on all rows"
    with pytest.raises(TooFewRows, match=told):
        train(new(place, method, data=(str(few),), dev=HELD_OUT, test=HELD_OUT))


def test_a_run_that_was_broken_off_ends_as_if_it_never_was(place, pairs, search):
    given = {"data": (str(pairs),), "dev": str(search), "test": HELD_OUT, "settings": {"steps": 4, "evaluate_every": 1}}
    whole = train(new(place, "contrast", **given))
    broken = new(place, "contrast", **given)
    break_off_in_training(broken)
    assert_same(train(broken), whole)


def test_few_own_pairs_are_cross_fitted_and_of_more_some_are_held_out_unless_a_set_is_named(pairs, monkeypatch):
    def recipe(*words):
        return _recipe(_options(["train", *words]))

    few = recipe("contrast", "--data", str(pairs))
    assert (few.dev, few.test) == (sets.CROSS_FITTED, sets.CROSS_FITTED)
    staged = recipe("contrast", "--data", str(pairs), "--stage", "tsdae", "--stage-data", str(pairs))
    assert (staged.dev, staged.test) == (sets.HELD_OUT, sets.HELD_OUT)
    monkeypatch.setattr(corpora, "FEW", 2)
    text_defaults._of_text.cache_clear()
    usual = recipe("contrast", "--data", str(pairs))
    assert (usual.dev, usual.test) == (sets.HELD_OUT, sets.HELD_OUT)
    named = recipe("contrast", "--data", str(pairs), "--dev", "Sample search")
    assert (str(named.dev), named.test) == ("Sample search", sets.HELD_OUT)
    assert not any(
        sets.HELD_OUT in (one.dev, *one.tests) for one in (recipe("contrast"), recipe("simcse", "--data", str(pairs)))
    )


@pytest.mark.parametrize("pooled", [True, False], ids=["pooled", "left out"])
def test_a_model_with_prompts_for_queries_and_documents_is_evaluated_with_them(place, pairs, search, tmp_path, pooled):
    folder = tmp_path / "prompted"
    model = SentenceTransformer(str(place.model), device="cpu")
    model.prompts = {"query": "the dog ", "document": "women "}
    model.set_pooling_include_prompt(pooled)
    model.save_pretrained(str(folder))
    given = {"model": str(folder), "data": (str(pairs),), "dev": str(search), "test": None}
    run = train(new(place, "contrast", **given))
    assert TRAINED_TOO in (run.folder / LOG).read_text()
    task, found = run_set(identity(str(search))), run.status().verdict.dev
    for where, score in ((folder, found.before), (run.model, found.after)):
        assert score == pytest.approx(100 * of_sentence_transformers(where, task)["cosine_ndcg@10"], abs=1e-3)
    assert found.before != pytest.approx(100 * of_sentence_transformers(place.model, task)["cosine_ndcg@10"])
    assert ("'the dog ', left out of the pooling" in (run.model / "README.md").read_text()) is not pooled


def test_typed_prompts_are_trained_evaluated_and_exported_and_the_base_is_judged_as_it_is_used(place, pairs, search):
    typed = {"query_prompt": "the dog ", "document_prompt": "women "}
    run = train(new(place, "contrast", data=(str(pairs),), dev=str(search), test=HELD_OUT, settings=typed))
    stated = json.loads((run.model / "config_sentence_transformers.json").read_text())["prompts"]
    assert (stated["query"], stated["document"]) == tuple(typed.values())
    task, found = run_set(identity(str(search))), run.status().verdict.dev
    for where, score in ((place.model, found.before), (run.model, found.after)):
        theirs = of_sentence_transformers(where, task)["cosine_ndcg@10"]
        assert score == pytest.approx(100 * theirs, abs=1e-3), "the base has no prompts"
    card = (run.model / "README.md").read_text()
    assert "'the dog '" in card
    assert "'women '" in card


def test_a_prompt_as_long_as_a_row_may_be_is_refused_before_training(place, pairs, search):
    long = {"query_prompt": "the dog " * 20}
    with pytest.raises(BadChoice, match=r"The query prompt 'the dog the dog .* leaves no room for a text: at most 16"):
        train(new(place, "contrast", data=(str(pairs),), dev=str(place.dev), settings=long))


def test_texts_of_a_test_set_that_are_trained_on_are_told_in_spite_of_prompts(place, search, tmp_path):
    text = tmp_path / "queries.csv"
    task = run_set(identity(str(search)))
    few = [f"{query},other {row}" for row, query in enumerate(task.queries)]
    text.write_text("\n".join(["query,passage", *few]) + "\n")
    seen = train(new(place, "contrast", data=(str(text),), dev=str(place.dev), test=str(search))).status().facts.seen
    assert (seen.found, seen.uses) == (12, ("test",))
