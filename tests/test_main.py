"""Test the command line, and what using a part of Strata imports: asked of one process that begins afresh."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.__main__ import main
from explorer.data import sample
from explorer.data.graded import sets
from explorer.encoding.read.pooling import parse
from tests.live import ROOT

STSB = Path(os.environ.get("STRATA_DATA", "nowhere")) / "STSB" / "test.tsv"


def score(*arguments, capsys):
    code = main(["score", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_json_holds_every_reading_and_how_it_was_measured(capsys, bundled_scores):
    arguments = ("--sts", "sample test", "--precision", "float32", "--device", "cpu", "--json")
    code, out, _ = score("all-MiniLM-L6-v2", *arguments, capsys=capsys)
    content = json.loads(out)
    assert code == 0
    assert (content["model"], content["set"], content["pairs"]) == ("all-MiniLM-L6-v2", sample.TEST, 120)
    assert (content["precision"], content["device"], content["max_length"]) == ("float32", "cpu", 256)
    by_title = {row["reading"]: row for row in content["readings"]}
    assert len(by_title) == 31, "30 readings, and the published one"
    half = bundled_scores.of_pairs(sample.pairs().rows_of(sample.test()))
    known = half.score(parse("mean of layer 6", 6))
    assert by_title["mean of layer 6"]["spearman"] == pytest.approx(known, abs=0.01)
    assert by_title["cls of layer 0"]["spearman"] is None
    assert {"spearman", "spearman mean", "spearman wmean", "pearson"} <= set(by_title["max of layer 1"])


def test_csv_has_an_empty_cell_where_there_is_no_correlation_and_the_table_says_what_the_best_is_worth(capsys):
    _, out, _ = score("all-MiniLM-L6-v2", "--csv", capsys=capsys)
    rows = {row["layer & pooling"]: row for row in csv.DictReader(io.StringIO(out))}
    assert rows["cls of layer 0"]["spearman"] == ""
    assert float(rows["mean of layer 6"]["pearson"]) > 50
    _, out, _ = score("all-MiniLM-L6-v2", "--metric", "pearson", capsys=capsys)
    assert "Pearson × 100 on 240 pairs" in out
    assert "chosen on the pairs it is scored on" in out
    assert re.search(r"^ +0 +\d+\.\d\d +\d+\.\d\d$", out, re.MULTILINE), "no number under cls of layer 0"


def test_a_file_is_read_with_the_columns_it_is_told_and_a_set_of_the_menu_by_its_name(capsys, tmp_path, few_pairs):
    path = tmp_path / "pairs.csv"
    rows = ("1,it rains,it pours,a", "5,a cat,one cat,b", "2,go,stay,c", "4,a dog,one dog,d", "3,a sea,a lake,e")
    path.write_text("\n".join(["mark,left,right,note", *rows]) + "\n", encoding="utf-8")
    arguments = ("--sts", str(path), "--column", "first=left", "--column", "second=right", "--column", "score=mark")
    code, out, err = score("all-MiniLM-L6-v2", *arguments, capsys=capsys)
    assert code == 0
    assert "5 of 5 rows kept" in err
    assert "on 5 pairs" in out
    own = sets.keep(replace(few_pairs, name="mine.csv"))
    code, out, _ = score("all-MiniLM-L6-v2", "--sts", own.written, capsys=capsys)
    sets.forget(own)
    assert code == 0
    assert "on mine.csv: Spearman × 100 on 5 pairs" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no/such",), "neither a folder here nor in the local cache"),
        (("/no/such",), "There is no folder '/no/such'"),
        (("all-MiniLM-L6-v2", "--sts", "STS-BB"), "Did you mean 'STS-B'"),
        (("all-MiniLM-L6-v2", "--sts", "missing.csv"), "There is no file missing.csv"),
        (("all-MiniLM-L6-v2", "--metric", "kendall"), "There is no metric 'kendall'"),
        (("all-MiniLM-L6-v2", "--aggregate", "sum"), "There is no aggregation 'sum'"),
        (("all-MiniLM-L6-v2", "--max-length", "1"), "--max-length cannot be '1'. Choose a whole number, 3 or more"),
        (("all-MiniLM-L6-v2", "--precision", "int8"), "int8"),
        (("all-MiniLM-L6-v2", "--device", "tpu"), "tpu"),
        (("all-MiniLM-L6-v2", "--sts", "x.csv", "--column", "score"), "lacks an equals sign"),
        (("all-MiniLM-L6-v2", "--column", "score=x"), "'sample' is a set whose columns are known"),
        (("no/such@v1",), "no/such"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_exit_code_is_1(arguments, message, capsys):
    code, out, err = score(*arguments, capsys=capsys)
    assert code == 1
    assert out == ""
    assert message in err


def test_what_the_encoding_of_the_output_lacks_is_written_as_an_escape(monkeypatch):
    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, encoding="ascii"))
    assert main(["methods", "--markdown"]) == 0
    sys.stdout.flush()
    assert rb"\u" in content.getvalue()


@pytest.mark.skipif(not STSB.is_file(), reason="STSB/test.tsv is not in the folder STRATA_DATA names")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_sts_b_gives_the_known_numbers(precision, capsys):
    arguments = ("--sts", str(STSB), "--max-length", "128", "--precision", precision, "--json")
    _, out, _ = score("all-MiniLM-L6-v2", *arguments, capsys=capsys)
    rho = {row["reading"]: row["spearman"] for row in json.loads(out)["readings"]}
    assert rho["cls of layer 0"] is None, "every [CLS] is equal there"
    assert 24.7 <= rho["cls of layer 1"] <= 25.9
    known = {"cls of layer 6": 73.50, "mean of layer 6": 82.04, "max of layer 6": 78.80}
    known |= {"mean of layer 0": 55.60, "max of layer 3": 67.46}
    assert {title: rho[title] for title in known} == pytest.approx(known, abs=0.1)


ASKING = """
import contextlib, io, json, sys, traceback
outcomes = {}
for claim, code in json.load(sys.stdin).items():
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, {"sys": sys})
        outcomes[claim] = ""
    except BaseException:
        outcomes[claim] = traceback.format_exc()
print(json.dumps(outcomes))
"""
WITHOUT_TORCH = "\nassert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
# in this order: what an earlier one loads can only break a later one
CLAIMS = {
    "settings are stated without torch": "import explorer.knobs" + WITHOUT_TORCH,
    "the lists of devices and precisions need no torch": """
from explorer.encoding.load.hardware import DEVICES, PRECISIONS
"""
    + WITHOUT_TORCH,
    "finding the bundled encoder imports neither its package nor torch": """
from explorer.encoding.locate import lookup
lookup.bundled_folder()
assert lookup.BUNDLED_PACKAGE not in sys.modules
"""
    + WITHOUT_TORCH,
    "listing the parts imports none of them": """
from explorer.encoding.read import parts
assert {"Dense", "FlowMap"} < set(parts.steps())
"""
    + WITHOUT_TORCH,
    "the command line answers without loading torch": """
from explorer.__main__ import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
    + WITHOUT_TORCH,
    "threads that need the libraries at once all get them whole": """
import gc, threading
from explorer.encoding.load import loading
assert not set(loading.LIBRARIES) & set(sys.modules), "the premise"
usual, troubles = gc.get_threshold(), []

def load():
    try:
        list(loading.importing())
        from transformers import AutoModel, AutoTokenizer, MODEL_MAPPING
    except BaseException as trouble:
        troubles.append(repr(trouble))

threads = [threading.Thread(target=load) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not troubles, troubles
assert gc.get_threshold() == usual, gc.get_threshold()
assert [stage.done for stage in loading.importing()] == list(range(len(loading.LIBRARIES)))
assert set(loading.LIBRARIES) <= set(sys.modules)
""",
    "listing the methods imports none of them": """
from explorer import methods
modules = {f"explorer.methods.{file}" for file in methods.files().values()}
assert "explorer.methods.self_guided" in modules
loaded = modules & set(sys.modules)
assert not loaded, loaded
methods.load("sg")
assert modules & set(sys.modules) == {"explorer.methods.self_guided"}
""",
    # its methods fill twenty thousand lines; an annotation that is evaluated loads it at the start of the app
    "no page loads the class of figures before one is drawn": """
import explorer.ui.frame.page_frame
assert "plotly.graph_objs._figure" not in sys.modules
""",
}


@pytest.fixture(scope="module")
def outcomes():
    asked = [sys.executable, "-c", ASKING]
    done = subprocess.run(asked, input=json.dumps(CLAIMS), cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("claim", CLAIMS)
def test_using_a_part_loads_what_it_needs_and_no_more(outcomes, claim):
    assert outcomes[claim] == ""
