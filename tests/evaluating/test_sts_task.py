"""Test the STS tasks against the grid's scores and the golden example, and what every kind of task keeps."""

import inspect
import json
from collections import Counter

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from explorer.data import sample, sources
from explorer.data.graded import published_sets
from explorer.data.graded import sts as published
from explorer.data.graded.question_pairs import QuestionPairs
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.set_items import ItemSet, PairSet
from explorer.data.text_sets import Corpus, GradedPairs, Labelled, related_pairs
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import Row
from explorer.errors import BadChoice, DataError, TooFewRows
from explorer.evaluating import kinds, tasks
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import CLUSTERING, COSTS, OF_ENCODING, Options, stated
from explorer.evaluating.tasks import Subject, load, named, sts, suites, tasks_of
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import AGGREGATES
from explorer.progress import finish
from tests.evaluating.results_by_hand import write_set
from tests.evaluating.test_evaluation import furnished


def of_cosines(own, gold, parts, grid=None):
    """Scores of a model with one layer, whose model default has these cosines."""
    own = None if own is None else np.asarray(own, dtype=float)
    cosines = np.zeros((1, 3, len(gold))) if grid is None else grid
    how = {"precision": "float32", "device": "cpu", "max_length": 64, "truncated": 0, "sentences": 0, "seconds": 0.0}
    given = {"gold": np.asarray(gold, float), "parts": parts}
    return LayerScores(rows=(Row((0,)),), cosines=cosines, own=own, own_title="", **given, **how)


def pairs_of(gold, parts):
    texts = tuple(map(str, range(len(gold))))
    return GradedPairs("golden", texts, texts, tuple(map(float, gold)), parts)


def test_sub_corpora_are_aggregated_as_by_scipy_and_the_default_is_the_mean_of_the_last_layer():
    gold, system = (1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5), (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.9, 0.8, 0.85, 0.7, 0.75)
    parts = ("A",) * 6 + ("B",) * 5
    found = sts.of_scores(of_cosines(system, gold, parts), pairs_of(gold, parts))
    scores = {measure: found.score("model default", measure) / 100 for measure in found.measures}
    one, other = spearmanr(gold[:6], system[:6]).statistic, spearmanr(gold[6:], system[6:]).statistic
    assert scores["spearman"] == pytest.approx(spearmanr(gold, system).statistic)
    assert scores["spearman mean"] == pytest.approx((one + other) / 2)
    assert scores["spearman wmean"] == pytest.approx((6 * one + 5 * other) / 11)
    five = (1, 2, 3, 4, 5)
    grid = np.array([[[0.4, 0.3, 0.2, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4, 0.5], [0.3, 0.1, 0.2, 0.4, 0.0]]])
    found = sts.of_scores(of_cosines(None, five, ("",) * 5, grid), pairs_of(five, ("",) * 5))
    assert found.score() == found.score("mean of layer 0") == 100
    assert found.items.values.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]


def test_every_measure_is_scipys_and_the_items_are_those_of_the_model_default(bundled_scores):
    pairs = sample.pairs()
    found = sts.of_scores(bundled_scores, pairs)
    assert found.titles[-1] == "model default"
    assert found.score() == pytest.approx(100 * spearmanr(pairs.gold, bundled_scores.own).statistic)
    assert found.score(measure="pearson") == pytest.approx(100 * pearsonr(pairs.gold, bundled_scores.own).statistic)
    for title in ("mean of layer 3", "max of layers 0 + 6"):
        cosines = bundled_scores.cosines[divmod(found.titles.index(title), 3)]
        assert found.score(title) == pytest.approx(100 * spearmanr(pairs.gold, cosines).statistic)
    found = sts.of_scores(bundled_scores, sample.pairs())
    ways = AGGREGATES if bundled_scores.has_parts else AGGREGATES[:1]
    assert len(found.measures) == len(ways) * len(bundled_scores.metrics)
    items = sts.of_scores(bundled_scores, sample.pairs()).items
    assert np.array_equal(items.values, bundled_scores.own)
    assert items.digest == sample.pairs().digest


def test_a_task_is_found_by_its_name_and_the_seven_are_those_of_papers():
    assert tasks_of("sts") == ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
    assert set(sts.TASKS) == {known.name for known in published_sets.SETS}
    assert named("sts b") == "STS-B"
    assert named("sickr") == "SICK-R"
    with pytest.raises(BadChoice, match="STS12"):
        named("STS99")
    with pytest.raises(BadChoice, match="sts"):
        tasks_of("nonsense")


def test_sentevals_text_is_read_from_a_file_beside(tmp_path):
    write_set(tmp_path, "STS17_en/test.tsv", 250, "Raw {}")
    write_set(tmp_path, "STS17_en/test_senteval.tsv", 250, "tokenised {}")
    assert published.load("STS17", folder=tmp_path).first[3].startswith("Raw ")
    assert published.load("STS17", folder=tmp_path, text=published.SENTEVAL).first[3].startswith("tokenised ")
    (tmp_path / "STS17_en/test_senteval.tsv").unlink()
    with pytest.raises(DataError, match="test_senteval"):
        published.load("STS17", folder=tmp_path, text=published.SENTEVAL)


@pytest.mark.parametrize("name", ["STS17-es-en", "STS17-ar-ar", "STS17-tr-en"])
def test_a_track_has_250_pairs(tmp_path, name):
    known = published.find(name)
    write_set(tmp_path, known.splits[0].file, 250)
    assert len(published.load(name, folder=tmp_path)) == 250
    write_set(tmp_path, known.splits[0].file, 249)
    with pytest.raises(DataError, match="249 pairs here, but 250"):
        published.load(name, folder=tmp_path)


def test_spanish_pairs_need_both_sub_corpora(tmp_path):
    path = tmp_path / "STS14_es/test.tsv"
    path.parent.mkdir()
    for wikipedia in (324, 400):
        sources = ["Wikipedia"] * wikipedia + ["News"] * (804 - wikipedia)
        rows = (f"{row % 6}\tuno {row}\tdos {row}\t{source}" for row, source in enumerate(sources))
        path.write_text("\n".join(["score\tsentence1\tsentence2\tsource", *rows]) + "\n", encoding="utf-8")
        if wikipedia == 324:
            assert len(published.load("STS14-es", folder=tmp_path)) == 804
        else:
            with pytest.raises(DataError, match="Wikipedia 400"):
                published.load("STS14-es", folder=tmp_path)


def test_scores_that_are_known_are_not_measured_again(tmp_path, monkeypatch):
    from explorer.encoding.locate.model_names import of_folder
    from tests.tiny_models import save_tiny

    save_tiny("bert", tmp_path / "tiny")
    write_set(tmp_path / "data", "STS17_en/test.tsv", 250)
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "data"))
    found = of_folder("tiny", tmp_path / "tiny")

    def subject():
        return Subject(found, Settings("float32", "cpu"))

    first = finish(load("STS17", Options()).score(subject(), Options()))
    again = subject()
    second = finish(load("STS17", Options()).score(again, Options()))
    assert "encoder" not in vars(again), "the model was loaded for scores that are stored"
    assert np.array_equal(first.table, second.table, equal_nan=True)
    assert "sts-more" in suites()


KINDS = tasks.kinds()
SETTINGS = Settings("float32", "cpu", 12)
TITLES = ("mean of layer 1", "last of layer 2", "model default")
NAMES = {"sts": "STS17", "transfer": "moods", "search": "Quora search", "retrieval": sample.SEARCH}
NAMES |= {"items": "triplets.csv", "pair classification": "same", "clustering": "topics"}  # each by its kind


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = furnished(tmp_path_factory.mktemp("tasks"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        rows = (f"a {word},one {word},no word" for word in ("dog", "cat", "bird", "fish"))
        (folder / "triplets.csv").write_text("\n".join(["anchor,positive,negative", *rows]), encoding="utf-8")
        (folder / "same").mkdir()
        rows = (f"{at % 2},a {word},one {word}" for at, word in enumerate(("dog", "cat", "bird", "fish", "cow")))
        (folder / "same/test.csv").write_text("\n".join(["labels,sentence1,sentence2", *rows]), encoding="utf-8")
        (folder / "topics").mkdir()
        texts = [f"a {word} and {other}" for word in ("dog", "cat") for other in ("a ball", "a tree", "I")]
        record = json.dumps({"sentences": texts, "labels": [0, 0, 0, 1, 1, 1]})
        (folder / "topics/test.jsonl").write_text(f"{record}\n{record}\n", encoding="utf-8")
        patch.setenv("STRATA_DATA", str(folder / "data"))
        patch.setenv("STRATA_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(params=KINDS, ids=lambda kind: kind.kind)
def task(place, request):
    return tasks.load(NAMES[request.param.kind], Options())


@pytest.fixture
def subject(place):
    return Subject(of_folder("model", place / "model"), SETTINGS)


def test_no_kind_suite_or_task_is_named_twice_and_one_kind_takes_any_file():
    every = [suite for kind in KINDS for suite in kind.suites]
    for names in ([kind.kind for kind in KINDS], [suite.name for suite in every], tasks.published()):
        assert max(Counter(names).values()) == 1
    assert [kind.any_file for kind in KINDS].count(True) == KINDS[-1].any_file == 1
    assert all(inspect.getdoc(kind) for kind in KINDS)
    assert [kind.kind for kind in KINDS if not kind.suites] == ["items"], "of files alone"
    assert list(tasks.suites()) == [
        "sts",
        "transfer",
        "search",
        "retrieval",
        "sts-more",
        "pair-classification",
        "clustering",
        "nanobeir",
        "sts-mteb",
        "sts22",
    ]


def test_a_task_is_loaded_by_its_own_kind_and_its_key_states_what_decides_its_scores_and_nothing_else(task, request):
    assert type(task) is request.node.callspec.params["task"]
    assert (task.name, len(task.data) > 0) == (NAMES[task.kind], True)
    assert {*task.decided_by} <= {*stated(Options(), SETTINGS)}
    usual = task.key(Options(), SETTINGS)
    assert [*usual.settings] == [*task.decided_by, *OF_ENCODING]
    assert (usual.kind, usual.data, usual.name) == (task.kind, task.data.digest, task.name)


def test_its_result_has_the_layers_and_poolings_that_are_asked_for(task, subject, tmp_path):
    options = Options(titles=TITLES, index="flat")
    wanted = task.titles(subject, options)
    assert {*TITLES} <= {*wanted} == {*task.titles(subject, Options(titles=(*TITLES, *wanted)))}
    found = finish(task.score(subject, options))
    assert {*found.titles} == {*wanted}
    assert found.titles[-1] == "model default"
    assert found.table.shape == (len(found.titles), len(found.measures), len(found.seeds))
    scores = found.table[:, [name not in COSTS for name in found.measures]]
    assert np.nanmin(scores) >= -100
    assert np.nanmax(scores) <= 100
    assert np.isfinite(found.score())
    saved = Result(ScoredModel("model", "local-1", subject.found.digest), task.key(options, SETTINGS), found)
    result_files.write(saved, tmp_path)
    (again,) = result_files.read_all(tmp_path)[0]
    assert (again.key, again.task.kind) == (saved.key, task.kind)
    np.testing.assert_array_equal(again.measured.table, found.table)
    assert again.measured.items is None if task.kind == CLUSTERING else again.measured.items.digest == task.data.digest


def test_its_cost_is_that_of_its_distinct_texts_and_needs_no_scores(task, subject):
    cost = finish(task.cost(subject, Options(titles=TITLES)))
    assert cost.texts == len({*task.texts})
    assert 0 < cost.seconds <= cost.at_most


def test_every_set_that_is_judged_has_a_kind_and_its_texts_are_those_of_its_judge(tiny_encoder, place):
    named = (load() for name, load in kinds.shipped().items() if name != sources.QUORA)
    for given in (*named, sample.pairs(), tasks.load("moods", Options()).data):
        pairs = related_pairs(given)
        texts = {cell for cells in given.text_columns.values() for cell in cells}
        judge = kinds.judge_of(given, tiny_encoder)
        assert texts <= {*judge.sentences}
        assert len(next(iter(given.shown_columns.values()))) == len(given) == len(judge)
        assert pairs is None or {*pairs.first, *pairs.second} <= {*judge.sentences}
    sets = {*ItemSet.__subclasses__(), *PairSet.__subclasses__()} - {PairSet, Corpus, Labelled, QuestionPairs}
    assert {one.data for one in kinds.every()} == sets


ROWS = "query,passage\nnight birds,Owls hunt at night.\nbaking,Bread rises.\nnight birds,Bats are no birds.\n"


@pytest.fixture
def loaded(tmp_path):
    def load(text):
        (tmp_path / "pairs.csv").write_text(text, encoding="utf-8")
        return tasks.load(str(tmp_path / "pairs.csv"), Options()).data

    return load


def test_the_passages_of_all_pairs_are_the_documents_each_once(loaded):
    found = loaded(ROWS)
    assert found.queries == ("night birds", "baking")
    assert found.documents == ("Owls hunt at night.", "Bread rises.", "Bats are no birds.")
    assert found.judgements == ({0: 1, 2: 1}, {1: 1})
    assert (found.name, found.split) == ("pairs.csv", "all")
    found = loaded(ROWS + "flying,Owls hunt at night.\n")
    assert found.documents.count("Owls hunt at night.") == 1
    assert found.judgements == ({0: 1, 2: 1}, {1: 1}, {0: 1})
    found = loaded(ROWS + "baking,baking\n")
    assert "baking" not in found.documents
    assert len(found.documents) == 3


def test_pairs_with_a_score_or_a_label_or_without_a_whole_pair_are_no_retrieval_set(loaded):
    with pytest.raises(TooFewRows):
        loaded("query,passage\nnight birds,\n")
    rows = [f"Sentence number {at} is here.,And number {at + 1} is there.,{at % 5}" for at in range(100)]
    assert isinstance(loaded("\n".join(["sentence1,sentence2,score", *rows])), GradedPairs)
    rows = [f"A headline of {at} words,And a longer text of {at} words.,{'ab'[at % 2]}" for at in range(200)]
    assert isinstance(loaded("\n".join(["headline,body,category", *rows])), LabelledSet)
