"""Cases of command lines: random commands, flags and values over small inputs, in an environment with faults."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from random import Random
from unittest import mock

from explorer.__main__ import main
from explorer.errors import StrataError
from explorer.studies.plans import plan_file
from explorer.studies.plans.plan import Plan
from explorer.training.record import runs
from explorer.training.record import status as statuses
from tests import trainings
from tests.fuzz.cases import Fault, check_line

Values = Callable[[Random, Path], str]  # of a flag, in the folder of a case

MODELS = ("tiny", "run:one", "run:none", "run:one@step-1", "text.csv", "runs", "missing", "bm25",
          "bag-of-words", "run:", "")  # fmt: skip
FILES = ("text.csv", "triplets.csv", "dev.csv", "test.csv", "lines.txt", "ünï 𝄞.csv", "empty.csv", "binary.csv",
         "missing.csv", "tiny", "sample", "STS-B", "none", "plan.yaml", "", "\0", "x" * 300)  # fmt: skip
PLACES = ("out", "out/deep/er", "text.csv", "text.csv/out", "tiny", "/proc/none", "/dev/null", "")
NUMBERS = ("2", "1", "3", "0", "-1", "1.5", "nan", "inf", "", "abc", "9" * 30, "1,2", "2,2", "1,,2")
TITLES = ("model default", "mean of layer 1", "cls of layer 0", "last of layer 2", "mean of layers 0-2", "all",
          "mean of layer 99", "mean of layer -1", "mean", "nonsense", "")  # fmt: skip
METHODS = ("simcse", "mirror-bert", "ct", "tsdae", "whitening", "flow", "contrast", "cosent", "classify",
           "contrast-hard", "sg-opt", "nonsense", "", "list")  # fmt: skip
SETTINGS = ("temperature=0.1", "pooling=mean", "pooling=nonsense", "first_layer=1", "first_layer=9", "lora_rank=2",
            "max_length=8", "batch_size=1", "batch_size=999", "learning_rate=1e30", "learning_rate=-1", "seed=1",
            "evaluate_every=1", "evaluate_every=0", "keep_steps=on", "select_by=both", "steps", "=", "a=b=c",
            "chunk=2", "keep_layers=1", "clip=nan")  # fmt: skip
WORDS = ("a dog", "ü", "", "x" * 3000, "a\nb", "--", "-1", "a dog")
FORMS = ("--json", "--csv", "--markdown", "--latex")
VARIABLES = ("STRATA_RUNS", "STRATA_RESULTS", "STRATA_CACHE")
JUMP = 1e8  # seconds by which the system's clock is moved in the midst of a command


def prepare(folder: Path) -> None:
    """Make what the command lines name: a model, texts, and a finished run."""
    place = trainings.furnish(folder)
    (folder / "lines.txt").write_text("a man plays\nthe dog runs\n\ntwo women talk\nno\n" * 3, encoding="utf-8")
    (folder / "ünï 𝄞.csv").write_bytes(place.dev.read_bytes())
    (folder / "empty.csv").touch()
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 4)
    sets = {"dev": str(place.dev), "test": str(place.test), "device": "cpu"}
    settings = {"batch_size": 4, "steps": 2, "max_length": 16}
    plan = Plan("mine", ("simcse",), (str(place.model),), ((str(place.text),),), settings, seeds=(1,), **sets)
    (folder / "plan.yaml").write_text(plan_file.as_yaml(plan), encoding="utf-8")
    wrong = replace(plan, methods=("sg-opt",), grid={"first_layer": (9,)}, name="wrong")
    (folder / "wrong.yaml").write_text(plan_file.as_yaml(wrong), encoding="utf-8")
    run = runs.new(trainings.recipe(place, "simcse", settings={"steps": 2, "keep_steps": True}), "one", folder / "home")
    trainings.train(run)


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Give a random command in a random environment."""
    drawn = Random(seed)
    shutil.copytree(folder / "home", place / "runs")
    words = _words(drawn, folder, place)
    out, err = _output(drawn), io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with _environment(drawn, place), _clock(drawn), redirect_stdout(out), redirect_stderr(err):
        before = _runs()
        code = _code(words)
        _check_runs(before, words, code)
    err.flush()
    said = [line for line in err.buffer.getvalue().decode("utf-8").splitlines() if line.strip()]
    if code not in (0, 1, 2):
        raise Fault(f"{words}: exit code {code}")
    if "Traceback" in "".join(said):
        raise Fault(f"{words}: {said[-1]}")
    if code:
        check_line(said[-1] if said else "")
        raise StrataError(said[-1])


def _code(words: Sequence[str]) -> object:
    try:
        return main(words)
    except SystemExit as end:
        return end.code


def _words(drawn: Random, folder: Path, place: Path) -> list[str]:
    name = drawn.choice(sorted(COMMANDS))
    needed, flags, forms = COMMANDS[name]
    words = [name, *(values(drawn, folder) for values in needed)]
    for flag in drawn.sample(sorted(flags), min(len(flags), drawn.choice((0, 1, 1, 2, 3)))):
        words += [flag, flags[flag](drawn, folder)] if flags[flag] is not None else [flag]
    if forms and drawn.random() < 0.4:
        words.append(drawn.choice(forms))
    if drawn.random() < 0.03:
        words.insert(drawn.randrange(len(words) + 1), drawn.choice(("--help", "--version", "--nonsense", "--", "")))
    if drawn.random() < 0.05:
        del words[drawn.randrange(len(words))]
    return [word.replace(_OUT, str(place)) for word in words]


_OUT = "\1the folder of the case\1"


def _likely(drawn: Random, choices: Sequence[str]) -> str:
    """The first one mostly, so that some of the command lines go far."""
    return choices[0] if drawn.random() < 0.7 else drawn.choice(choices)


def _of(*choices: str) -> Values:
    return lambda drawn, folder: _likely(drawn, choices)


def _path(*choices: str) -> Values:
    """Paths in the folder of all cases, as they are if they look like names, or are none."""

    def path(drawn: Random, folder: Path) -> str:
        chosen = _likely(drawn, choices)
        there = bool(chosen) and "\0" not in chosen and len(chosen) < 200 and (folder / chosen).exists()
        return str(folder / chosen) if there or chosen.startswith("missing") else chosen

    return path


def _place(drawn: Random, folder: Path) -> str:
    chosen = _likely(drawn, PLACES)
    if chosen.startswith("out"):
        return f"{_OUT}/{chosen}"
    return chosen if not chosen or chosen.startswith("/") else str(folder / chosen)


_MODEL, _FILE, _NUMBER, _TITLE = _path(*MODELS), _path(*FILES), _of(*NUMBERS), _of(*TITLES)
_PAIRS = _path("dev.csv", *FILES)
_FEW = _of("2", "0", "1", "-1", "x", "")  # of steps, which take their time
_LOADING: Mapping[str, Values | None] = {
    "--max-length": _NUMBER,
    "--precision": _of("float32", "auto", "int8", ""),
    "--device": _of("cpu", "auto", "tpu", ""),
}
_SMALL = ("--set", "batch_size=4", "--set", "max_length=16", "--set", "projection=off")
_TRAINED: Mapping[str, Values | None] = {
    "--model": _MODEL,
    "--data": _FILE,
    "--dev": _PAIRS,
    "--test": _PAIRS,
    "--column": _of("sentence=sentence", "sentence=x", "first=1", "nonsense", "=", "score=ü"),
    "--seed": _NUMBER,
    "--set": _of(*SETTINGS),
    "--as-in-paper": None,
    "--preset": _of("quick", "nonsense"),
    "--stage": _of(*METHODS, "nonsense", ""),
    "--stage-data": _FILE,
    "--stage-set": _of("steps=1", "batch_size=2", "blend=0", "x=1", "steps", ""),
    "--name": _of("mine", "one", "../up", "ü", "x" * 100, "", "."),
    "--out": _place,
    "--estimate": None,
    "--processes": _of("1", "0", "2", "-1"),
    **{name: values for name, values in _LOADING.items() if name != "--max-length"},
}
_EXECUTED: Mapping[str, Values | None] = {
    "--processes": _of("1", "0", "x"),
    "--at-once": _of("1", "0", "x"),
    "--on": _of("slurm", "nowhere", ""),
    "--job": _of("partition=gpu", "partition", "=", "x=1", ""),
}
# what a command needs, its flags with their values (None: it has none), and the forms of its output
COMMANDS: Mapping[str, tuple[Sequence[Values], Mapping[str, Values | None], Sequence[str]]] = {
    "train": (
        [_of(*METHODS), _of("--steps"), _FEW, _of("--model"), _path("tiny"), _of("--data"),
         _path("text.csv", "triplets.csv", "dev.csv"), _of("--dev"), _path("dev.csv"),
         _of("--test"), _path("test.csv"), _of("--device"), _of("cpu"), *map(_of, _SMALL[:4])],
        _TRAINED,
        FORMS[:1],
    ),
    "plan": (
        [_path("plan.yaml", "wrong.yaml", "text.csv", "missing.yaml", "nonsense", "tiny", "")],
        {"--resume": None, "--estimate": None, "--commands": None, "--table": None, **_EXECUTED},
        FORMS,
    ),
    "reproduce": (
        [_of("list", "nonsense", "sg-bert-5", "")],
        {"--table": None, "--model": _MODEL, "--data": _FILE, "--seeds": _NUMBER, "--steps": _FEW},
        FORMS[1:],
    ),
    "score": (
        [_MODEL],
        {"--on": _PAIRS, "--reading": _TITLE, "--metric": _of("pearson", "spearman", "accuracy", "x"), **_LOADING},
        FORMS[:2],
    ),
    "compare": (
        [_MODEL, _MODEL],
        {"--sts": _PAIRS, "--reading": _TITLE, "--other-reading": _TITLE, "--same": None, "--dev": _PAIRS,
         "--seed": _NUMBER, "--pooling": _of("mean", "x"), "--report": _place, "--geometry": None, **_LOADING},
        FORMS[:1],
    ),
    "evaluate": (
        [_MODEL, _of("--task"), _path("dev.csv", "test.csv", "ünï 𝄞.csv", "text.csv", "missing.csv", "STS12", "x")],
        {"--data": _path("tiny", "runs", "missing"), "--seeds": _NUMBER, "--reading": _TITLE, "--again": None,
         "--measure": _of("pearson", "x", "spearman"), "--estimate": None, "--set": _of(*SETTINGS), **_LOADING},
        FORMS,
    ),
    "search": (
        [_of(*WORDS), _of("--corpus"), _path("lines.txt", "text.csv", "missing.csv", "sample", ""), _of("--model"),
         _MODEL],
        {"--k": _NUMBER, "--reading": _TITLE, "--whole": None, "--vectors": _path("text.csv", "tiny", "missing", ""),
         "--text": _FILE, "--index": _of("exact", "ivf", "x"), **_LOADING},
        FORMS[:1],
    ),
    "shrink": (
        [_MODEL, _of("--on"), _path("test.csv", "dev.csv", "text.csv", "missing.csv"), _of("--text"), _FILE],
        {"--layers": _NUMBER, "--poolings": _of("mean", "cls,mean", "x", ""), "--dimensions": _NUMBER,
         "--stored": _of("int8", "float16,bits", "x", ""), "--cut-by": _of("first", "pca", "x"), "--export": _place,
         "--words": _FILE, **_LOADING},
        FORMS,
    ),
    "static": (
        [_MODEL, _place],
        {"--dimensions": _NUMBER, "--sif": _NUMBER, "--pooling": _of("token", "model default", "x", "")},
        (),
    ),
    "embed": (
        [_MODEL, _path("lines.txt", "text.csv", "empty.csv", "missing.csv", "binary.csv"), _of("--out"), _place],
        {"--reading": _TITLE, "--rows-per-shard": _NUMBER, "--dtype": _of("float16", "float32", "x"),
         "--with-text": None, "--merge": None, "--estimate": None, **_LOADING},
        (),
    ),
    "mine": (
        [_path("text.csv", "lines.txt", "test.csv", "missing.csv", "binary.csv", ""), _of("--model"), _MODEL],
        {"--hard-negatives": _FEW, "--first-rank": _FEW, "--last-rank": _FEW, "--margin": _NUMBER, "--guide": _MODEL,
         "--guide-margin": _NUMBER, "--drop-closer": None, "--dropped": _of("x", "", "0123456789:0123456789")},
        ("--csv", "--json"),
    ),
    "methods": ([_of(*METHODS)], {}, ("--json", "--markdown")),
    "export": ([_of("one", "none", "../one", "", "x" * 300), _place], {}, ()),
    "gallery": ([_place], {"--run": _of("one", "none", ""), "--report": _FILE, "--title": _of("T", "<b>")}, ()),
    "generator": (
        [_of("--model"), _MODEL, _of("--data"), _FILE, _of("--steps"), _FEW, _of("--out"), _place],
        {"--seed": _NUMBER, "--device": _of("cpu", "tpu")},
        (),
    ),
    "app": ([_of("--port"), _of("-1", "0", "99999", "x", "")], {}, ()),
}  # fmt: skip


class _Full(io.RawIOBase):
    """A disk without room."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def _output(drawn: Random) -> io.TextIOWrapper:
    """A standard output of one of some kinds."""
    way = drawn.choice(("utf-8", "utf-8", "ascii", "ascii", "latin-1", "full", "closed"))
    if way == "full":
        return io.TextIOWrapper(_Full(), encoding="utf-8", write_through=True)
    if way == "closed":
        reading, writing = os.pipe()
        os.close(reading)
        return os.fdopen(writing, "w", encoding="utf-8")  # type: ignore[return-value]  # it is one
    return io.TextIOWrapper(io.BytesIO(), encoding=way)


@contextmanager
def _environment(drawn: Random, place: Path) -> Iterator[None]:
    """Folders of the case; sometimes one of them is a file, is in one, or is below one that nothing can be made in."""
    folders = {name: place / name for name in VARIABLES} | {"STRATA_RUNS": place / "runs"}
    if drawn.random() < 0.2:
        (place / "file").touch()
        bad = drawn.choice((place / "file", place / "file" / "below", Path("/proc/none"), Path("/dev/null")))
        folders[drawn.choice(VARIABLES)] = bad
    with mock.patch.dict(os.environ, {name: str(folder) for name, folder in folders.items()}):
        yield


@contextmanager
def _clock(drawn: Random) -> Iterator[None]:
    """A clock of the system that is set to and fro."""
    real, moved = time.time, drawn.random() < 0.5

    def now() -> float:
        return real() + drawn.uniform(-JUMP, JUMP) * moved

    with mock.patch("time.time", now):
        yield


def _runs() -> set[str]:
    """The names in the folder of runs."""
    home = Path(os.environ["STRATA_RUNS"])
    return {path.name for path in home.iterdir()} if home.is_dir() else set()


def _check_runs(before: set[str], words: Sequence[str], code: object) -> None:
    """Refuse a new run that a refused training left, a half-made one, and times that cannot be."""
    home = Path(os.environ["STRATA_RUNS"])
    new = _runs() - before - {"plans"}
    for run in (runs.Run(home / name) for name in new | (before & {"one"})):
        status = statuses.read(run.folder)
        if status is None or run.name.startswith("."):
            raise Fault(f"{words}: it leaves {run.name}")
        left = status.seconds_left
        if not 0 <= status.seconds < 600 or (left is not None and left < 0):
            raise Fault(f"{words}: {run.name} took {status.seconds} s")
        if code and run.name in new and status.since is None:
            raise Fault(f"{words}: it is refused and leaves {run.name}: {status.error}")
