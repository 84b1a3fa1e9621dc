"""Test that a command says in one line what becomes of its output, whatever standard output is."""

import importlib.metadata
import io
import json
import os
import sys
from pathlib import Path

import pytest

from explorer import __main__ as command_line
from explorer.__main__ import main


class Full(io.RawIOBase):
    """A disk without room, which keeps nothing for later if it is asked to."""

    def writable(self):
        return True

    def write(self, data):
        raise OSError(28, "No space left on device")


def printed(monkeypatch, stream, *words) -> object:
    """The exit code of a command that prints to a stream."""
    monkeypatch.setattr(sys, "stdout", stream)
    code = main(list(words))
    assert sys.stdout is stream
    return code


def test_what_ascii_lacks_is_written_as_in_json(place, tmp_path, monkeypatch):
    pairs = tmp_path / "größe 𝄞.csv"
    pairs.write_bytes(place.test.read_bytes())
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert printed(monkeypatch, out, "score", str(place.model), "--sts", str(pairs), "--json") == 0
    text = out.buffer.getvalue().decode("ascii")
    assert json.loads(text)["set"] == "größe 𝄞.csv"
    assert out.errors == "strict", "it is as before"


def test_a_name_that_is_no_text_is_written_too(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(command_line, "_options", lambda _: type("Verb", (), {"verb": lambda _: print("a\udcffb ±")}))
    assert printed(monkeypatch, out) == 0
    out.flush()
    assert out.buffer.getvalue().decode() == "a\\udcffb ±\n"


@pytest.mark.parametrize("held_back", [True, False])
@pytest.mark.parametrize("words", [("methods",), ("--help",), ("--version",)])
def test_an_output_that_is_full_is_one_line_and_no_success(monkeypatch, capsys, words, held_back):
    raw = Full()
    out = io.TextIOWrapper(io.BufferedWriter(raw) if held_back else raw, encoding="utf-8", write_through=not held_back)
    assert printed(monkeypatch, out, *words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Standard output cannot be written to: No space left on device. Make room there")
    monkeypatch.setattr(Full, "write", lambda self, data: len(data))  # else it fails once more when it is closed


@pytest.fixture
def closed_pipe():
    """A pipe whose reader has had enough, as `| head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as out:
        yield out


def test_a_reader_that_has_had_enough_is_no_error(monkeypatch, capsys, closed_pipe):
    assert printed(monkeypatch, closed_pipe, "methods") == 0
    print("more", file=closed_pipe, flush=True)  # nobody reads it, and nobody complains
    assert capsys.readouterr().err == ""


def test_an_error_stays_one_though_nobody_reads_the_output(place, monkeypatch, capsys, closed_pipe):
    def verb(_):
        print("a line", flush=False)
        raise command_line.StrataError("The rest cannot be scored.")

    monkeypatch.setattr(command_line, "_options", lambda _: type("Verb", (), {"verb": verb}))
    assert printed(monkeypatch, closed_pipe) == 1
    assert capsys.readouterr().err == "The rest cannot be scored.\n"


def test_an_error_that_nobody_can_read_is_one_all_the_same(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(Full(), encoding="utf-8", write_through=True))
    assert main(["methods", "no-such"]) == 1
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["methods", "no-such"]) == 1
    monkeypatch.setattr(Full, "write", lambda self, data: len(data))


def test_what_is_wrong_with_a_file_that_nobody_expected_is_one_line(monkeypatch, capsys):
    def verb(_):
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr(command_line, "_options", lambda _: type("Verb", (), {"verb": verb}))
    assert main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("/some/file cannot be used: Permission denied. Check")


def test_a_copied_folder_has_a_command_line_without_its_version(monkeypatch, capsys, tmp_path):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(command_line, "__file__", str(tmp_path / "explorer" / "__main__.py"))
    monkeypatch.setattr(importlib.metadata, "version", none)
    assert main(["--help"]) == main(["--version"]) == 0
    assert "strata (of unknown version)" in capsys.readouterr().out
    monkeypatch.setattr("explorer.commands.app.app_file", lambda: Path(tmp_path / "app.py"))
    assert main(["app"]) == 1
    assert "this copy has the commands alone" in capsys.readouterr().err
