"""Test the commands that write a model or a text to train on: backtranslate, generator, export and shrink."""

import json
import re
import signal
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from explorer.data.text_sets import SENTENCES
from explorer.errors import CannotResume
from explorer.training import backtranslation
from explorer.training.record import runs
from tests.exports import by_sentence_transformers
from tests.named_texts import corpus
from tests.tiny_models import save_tiny
from tests.tiny_translators import save_translator
from tests.trainings import new, recipe, train, words_of


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> tuple[object, ...]:
    folder = tmp_path_factory.mktemp("translators")
    there, back = (save_translator("marian", folder / name, seed) for seed, name in enumerate(("there", "back")))
    return "--there", there, "--back", back


def test_sentences_are_translated_there_and_back_and_learned_from(place, models, said, answered, tmp_path):
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
    assert answered(*learn, "--json")["seeds"][0]["steps"] == 1


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
def test_a_translation_that_cannot_be_is_refused_and_no_file_is_made(
    place, models, refused, tmp_path, monkeypatch, given, message
):
    monkeypatch.chdir(tmp_path)
    assert message in refused("backtranslate", place.text, *models, *given)
    assert list(tmp_path.iterdir()) == []


def test_an_encoders_own_generator_is_made_told_of_and_learned_with(place, said, answered, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"a man plays {number} guitars\n" for number in range(80)), encoding="utf-8")
    out = tmp_path / "generator"
    command = ("generator", "--model", place.model, "--data", text, "--out", out, "--steps", 3, "--device", "cpu")
    code, told, err = said(*command)
    assert (code, told) == (0, f"{out}\n")
    assert re.search(r"Of \d+ masked words in held-out sentences, it predicts [\d.]+ % right \([\d.]+ % before", err)
    learn = words_of(recipe(place, "diffcse", settings={"steps": 1, "batch_size": 4, "generator": str(out)}))
    told = answered(*learn, "--json")
    assert told["seeds"][0]["steps"] == 1
    run = Path(told["folder"])
    assert "generator_digest:" in (run / "recipe.yaml").read_text()
    weights = out / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    code, told, err = said("train", "--recipe", run / "recipe.yaml")
    assert code == 1
    assert "made with another version of the generator" in err
    assert CannotResume.__name__ not in err


def test_a_generator_that_cannot_be_is_refused(place, refused, tmp_path):
    err = refused("generator", "--model", place.model, "--data", place.text, "--out", tmp_path / "g")
    assert "are too few to train a generator; at least 64 are needed" in err
    err = refused("generator", "--data", place.text, "--out", tmp_path / "g", "--steps", 0)
    assert "--steps cannot be '0'. Choose a whole number, 1 or more" in err
    assert not (tmp_path / "g").exists()


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", "to-export", settings={"steps": 2}))


def content(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("by", ["its name", "its folder"])
def test_a_model_is_copied_whole_and_opens_where_it_was_put(run, said, tmp_path, by):
    target = tmp_path / "mine" / "model"
    code, out, err = said("export", run.name if by == "its name" else run.folder, target)
    assert (code, out, err) == (0, f"{target}\n", "")
    assert content(target) == content(run.model)
    assert [path.name for path in target.parent.iterdir()] == ["model"]
    assert by_sentence_transformers(target, ("a dog",)).shape == (1, 32)


def test_a_folder_that_is_there_is_not_written_over(run, refused, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("mine")
    err = refused("export", run.name, tmp_path / "mine")
    assert "mine exists already and is not overwritten. Choose another name, or remove it." in err
    assert content(tmp_path / "mine") == {"config.json": b"mine"}


def test_a_run_without_a_model_is_refused_with_what_to_do(place, refused, tmp_path):
    new(place, name="waits")
    err = refused("export", "waits", tmp_path / "mine")
    assert "'waits' has no model: it is waiting. Let it finish, or stop it and keep the best checkpoint." in err
    assert not (tmp_path / "mine").exists()


def test_an_unknown_run_is_refused_with_those_there_are(run, refused, tmp_path):
    err = refused("export", "nobody", tmp_path / "mine")
    assert "There is no run 'nobody'. There are: " in err
    assert "to-export" in err
    err = refused("export", tmp_path / "no" / "where", tmp_path / "mine")
    assert "There is no run 'where'. There are: none yet." in err


def test_a_copy_that_fails_leaves_nothing(run, refused, tmp_path, monkeypatch):
    def full(source, part, **_):
        (part / "config.json").write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("explorer.training.saved_model.shutil.copytree", full)
    assert "No space left on device. Make room there" in refused("export", run.name, tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []
    assert runs.find(run.name).model.is_dir()


@pytest.fixture
def asked(place, said):
    def ask(*words):
        return said("shrink", place.model, "--on", place.test, "--text", "sample", *words)

    return ask


def test_every_named_size_is_in_the_table(asked, place):
    code, out, err = asked(
        "--layers", "1,2", "--poolings", "mean,max", "--dimensions", "16,8", "--stored", "int8", "--json"
    )
    assert code == 0, err
    whole, *points = json.loads(out)["points"]
    assert (whole["layer & pooling"], whole["difference"]) == ("model default", 0)
    titles = {(point["layer & pooling"], point["dimensions"], point["stored"]) for point in points}
    layers = ["mean of layer 1", "max of layer 1", "mean of layer 2", "max of layer 2"]
    assert titles == {(layer, count, "int8") for layer in layers for count in (16, 8)}
    assert all(point["sentences_per_second"] > 0 and point["vector_bytes"] == point["dimensions"] for point in points)


def test_with_the_words_of_a_text_the_table_has_the_number_of_tokens_and_the_whole_model_all(asked, tmp_path):
    (tmp_path / "words.txt").write_text("a man plays a guitar\n")
    size = ("--layers", "1", "--poolings", "mean", "--dimensions", "32", "--stored", "float32")
    code, out, err = asked(*size, "--words", tmp_path / "words.txt", "--json")
    assert code == 0, err
    whole, *points = json.loads(out)["points"]
    assert whole["tokens"] == 0
    assert all(point["tokens"] > 0 and point["model_bytes"] < whole["model_bytes"] for point in points)


def test_the_exported_encoder_is_the_one_that_was_named(asked, tmp_path):
    size = ("--layers", "1", "--poolings", "cls", "--dimensions", "8", "--stored", "bits")
    code, out, err = asked(*size, "--export", tmp_path / "small", "--markdown")
    assert code == 0, err
    assert out.startswith("| model | layer & pooling |")
    model = SentenceTransformer(str(tmp_path / "small"), device="cpu")
    assert model[0].auto_model.config.num_hidden_layers == 1
    assert model.encode(["a man plays a guitar"]).shape == (1, 8)
    known = json.loads((tmp_path / "small" / "similarity.json").read_text(encoding="utf-8"))
    assert known.keys() == {"model", "layer_and_pooling", "random_pairs"}, "nine pairs have no halves"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--layers", "three"), "--layers cannot be 'three'. Choose whole numbers with commas between them"),
        (("--layers", "9"), "9 is not a possible layer. Choose 0 to 2."),
        (("--dimensions", "999"), "999 is not a possible number of dimensions. Choose 1 to 32"),
        (("--max-length", "1000"), "A maximum length of 1000 tokens is not possible"),
        (("--layers", "1,2", "--export", "small"), "--export writes one encoder. Give --layers"),
    ],
)
def test_sizes_that_cannot_be_are_refused(asked, words, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = asked(*words)
    assert code == 1
    assert told in err
    assert not (tmp_path / "small").exists()


def test_two_encoders_of_one_name_are_told_apart_by_the_end_of_their_paths(place, done, tmp_path):
    copies = [tmp_path / name / "model" for name in ("first", "second")]
    for seed, copy in enumerate(copies):
        save_tiny("bert", copy, seed=seed)
    size = ("--layers", "1", "--poolings", "mean", "--dimensions", "8", "--stored", "int8", "--json")
    also = "--with", copies[1], "--with", place.model, "--static"
    out, _ = done("shrink", copies[0], *also, "--on", place.test, *size)
    names = list(dict.fromkeys(point["model"] for point in json.loads(out)["points"]))
    assert names.pop() == "model, static"
    assert names[:2] == [f"model ({tmp_path.name}/{name})" for name in ("first", "second")]
    assert names[2].startswith(place.model.name)
