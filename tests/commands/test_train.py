"""Test that `train` and `plan` follow their flags and files, report their result, and refuse invalid input."""

import json
import random
import shlex
import signal
import time
from dataclasses import replace

import pytest
from transformers import AutoTokenizer

from explorer import typed_json
from explorer.__main__ import _options, main
from explorer.commands import train as train_command
from explorer.data import sample, sources
from explorer.data.sources import HELD_OUT
from explorer.errors import Diverged
from explorer.measuring.comparing import learned
from explorer.studies.plans import plan_file
from explorer.studies.plans.plan import Plan
from explorer.training.loop import resume_state as states
from explorer.training.loop.learner import Learner
from explorer.training.loop.training_texts import read_texts
from explorer.training.recipe import Recipe
from explorer.training.recipe_file import read
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED, STOPPED
from tests.trainings import _phrases, looks, losses, new, recipe, train, weights, words_of


@pytest.fixture
def words(place) -> list[str]:
    return words_of(recipe(place, "simcse"))


@pytest.fixture(scope="module")
def first(place) -> Run:
    return train(new(place, "simcse", "first"))


def model(run: Run) -> bytes:
    return (run.model / "model.safetensors").read_bytes()


def names(place) -> set[str]:
    return {run.name for run in runs.every(place.runs)}


@pytest.mark.parametrize(
    ("text", "own"),
    [("STS-B train", "STS-B"), ("STS-B", "STS-B"), ("SICK-R train", "SICK-R"), ("STS-B train, 90 items", "STS-B")],
)
@pytest.mark.parametrize("method", ["cosent", "simcse"])
def test_a_text_of_a_published_set_is_developed_and_tested_on_that_set_unless_others_are_named(method, text, own):
    for words, expected in (
        ([], (f"{own} dev", f"{own} test")),
        (["--dev", "sample dev"], ("sample dev", f"{own} test")),
        (["--test", "none"], (f"{own} dev",)),
        (["--test", "sample test", "--test", "STS12"], (f"{own} dev", "sample test", "STS12")),
    ):
        found = train_command._recipe(_options(["train", method, "--data", text, *words]))
        assert tuple(map(str, (found.dev, *found.tests))) == expected
    (found,) = [train_command._recipe(_options(["train", method, "--data", f"{own} dev"]))]
    assert str(found.dev) != f"{own} dev", "it is trained on"


def test_training_says_on_standard_output_what_came_of_it(place, words, said, first):
    code, out, err = said(*words, "--name", "told", "--seed", 7, "--json")
    run = runs.find("told")
    told = json.loads(out)
    assert code == 0
    assert str(run.folder) in err.splitlines()
    assert (told["run"], told["folder"], told["state"]) == ("told", str(run.folder), FINISHED)
    assert told["verdict"] == typed_json.written(run.status().verdict)
    best = max(told["seeds"], key=lambda seed: seed["dev"])
    assert told["verdict"] == best["verdict"], "of the model that is kept"
    assert told["verdict"]["test"]["exported"] == best["test"]
    assert told["learned"]["text"] in err.splitlines()
    assert f"How sure: {told['learned']['how_sure']}" in err
    assert len(told["verdict"]["packs"]) == len(sample.judged_packs()) - 1
    assert [seed["seed"] for seed in told["seeds"]] == [1, 7]
    assert told["seeds"][0] == first.status().results[0].as_json(), "as in a run of the app"
    assert told["seeds"][1]["dev"] == max(score for step, score in looks(run, 2).items() if step)
    assert run.status().state == FINISHED


def test_without_json_it_prints_lines_and_the_command_that_compares_with_the_base(place, words, said, done, answered):
    out, err = done(*words, "--name", "in-lines", "--seed", 7)
    run = runs.find("in-lines")
    status, lines = run.status(), out.splitlines()
    assert lines[: lines.index("")] == [*learned.lines(status.learned), *status.facts.warnings]
    assert not set(lines[: lines.index("")]) & set(err.splitlines()), "each line once"
    for one in status.results:
        assert (
            f"Seed {one.seed}: {one.steps:,} updates, dev {one.dev:.2f}, test {one.test:.2f}".replace("-", "−") in out
        )
    assert f"Model: {run.model}" in lines
    assert (run.model / "model.safetensors").is_file()
    state = next(line for line in lines if line.startswith("Run in-lines: "))
    assert state.startswith(f"Run in-lines: {FINISHED} in ")
    assert state.endswith(str(run.folder))
    command = shlex.split(lines[-1].partition(": ")[2])
    assert command[:4] == ["python", "-m", "explorer", "compare"]
    verdict = answered(*command[3:], "--json")["verdict"]
    assert verdict["difference"] == pytest.approx(status.verdict.test.shown_difference, abs=0.01)


def test_the_printed_command_finds_a_model_elsewhere_and_rows_that_were_held_out(place, done, answered, tmp_path):
    rows = "\n".join(f"{' '.join(sorted(one.split()))},{one}" for one in _phrases(random.Random(8), 40))
    text = tmp_path / "own.csv"
    text.write_text(f"query,passage\n{rows}\n", encoding="utf-8")
    words = words_of(recipe(place, "contrast", data=(str(text),), dev=HELD_OUT, test=HELD_OUT, settings={"steps": 2}))
    out, _ = done(*words, "--name", "own-rows")
    command = shlex.split(out.splitlines()[-1].partition(": ")[2])
    assert command[3:] == ["compare", str(place.model), "run:own-rows", "--on", "test rows of run:own-rows"]
    found = answered(*command[3:], "--json")["verdict"]
    test = runs.find("own-rows").status().verdict.test
    assert (found["before"]["score"], found["after"]["score"]) == pytest.approx((test.before, test.after), abs=0.01)
    out, _ = done(
        *words_of(recipe(place, "simcse", settings={"steps": 1})), "--name", "there", "--out", tmp_path / "runs"
    )
    command = shlex.split(out.splitlines()[-1].partition(": ")[2])
    assert command[5] == str(tmp_path / "runs" / "there" / "model")
    assert "B - A" in done(*command[3:])[0]


def test_a_refused_training_names_no_folder_and_leaves_none(place, refused):
    before = names(place)
    err = refused("train", "contrast", "--model", place.model, "--data", place.text, "--name", "refused")
    assert str(place.runs) not in err
    assert names(place) == before


def test_without_a_method_the_one_that_fits_the_text_is_trained_and_said(place, done):
    steps = ("--set", "batch_size=2", "--steps", 1)
    sets = ("--dev", place.dev, "--test", "none")
    _, err = done("train", "--model", place.model, "--data", place.triplets, *sets, *steps, "--name", "fitting")
    assert "has triplets; contrast-hard fits them: " in err
    assert runs.find("fitting").recipe().method == "contrast-hard"


def test_the_card_states_both_values_of_a_setting_that_is_overridden(first):
    """The recipe's value, and that by which the training went: the steps at which it was evaluated."""
    lines = (first.folder / "README.md").read_text("utf-8").splitlines()
    stated, used = (
        first.recipe().schedule().evaluate_every,
        next(step for step in looks(first, 1) if step),
    )
    assert stated != used
    (row,) = (line for line in lines if line.startswith("| evaluate\\_every |"))
    assert f"**{stated} → {used}**" in row
    (fact,) = (line for line in lines if line.startswith("| Settings overridden |"))
    assert f"{stated} → {used} (at least ten evaluations)" in fact


def test_what_is_overridden_is_said_before_the_first_step_and_recipe_card_and_command_agree(place, done, monkeypatch):
    """The command on the card makes the same run, in which the same is overridden."""
    long = {"evaluate_every": 100, "warmup": 0.2, "max_length": 500, "steps": 4}
    words = words_of(recipe(place, "simcse", settings=long))
    _, err = done(*words, "--name", "stated")
    run = runs.named("stated")
    reads = AutoTokenizer.from_pretrained(str(place.model)).model_max_length
    said = [f"evaluate_every 100 → {1}", f"max_length 500 → {reads}", "warmup 0.2 → 0 (less than one update)"]
    assert all(one in err for one in said)
    facts = run.status().facts.overridden
    assert [(one.name, one.stated, one.used) for one in facts.settings] == [
        ("evaluate_every", 100, 1), ("max_length", 500, reads), ("warmup", 0.2, 0)
    ]  # fmt: skip
    schedule = read(run.folder / "recipe.yaml").schedule()
    assert (schedule.evaluate_every, schedule.warmup, schedule.max_length) == (100, 0.2, 500)
    card = (run.folder / "README.md").read_text("utf-8")
    (again,) = (line for line in card.splitlines() if "-m explorer train " in line)
    monkeypatch.chdir(place.text.parent)  # the card has the names of files, and no path of this machine
    done(*shlex.split(again.split("-m explorer ")[1]), "--name", "by-the-card")
    assert model(runs.named("by-the-card")) == model(run)
    assert runs.named("by-the-card").status().facts.overridden == facts


def test_a_recipe_s_file_repeats_the_run_to_the_bit(place, first, said):
    assert read(first.folder / "recipe.yaml").made_with
    code, _, _ = said("train", "--recipe", first.folder / "recipe.yaml", "--name", "again")
    again = runs.find("again")
    assert code == 0
    assert model(again) == model(first)
    assert losses(again) == losses(first)
    assert replace(again.recipe(), made_with={}) == replace(first.recipe(), made_with={})


def test_a_recipe_s_file_is_refused_once_the_text_it_names_has_changed(place, first, said, refused):
    before = place.text.read_bytes()
    place.text.write_bytes(before + b"one more dog\n")
    again = ("train", "simcse", "--recipe", first.folder / "recipe.yaml", "--name")
    assert "made with another version of the training text" in refused(*again, "refused")
    code, _, err = said(*again, "other", "--data", place.triplets)
    place.text.write_bytes(before)
    assert code == 0, err
    assert weights(runs.find("other")).keys() == weights(first).keys()
    assert model(runs.find("other")) != model(first)


def test_flags_change_the_recipe_of_a_file(place, first, done):
    file = first.folder / "recipe.yaml"
    sg = ("sg", "--recipe", file, "--name", "sg", "--set", "first-layer=1", "--set", "projection=off")
    done("train", *sg, "--steps", 2, "--seed", 9, "--test", "none", "--precision", "float32")
    made = runs.find("sg").recipe()
    assert (made.method, made.seeds, made.test) == ("sg", (9,), None)
    assert made.settings | {"first_layer": 1, "steps": 2, "projection": False} == made.settings
    assert made.model == str(place.model)
    assert runs.find("sg").status().verdict.test is None
    assert runs.find("sg").status().results[0].test is None


def test_an_estimate_is_told_and_nothing_is_left(place, words, done):
    before = names(place)
    out, _ = done(*words, "--estimate")
    assert out.count("\n") == 1
    assert "s per step, about " in out
    assert " KB on disk" in out
    assert names(place) == before


def test_texts_that_are_cut_are_said_before_the_first_step_and_stand_on_the_card(place, done):
    words = words_of(recipe(place, "simcse", settings={"max_length": 6, "steps": 2}))
    tokenizer = AutoTokenizer.from_pretrained(str(place.model))
    texts = set(read_texts(recipe(place, "simcse")).corpus.texts[0])
    longer = sum(len(tokenizer(text)["input_ids"]) > 6 for text in texts)
    assert 0 < longer < len(texts)
    said = f"{longer} of {len(texts)} texts are longer than the 6 tokens that this training reads"
    assert said in done(*words, "--estimate")[0]
    assert said in done(*words, "--name", "cuts")[1]
    run = runs.named("cuts")
    assert f"{longer} of {len(texts)} texts, at 6 tokens" in (run.model / "README.md").read_text("utf-8")
    assert said in run.log_tail(100)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("sg-ot",), "There is no method 'sg-ot'. Did you mean 'sg-opt'?"),
        ((), "Neither a method nor a text is named. Write 'train METHOD', 'train --data FILE'"),
        (("sg", "--set", "steps"), "--set steps lacks an equals sign"),
        (("sg", "--set", "stepps=3"), "There is no setting 'stepps'. Did you mean 'steps'?"),
        (("sg", "--set", "temperature=hot"), "temperature cannot be 'hot'"),
        (("sg", "--steps", "-1"), "--steps cannot be '-1'"),
        (("sg", "--seed", "1", "--seed", "1"), "seeds cannot be [1, 1]"),
        (("sg", "--column", "sentence"), "--column sentence lacks an equals sign"),
        (("sg", "--precision", "int8"), "--precision cannot be 'int8'"),
        (("sg", "--device", "tpu"), "--device cannot be 'tpu'"),
        (("sg", "--name", "../up"), "A run cannot be called '../up'"),
        (("sg", "--name", "first"), "There is a run 'first' already"),
        (("--recipe", "missing.yaml"), "missing.yaml cannot be read"),
        (("--resume", "missing"), "There is no run 'missing'. There are: "),
        (("--resume", "first"), "'first' is finished. To train its model further, start a run with"),
        (("sg", "--estimate", "--data", "missing.csv"), "There is no file missing.csv"),
        (("sg", "--estimate", "--model", "/no/such"), "There is no folder '/no/such'"),
    ],
    ids=lambda given: " ".join(given)[:40] or "nothing",
)
def test_what_cannot_be_is_refused_before_a_run_is_made(place, first, given, message, refused):
    before = names(place)
    err = refused("train", *given)
    assert message in err
    assert "Traceback" not in err
    assert names(place) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--set", "batch_size=64"), "has 24 rows to train on, but a batch takes 64"),
        (("--data", "missing.csv"), "There is no file missing.csv"),
        (("--model", "/no/such"), "There is no folder '/no/such'"),
        (("--dev", "missing.csv"), "There is no file missing.csv"),
        (("--test", "STS-BB"), "Did you mean 'STS-B'"),
        (("--column", "sentence=x"), "x"),
        (("sg-opt", "--set", "first_layer=9"), "first_layer cannot be 9"),
        (("--device", "mps"), "mps"),
    ],
    ids=lambda given: " ".join(given)[:40],
)
def test_what_is_found_before_the_first_step_leaves_no_run(place, words, refused, given, message):
    method, *more = given if given[0] == "sg-opt" else (words[1], *given)
    err = refused("train", method, *words[2:], "--name", "refused", *more)
    assert message in err.splitlines()[-1]
    assert not {"refused"} & {path.name for path in place.runs.iterdir()}
    assert not list(place.runs.glob(".*"))


def test_a_run_that_is_refused_when_it_is_resumed_stays(place, words, said):
    run = new(place, "simcse", "waited")
    statuses.write(run.folder, replace(run.status(), state=STOPPED))
    hidden = place.text.rename(place.folder / "hidden.csv")
    code, _, err = said("train", "--resume", "waited")
    hidden.rename(place.text)
    assert code == 1
    assert run.status().error in err
    assert run.status().state == FAILED


@pytest.mark.parametrize("step", [0, 3])
def test_a_run_that_fails_while_it_trains_says_why_and_is_kept(place, words, refused, monkeypatch, step):
    def update(self, whole=Learner.update):
        whole(self)
        if self.step == step + 1:
            raise Diverged("The loss is nan.")

    monkeypatch.setattr(Learner, "update", update)
    assert "The loss is nan." in refused(*words, "--name", f"failed-{step}")
    assert runs.find(f"failed-{step}").status().error == "The loss is nan."


@pytest.fixture
def terminal():
    """As in a terminal: a shell that starts the tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(monkeypatch, number: signal.Signals, times: int) -> None:
    """Send a signal, such as Ctrl-C does, in the midst of the third update."""
    update = Learner.update

    def press(self):
        if self.step != 2:
            return update(self)
        monkeypatch.setattr(Learner, "update", update)
        found = update(self)
        self.step -= 1  # as if it came before the step was counted
        for _ in range(times):
            heard = signal.getsignal(number)
            signal.raise_signal(number)
            for _ in range(1000):  # two that come before the first is heard are one
                if signal.getsignal(number) is not heard:
                    break
                time.sleep(0.001)
        self.step += 1
        return found

    monkeypatch.setattr(Learner, "update", press)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, "130"), (signal.SIGTERM, "143")])
def test_a_signal_is_heard_after_the_step_and_what_was_learned_is_gone_on_with(
    terminal, place, words, first, answered, tmp_path, monkeypatch, capsys, number, code
):
    interrupted(monkeypatch, number, times=1)
    before = signal.getsignal(number)
    with pytest.raises(SystemExit, match=code):
        main([*words, "--name", "pressed", "--out", str(tmp_path)])
    run = Run(tmp_path / "pressed")
    said_so = capsys.readouterr().err.splitlines()[-1]
    assert said_so == f"Interrupted. Resume with: python -m explorer train --resume pressed --out {tmp_path}"
    assert signal.getsignal(number) is before
    assert run.status().state == INTERRUPTED
    assert states.load(run.state).notes["step"] == 3
    assert answered(*said_so.partition("explorer ")[2].split(), "--json")["run"] == "pressed"
    assert model(run) == model(first)
    assert losses(run) == losses(first)


def test_a_second_signal_is_heard_at_once_and_keeps_nothing_half_learned(
    terminal, words, first, done, tmp_path, monkeypatch
):
    interrupted(monkeypatch, signal.SIGTERM, times=2)
    with pytest.raises(SystemExit, match="143"):
        main([*words, "--name", "pressed", "--out", str(tmp_path)])
    run = Run(tmp_path / "pressed")
    assert list(losses(run)) == [1, 2], "the third was never told"
    assert run.status().state == INTERRUPTED
    assert not states.there(run.state)
    done("train", "--resume", "pressed", "--out", tmp_path)
    assert model(run) == model(first)


def test_a_signal_that_is_ignored_ends_nothing(place, words, said, monkeypatch):
    update = Learner.update
    monkeypatch.setattr(Learner, "update", lambda self: (signal.raise_signal(signal.SIGHUP), update(self)))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup starts a command
    try:
        code, out, _ = said(*words, "--name", "goes-on", "--json")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (code, json.loads(out)["state"]) == (0, FINISHED)


@pytest.fixture
def file(place, tmp_path, monkeypatch):
    """Write a plan of one row and one seed to a file, in an empty folder of runs."""
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("explorer.methods.self_guided.PROJECTION", 8)
    settings = {"batch_size": 4, "steps": 2, "max_length": 16}
    sets = {"dev": str(place.dev), "test": str(place.test), "precision": "float32", "device": "cpu"}
    plan = Plan("short", ("simcse",), (str(place.model),), ((str(place.text),),), settings, seeds=(1,), **sets)

    def write(**changes):
        path = tmp_path / "plan.yaml"
        path.write_text(plan_file.as_yaml(replace(plan, **changes)), encoding="utf-8")
        return path

    return write


def test_a_cell_that_is_refused_before_its_first_step_is_named_and_leaves_no_run(file, said):
    code, out, err = said("plan", file(methods=("sg-opt",), grid={"first_layer": (1, 9)}))
    assert code == 1
    assert [run.name for run in runs.every()] == ["short-first-layer-1-seed-1"]
    assert "first_layer 9, seed 1: first_layer cannot be 9: this encoder has the layers 0 to 2." in err
    assert "1 of 1" in out
    assert "0 of 1" in out


def test_a_signal_saves_the_run_under_way_after_its_step_and_the_plan_goes_on(file, said, monkeypatch):
    update = Learner.update

    def signalled(self):
        signal.raise_signal(signal.SIGHUP)
        update(self)  # the first update, in which the signal comes

    monkeypatch.setattr(Learner, "update", signalled)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    ended, out, err = said("plan", file())
    signal.signal(signal.SIGHUP, before)
    assert (ended, out) == (129, "")
    assert err.splitlines()[-1] == "Interrupted. Go on with python -m explorer plan short --resume."
    (run,) = runs.every()
    assert run.status().state == INTERRUPTED
    assert states.load(run.state).notes["step"] == 1
    monkeypatch.setattr(Learner, "update", update)
    assert said("plan", "short", "--resume")[0] == 0
    assert run.status().state == FINISHED


def test_a_run_that_cannot_be_read_is_named_beside_the_table(file, done):
    (runs.new(Recipe("simcse"), "damaged").folder / "status.json").write_text("{")
    out, err = done("plan", file(), "--table")
    assert out.startswith("row")
    assert err.startswith("'damaged' has a damaged status")


def test_flags_of_stages_are_of_the_stage_before_them_and_the_printed_command_repeats_the_run(place, said):
    words = words_of(recipe(place, "contrast", settings={"steps": 2}))
    first = ["--stage", "tsdae", "--stage-data", place.text, "--stage-set", "steps=2", "--stage-set", "batch_size=4"]
    second = ["--stage", "simcse", "--stage-set", "steps=1", "--stage-set", "batch_size=4"]
    code, out, _ = said(*words, *first, *second, "--name", "stages", "--json")
    run = runs.find("stages")
    found = run.recipe()
    assert code == 0
    assert [(one.method, one.data) for one in found.stages] == [
        ("tsdae", sources.texts([str(place.text)])),
        ("simcse", found.data),
    ]
    assert [one.settings["steps"] for one in found.stages] == [2, 1]
    assert [one["steps"] for one in json.loads(out)["seeds"][0]["stages"]] == [2, 3]
    assert words_of(found) == words_of(replace(found, made_with={}))
    code, _, _ = said(*words_of(found), "--name", "stages-again")
    assert replace(runs.find("stages-again").recipe(), made_with={}) == replace(found, made_with={})
    assert model(runs.find("stages-again")) == model(run)
    # a recipe's stages hold unless flags state others
    said("train", "--recipe", run.folder / "recipe.yaml", "--set", "steps=1", "--name", "fewer")
    assert runs.find("fewer").recipe().stages == found.stages


def test_a_flag_of_a_stage_without_a_stage_is_refused(place, words, said):
    code, _, err = said(*words, "--stage-data", place.text)
    assert (code, err.splitlines()[-1]) == (1, "--stage-data is of no stage. Write --stage METHOD before it.")
