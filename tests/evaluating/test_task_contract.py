"""Test what every kind of task keeps, and that a file of queries with their passages is a retrieval set."""

import inspect
from collections import Counter

import numpy as np
import pytest

from explorer.data import sample, sources
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.text_sets import GradedPairs
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import TooFewRows
from explorer.evaluating import tasks
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import COSTS, OF_ENCODING, Options, stated
from explorer.evaluating.tasks import Subject, judges
from explorer.measuring.scores.measure import Settings
from explorer.progress import finish
from tests.evaluating.test_evaluation import furnished

KINDS = tasks.kinds()
SETTINGS = Settings("float32", "cpu", 12)
TITLES = ("mean of layer 1", "last of layer 2", "model default")
NAMES = {"sts": "STS17", "transfer": "moods.csv", "search": "Quora search", "retrieval": sample.SEARCH}  # by kind


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = furnished(tmp_path_factory.mktemp("tasks"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
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
    assert all(inspect.getdoc(kind) and kind.suites for kind in KINDS)
    assert list(tasks.suites()) == ["sts", "transfer", "search", "retrieval", "sts-more"]


def test_a_task_is_loaded_by_its_own_kind(task, request):
    assert type(task) is request.node.callspec.params["task"]
    assert (task.name, len(task.data) > 0) == (NAMES[task.kind], True)


def test_what_decides_its_scores_is_stated_in_its_key_and_nothing_else_is(task):
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
    (again,) = result_files.read_all(tmp_path).results
    assert (again.key, again.task.kind) == (saved.key, task.kind)
    np.testing.assert_array_equal(again.measured.table, found.table)
    assert again.measured.items.digest == task.data.digest


def test_its_cost_is_that_of_its_distinct_texts_and_needs_no_scores(task, subject):
    cost = finish(task.cost(subject, Options(titles=TITLES)))
    assert cost.texts == len({*task.texts})
    assert 0 < cost.seconds <= cost.at_most


def test_every_set_that_is_judged_has_a_kind_and_its_texts_are_those_of_its_judge(tiny_encoder, place):
    named = (load() for name, load in sources.NAMED_SETS.items() if name != sources.QUORA)
    for given in (*named, sample.pairs(), tasks.load("moods.csv", Options()).data):
        kind = judges.judged(given)
        texts = {cell for cells in kind.texts.values() for cell in cells}
        judge = judges.judge_of(given, tiny_encoder)
        assert texts <= {*judge.sentences}
        assert len(kind.items) == len(given) == len(judge)
        assert kind.pairs is None or {*kind.pairs.first, *kind.pairs.second} <= {*judge.sentences}
    assert {*judges.KINDS} == {*judges.Evaluated.__args__}


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
