"""Test that committed text names no folder of the author's machine."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.machine_paths import machine_paths

ROOT = Path(__file__).resolve().parent.parent


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
