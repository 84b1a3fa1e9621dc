"""Test that a ranking says which models differ on these tasks and on tasks like these, in sentences and in tables."""

import numpy as np
import pytest

from explorer.evaluating.results import result_table, table_formats
from explorer.evaluating.results.rank_groups import LIKE, THESE, Groups, Ranking
from explorer.evaluating.results.rank_verdict import text_of
from tests.evaluating.results_by_hand import result, task


def of_best(*p):
    """Groups in which the best model has these p-values with the others, which do not differ from each other."""
    table = np.ones((len(p) + 1, len(p) + 1))
    table[0, 1:] = table[1:, 0] = p
    return Groups(table)


def ranked(tasks, on_these, on_like=None, names=("A", "B", "C")):
    scores = np.array([80.0, 79.0, 70.0])[: len(names)]
    return Ranking(names, scores, scores - 1, scores + 1, tasks, on_these, on_like)


@pytest.mark.parametrize(
    ("ranking", "sentences"),
    [
        (
            ranked(5, of_best(0.01, 0.01), of_best(0.2, 0.04)),
            "A scores highest on average over these 5 tasks: accuracy 80.00. On these tasks it is significantly better "
            "than B and C. On tasks like these it is significantly better than C; its difference to B could be chance "
            "(5 tasks).",
        ),
        (
            ranked(4, of_best(0.3, 0.01), of_best(0.4, 0.02)),
            "A scores highest on average over these 4 tasks: accuracy 80.00. On these tasks it is significantly better "
            "than C; its difference to B could be chance. The same holds on tasks like these (4 tasks).",
        ),
        (
            ranked(1, of_best(0.3), names=("A", "B")),
            "A scores highest on this task: accuracy 80.00. On this task its difference to B could be chance. On tasks "
            "like these: not measured, since 2 models need at least 3 tasks.",
        ),
        (
            ranked(3, of_best(0.01, 0.01, *[0.01] * 5), names=("A", "B", "C", "D", "E", "F", "G", "H")),
            "A scores highest on average over these 3 tasks: accuracy 80.00. On these tasks it is significantly better "
            "than B, C, D and 4 more. On tasks like these: not measured, since 8 models need at least 5 tasks.",
        ),
    ],
)
def test_both_claims_are_said_and_a_missing_one_with_what_it_needs(ranking, sentences):
    assert text_of(ranking, "accuracy") == sentences


def test_both_claims_are_columns_of_every_form_of_the_table():
    results = [result(model, name, score) for model, score in (("A", 80), ("B", 70)) for name in ("MR", "CR", "SST2")]
    ranking = ranked(3, of_best(0.01), of_best(0.2), names=("A", "B"))
    tasks = [task(name) for name in ("MR", "CR", "SST2")]
    table = result_table.cells(result_table.models(results), tasks, groups=ranking.letters)
    assert ranking.letters == {THESE: {"A": "a", "B": "b"}, LIKE: {"A": "a", "B": "a"}}
    header, rows = table_formats.shown(*table)
    assert header[-2:] == ["rank group (these tasks)", "rank group (tasks like these)"]
    assert [row[-2:] for row in rows] == [["a", "a"], ["b", "a"]]
    first, line, *_ = table_formats.as_csv(*table).splitlines()
    assert first.startswith("model,rank group (these tasks),rank group (tasks like these),column,")
    assert line.startswith("A,a,a,MR,")
    assert "these tasks  tasks like these" in table_formats.as_text(*table)
