"""Test that a number which several pages and commands show is the same on all of them, and is judged in one place."""

import csv
import io
import json
import re
from itertools import combinations
from pathlib import Path
from unittest import mock

import pytest
from streamlit.testing.v1 import AppTest

from explorer.__main__ import main
from explorer.data import sample, sources
from explorer.encoding.load import hardware
from explorer.measuring.comparing import comparison_verdict
from explorer.measuring.scores.verdict import BETTER, CHANCE, WORSE, RunVerdict, Verdict
from explorer.progress import finish
from explorer.studies.plans import execution, plan_columns, plan_folder, plan_report
from explorer.studies.plans.plan import Plan
from explorer.studies.size import picture as measuring
from explorer.studies.size import size_verdict
from explorer.training.record.status import FINISHED, Status
from explorer.ui import layers, messages
from explorer.ui.results import filters
from explorer.ui.size import size_view
from explorer.ui.train import run_card
from explorer.ui.widgets import controls
from tests import trainings, visits
from tests.drawing import made_up
from tests.live import ROOT
from tests.shown_numbers import difference, value_of
from tests.studies.plans.test_plan import done, found
from tests.ui.size.test_size_page import picture, point
from tests.visits import cards, layer_table, pressed, words

BASE, TUNED, DEV, AT_BEST_STEP = "base", "tuned", "tuned, dev", "dev at best step"
PROBED = "negation, base", "negation, tuned"
ALL_PROBED = "all packs, base", "all packs, tuned"
NUMBER = re.compile(r"[+−-]?\d+(?:\.\d+)?")


@pytest.fixture(autouse=True, scope="module")
def quick():
    """The pages of probe packs show all pairs, and so does the run."""
    with trainings.in_no_time():
        yield


@pytest.fixture(scope="module")
def own(tmp_path_factory, place):
    """Folders of this file, on a machine that prefers bfloat16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RUNS", str(place.runs))
        for name in ("STRATA_RESULTS", "STRATA_CACHE"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        patch.delenv("STRATA_DATA", raising=False)
        patch.setattr(hardware, "best_precision", lambda device: "bfloat16")
        patch.setattr(measuring, "ROUNDS", 1)
        patch.setattr(measuring, "TEXTS", 8)
        yield patch


@pytest.fixture(scope="module")
def pairs(own, tmp_path_factory):
    """A file of so many pairs that bfloat16 would give it another score."""
    path, given = tmp_path_factory.mktemp("pairs") / "numbers.csv", sample.pairs()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = zip(given.gold, given.first, given.second, strict=True)
        csv.writer(file).writerows([("score", "sentence1", "sentence2"), *rows])
    return path


@pytest.fixture(scope="module")
def run(place, pairs):
    """A training as the Plans page begins it, with the probe packs as a further test set."""
    settings = {**trainings.SETTINGS, "steps": 4}
    sets = {"test": str(pairs), "more_tests": (sample.PROBE_PACKS,)}
    return trainings.train(trainings.new(place, "simcse", name="probed", settings=settings, precision="auto", **sets))


@pytest.fixture(scope="module")
def plan(place, pairs):
    settings = {**trainings.SETTINGS, "steps": 4}
    texts = ((str(place.text),),)
    made = Plan("numbers", ("simcse",), (str(place.model),), texts, settings, dev=str(place.dev), test=str(pairs))
    finish(execution.execute(plan_folder.new(made)))
    return made


@pytest.fixture
def told(capsys):
    """What a command prints."""

    def said(*words_of_it):
        assert main([str(word) for word in words_of_it]) == 0
        return capsys.readouterr().out

    return said


def opened(run, page, state=None, /, **address):
    """A page of its own visit, with the base of the run as model A and its test set in the sidebar."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params |= {"model": run.recipe().model, "sts": str(run.recipe().test), **address}
    for name, value in (state or {}).items():
        app.session_state[name] = value
    return visits.opened(app, page)


def percent(text):
    return NUMBER.search(text)[0]


def of_start(run):
    (line,) = (text for text in words(opened(run, "start").markdown) if "has the highest Spearman" in text)
    best = re.search(r", (\w+ of layers? [\d +-]+) has the highest Spearman: (\d+\.\d+)", line)
    return {best[1]: best[2]}


def of_layers(run):
    app = opened(run, "layers")
    shown = layer_table(app)
    best = next(one for label, one in shown.items() if label.startswith(layers.BEST_OF_ALL.partition("{")[0]))
    return {BASE: shown[layers.CHOSEN].score, best.cell: best.score}


def of_compare(run):
    app = opened(run, "compare", beside=f"run:{run.name}")
    (listed,) = [one for one in words(app.markdown) if one.startswith("- ")]
    shown = dict(re.findall(r"^- (.+?): \*\*(.+?)\*\*", listed, re.MULTILINE))
    figure = json.loads(next(one for one in app.get("plotly_chart") if one.key == "what changed").proto.spec)
    points = [one for one in figure["data"] if str(one.get("hovertemplate")).startswith("negation, ")]
    return {
        BASE: shown[comparison_verdict.BASE],
        TUNED: shown[comparison_verdict.TUNED],
        **{name: percent(f"{one['x'][0]:.0f} %") for name, one in zip(PROBED, points, strict=True)},
    }


def of_sentences(run):
    app = opened(run, "sentences", beside=f"run:{run.name}", tab="Probe packs")
    shown = cards(app)
    table = next(one.value for one in app.dataframe if "pack" in one.value.columns)
    (row,) = table[table["pack"] == "negation"].to_dict("records")
    return {
        **{name: percent(row[f"distinguished {side}"]) for name, side in zip(PROBED, "AB", strict=True)},
        **{name: percent(shown[f"Distinguished by {side}"]) for name, side in zip(ALL_PROBED, "AB", strict=True)},
    }


def of_verdicts(run):
    """The sentences below the table of the packs."""
    app = opened(run, "sentences", beside=f"run:{run.name}", tab="Probe packs")
    (lines,) = (text for text in words(app.markdown) if "**negation**" in text and "a coin would get" in text)
    line = next(line for line in lines.splitlines() if "**negation**" in line)
    return dict(zip(PROBED, re.findall(r"in (\d+) % of cases", line), strict=True))


def of_run(run):
    shown = cards(opened(run, "train", run=run.name))
    sides = {BASE: run_card.BASE, TUNED: run_card.TUNED}
    return {
        **{name: shown[f"Test: {label}"] for name, label in sides.items()},
        DEV: shown[f"Dev: {run_card.TUNED}"],
        **dict(zip(ALL_PROBED, (shown[f"Test 2: {label}"] for label in sides.values()), strict=True)),
    }


def of_checkpoint(run):
    """The dev score in the note of the card of the best checkpoint."""
    notes = {card.label: card.delta for card in opened(run, "train", run=run.name).metric}
    return {AT_BEST_STEP: re.search(r"dev at best step ([\d.]+)", notes["Best checkpoint"])[1]}


def of_list(run):
    frames = [one.value for one in opened(run, "replay", tab="All runs").dataframe]
    rows = {row["Run"]: row for frame in frames if "Dev" in frame.columns for row in frame.to_dict("records")}
    columns = {DEV: "Dev", TUNED: "Test", AT_BEST_STEP: "Dev at best step"}
    return {name: f"{rows[run.name][column]:.2f}" for name, column in columns.items()}


def of_json(run):
    """The scores of the seed in status.json and in the output of `train`."""
    scores = run.status().results[0].as_json()
    return {
        DEV: f"{scores['dev']:.4f}",
        TUNED: f"{scores['test']:.4f}",
        AT_BEST_STEP: f"{scores['dev_at_best_step']:.4f}",
    }


def of_results(run):
    frame = opened(run, "results", suite=filters.RUNS).dataframe[0].value
    column = f"{Path(str(run.status().facts.test)).name} ({run.status().facts.measure_of('test')})"
    known = {row["model"]: row[column] for row in frame.to_dict("records")}
    base, name = run.recipe().model, f"simcse on {sources.shown(run.recipe().model)}"
    tuned = next(score for model, score in known.items() if model.startswith(name) and "probed" in model)
    return {BASE: f"{known[base]:.2f}", TUNED: f"{tuned:.2f}"}


def of_size(run):
    settings = {"dimensions": "32", "poolings": ["mean"], "stored": ["float32"]}
    app = opened(run, "size", {controls.key_of(size_view.FORM, name): value for name, value in settings.items()})
    pressed(app, size_view.START)
    app.toggle(key=size_view.ONLY_FRONT).set_value(False).run()
    rows = {row["layer & pooling"]: f"{row['score']:.2f}" for row in app.dataframe[0].value.to_dict("records")}
    return {BASE: rows["model default"], "mean of layer 1": rows["mean of layer 1"]}


def of_plan(run, plan):
    rows = opened(run, "plans", plan=plan.name).dataframe[0].value.to_dict("records")
    test, gain = (next(name for name in rows[0] if name.startswith(f"{of} (")) for of in ("test", plan_columns.GAIN))
    return {BASE: rows[0][test], "planned": rows[1][test], "planned - base": rows[1][gain].split(" ")[0]}


def by_the_plan(told, run, plan):
    found = json.loads(told("plan", plan.name, "--table", "--json"))
    scores = found["base_rows"][0]["test"], found["rows"][0]["test"][0]
    assert found["rows"][0]["difference"][0] == pytest.approx(scores[1] - scores[0], abs=1e-9)
    return {
        BASE: f"{scores[0]:.4f}",
        "planned": f"{scores[1]:.4f}",
        "planned - base": difference(*scores),
    }


def by_score(told, run):
    rows = csv.DictReader(io.StringIO(told("score", run.recipe().model, "--sts", str(run.recipe().test), "--csv")))
    scores = {row["layer & pooling"]: row["spearman"] for row in rows}
    return {**scores, BASE: scores["mean of layer 2"]}


def by_evaluate(told, run):
    models = run.recipe().model, f"run:{run.name}"
    found = json.loads(told("evaluate", *models, "--task", str(run.recipe().test), "--json"))
    sides = (one["scores"]["model default"]["spearman"] for one in found)
    return {name: f"{score:.4f}" for name, score in zip((BASE, TUNED), sides, strict=True)}


def by_compare(told, run):
    models = run.recipe().model, f"run:{run.name}"
    found = json.loads(told("compare", *models, "--sts", str(run.recipe().test), "--json"))["verdict"]
    return {BASE: f"{found['declared_base']:.4f}", TUNED: f"{found['exported']:.4f}"}


def same(one, other):
    """Whether two numbers are one, each rounded to the digits that it is shown with."""
    half = 0.5 * 10.0 ** -min(len(text.partition(".")[2]) for text in (one, other))
    apart = abs(value_of(one) - value_of(other))
    return apart <= half + 1e-9 if one.partition(".")[2] != other.partition(".")[2] else apart < half


def test_a_number_that_two_pages_show_is_the_same(told, run, plan):
    pages = [
        of_start,
        of_layers,
        of_compare,
        of_sentences,
        of_verdicts,
        of_run,
        of_checkpoint,
        of_list,
        of_json,
        of_results,
    ]
    found = {page.__name__: page(run) for page in (*pages, of_size)}
    found["of_plan"] = of_plan(run, plan)
    found["by_the_plan"] = by_the_plan(told, run, plan)
    found |= {command.__name__: command(told, run) for command in (by_score, by_evaluate, by_compare)}
    shared = [
        (name, (one, found[one][name]), (other, found[other][name]))
        for one, other in combinations(found, 2)
        for name in found[one].keys() & found[other].keys()
    ]
    assert {name for name, *_ in shared} >= {
        BASE,
        TUNED,
        DEV,
        AT_BEST_STEP,
        *PROBED,
        *ALL_PROBED,
        "mean of layer 1",
        "planned",
    }
    assert len(shared) > 60
    assert [pair for pair in shared if not same(pair[1][1], pair[2][1])] == []


@pytest.mark.parametrize("kind", [BETTER, WORSE, CHANCE])
def test_what_the_one_judge_says_is_said_of_all_four(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(Verdict, "kind", property(lambda verdict: kind))
    assert Status(FINISHED, verdict=RunVerdict(Verdict(70.0, 70.0, 72.0, 2.0, 1.0, 3.0))).learned.kind == kind
    sentences = [
        made_up.findings().verdict.sentence(),
        plan_report.verdict(found(tmp_path, (done(5, 1), done(6, 1)))),
        size_verdict.verdict(picture(point(6, 79.5, -1.2, 0.2, 100)))[0],
    ]
    assert [one.kind for one in sentences] == [kind] * 3
    with mock.patch.dict(messages._LOOKS, {kind: (mock.Mock(), "icon")}):
        for one in sentences:
            messages.verdict(one)
        assert messages._LOOKS[kind][0].call_count == 3
