"""Test that `score` takes sets of every kind, with the numbers that other libraries compute from the same model."""

import csv
import io
import random
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator, TripletEvaluator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from explorer import in_words
from explorer.data import sample, sources
from explorer.encoding.locate.model_names import find
from explorer.evaluating.kinds import evaluated_on, judged
from explorer.evaluating.kinds.labelled import SEED
from explorer.evaluating.probes import logistic
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.trainings import WORDS, labelled_splits

CELL = "mean of layer 2"  # the last layer of the tiny model: what sentence-transformers gives


def phrases(count, seed):
    drawn = random.Random(seed)
    return list(dict.fromkeys(" ".join(drawn.choices(WORDS, k=drawn.randint(3, 7))) for _ in range(2 * count)))[:count]


def written(path, head, rows):
    path.write_text("\n".join(["\t".join(head), *map("\t".join, rows), ""]))
    return path


@pytest.fixture(scope="module")
def theirs(place):
    return SentenceTransformer(str(place.model), device="cpu")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Queries with passages, triplets, labelled texts and scored pairs, by kind."""
    folder, texts = tmp_path_factory.mktemp("files"), phrases(240, 1)
    labels = ("ask", "say", "sing")
    drawn = random.Random(2)
    return {
        "queries": written(folder / "queries.tsv", ("query", "passage"), zip(texts[:40], texts[40:80], strict=True)),
        "triplets": written(
            folder / "triplets.tsv", ("anchor", "positive", "negative"), zip(*[iter(texts[:90])] * 3, strict=True)
        ),
        "labels": labelled_splits(
            folder / "labels.tsv", [f"{labels[at // 3 % 3]}\t{text}" for at, text in enumerate(texts)]
        ),
        "pairs": written(
            folder / "pairs.tsv",
            ("score", "sentence1", "sentence2"),
            [(f"{drawn.random():.3f}", *two) for two in zip(texts[:40], texts[40:80], strict=True)],
        ),
    }


def cell(found):
    """The row of the cell that sentence-transformers gives."""
    return next(row for row in found["readings"] if row["reading"] == CELL)


def columns(path):
    _, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return list(zip(*rows, strict=True))


def test_queries_have_the_measures_of_sentence_transformers_among_all_passages(place, files, theirs, answered):
    found = answered("score", place.model, "--on", files["queries"], "--json")
    queries, passages = columns(files["queries"])
    assert (found["item"], found["queries"], found["passages"]) == ("query", len(queries), len(set(passages)))
    evaluator = InformationRetrievalEvaluator(
        {str(at): text for at, text in enumerate(queries)},
        {f"d{at}": text for at, text in enumerate(passages)},
        {str(at): {f"d{at}"} for at in range(len(queries))},
        name="own",
        accuracy_at_k=[1],
        precision_recall_at_k=[1, 10, 100],
    )
    wanted = evaluator(theirs)
    for measure in ("ndcg@10", "mrr@10", "recall@1", "recall@10", "map@100"):
        assert cell(found)[measure] == pytest.approx(100 * wanted[f"own_cosine_{measure}"], abs=0.01), measure
    assert 0 < cell(found)["ndcg@10"] < 100, "the premise"


def test_triplets_have_the_accuracy_of_sentence_transformers(place, files, theirs, answered):
    found = answered("score", place.model, "--on", files["triplets"], "--json")
    wanted = TripletEvaluator(*map(list, columns(files["triplets"])), name="own")(theirs)["own_cosine_accuracy"]
    assert found["triplets"] == 30
    assert cell(found)["accuracy"] == pytest.approx(100 * wanted, abs=0.01)
    assert 0 < wanted < 1, "the premise"


def test_labelled_texts_have_the_accuracy_of_scikit_learn(place, theirs, answered, tmp_path):
    """C by folds of the training rows, then fitted on all of them and asked for the test rows."""
    rows = [("long" if len(text.split()) > 4 else "short", text) for text in phrases(240, 4)]
    parts = {"train": rows[:160], "test": rows[160:]}
    for name, some in parts.items():
        written(tmp_path / f"{name}.tsv", ("label", "text"), some)
    found = answered("score", place.model, "--on", f"{tmp_path}/", "--json")
    (x, y), (held, wanted) = (
        (theirs.encode([text for _, text in some]), np.array([label for label, _ in some])) for some in parts.values()
    )

    def fitted(strength):
        return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=5000))

    inner = StratifiedKFold(10, shuffle=True, random_state=SEED)
    right = [cross_val_score(fitted(one), x, y, cv=inner).mean() for one in logistic.STRENGTHS]
    best = logistic.STRENGTHS[int(np.argmax(right))]
    assert found["rows"] == len(wanted) == 80
    accuracy = fitted(best).fit(x, y).score(held, wanted)
    assert cell(found)["accuracy"] == pytest.approx(100 * accuracy, abs=0.01)
    assert accuracy > 0.6, "the premise"


def test_probe_packs_have_the_area_under_the_curve_of_scikit_learn_and_of_a_loop(place, theirs, answered):
    found = answered("score", place.model, "--on", sample.PROBE_PACKS, "--json")
    pairs = sample.probe_pairs()
    one, other = (theirs.encode(list(side), normalize_embeddings=True) for side in (pairs.first, pairs.second))
    cosines = (one.astype(np.float64) * other).sum(axis=1)
    assert cell(found)["share distinguished"] == pytest.approx(100 * roc_auc_score(pairs.same, cosines), abs=0.01)
    alike = [cosine for cosine, same in zip(cosines, pairs.same, strict=True) if same]
    apart = [cosine for cosine, same in zip(cosines, pairs.same, strict=True) if not same]
    right = sum(first > second for first, second in product(alike, apart)) / (len(alike) * len(apart))
    assert cell(found)["share distinguished"] == pytest.approx(100 * right, abs=0.01)


def test_scored_pairs_keep_the_other_spelling_of_the_flag(place, files, theirs, answered):
    found = answered("score", place.model, "--sts", files["pairs"], "--json")
    assert found == answered("score", place.model, "--on", files["pairs"], "--json")
    gold, *texts = columns(files["pairs"])
    one, other = (theirs.encode(list(side), normalize_embeddings=True) for side in texts)
    wanted = spearmanr((one * other).sum(axis=1), np.array(gold, float)).statistic
    assert cell(found)["spearman"] == pytest.approx(100 * wanted, abs=0.01)
    assert found["pairs"] == 40


@pytest.mark.parametrize("kind", ["queries", "triplets", "labels", "pairs", sample.PROBE_PACKS])
def test_a_kind_has_the_measures_that_it_says_and_text_csv_and_json_agree(place, files, done, answered, kind):
    source = files.get(kind, kind)
    words = ("score", place.model, "--on", source, "--reading", "last of layer 1")
    found, rows = answered(*words, "--json"), list(csv.DictReader(io.StringIO(done(*words, "--csv")[0])))
    given = evaluated_on(sources.identity(str(source)))
    scores = finish(judged(given).measured(find(str(place.model)), Settings()))
    assert scores.metrics == tuple(judged(given).measures) == (found["metric"], *found["others"])
    assert len(rows) == len(found["readings"]) == len(scores.grid) + 1
    for row, wanted in zip(rows, found["readings"], strict=True):
        for measure in map(str.lower, scores.metrics):
            assert row[measure] == ("" if wanted[measure] is None else str(wanted[measure]))
    text, _ = done(*words, "--metric", found["metric"].upper())
    assert f"{found['metric']} × 100 on {len(given):,} " in text.splitlines()[0]
    assert f"last of layer 1: {in_words.number(found['readings'][-1][found['metric'].lower()])}" in text
    assert " among 40 passages" in text.splitlines()[0] or kind != "queries"


@pytest.mark.parametrize(
    ("kind", "metric", "message"),
    [
        ("queries", "pearson", "There is no metric 'Pearson' of queries.tsv. Choose one of nDCG@10, MRR@10"),
        ("triplets", "nDCG@10", "There is no metric 'nDCG@10' of triplets.tsv. Choose one of accuracy."),
        ("pairs", "accuracy", "There is no metric 'accuracy' of pairs.tsv. Choose one of Spearman, Pearson."),
        ("labels", "tau", "There is no metric 'tau'. Choose one that the set has: of scored pairs Spearman, Pearson,"),
        ("labels", "tau", "; of queries with passages nDCG@10, MRR@10,"),
    ],
)
def test_a_measure_of_another_kind_is_refused_before_anything_is_measured(place, files, refused, kind, metric, message):
    for words in (("score", place.model), ("compare", place.model, place.model)):
        assert message in refused(*words, "--on", files[kind], "--metric", metric)


def test_a_name_of_no_set_is_refused_with_those_of_every_kind(place, refused):
    for words in (("score", place.model), ("compare", place.model, place.model)):
        err = refused(*words, "--on", "sample serch")
        for name in ("STS-B", "Sample search", "minimal pairs", sample.PROBE_PACKS, "TREC"):
            assert name in err


def test_a_column_that_is_named_decides_what_the_rows_are(place, tmp_path, answered, refused):
    rows = [(str(at % 2), text, text[::-1]) for at, text in enumerate(phrases(120, 5))]
    file = written(tmp_path / "rows.tsv", ("kind", "text", "other"), rows)
    labels = answered("score", place.model, "--on", file, "--column", "label=kind", "--column", "text=text", "--json")
    assert (labels["item"], labels["metric"]) == ("row", "accuracy")
    named = ("--column", "score=kind", "--column", "first=text", "--column", "second=other")
    pairs = answered("score", place.model, "--on", file, *named, "--json")
    assert (pairs["item"], pairs["metric"]) == ("pair", "average precision")
    assert "--column is for files" in refused("score", place.model, "--on", "Probe packs", "--column", "score=kind")
