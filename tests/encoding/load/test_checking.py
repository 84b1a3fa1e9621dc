"""Test that files and sizes of a model folder are checked before anything is allocated."""

import json
import math
import pickle
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.encoding.load import checking
from explorer.encoding.locate import families, layout, model_names, weights
from explorer.errors import (
    ModelError,
    ModelTooLarge,
    NotAModelFolder,
    NotWeights,
    RemoteCodeRefused,
    TokenizerMissing,
    UnsupportedModel,
    WeightsMissing,
)
from tests.spoiling import Malicious, configure, encoder_of, reweigh
from tests.tiny_models import FAMILIES, save_tiny


def pickled(folder: Path) -> Path:
    """The same weights as torch saves them."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder / "pytorch_model.bin"


def numbers_in(path: Path) -> int:
    """How many numbers a weights file holds."""
    return sum(map(math.prod, weights.outline(path)))


def test_a_whole_folder_passes_and_says_where_its_transformer_lies_also_in_a_subfolder(bert, tmp_path):
    assert checking.check(bert) == bert
    outer = tmp_path / "outer"
    outer.mkdir()
    bert.rename(outer / "0_Transformer")
    lines = [{"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}]
    (outer / "modules.json").write_text(json.dumps(lines))
    assert checking.check(outer) == outer / "0_Transformer"


def test_a_folder_without_a_config_lists_what_it_holds(tmp_path):
    with pytest.raises(NotAModelFolder, match=r"config.json is missing. It holds nothing. Choose a folder written by"):
        checking.check(tmp_path)
    for name in "abcdefghi":
        (tmp_path / name).touch()
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    with pytest.raises(NotAModelFolder, match=r"It holds a/, b, c, d, e, f, g, h and 1 more\."):
        checking.check(tmp_path)


def test_a_model_one_folder_further_in_is_pointed_at(bert):
    with pytest.raises(NotAModelFolder, match=r"Did you mean the folder 'bert' in it\?"):
        checking.check(bert.parent)
    for number in range(layout.LISTED):
        shutil.copytree(bert, bert.parent / f"more{number}")
    with pytest.raises(NotAModelFolder, match=r"Models are in its folders 'bert', 'more0', .* and 1 more: choose one"):
        checking.check(bert.parent)
    assert len(model_names.inside(str(bert.parent))) == layout.LISTED + 1
    (bert.parent / "1_Pooling").mkdir()
    (bert.parent / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 32}')
    assert len(model_names.inside(str(bert.parent))) == layout.LISTED + 1
    assert model_names.inside(str(bert)) == ()


NO_OBJECT = (NotAModelFolder, r"config.json (is not valid JSON|should hold a JSON object)")
NO_MODULES = (NotAModelFolder, r"modules.json (is not valid JSON|should be a list of modules)")
WORDS = '[{"path": "", "type": "sentence_transformers.models.WordEmbeddings"}]'
FILES = [
    *(("config.json", text, *NO_OBJECT) for text in ("{", "", "[]", "\xff\xfe")),
    ("config.json", "{}", NotAModelFolder, "does not say which model it is: it has no 'model_type'"),
    ("config.json", {"model_type": "new-thing", "auto_map": {"AutoModel": "modeling.New"}}, RemoteCodeRefused,
     r"'new-thing'.*would run Python code.*Strata never runs such code"),
    ("config.json", {"model_type": "new-thing"}, UnsupportedModel,
     r"does not know the model type 'new-thing'.*pip install --upgrade"),
    *(("modules.json", text, *NO_MODULES) for text in ("{", "1", '{"type": "a"}', "[1]", '[{"type": "Pooling"}]')),
    ("modules.json", WORDS, UnsupportedModel, "starts with a module 'WordEmbeddings'"),
    *(("modules.json", json.dumps([{"type": "a.Transformer", "path": place}]), NotAModelFolder,
       f"points outside its folder: '{place}'") for place in ("/etc", "../bert")),
]  # fmt: skip


@pytest.mark.parametrize(("file", "spoilt", "error", "words"), FILES)
def test_a_config_or_list_of_modules_that_no_model_can_have_is_refused(bert, file, spoilt, error, words):
    if isinstance(spoilt, dict):  # changes to a file that is otherwise whole
        configure(bert / file, **spoilt)
    else:
        (bert / file).write_bytes(spoilt.encode("latin-1"))
    with pytest.raises(error, match=words):
        checking.check(bert)


def test_code_beside_a_known_model_type_does_not_matter(bert):
    configure(bert / "config.json", auto_map={"AutoModel": "modeling.New"})
    assert checking.check(bert) == bert


def test_a_folder_without_a_vocabulary_is_refused(bert):
    (bert / "tokenizer.json").unlink()
    with pytest.raises(
        TokenizerMissing, match=r"has no tokenizer: it holds config.json, model.safetensors, tokenizer_c"
    ):
        checking.check(bert)
    (bert / "merges.txt").touch()  # half a vocabulary
    with pytest.raises(TokenizerMissing, match="has no tokenizer"):
        checking.check(bert)


@pytest.mark.parametrize("names", families.vocabularies())
def test_any_known_vocabulary_will_do(bert, names):
    (bert / "tokenizer.json").unlink()
    for name in names:
        (bert / name).touch()
    assert checking.check(bert) == bert


def test_a_folder_without_weights_is_refused(bert):
    (bert / "model.safetensors").unlink()
    (bert / "tf_model.h5").touch()
    with pytest.raises(
        NotWeights, match=r"has no weights: it holds config.json, tf_model.h5.*Strata reads model.safet"
    ):
        checking.check(bert)


def test_a_missing_shard_is_named(bert):
    (bert / "model.safetensors").rename(bert / "model-1.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-3.safetensors"}}
    (bert / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(NotWeights, match=r"lacks 2 of the 3 files its weights are split into, .* model-2.safetensors"):
        checking.check(bert)
    for broken in ("{}", '{"weight_map": []}', '{"weight_map": {"a": 1, "b": "x"}}', '{"weight_map": {"a": []}}'):
        (bert / "model.safetensors.index.json").write_text(broken)
        with pytest.raises(NotWeights, match="names no shards"):
            checking.check(bert)


SPOILT: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda whole: b"", "it is empty"),
    "pointer": (
        lambda whole: b"version https://git-lfs.github.com/spec/v1\noid",
        r"it is a Git LFS pointer.*git lfs pull",
    ),
    "web page": (lambda whole: b"\n<!DOCTYPE html><html>" + b" " * 99, "it is a web page or other text"),
    "text": (lambda whole: b'{"error": "Repository not found"}', "it is a web page or other text"),
}


@pytest.mark.parametrize("way", SPOILT)
@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_a_file_that_is_something_else_is_named(bert, way, suffix):
    path = bert / "model.safetensors" if suffix == "safetensors" else pickled(bert)
    spoil, words = SPOILT[way]
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(NotWeights, match=f"{path.name} cannot be read as weights: {words}"):
        checking.check(bert)


def test_a_download_that_broke_off_is_noticed_before_loading(bert):
    path = bert / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(NotWeights, match=rf"it has {len(whole) - 100:,} bytes instead of {len(whole):,}"):
        checking.check(bert)
    path.write_bytes(whole[:50])
    with pytest.raises(NotWeights, match=r"safetensors refuses it \(.*invalid header length"):
        checking.check(bert)
    path.write_bytes(whole)
    path = pickled(bert)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(NotWeights, match="it is truncated"):
        checking.check(bert)


def test_a_header_that_happens_to_look_like_text_is_read(bert):
    path = bert / "model.safetensors"
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    padded = int.from_bytes(b"\x20\x3c", "little")  # its first bytes are a space and '<'
    assert padded > length
    header = whole[8 : 8 + length] + b" " * (padded - length)
    path.write_bytes(padded.to_bytes(8, "little") + header + whole[8 + length :])
    assert checking.check(bert) == bert


def test_a_pickle_is_not_opened_by_the_check_nor_run_by_reading(tmp_path):
    marker = tmp_path / "ran"
    for path, old in ((tmp_path / "zip.bin", False), (tmp_path / "old.bin", True)):
        torch.save({"a": Malicious(marker)}, path, _use_new_zipfile_serialization=not old)
        weights.check_pickled(path)
        with pytest.raises(NotWeights, match="torch refuses it, since it is broken or holds code instead of weights"):
            weights.tensors(path)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Malicious(marker)))
    assert marker.exists(), "the pickle would have done it"


def test_weights_are_counted_without_being_read_and_half_precision_pickles_as_twice_the_numbers(bert):
    numbers = sum(tensor.numel() for tensor in load_file(bert / "model.safetensors").values())
    config = json.loads((bert / "config.json").read_text())
    assert checking.count(bert, config) == numbers
    pickled(bert)
    assert numbers <= checking.count(bert, config) < numbers * 1.3, "torch's file is a little larger than its numbers"
    assert checking.count(bert, {"torch_dtype": "float16"}) == pytest.approx(2 * checking.count(bert, {}), abs=1)


def test_shards_are_counted_together(bert):
    (bert / "model.safetensors").rename(bert / "one.safetensors")
    shutil.copy(bert / "one.safetensors", bert / "two.safetensors")
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors", "c": "one.safetensors"}}
    (bert / "model.safetensors.index.json").write_text(json.dumps(index))
    assert checking.count(bert, {}) == 2 * numbers_in(bert / "one.safetensors")


def test_a_model_that_does_not_fit_is_refused_with_both_numbers(bert):
    needed = numbers_in(bert / "model.safetensors") * 4 * checking.HEADROOM
    assert checking.check(bert, free=needed) == bert
    with pytest.raises(ModelTooLarge, match="Choose a smaller model, close other programs, or use a machine with more"):
        checking.check(bert, free=needed - 1)
    with pytest.raises(
        ModelTooLarge, match=r"7,000 million weights needs about 33.6 GB in float32; only 16 GB are free"
    ):
        checking.check_room(7_000_000_000, "float32", 16e9)
    checking.check_room(3_000_000_000, "bfloat16", 16e9)


ABSURD = {
    "labels": ("num_labels", 10**9),
    "layers": ("num_hidden_layers", 10**6),
    "width": ("hidden_size", 10**8),
    "an overflowing inner width": ("intermediate_size", 10**18),
    "inner width": ("intermediate_size", 10**8),
    "words": ("vocab_size", 10**9),
    "positions": ("max_position_embeddings", 10**9),
    "types": ("type_vocab_size", 10**9),
    "heads": ("num_attention_heads", 10**7),
    "no heads": ("num_attention_heads", 0),
    "no width": ("hidden_size", 0),
    "negative words": ("vocab_size", -1),
}


def noted_meters(monkeypatch):
    """The counts of every model that is built from now on."""
    meters: list[checking._Meter] = []
    made = checking._Meter.__init__

    def noted(self: checking._Meter, *given: object) -> None:
        made(self, *given)
        meters.append(self)

    monkeypatch.setattr(checking._Meter, "__init__", noted)
    return meters


@pytest.mark.parametrize("suffix", [".safetensors", ".bin"])
@pytest.mark.parametrize(("name", "number"), ABSURD.values(), ids=ABSURD)
def test_an_absurd_size_is_refused_by_name_before_it_is_allocated(bert, name, number, suffix):
    reweigh(bert, lambda whole: whole, suffix)
    configure(bert / "config.json", **{name: number})
    with pytest.raises(ModelError, match=r"Copy the config\.json that was saved with") as error:
        encoder_of(bert)
    assert name in str(error.value)
    assert f"{number:,}" in str(error.value)


@pytest.mark.parametrize(("kind", "name"), [("bert", "num_hidden_layers"), ("albert", "inner_group_num")])
def test_a_model_of_far_more_tensors_than_its_weights_is_refused_before_it_is_built(tmp_path, kind, name, monkeypatch):
    meters = noted_meters(monkeypatch)
    folder = save_tiny(kind, tmp_path / kind)
    configure(folder / "config.json", **{name: layout.MOST_LAYERS})
    with pytest.raises(WeightsMissing, match=rf"more than [\d,]+ tensors \(.*{name} 1,000.*\); its weights hold \d+"):
        encoder_of(folder)
    assert meters[0].modules < 5000, "the whole has some 20,000"


def test_sizes_of_a_part_and_in_a_list_are_compared_too_and_as_many_labels_as_the_weights_have_allowed(bert):
    path = bert / "config.json"
    for stated in ({"text_config": {"num_hidden_layers": 10**6}}, {"attention_types": [[["global"], 10**9]]}):
        with pytest.raises(
            UnsupportedModel, match=r"num_hidden_layers is 1,000,000;|attention_types is 1,000,000,000;"
        ):
            checking.check_sizes(path, stated, largest=lambda: 78)
    checking.check_sizes(path, {"num_labels": 250_000}, largest=lambda: 250_000)
    with pytest.raises(UnsupportedModel, match="the largest dimension in the weights is 249,999"):
        checking.check_sizes(path, {"num_labels": 250_000}, largest=lambda: 249_999)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_saved_model_is_not_counted_as_larger_than_its_weights(tmp_path, kind, monkeypatch):
    folder = save_tiny(kind, tmp_path / kind)
    held = sum(map(numbers_in, layout.weights(folder)))
    meters = noted_meters(monkeypatch)
    encoder_of(folder)
    assert 0.5 * held < meters[0].numbers <= 1.4 * held, "tables that are not saved, such as masks, count too"


def test_a_model_that_does_not_fit_into_memory_is_refused_before_it_is_built(bert):
    configure(bert / "config.json", intermediate_size=10**6)
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(bert)
    named = r"at least [\d,]+ numbers \(intermediate_size 1,000,000\); its weights"
    with checking.bounded(bert), torch.device("meta"), pytest.raises(WeightsMissing, match=named):
        AutoModel.from_config(config)
    with checking.bounded(bert, free=50e6), torch.device("meta"), pytest.raises(ModelTooLarge, match=r"50 MB are free"):
        AutoModel.from_config(config)


def test_positions_that_end_before_the_sentence_are_told_by_its_length(tmp_path):
    t5 = save_tiny("t5", tmp_path / "t5")
    configure(t5 / "config.json", relative_attention_max_distance=3)
    encoder = encoder_of(t5)
    with pytest.raises(UnsupportedModel, match=r"a sentence of 64 tokens: its config.json leads to positions"):
        encoder.states(["no " * 100])


def test_a_model_that_another_thread_builds_is_not_counted(bert):
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(bert)
    failed: list[Exception] = []

    def build() -> None:
        try:
            with torch.device("meta"):
                AutoModel.from_config(config)
        except Exception as error:  # noqa: BLE001  reported below, by the test's own thread
            failed.append(error)

    with checking.bounded(bert, free=0):
        (bert / "config.json").write_text(json.dumps({}))
        other = threading.Thread(target=build)
        other.start()
        other.join()
    assert failed == []
