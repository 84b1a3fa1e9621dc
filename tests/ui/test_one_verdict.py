"""Test that runs, two models on Compare, plans and sizes are judged in one place, and shown by one banner."""

from unittest import mock

import pytest

from explorer.measuring.scores.verdict import BETTER, CHANCE, WORSE, RunVerdict, Verdict
from explorer.studies.plans import plan_report
from explorer.studies.size import points as size_points
from explorer.training.record.status import FINISHED, Status
from explorer.ui.widgets import verdict_banner
from tests.drawing import made_up
from tests.studies.plans.test_plan import done, found
from tests.ui.test_size_page import picture, point


@pytest.mark.parametrize("kind", [BETTER, WORSE, CHANCE])
def test_what_the_one_judge_says_is_said_of_all_four(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(Verdict, "kind", property(lambda verdict: kind))
    run = Status(FINISHED, verdict=RunVerdict(Verdict(70.0, 70.0, 72.0, 2.0, 1.0, 3.0)))
    assert run.learned.kind == kind
    sentences = [
        made_up.findings().verdict.sentence(),
        plan_report.verdict(found(tmp_path, (done(5, 1), done(6, 1)))),
        size_points.verdict(picture(point(6, 79.5, -1.2, 0.2, 100)))[0],
    ]
    assert [one.kind for one in sentences] == [kind] * 3
    with mock.patch.dict(verdict_banner._LOOKS, {kind: (mock.Mock(), "icon")}):
        for one in sentences:
            verdict_banner.show(one)
        assert verdict_banner._LOOKS[kind][0].call_count == 3
