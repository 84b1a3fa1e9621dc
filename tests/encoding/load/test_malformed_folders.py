"""Test that a malformed model folder is refused in one short line that names the value, however it is opened."""

import json
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from explorer.encoding.load import declared
from explorer.encoding.load.loading import in_words, load
from explorer.encoding.locate import configuration
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.parts import flow_map
from explorer.encoding.read.sentence_pairs import Composer
from explorer.errors import LONGEST, ModelError, NotWeights, TokenizerMissing
from tests.spoiling import configure, declare, encoder_of

DEEP = 50_000


@pytest.fixture
def whole(bert) -> Path:
    """A folder with every configuration file."""
    declare(bert, "Transformer", "Pooling", pooling={"pooling_mode": "mean"})
    (bert / "sentence_bert_config.json").write_text('{"max_seq_length": 20, "do_lower_case": false}')
    (bert / "config_sentence_transformers.json").write_text('{"prompts": {"query": "a "}, "default_prompt_name": null}')
    return bert


def refused(folder: Path) -> str:
    """The error of a folder, whether it comes from looking at its files or from loading."""

    def opened() -> None:
        found = of_folder("tiny", folder)
        declared.described(declared.default(folder), folder)
        load(found, precision="float32", device="cpu").states(["a man"])

    with pytest.raises(ModelError) as error:
        opened()
    message = str(error.value)
    assert len(message) <= LONGEST
    assert "\n" not in message
    return message


def header(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """Change the header of the weights, and nothing else of the file."""

    def spoil(folder: Path) -> None:
        path = folder / "model.safetensors"
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        stated = json.loads(data[8 : 8 + length])
        text = change(stated)
        text = (text if isinstance(text, str) else json.dumps(stated)).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return spoil


def first(**changes: object) -> Callable[[Path], None]:
    """Change the first tensor in the header; a value 'gone' removes its key."""

    def change(stated: dict[str, Any]) -> None:
        entry = next(entry for name, entry in stated.items() if name != "__metadata__")
        entry |= changes
        for name in [name for name, value in entry.items() if value == "gone"]:
            del entry[name]

    return header(change)


def setting(file: str, **changes: Any) -> Callable[[Path], None]:
    return lambda folder: configure(folder / file, **changes)


def normaliser(charsmap: object) -> Callable[[Path], None]:
    return setting("tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": charsmap})


NESTED = '{"a": ' + "[" * DEEP + "]" * DEEP + "}"
POOLING, SENTENCE, PROMPTS = "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"

# how a folder is spoilt, and what the message names
MALFORMED: dict[str, tuple[Callable[[Path], None], str]] = {
    "architectures is a number": (setting("config.json", architectures=3), "'architectures' is 3"),
    "architectures is an object": (setting("config.json", architectures={"a": 1}), "'architectures' is {'a': 1}"),
    "architectures holds a number": (setting("config.json", architectures=[1]), r"'architectures' is \[1\]"),
    "no shape": (first(shape="gone"), "missing field `shape`"),
    "null shape": (first(shape=None), "invalid type: null"),
    "text shape": (first(shape="many"), r'type: string "many"'),
    "negative shape": (first(shape=[-1, -4]), "integer `-1`"),
    "impossible shape": (first(shape=[10**18]), "overflow computing buffer size"),
    "no offsets": (first(data_offsets="gone"), "missing field `data_offsets`"),
    "one offset": (first(data_offsets=[4]), "invalid length 1, expected"),
    "unknown type": (first(dtype="F17"), "safetensors|broken"),
    "a list as header": (header(lambda stated: "[1]"), "type: sequence, expected"),
    "an entry that is a number": (header(lambda stated: '{"a": 3}'), "integer `3`, expected"),
    "a deep header": (header(lambda stated: "[" * DEEP + "]" * DEEP), "safetensors refuses it"),
    "pooling is a number": (setting(POOLING, pooling_mode=3), "'pooling_mode' is 3"),
    "pooling is an object": (setting(POOLING, pooling_mode={"mean": True}), "'pooling_mode' is {'mean': True}"),
    "pooling holds null": (setting(POOLING, pooling_mode=[None]), r"'pooling_mode' is \[None\]"),
    "prompts are a list": (setting(PROMPTS, prompts=["a"], default_prompt_name="a"), r"'prompts' is \['a'\]"),
    "a prompt is a number": (setting(PROMPTS, prompts={"a": 3}), "'prompts' is {'a': 3}"),
    "the name of the prompt is a list": (setting(PROMPTS, default_prompt_name=["a"]), "'default_prompt_name' is"),
    "modalities are a list": (setting(SENTENCE, modality_config=["text"]), "'modality_config' is"),
    "a modality is text": (setting(SENTENCE, modality_config={"text": "yes"}), "'modality_config' is"),
    "length -1": (setting(SENTENCE, max_seq_length=-1), "'max_seq_length' is -1"),
    "length in words": (setting(SENTENCE, max_seq_length="many"), "'max_seq_length' is 'many'"),
    "tokenizer's length -1": (setting("tokenizer_config.json", model_max_length=-1), "'model_max_length' is -1"),
    "tokenizer's length in words": (setting("tokenizer_config.json", model_max_length="x"), "'model_max_length' is"),
    "a charsmap of three bytes": (normaliser("AAAA"), "tokenizer"),
    "an empty charsmap": (normaliser(""), "tokenizer"),
    "a charsmap that is cut off": (normaliser("////fw=="), "tokenizer"),
    "a path that is a number": (lambda folder: (folder / "modules.json").write_text('[{"type": "a", "path": 1}]'), ""),
} | {
    f"deep {file}": (lambda folder, file=file: (folder / file).write_text(NESTED) and None, "")
    for file in ("config.json", "modules.json", POOLING, SENTENCE, PROMPTS, "tokenizer_config.json")
}  # fmt: skip


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_folder_is_refused_in_a_line_that_names_the_value(whole, case):
    spoil, named = MALFORMED[case]
    spoil(whole)
    assert re.search(named, refused(whole))


CONFIGURATIONS = ("modules.json", "config.json", "tokenizer_config.json", "tokenizer.json", "generation_config.json",
                  "special_tokens_map.json", POOLING, SENTENCE, PROMPTS)  # fmt: skip


@pytest.mark.parametrize("file", CONFIGURATIONS)
def test_a_named_pipe_in_place_of_any_file_is_refused(whole, file):
    (whole / file).unlink(missing_ok=True)
    os.mkfifo(whole / file)
    assert re.search(f"{Path(file).name} is not a regular file|config.json is missing|no tokenizer", refused(whole))


def test_a_file_that_is_too_large_for_a_configuration_is_not_read(whole):
    with (whole / PROMPTS).open("r+b") as file:
        file.truncate(configuration.LARGEST + 1)  # a hole: it takes no room
    assert "a configuration file has at most 100 MB" in refused(whole)


def test_a_list_of_tensors_that_does_not_fit_into_memory_declares_no_head(bert):
    configure(bert / "config.json", architectures=["BertForCL"])
    (bert / "model.safetensors").write_bytes(b"\xff" * 7 + b"\x7f" + b"{}")
    assert declared.declared(bert) is None


@pytest.mark.parametrize("sizes", [{"levels": 10**6, "steps": 10**6}, {"width": 10**9}, {"inner": 10**9}])
def test_a_flow_of_absurd_sizes_is_refused_before_it_is_built(tmp_path, sizes):
    (tmp_path / "config.json").write_text(json.dumps({"width": 4, "levels": 1, "steps": 1, "inner": 2} | sizes))
    save_file({"a": torch.zeros(4)}, tmp_path / "model.safetensors")
    with pytest.raises(NotWeights, match=rf"weights of other sizes than its settings \(.*{max(sizes.values()):,}"):
        flow_map.opened(tmp_path)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_is_not_taken_for_a_panic(stop):
    with pytest.raises(stop), in_words("tiny", Path()):
        raise stop


@pytest.mark.parametrize("panic", [type("PanicException", (BaseException,), {}), Exception])
def test_a_panic_while_a_sentence_is_read_is_an_error_of_the_model(tiny_encoder, monkeypatch, panic):
    def break_off(*_: object, **__: object) -> None:
        raise panic("index out of bounds")

    monkeypatch.setattr(tiny_encoder, "_tokenizer", break_off)
    with pytest.raises(TokenizerMissing, match=r"of 'tiny' is damaged: the tokenizers library .*index out of bounds"):
        tiny_encoder.tokens(["a man"])


@pytest.mark.parametrize("stage", ["normalizer", "decoder"])
def test_a_pattern_that_backtracks_without_end_is_an_error_of_the_model(bert, stage):
    """The library gives up after ten million steps, in a tenth of a second, and panics."""
    path = bert / "tokenizer.json"
    stated = json.loads(path.read_text())
    words = stated["model"]["vocab"]
    words["a" * 40 + "b"] = words.pop("guitar")
    stated[stage] = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "a"}
    path.write_text(json.dumps(stated))
    encoder = encoder_of(bert)
    number = words["a" * 40 + "b"]
    read = {
        "normalizer": lambda: Composer(encoder).pieces(["a" * 40 + "b"], 9),
        "decoder": lambda: encoder.texts([number]),
    }
    with pytest.raises(TokenizerMissing, match=r"of 'tiny' is damaged: the tokenizers library .*retry-limit-in-match"):
        read[stage]()
