"""Test comparisons of one model after two prompts."""

import json

import pytest

import strata
from explorer.__main__ import main
from tests.encoding.load.test_chosen_prompts import STS, saved


def test_two_prompts_of_one_model_are_compared_and_named(tmp_path, capsys):
    folder = str(saved(tmp_path))
    main(["compare", folder, folder, "--on", "sample", "--other-prompt", "sts", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert "prompt" not in found["A"]
    assert found["B"]["prompt"] == STS
    assert found["A"]["model_digest"] == found["B"]["model_digest"], "of the files"
    assert found["verdict"]["after"]["model"] == f"saved, after the prompt {STS!r}"
    scores = [strata.score(strata.load(folder, prompt=prompt)) for prompt in (None, "sts")]
    own = [one.score("model default") for one in scores]
    assert [found["verdict"][side]["score"] for side in ("before", "after")] == pytest.approx(own, abs=0.01)
    assert own[0] != own[1]
    assert scores[1].model.default.endswith(f", after the prompt {STS!r}")
