"""Test that `backtranslate` writes a file that a method can train on."""

import json
import signal

import pytest

from explorer.data.corpora import corpus
from explorer.data.text_sets import SENTENCES
from explorer.training import backtranslation
from tests.tiny_translators import save_translator
from tests.trainings import recipe, words_of


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> tuple[object, ...]:
    folder = tmp_path_factory.mktemp("translators")
    there, back = (save_translator("marian", folder / name, seed) for seed, name in enumerate(("there", "back")))
    return "--there", there, "--back", back


def test_sentences_are_translated_there_and_back_and_learned_from(place, models, said, tmp_path):
    out = tmp_path / "bt.tsv"
    command = ("backtranslate", place.text, *models, "--out", out, "--beams", 2, "--batch", 10, "--device", "cpu")
    code, told, err = said(*command)
    assert (code, told) == (0, f"{out}\n")
    assert "24 of 24 rows kept" in err
    lines = out.read_text().splitlines()
    assert lines[0] == "sentence\tback_translation"
    assert [line.split("\t")[0] for line in lines[1:]] == list(corpus([str(place.text)], SENTENCES)[0].columns[0])
    before = out.read_bytes()
    assert said(*command)[0] == 0, "it is all there already"
    assert out.read_bytes() == before
    learn = words_of(recipe(place, "bt", data=(str(out),), settings={"steps": 1, "projection": False}))
    code, told, err = said(*learn)
    assert code == 0, err
    assert json.loads(told)["seeds"][0]["steps"] == 1


def test_a_signal_keeps_what_was_translated_and_the_same_command_goes_on(place, models, said, tmp_path, monkeypatch):
    append = backtranslation._append

    def signalled(out, size, content):
        if size:  # of the first batch, after the header
            signal.raise_signal(signal.SIGTERM)
        return append(out, size, content)

    out = tmp_path / "bt.tsv"
    command = ("backtranslate", place.text, *models, "--out", out, "--beams", 1, "--batch", 10, "--device", "cpu")
    monkeypatch.setattr(backtranslation, "_append", signalled)
    code, told, err = said(*command)
    monkeypatch.undo()
    assert (code, told) == (143, "")
    assert err.splitlines()[-1] == f"Stopped. What was translated is in {out}; the same command goes on from there."
    assert len(out.read_text().splitlines()) == 11
    assert said(*command)[0] == 0
    assert len(out.read_text().splitlines()) == 25


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--out", "bt.csv"), "bt.csv does not end in .tsv"),
        (("--out", "bt.tsv", "--there", "/no/such"), "There is no folder '/no/such'"),
        (("--out", "bt.tsv", "--column", "sentence"), "lacks an equals sign"),
    ],
)
def test_what_cannot_be_is_refused_and_no_file_is_made(place, models, said, tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = said("backtranslate", place.text, *models, *given)
    assert (code, out) == (1, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []
