"""Change the program at random places, one at a time, and see whether a test notices.

`python -m tests.mutants` (`make mutants`) runs the tests once to record which of them call which function, then draws
mutants (`--count`, `--seed`): a comparison, an operator, a number or a condition of a function is another one, or a
call is left out. Of each, the tests that call its function run in a copy of the program, the quickest first, until one
fails; at most so many seconds of them. What no test notices is printed, and so is how many were noticed; a test that
fails in the copy without a mutant notices nothing. Tests in a browser are left out, and what is executed only on import
or in processes that a test starts.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.copies import planted
from tests.live import ROOT

PROGRAM = ROOT / "explorer"
RECORD = "STRATA_CALLS"  # the variable that names the folder of what is recorded
COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
JOINED = {ast.And: ast.Or, ast.Or: ast.And}
WARM = ("torch", "transformers", "streamlit", "plotly.graph_objects", "sklearn.linear_model", "pandas", "scipy.stats")
PATIENCE = 20.0  # seconds that a mutant may take beyond what its tests took before

Calls = dict[str, dict[str, float]]  # the tests that call a function, with their seconds


@dataclass(frozen=True)
class Mutant:
    """One change, by its number among those of its file."""

    file: str  # in the program
    function: str  # file and line, as it is recorded
    line: int
    kind: str
    number: int

    def text(self) -> str:
        """The whole file with the change."""
        tree = ast.parse((ROOT / self.file).read_text(encoding="utf-8"))
        _, node, _, attribute, other = next(islice(_possible(tree), self.number, None))
        setattr(node, attribute, other)
        return ast.unparse(tree)


def mutants() -> Iterator[Mutant]:
    """Every mutant of the program, file by file."""
    for path in sorted(PROGRAM.rglob("*.py")):
        file = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for number, (function, node, kind, _, _) in enumerate(_possible(tree)):
            first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
            yield Mutant(file, f"{file}:{first}", getattr(node, "lineno", 0), kind, number)


def _possible(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, ast.AST, str, str, Any]]:
    """The changes of a file: function, node, kind, attribute of the node, and what it is instead."""
    inside: set[ast.AST] = set()
    for function in ast.walk(tree):  # one inside another is a part of it, and comes after it
        if isinstance(function, ast.FunctionDef) and function not in inside:
            for node in [one for statement in function.body for one in ast.walk(statement)]:
                inside.add(node)
                yield from ((function, node, *change) for change in _changes(node))


def _changes(node: ast.AST) -> Iterator[tuple[str, str, Any]]:
    """What a node may be instead: its attribute, and the new value."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        other = COMPARED[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} → {other.__name__}", "ops", [other(), *node.ops[1:]]
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not _is_text(node):
        yield f"{type(node.op).__name__} → {COMPUTED[type(node.op)].__name__}", "op", COMPUTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield f"{type(node.op).__name__} → {JOINED[type(node.op)].__name__}", "op", JOINED[type(node.op)]()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} → {node.value + 1}", "value", node.value + 1
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield "condition → not", "test", ast.UnaryOp(ast.Not(), copy.copy(node.test))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call → nothing", "value", ast.Constant(None)


def _is_text(node: ast.BinOp) -> bool:
    parts = [one for one in ast.walk(node) if isinstance(one, (ast.JoinedStr, ast.Constant))]
    return any(not isinstance(getattr(one, "value", ""), (int, float)) for one in parts)


class Recorder:
    """A plugin of pytest: which functions of the program each test calls."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, defaultdict[str, dict[str, float]](dict)
        self.seen: set[CodeType] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails without a mutant, or is skipped, has nothing to say of one."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.seen.add(frame.f_code)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what is called while a test runs, also by its threads."""
        self.seen = set()
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        began = time.monotonic()
        yield
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # its stub does not know that None ends it
        took = time.monotonic() - began
        for code in frozenset(self.seen):  # a thread may still run
            path = Path(code.co_filename)
            if path.is_relative_to(PROGRAM) and item.nodeid not in self.failed:
                self.calls[f"{path.relative_to(ROOT)}:{code.co_firstlineno}"][item.nodeid] = took

    def pytest_sessionfinish(self) -> None:
        """Write what this worker has seen."""
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        (self.folder / f"{worker}.json").write_text(json.dumps(self.calls), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin of the run that records (`-p tests.mutants`)."""
    if os.environ.get(RECORD):
        config.pluginmanager.register(Recorder(Path(os.environ[RECORD])))


def record(folder: Path, workers: int) -> None:
    """Run the tests once, and write which of them call which function."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = ["-m", "pytest", "-q", "-m", "not browser", "-p", "tests.mutants", "-n", str(workers), "--dist", "loadfile"]
    subprocess.run([sys.executable, *asked], cwd=ROOT, env=os.environ | {RECORD: str(folder)}, check=False)


def recorded(folder: Path) -> Calls:
    """What all workers have seen."""
    found: Calls = defaultdict(dict)
    for path in folder.glob("*.json"):
        for function, tests in json.loads(path.read_text(encoding="utf-8")).items():
            found[function].update(tests)
    return found


def noticed(mutant: Mutant, tests: dict[str, float], place: Path, most: float) -> str | None:
    """The test that fails with a mutant; None if none of them does."""
    chosen, seconds = [], 0.0
    for test in sorted(tests, key=lambda one: tests[one]):
        if seconds + tests[test] > most and chosen:
            break
        chosen.append(test)
        seconds += tests[test]
    path = place / mutant.file
    usual = path.read_text(encoding="utf-8")
    path.write_text(mutant.text(), encoding="utf-8")
    try:
        return next(iter(failing(place, chosen, 3 * seconds + PATIENCE, ["-x"])), None)
    finally:
        path.write_text(usual, encoding="utf-8")


def failing(place: Path, tests: list[str], patience: float, options: list[str]) -> list[str]:
    """The tests that fail in the copy, run in a process of its own."""
    told = place / "told.txt"
    told.write_text("", encoding="utf-8")
    child = os.fork()
    if child == 0:
        _tested(place, tests, options, told)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            names = told.read_text(encoding="utf-8").splitlines()
            code = os.waitstatus_to_exitcode(status)
            return names or ([f"the run of its tests ends by {code}"] if code else [])
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return ["it does not end"]


def _tested(place: Path, tests: list[str], options: list[str], told: Path) -> None:
    """In a process of its own: run the tests in the copy, and write which of them fail."""
    code = 1
    try:
        os.setsid()
        os.chdir(place)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("explorer", "tests", "strata")]:
            del sys.modules[name]
        sys.path.insert(0, str(place))

        class Told:
            @pytest.hookimpl(trylast=True)
            def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
                there = {item.nodeid: item for item in items}  # pytest finds no name with a backslash in it
                items[:] = [there[name] for name in tests if name in there]

            def pytest_collectreport(self, report: pytest.CollectReport) -> None:
                self.pytest_runtest_logreport(report)

            def pytest_runtest_logreport(self, report: pytest.CollectReport | pytest.TestReport) -> None:
                if report.failed:
                    with told.open("a", encoding="utf-8") as file:
                        file.write(f"{report.nodeid}\n")

        files = dict.fromkeys(name.partition("::")[0] for name in tests)
        code = int(pytest.main(["-q", "-n0", "-p", "no:cacheprovider", *options, *files], plugins=[Told()]))
    finally:
        os._exit(code)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--most", type=float, default=60.0, metavar="S", help="seconds of tests of each; default: 60")
    parser.add_argument("--calls", type=Path, metavar="FOLDER", help="what was recorded before; else it is recorded")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="that record")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        calls_in = options.calls or Path(folder) / "calls"
        if not calls_in.is_dir():
            record(calls_in, options.workers)
        calls = recorded(calls_in)
        place = Path(folder) / "copy"
        place.mkdir()
        planted(place, ())
        for name in ("tests", "docs", "strata"):
            shutil.copytree(ROOT / name, place / name)
        for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md"):
            shutil.copy(ROOT / name, place)
        every = [one for one in mutants() if calls.get(one.function)]
        drawn = random.Random(options.seed).sample(every, min(options.count, len(every)))
        for name in WARM:
            importlib.import_module(name)
        by = []
        for number, one in enumerate(drawn, 1):
            by.append(noticed(one, calls[one.function], place, options.most))
            print(f"{number} {one.file}:{one.line} {one.kind}: {by[-1] or 'NOBODY NOTICED'}", flush=True)
        tests = sorted({name for name in by if name and "::" in name})
        anyway = set(failing(place, tests, 3600, [])) if tests else set[str]()
        print(*(f"fails in the copy without a mutant: {name}" for name in sorted(anyway)), sep="\n")
        count = sum(name is not None and name not in anyway for name in by)
        print(f"{count} of {len(drawn)} mutants were noticed ({len(every):,} are possible).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
