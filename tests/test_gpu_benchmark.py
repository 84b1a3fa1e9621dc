"""Test the benchmark of a GPU on the processor: every part in miniature, and parts that go wrong."""

import subprocess
import sys
import time

import pytest
import torch

from benchmarks import gpu
from benchmarks.gpu import checks, device_tests, lives, models
from benchmarks.gpu.models import trained_methods
from benchmarks.gpu.parts import ALL_SECONDS, PARTS, Part, Row, Setting, rows_here, rows_of
from explorer import methods
from tests.live import ROOT
from tests.trainings import few_probes, in_no_time

FAILING = {name: Part(name, "", 1, 1, f"tests.failing_parts:{name}") for name in ("passes", "raises", "dies", "hangs")}
FIRST = Row("first", "1", True)


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    return Setting("cpu", True, str(tmp_path_factory.mktemp("gpu")))


# the tests are run below, and those of plans start processes of their own
HERE = [part for part in PARTS if part.name not in ("tests", "at once")]


@pytest.mark.parametrize("part", HERE, ids=lambda part: part.name)
def test_every_part_runs_in_miniature(part, setting, monkeypatch):
    of_each_kind = list({methods.load(name).rows: name for name in trained_methods()}.values())
    monkeypatch.setattr(checks, "trained_methods", lambda: of_each_kind)
    monkeypatch.setattr(lives, "CYCLES", 2)
    monkeypatch.setattr(checks, "STEPS", 1)  # the times and the tolerances that need several mean nothing here
    monkeypatch.setattr(models, "DOCUMENT", 60)  # thousands of tokens, as words that the tiny model does not know
    with in_no_time(), few_probes():
        rows = rows_here(part, setting)
    assert rows
    assert [row for row in rows if row.good is False] == []


def test_the_tests_of_a_device_are_run_and_the_failed_ones_named(setting, tmp_path):
    path = tmp_path / "test_two.py"
    marked = "import pytest\npytestmark = pytest.mark.device\n"
    path.write_text(marked + "def test_good(): pass\ndef test_bad(): assert 1 == 2\n")
    summary, bad = device_tests.results(setting, (str(path),))
    assert (summary.what, summary.good) == ("tests on cpu", False)
    assert "1 failed, 1 passed" in summary.found
    assert bad.what.endswith("test_two.py::test_bad`")
    assert bad.good is False


def test_there_are_tests_of_a_device():
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.device" in path.read_text()]
    assert len(marked) > 5
    assert all((ROOT / path).is_file() for path in device_tests.IN_MINIATURE)


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("passes", Row("second", "2")),
        ("raises", Row("error", "ValueError: no", False)),
        ("dies", Row("process", "ended with exit status 3", False)),
        ("hangs", Row("time limit", "not done after 2 s", False)),
    ],
)
def test_a_part_that_goes_wrong_keeps_its_rows_and_says_why(name, last, setting):
    started = time.monotonic()
    assert rows_of(FAILING[name], setting, 2) == [FIRST, last]
    assert time.monotonic() - started < 30


def test_the_others_go_on_and_the_table_has_them_all(setting):
    found = gpu.measured((FAILING["raises"], FAILING["passes"]), setting, rows_here)
    assert [len(rows) for rows in found.values()] == [2, 2]
    assert gpu.failed(found) == 1
    assert gpu.failed({PARTS[0]: []}) == 1, "a part that gives nothing"
    assert gpu.table({PARTS[0]: [Row("a|b", "c\nd")]}).splitlines()[-1] == "| tests | a\\|b | c d |  |"
    assert gpu.table(found).count("FAILED") == 1


def test_without_a_gpu_it_says_what_it_would_do(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main() == 0
    told = capsys.readouterr().out
    assert all(part.name in told and part.does in told for part in PARTS)
    assert "--dry" in told


def test_all_parts_together_take_nine_minutes_at_most():
    assert sum(part.limit for part in PARTS) <= ALL_SECONDS == 540
    assert all(part.seconds < part.limit for part in PARTS)


def test_the_dry_run_belongs_to_this_benchmark_alone():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "grid", "--dry"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--dry is an option of gpu alone" in done.stderr
