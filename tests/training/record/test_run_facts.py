"""Test that facts and phases of a run are values, and that a run with damaged files is read as far as it can be."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer import run_folder, typed_json
from explorer.__main__ import main
from explorer.commands.parts.output import ProgressLine
from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, several
from explorer.encoding.read.head import Head
from explorer.measuring.scores.verdict import ElsewhereVerdict
from explorer.places import examples_folder
from explorer.progress import WORDS, Phase
from explorer.run_folder import PROBE, PROBE_SENTENCES, STATUS, probe_file
from explorer.training.loop import resume_state as states
from explorer.training.loop.measured_facts import LORA, Adapters, Cut, Estimate, TextOverlap
from explorer.training.recipe import Recipe
from explorer.training.record import recorder, runs
from explorer.training.record.run_facts import CARD, PAGE, REPORT, RunFacts
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import STOPPED
from tests import copies
from tests.training.unbroken import assert_same, begun, break_off
from tests.trainings import losses, train

ROOT = Path(explorer.__file__).parents[1]
BEFORE = "    def found_by(self"
FIELD = """    moon: str | None = fact(lambda training: f"full, {len(training.results)} seeds", "Phase of the moon")

"""
FACTS = RunFacts(
    reading=Head(("cls",), normalize=True).facts(),
    default=Head(("mean",), prompt="query: ").facts(),
    seen=TextOverlap(12, 240, ("test", "test 2")),
    estimate=Estimate(0.2, 90, 10**9, 10**10, 10**8, trained=512, weights=1024),
    adapters=Adapters(LORA, 8, "attention", 9216, 16.0, 22_565_376),
    cut=Cut(3, 6, 17, 22),
)


def in_a_copy(folder: Path) -> None:
    """Train a run, compare it with its base, and open its page; all of it in the copy of the package."""
    from streamlit.testing.v1 import AppTest

    from explorer.__main__ import main
    from tests import trainings
    from tests.visits import words

    place = trainings.furnish(folder / "place")
    pair, report = (str(place.model), "run:mine"), str(folder / "report.html")
    with trainings.in_no_time(), trainings.few_probes():
        trainings.train(trainings.new(place, "simcse", name="mine", settings={"steps": 2}))
        main(["compare", *pair, "--sts", str(place.test), "--report", report])
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params.update(run="mine", tab="About and log")
    app.switch_page("pages/train.py").run()
    assert not app.exception
    (folder / "page.txt").write_text("\n".join(words(app.caption)))


def test_a_fact_in_one_field_is_found_on_card_page_json_and_report(tmp_path):
    copies.planted(tmp_path, [("explorer/training/record/run_facts.py", BEFORE, FIELD)])
    copies.run_in(tmp_path, in_a_copy, runs=tmp_path / "place/runs")
    run = tmp_path / "place/runs/mine"
    assert json.loads((run / "status.json").read_text(encoding="utf-8"))["facts"]["moon"] == "full, 1 seeds"
    assert "| Phase of the moon | full, 1 seeds |" in (run / "README.md").read_text(encoding="utf-8")
    assert (run / "README.md").read_text() == (run / "model/README.md").read_text()
    assert "Phase of the moon: full, 1 seeds" in (tmp_path / "page.txt").read_text(encoding="utf-8")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "phase of the moon</td>" in report
    assert "full, 1 seeds</td>" in report


def test_a_fact_is_listed_as_its_field_says_and_only_if_it_is_known():
    facts = RunFacts(adapters=Adapters(LORA, 8, "attention", 512, 16.0, 1000), cut=Cut(3, 6, 17, 22), rows=9)
    cut, adapters = facts.cut.words, facts.adapters.words
    assert list(facts.listed(PAGE).values()) == [f"trains {cut}", adapters]
    assert facts.listed(CARD) == {"Trained weights": f"{adapters}; added to the weights of the base"}
    assert facts.listed(REPORT) == {"Layers": cut, "Trained weights": adapters}
    assert RunFacts().listed(REPORT) == {}


@pytest.mark.parametrize(
    ("measure", "item"),
    [("Spearman", PAIR), ("share distinguished", PAIR), ("accuracy", TRIPLET), ("nDCG@10", QUERY), ("MRR@10", QUERY)],
)
def test_the_kind_of_items_is_a_fact_and_follows_from_the_measure_of_a_run_that_did_not_store_it(measure, item):
    stored = {"test": "mine.csv", "pairs": {"test": 60}, "measures": {"test": measure}}
    before, now = (typed_json.read(RunFacts, stored | more) for more in ({}, {"items": {"test": ROW}}))
    assert (before.item_of("test"), now.item_of("test")) == (item, ROW)
    assert now.counted("test") == "60 rows"
    elsewhere = {"name": "mine.csv", "size": 60, "of": 70, "measure": measure, "verdict": {}}
    before, now = (typed_json.read(ElsewhereVerdict, elsewhere | more) for more in ({}, {"item": ROW}))
    assert before.items == f"60 of 70 {several(item)}"
    assert now.items == "60 of 70 rows"
    assert before == now, "seeds of an older and of a newer version are of one set"


def test_a_status_keeps_them_as_values():
    assert typed_json.read(RunFacts, json.loads(json.dumps(FACTS.as_json()))) == FACTS
    texts = [f"{value}" for value in FACTS.as_json().values()]
    for one in (FACTS.reading, FACTS.default, FACTS.seen, FACTS.estimate, FACTS.adapters, FACTS.cut):
        assert not any(one.words in text for text in texts), "no words are stored"


def test_what_was_trained_is_told_by_how_it_became_adapters():
    assert FACTS.adapters.words == (
        "LoRA (rank 8, alpha 16, targets attention): 9,216 weights, beside 22,565,376 that do not change"
    )
    afterwards = replace(FACTS.adapters, targets="all linear", alpha=None, frozen=None)
    assert afterwards.words == "all weights; their change is cut to LoRA (rank 8, all linear): 9,216 weights"


def test_an_overlap_is_a_warning_only_if_there_is_one():
    rest = " test sentences are in the training text (without their scores): this score is optimistic."
    assert TextOverlap(12, 240, ("test",)).words == f"12 of the 240{rest}"
    named = "(without their scores): scores on test and test 2 are optimistic."
    assert FACTS.seen.words == f"12 of the 240 test sentences are in the training text {named}"
    assert TextOverlap(240, 240, ("test",)).words == f"All{rest}"
    assert not TextOverlap(0, 240)
    assert TextOverlap(0, 240).words == ""


def test_every_phase_has_words_of_its_own():
    assert set(WORDS) == set(Phase)
    assert len({phase.text("tiny") for phase in Phase}) == len(Phase)


@pytest.mark.usefixtures("small_projection")
def test_a_run_ends_with_the_same_numbers_if_every_phase_has_the_words_of_another(place, whole, monkeypatch, tmp_path):
    expected, phases = whole
    run, written = begun(place), set()
    others = [*list(WORDS.values())[1:], WORDS[next(iter(Phase))]]
    for phase, words in zip(list(WORDS), others, strict=True):
        monkeypatch.setitem(WORDS, phase, words)

    def stop_in_training(progress):
        status = json.loads((run.folder / STATUS).read_text())
        written.add((status["phase"], status["about"]))
        if (progress.stage, progress.done) == (Phase.TRAINING, 3):
            run.request_stop(KEEP)

    train(run, stop_in_training)
    assert run.status().state == STOPPED
    assert {("loading", str(place.model)), ("evaluating_base", ""), ("training", "")} <= written
    states.forget(run.state)  # as of a run that was killed before its first state
    train(run, stop_in_training)
    third = shutil.copytree(run.state, tmp_path / "third")
    assert break_off(run, phases.index(Phase.EVALUATING_BEST) // 2)
    assert max(losses(run)) > 4, "the premise: there are steps after that state"
    shutil.rmtree(run.state)
    shutil.move(third, run.state)
    named = []
    monkeypatch.setattr(ProgressLine, "say", lambda _, one: named.append((one, run.status().phase, run.status().seed)))
    assert main(["train", "--resume", run.name, "--out", str(place.runs)]) == 0
    assert named == [(str(run.folder), Phase.TRAINING, 1)], "when training begins"
    assert_same(run, expected)
    log = run.log_tail(1000)
    assert WORDS[Phase.EVALUATING_DEV] in log
    assert WORDS[Phase.TRAINING] not in log, "its steps are in the metrics"


DEEP = "[" * 50_000 + "]" * 50_000
LONG, LONGER = ('{"state": "finished", "loss": 1, "rate": 1, "beat": ' + "9" * digits + "}" for digits in (400, 5000))


@pytest.fixture
def run(tmp_path) -> Run:
    return Run(shutil.copytree(examples_folder() / "example", tmp_path / "run"))


@pytest.mark.parametrize("text", [DEEP, LONG, LONGER])
def test_a_status_nested_too_deep_or_with_too_long_a_number_is_of_a_run_broken_off_and_such_a_line_left_out(run, text):
    (run.folder / STATUS).write_text(text)
    assert run.status().state == "interrupted"
    assert run_folder.metric_line(text) is None


@pytest.mark.parametrize("text", [DEEP, '["a", null]', "[[]]", "3", '{"a": "b"}', "["])
def test_probe_sentences_that_are_no_texts_are_none(run, text):
    assert recorder.probe_sentences(run)
    (run.folder / PROBE / PROBE_SENTENCES).write_text(text)
    assert recorder.probe_sentences(run) == []


DAMAGED = [(b"'shape': (", b"'shape': ((("), (b"}", b"(\n"), (b"'<f2'", b"'<f"), (b"NUMPY", b"NUMBY")]
TOO_MANY = b"(2, 3), }" + b" " * 11, b"(9999999999999,3), }"


@pytest.mark.parametrize(("old", "new"), [*DAMAGED, TOO_MANY])
def test_vectors_with_a_damaged_header_or_that_would_not_fit_into_memory_are_none(run, old, new):
    path = probe_file(run.folder, 1, 0)
    np.save(path, np.zeros((2, 3), dtype="float16"))
    assert recorder.probe(run, 1, 0) is not None
    path.write_bytes(path.read_bytes().replace(old, new))
    assert recorder.probe(run, 1, 0) is None


RECIPE = Recipe("sg-opt", "some/Tiny model", ("a.csv",))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    for name in ("one", "two"):
        runs.new(RECIPE, name)
    for other in ("plans", "mine", ".123-4.part"):
        (tmp_path / "runs" / other).mkdir()
    (tmp_path / "runs" / "notes.txt").touch()
    return tmp_path / "runs"


def closed(path, monkeypatch) -> None:
    """Deny everybody the file, also root."""
    real = type(path).open

    def refused(self, *arguments, **options):
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return real(self, *arguments, **options)

    monkeypatch.setattr(type(path), "open", refused)


def test_no_other_folder_and_no_readable_run_is_named_as_damaged(folder, tmp_path):
    assert runs.unreadable() == []
    damaged = folder / os.fsdecode(b"bad\xff")
    damaged.mkdir()
    (damaged / "status.json").write_text("{")
    assert runs.unreadable() == []
    assert runs.unreadable(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["recipe.yaml", "status.json"])
def test_a_run_with_a_file_that_cannot_be_read_is_named(folder, monkeypatch, name):
    closed(folder / "two" / name, monkeypatch)
    (line,) = runs.unreadable()
    assert line == f"'two' cannot be read: {folder}/two/{name}: Permission denied. Check its permissions."


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_run_whose_status_is_damaged_is_named(folder, content):
    (folder / "one" / "status.json").write_bytes(content)
    (line,) = runs.unreadable()
    assert line == "'one' has a damaged status: it counts as interrupted. Restore its file, or resume it."
