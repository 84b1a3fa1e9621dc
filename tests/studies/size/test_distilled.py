"""Test which runs made a smaller encoder of a model, and when training one is suggested."""

import pytest

from explorer.encoding.locate.model_names import of_folder
from explorer.measuring.scores.verdict import Verdict
from explorer.studies.size import distilled
from explorer.studies.size.points import Picture, Point, Size
from explorer.training.record import runs
from tests import trainings
from tests.tiny_models import save_tiny


def test_finished_runs_with_fewer_layers_than_their_base_are_found(place, own_runs, tmp_path):
    def waiting(method, name):
        return runs.new(trainings.recipe(place, method, settings={"steps": 1}), name, own_runs)

    base = of_folder("tiny", place.model)
    assert distilled.of_base(base) == ()
    trainings.train(waiting("distil", "cut"))
    trainings.train(waiting("simcse", "whole"))
    waiting("distil", "later")
    assert distilled.of_base(base) == ("run:cut",)
    assert distilled.of_base(of_folder("other", save_tiny("bert", tmp_path / "other", seed=9))) == ()


def point(layers, score, pooling="mean", model="whole", dimensions=384, stored="float32"):
    verdict = Verdict(80.0, None, score, score - 80, -1.0, 1.0)
    return Point(model, Size(layers, pooling, dimensions, stored), verdict, 1, 1, 1.0, 1.0)


def picture(*points):
    whole = point(6, 80.0, "model default")
    return Picture((whole, *points), "pairs", 100, "Spearman", "text", 50, "pca", "cpu", "float32", 1.0)


@pytest.mark.parametrize(
    ("points", "layers", "lost"),
    [
        ((point(3, 75.0), point(3, 77.5, "cls"), point(2, 60.0), point(5, 40.0)), 3, 2.5),
        ((point(3, 79.5), point(2, 70.0)), 2, 10.0),
        ((point(3, 79.0), point(0, 20.0)), None, None),
        ((point(3, 60.0, dimensions=32), point(3, 50.0, stored="bits")), None, None),
        ((point(3, 60.0), point(3, 78.0, model="run:cut")), None, None),
    ],
    ids=["half", "less than half", "no loss", "only cut", "trained already"],
)
def test_the_least_cut_that_loses_more_than_a_point_is_worth_training(points, layers, lost):
    found = distilled.worth_training(picture(*points))
    assert (found and (found.layers, found.lost)) == (layers and (layers, lost))
