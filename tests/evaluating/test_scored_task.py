"""Test that tasks are the same exactly if their scores compare, and that no two of a table have one label."""

import random
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import pytest

from explorer.data.graded import sts
from explorer.evaluating.results.scored_task import (
    EVALUATED,
    FINE_TUNING,
    RETRIEVAL,
    RUN_TEST,
    SEARCH,
    STS,
    TRANSFER,
    Options,
    described,
    labels,
    varying,
)
from explorer.evaluating.tasks import kinds
from explorer.measuring.scores.measure import Settings
from tests.evaluating.results_by_hand import task

CPU = replace(EVALUATED, device="cpu")
KINDS = {one.kind: one for one in kinds()}


def of(kind, name="t", data="d", folder="", settings=CPU, **options):
    found = KINDS[kind](name, SimpleNamespace(digest=data)).key(Options(**options), settings)
    return replace(found, name=name, folder=folder)


OTHER_OPTIONS = {
    "text": sts.SENTEVAL, "probe": "senteval", "seeds": (1, 2), "index": "ivf", "query_prompt": "q: ",
    "document_prompt": "d: ",
}  # fmt: skip
MATTERS = {
    STS: {"text"},
    TRANSFER: {"probe", "seeds"},
    RETRIEVAL: {"query_prompt", "document_prompt"},
    SEARCH: {"index"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", OTHER_OPTIONS)
def test_an_option_makes_another_task_of_the_kinds_it_matters_to(kind, option):
    other = of(kind, **{option: OTHER_OPTIONS[option]})
    assert (other.digest != of(kind).digest) == (option in MATTERS[kind])
    assert (other != of(kind)) == (option in MATTERS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changed", [{"precision": "bfloat16"}, {"max_length": 4}])
def test_how_a_model_encodes_makes_another_task(kind, changed):
    assert of(kind, settings=replace(CPU, **changed)).digest != of(kind).digest


def test_name_and_folder_are_labels_only_and_what_auto_stands_for_is_its_name():
    assert of(STS, "a", folder="x/y") == of(STS, "b", folder="z")
    assert of(STS, "a", data="one").digest != of(STS, "a", data="two").digest
    assert of(STS).key("model") != of(STS).key("other model")
    automatic = of(STS, settings=Settings("float32", "auto")).settings
    assert automatic == of(STS, settings=Settings("float32", automatic["device"])).settings


def told(*tasks):
    found = labels(tasks)
    return [found[one.digest] for one in tasks]


def test_a_name_alone_is_enough_where_nothing_is_unusual_and_what_is_unusual_is_always_told():
    assert told(of(STS, "STS12"), of(STS, "test.tsv", "e", "my/data")) == ["STS12", "test.tsv"]
    assert told(of(STS, text=sts.SENTEVAL)) == ["t (SentEval's text)"]
    assert told(of(TRANSFER, probe="senteval")) == ["t (SentEval's MLP)"]
    assert told(of(SEARCH, index="ivf")) == ["t (IVF index)"]
    assert told(of(RETRIEVAL, query_prompt="q: ", document_prompt="d: ")) == ["t (other prompts)"]
    assert told(of(STS, settings=Settings("bfloat16", "cpu", 4))) == ["t (maximum length 4, bfloat16)"]
    assert told(task("MR", kind=FINE_TUNING)) == ["MR (fine-tuned)"]


def test_files_of_one_name_have_their_folders_before_it_or_the_digests_of_their_data():
    one, other = of(STS, "test.tsv", "1", "sets/a"), of(STS, "test.tsv", "2", "sets/b")
    assert told(one, other, of(STS, "dev.tsv", "3", "sets/a")) == ["a/test.tsv", "b/test.tsv", "dev.tsv"]
    deeper = of(STS, "test.tsv", "4", "others/a")
    assert told(one, other, deeper) == ["sets/a/test.tsv", "b/test.tsv", "others/a/test.tsv"]
    one, other = (of(STS, "test.tsv", data * 64, "sets/a") for data in "12")
    assert told(one, other) == ["test.tsv (11111111)", "test.tsv (22222222)"]


def test_settings_are_told_where_two_would_be_alike_and_all_of_them_in_the_tooltip():
    few, many = of(TRANSFER, "MR"), of(TRANSFER, "MR", seeds=(1, 2, 3))
    assert told(few, many, of(TRANSFER, "CR", "e")) == ["MR (seeds 1)", "MR (seeds 1, 2, 3)", "CR"]
    one, other = of(RETRIEVAL, query_prompt="a"), of(RETRIEVAL, document_prompt="b")
    assert told(one, other) == [
        "t (other prompts, query prompt 'a', the model's document prompt)",
        "t (other prompts, the model's query prompt, document prompt 'b')",
    ]
    assert told(of(STS), task("t", kind=RUN_TEST)) == ["t", "t (as scored by runs)"]
    words = described(of(TRANSFER, "moods.csv", "e" * 64, "my/data"))
    for word in ("my/data/moods.csv", "logistic regression", "seeds 1", "float32", "cpu", "eeeeeeee"):
        assert word in words


def any_task(draw):
    name, data = draw.choice(["t", "u", "t (seeds 1)"]), "".join(draw.choices("ab", k=9))
    folder, kind = draw.choice(["", "a", "x/a", "y/a"]), draw.choice([STS, TRANSFER, RUN_TEST, FINE_TUNING])
    settings = {setting: draw.choice(["1", "2", None]) for setting in ("seeds", "max_length", "query_prompt")}
    return task(name, data=data, folder=folder, kind=kind, **settings)


def test_no_two_tasks_have_one_label():
    draw = random.Random(0)
    for _ in range(300):
        tasks = [any_task(draw) for _ in range(draw.randrange(9))]
        found = labels(tasks)
        assert set(found) == {one.digest for one in tasks}
        assert len(set(found.values())) == len(found), tasks


def test_tasks_of_a_kind_say_in_which_settings_they_differ():
    tasks = [of(STS, "a", "1"), of(STS, "b", "2"), of(STS, "a", "1", settings=replace(CPU, max_length=4))]
    tasks += [of(TRANSFER, "c", "3"), task("d", kind=RUN_TEST, measure="x"), task("e", kind=RUN_TEST, measure="y")]
    usual, cut = "the model's maximum length", "maximum length 4"
    assert list(varying(tasks).values()) == [usual, usual, cut, "", "", ""]
    assert len({one.digest for one in tasks}) == len(tasks)
    assert all(one != other for one, other in combinations(tasks, 2))
