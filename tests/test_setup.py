"""Test the set-up: pins, commands, the server's settings, the theme, and no paths of one machine."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

from tests.colours import contrast, parts_of
from tests.floors import PROGRAM
from tests.imports import read_sources
from tests.machine_paths import machine_paths

ROOT = Path(__file__).resolve().parent.parent
CONFIG = tomllib.loads((ROOT / ".streamlit/config.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
REQUIREMENTS = ("requirements.txt", "requirements-onnx.txt", "requirements-slurm.txt", "requirements-dev.txt")
WHITE = parts_of("#ffffff")
NAMES_COMMANDS = [name for name in ("README.md", "CONTRIBUTING.md", ".ci/run") if (ROOT / name).exists()]


def requirements() -> list[str]:
    """Every line of the requirements that asks for a package, without its comment."""
    files = [ROOT / name for name in REQUIREMENTS]
    lines = (line.partition("#")[0].strip() for file in files for line in file.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("-r ")]


def commands(text: str) -> set[str]:
    """What a text tells its reader to make: `make test` in its code, PYTHON=... left aside."""
    code = "\n".join(re.findall(r"^ *```.*?^ *```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL) or [text])
    calls = re.findall(r"(?:^ *|`|\$ )make((?: [\w=.-]+)+)", re.sub('"[^"]*"', "", code), re.MULTILINE)
    return {word for call in calls for word in call.split() if re.fullmatch("[a-z]+", word)}


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run make as if no make had started these tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *words], cwd=folder, env=clean, capture_output=True, text=True, check=False)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The files that make needs, and no environment yet."""
    for name in ("Makefile", "pyproject.toml", *REQUIREMENTS):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_a_requirement_is_pinned_to_what_is_installed() -> None:
    for line in requirements():
        pinned = re.fullmatch(r"([A-Za-z0-9_.-]+)==([0-9][0-9A-Za-z.]*)", line)
        assert pinned, f"{line!r} is not name==version"
        assert version(pinned[1]).partition("+")[0] == pinned[2]  # torch says +cpu where it is built without a GPU


def test_every_library_the_program_imports_is_pinned() -> None:
    imported = {one.library for source in read_sources(ROOT, *PROGRAM) for one in source.imports}
    foreign = imported - set(sys.stdlib_module_names) - {"explorer", "pages", "strata"}
    assert "streamlit" in foreign
    pinned = {re.sub("[-_.]+", "-", line.partition("==")[0]).lower() for line in requirements()}
    installed_as = packages_distributions()
    homes = {name: {re.sub("[-_.]+", "-", home).lower() for home in installed_as.get(name, [name])} for name in foreign}
    assert {name for name in foreign if not homes[name] & pinned} == set()


def test_every_command_a_text_names_is_in_the_makefile() -> None:
    for name in NAMES_COMMANDS:
        named = commands((ROOT / name).read_text(encoding="utf-8"))
        assert named
        assert named <= TARGETS


def test_commands_are_read_from_code_and_not_from_prose() -> None:
    text = 'make sure to `make run PORT=9`, then\n```sh\nmake test ARGS="-k a or b"\nmake X=3 setup\n```\n'
    assert commands(text) == {"run", "test", "setup"}


def test_help_lists_every_command_with_a_reason() -> None:
    listed = set(re.findall(r"^  make ([a-z]+) +\S", make(ROOT, "help").stdout, re.MULTILINE))
    assert listed == TARGETS - {"browser"}  # a step of `make test`


def test_no_new_enough_python_is_said_with_what_to_do(bare: Path) -> None:
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    refused = make(bare, "setup", "PYTHON=python0")
    assert refused.returncode != 0
    assert f"needs Python {oldest} or later; python0 is not there" in refused.stderr
    assert "make setup PYTHON=" in refused.stderr


def test_what_is_installed_is_installed_again_only_when_the_requirements_change(bare: Path) -> None:
    planned = make(bare, "-n", "setup").stdout
    assert "pip install" in planned
    stamp = re.search(r"mv \.venv/unfinished (\S+)", planned)
    assert stamp
    (bare / ".venv").mkdir()
    (bare / stamp[1]).touch()
    assert "pip install" not in make(bare, "-n", "setup").stdout
    assert "pip install" in make(bare, "-n", "test").stdout  # the tests need more than the app
    with (bare / "requirements.txt").open("a") as file:
        file.write("another==1.0\n")
    assert "pip install" in make(bare, "-n", "setup").stdout


def test_an_install_that_goes_on_is_left_alone_and_one_cut_off_starts_afresh(bare: Path) -> None:
    (bare / ".venv").mkdir()
    (bare / ".venv/half").touch()
    (bare / ".venv/unfinished").write_text(str(os.getpid()))
    assert "is installing into .venv: wait for it" in make(bare, "setup", "PYTHON=python0").stderr
    assert (bare / ".venv/half").exists()
    ended = subprocess.Popen(["true"])
    ended.wait()
    (bare / ".venv/unfinished").write_text(str(ended.pid))
    assert "python0 is not there" in make(bare, "setup", "PYTHON=python0").stderr
    assert not (bare / ".venv").exists()


def test_ci_can_be_run_and_runs_the_tests_as_the_readme_does() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "test" in commands(script.read_text(encoding="utf-8"))
    subprocess.run(["bash", "-n", script], check=True)


def test_the_server_listens_on_this_machine_only_and_tells_nobody() -> None:
    server, client = CONFIG["server"], CONFIG["client"]
    assert server["address"] == "127.0.0.1"
    assert set(server["allowedHosts"]) == {"localhost", "127.0.0.1", "[::1]"}
    assert server["enableXsrfProtection"]
    assert server["enableCORS"]
    assert not server["enableStaticServing"]
    assert not CONFIG["browser"]["gatherUsageStats"]
    assert client["showErrorDetails"] == "type"
    assert client["disableDataExport"]  # that export writes text that a spreadsheet would run
    assert client["toolbarMode"] == "viewer"  # with it, nobody clears the caches by pressing c
    assert "port" not in server  # set, it would keep `make run` from taking the next free one


def test_streamlit_knows_every_setting() -> None:
    asked = [sys.executable, "-m", "streamlit", "config", "show"]
    shown = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "not a valid config option" not in shown.stdout + shown.stderr
    assert 'address = "127.0.0.1"' in shown.stdout


@pytest.mark.parametrize("look", ["light", "dark"])
def test_text_and_accents_stand_out(look: str) -> None:
    theme = {name: parts_of(colour) for name, colour in CONFIG["theme"][look].items() if str(colour).startswith("#")}
    assert contrast(WHITE, parts_of("#000000")) == pytest.approx(21)
    assert contrast(WHITE, theme["primaryColor"]) >= 4.5  # the word on a button
    for ground in (theme["backgroundColor"], theme["secondaryBackgroundColor"]):
        assert contrast(theme["textColor"], ground) >= 7
        mixed = [0.6 * one + 0.4 * other for one, other in zip(theme["textColor"], ground, strict=True)]
        assert contrast(mixed, ground) >= 4.5  # a caption, which lets the ground through
        assert contrast(theme["linkColor"], ground) >= 4.5
        assert contrast(theme["primaryColor"], ground) >= 3  # controls


def test_the_look_asks_the_network_for_nothing() -> None:
    assert "://" not in str(CONFIG["theme"])


def git(root: Path, *words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # inside a commit hook they name the real repository
    subprocess.run(["git", *words], cwd=root, check=True)


def test_no_committed_text_names_a_folder_of_one_machine() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so nothing says which files are committed")
    assert not [str(breach) for breach in machine_paths(ROOT)]


def test_a_machine_path_is_found_in_any_committed_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "/" + "work/things"
    (tmp_path / "notes.md").write_text(f"docs/work/x is fine\nhttps://example.org{folder} is fine\nread {folder}/x\n")
    (tmp_path / "weights.bin").write_bytes(b"\0" + folder.encode())
    (tmp_path / "scratch.txt").write_text(folder)  # never added
    git(tmp_path, "init", "-q", monkeypatch=monkeypatch)
    git(tmp_path, "add", "notes.md", "weights.bin", monkeypatch=monkeypatch)
    assert [(breach.path, breach.line) for breach in machine_paths(tmp_path)] == [("notes.md", 3)]
