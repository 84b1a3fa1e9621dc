"""Test that `generator` trains a model that diffcse can use without a hub."""

import json
import re
from pathlib import Path

from explorer.errors import CannotResume
from tests.trainings import recipe, words_of


def test_an_encoders_own_generator_is_made_told_of_and_learned_with(place, said, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"a man plays {number} guitars\n" for number in range(80)), encoding="utf-8")
    out = tmp_path / "generator"
    command = ("generator", "--model", place.model, "--data", text, "--out", out, "--steps", 3, "--device", "cpu")
    code, told, err = said(*command)
    assert (code, told) == (0, f"{out}\n")
    assert re.search(r"Of \d+ masked words in held-out sentences, it predicts [\d.]+ % right \([\d.]+ % before", err)
    learn = words_of(recipe(place, "diffcse", settings={"steps": 1, "batch_size": 4, "generator": str(out)}))
    code, told, err = said(*learn)
    assert code == 0, err
    assert json.loads(told)["seeds"][0]["steps"] == 1
    run = Path(json.loads(told)["folder"])
    assert "generator_digest:" in (run / "recipe.yaml").read_text()
    weights = out / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    code, told, err = said("train", "--recipe", run / "recipe.yaml")
    assert code == 1
    assert "made with another version of the generator" in err
    assert CannotResume.__name__ not in err


def test_what_cannot_be_is_refused(place, said, tmp_path):
    code, out, err = said("generator", "--model", place.model, "--data", place.text, "--out", tmp_path / "g")
    assert (code, out) == (1, "")
    assert "are too few to train a generator; at least 64 are needed" in err
    code, out, err = said("generator", "--data", place.text, "--out", tmp_path / "g", "--steps", 0)
    assert (code, out) == (1, "")
    assert "--steps cannot be '0'. Choose a whole number, 1 or more" in err
    assert not (tmp_path / "g").exists()
