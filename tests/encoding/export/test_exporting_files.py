"""Test the files of an export, that they are complete or absent, and the usage code of its model card."""

import errno
import json
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedModel

from explorer.encoding.export import exporting, source_code
from explorer.encoding.export.exporting import auto_class, export
from explorer.encoding.read import layer_reading
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_norm import LayerNorm
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import NotWritable
from tests.exports import (
    TEXTS,
    as_trained,
    assert_close,
    by_sentence_transformers,
    by_transformers,
    dense,
    residual,
    tunable,
    typed,
)
from tests.spoiling import configure, declare, encoder_of, reweigh
from tests.tiny_models import WIDTH, save_tiny

WITH_POOLER = ("bert", "roberta", "mpnet", "albert", "xlm-roberta")


@pytest.fixture
def tuned(bert) -> Tunable:
    return tunable(encoder_of(bert))


@pytest.mark.parametrize("kind", WITH_POOLER)
def test_the_pooler_of_the_base_is_handed_on_unchanged(kind, tmp_path):
    base = save_tiny(kind, tmp_path / kind)
    export(tunable(encoder_of(base)), Head(("cls",)), tmp_path / "run", "", base)
    before, after = (load_file(folder / "model.safetensors") for folder in (base, tmp_path / "run"))
    poolers = [name for name in before if name.startswith("pooler.")]
    assert len(poolers) == 2
    assert after.keys() == before.keys()
    assert [name for name in before if torch.equal(before[name], after[name])] == poolers


def test_the_pooler_of_a_model_saved_for_a_task_is_found_under_its_prefix(bert, tmp_path):
    def prefixed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        return {f"bert.{name}": value for name, value in weights.items()} | {"cls.weight": torch.zeros(2)}

    expected = load_file(bert / "model.safetensors")["pooler.dense.weight"]
    reweigh(bert, prefixed, ".bin")
    export(tunable(encoder_of(bert)), Head(("cls",)), tmp_path / "run", "", bert)
    assert torch.equal(load_file(tmp_path / "run" / "model.safetensors")["pooler.dense.weight"], expected)
    by_transformers(tmp_path / "run", "cls")


def test_the_pooler_of_a_transformer_in_a_folder_of_its_own_is_found(bert, tmp_path):
    export(tunable(encoder_of(bert)), Head(("mean",)), tmp_path / "first", "", bert)
    (tmp_path / "first" / "0_Transformer").mkdir()
    for path in [path for path in (tmp_path / "first").iterdir() if path.is_file() and path.name != "modules.json"]:
        path.rename(tmp_path / "first" / "0_Transformer" / path.name)
    lines = json.loads((tmp_path / "first" / "modules.json").read_text())
    (tmp_path / "first" / "modules.json").write_text(json.dumps([lines[0] | {"path": "0_Transformer"}, lines[1]]))
    export(tunable(encoder_of(tmp_path / "first")), Head(("mean",)), tmp_path / "run", "", tmp_path / "first")
    by_transformers(tmp_path / "run", "mean")


def test_a_base_without_a_pooler_gets_none_made_up(bert, tmp_path):
    reweigh(bert, lambda all: {name: value for name, value in all.items() if "pooler" not in name})
    encoder = encoder_of(bert)
    for place, base in (("kept", bert), ("gone", tmp_path / "no such folder"), ("unknown", None)):
        export(tunable(encoder), Head(("cls",)), tmp_path / place, "", base)
        assert not [name for name in load_file(tmp_path / place / "model.safetensors") if "pooler" in name]


def test_pooler_weights_of_a_family_without_a_pooler_are_left_out(tmp_path):
    base = save_tiny("deberta-v2", tmp_path / "base")
    reweigh(base, lambda weights: weights | {"pooler.dense.weight": torch.zeros(WIDTH, WIDTH)})
    export(tunable(encoder_of(base)), Head(("cls",)), tmp_path / "run", "", base)
    by_transformers(tmp_path / "run", "cls")


def test_cutting_and_padding_of_the_last_batch_are_not_written_down(tuned, bert, tmp_path):
    tuned.encoder.tokens(TEXTS, 5)
    assert tuned.encoder.tokenizer().backend_tokenizer.truncation is not None
    export(tuned, Head(("mean",)), tmp_path / "run", "", bert)
    written = json.loads((tmp_path / "run" / "tokenizer.json").read_text())
    assert (written["truncation"], written["padding"]) == (None, None)


def test_a_tokenizer_that_padded_on_the_left_pads_as_it_did_in_training(bert, tmp_path):
    configure(bert / "tokenizer_config.json", padding_side="left")
    tuned, head = tunable(encoder_of(bert)), Head(("cls",))
    export(tuned, head, tmp_path / "run", "", bert)
    assert AutoTokenizer.from_pretrained(tmp_path / "run").padding_side == "right"
    assert_close(by_sentence_transformers(tmp_path / "run"), as_trained(tuned, head))
    assert tuned.encoder.tokenizer() is not tuned.encoder.tokenizer()


def test_a_rounded_copy_is_written_in_float32_and_says_so(tuned, bert, tmp_path):
    tuned.to(torch.bfloat16)
    export(tuned, Head(("mean",)), tmp_path / "run", "", bert)
    assert {value.dtype for value in load_file(tmp_path / "run" / "model.safetensors").values()} == {torch.float32}
    by_transformers(tmp_path / "run", "mean")
    assert {weight.dtype for weight in tuned.parameters()} == {torch.bfloat16}


def test_the_folder_holds_what_is_published_and_nothing_of_this_machine(tuned, bert, tmp_path):
    configure(bert / "config.json", auto_map={"AutoModel": "modeling.Mine"})
    card = "# A card\n\nwith “marks”\n"
    tuned = tunable(encoder_of(bert))
    export(tuned, Head(("cls",), (dense(),), normalize=True), tmp_path / "deeper" / "run", card, bert)
    run = tmp_path / "deeper" / "run"
    assert {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()} == {
        "1_Pooling/config.json",
        "2_Dense/config.json",
        "2_Dense/model.safetensors",
        "README.md",
        "config.json",
        "config_sentence_transformers.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert (run / "README.md").read_text(encoding="utf-8") == card
    text = "".join(path.read_text(encoding="utf-8") for path in run.rglob("*.json"))
    assert not [word for word in (str(tmp_path), "local_files_only", "is_local", "auto_map") if word in text]
    assert json.loads((run / "tokenizer_config.json").read_text())["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert [line["type"] for line in json.loads((run / "modules.json").read_text())] == [
        f"sentence_transformers.models.{kind}" for kind in ("Transformer", "Pooling", "Dense", "Normalize")
    ]
    assert json.loads((run / "1_Pooling" / "config.json").read_text()) == {
        "word_embedding_dimension": WIDTH,
        "pooling_mode_cls_token": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }


HEAD = Head(("mean",))


@pytest.fixture
def plain_copy(tiny_encoder) -> Tunable:
    return Tunable(tiny_encoder, 32)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (PreTrainedModel, "save_pretrained"),
        (layer_reading, "save_file"),
        (exporting, "_write_reading"),
        (Path, "rename"),
        (Path, "mkdir"),
    ],
)
def test_a_disk_that_is_full_half_way_leaves_nothing(plain_copy, tmp_path, monkeypatch, place, name):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(place, name, mock.Mock(side_effect=full))
    head = Head(("mean",), (Dense(plain_copy.encoder.model.get_input_embeddings().weight[:4], None, "Tanh"),))
    with pytest.raises(
        NotWritable, match=r"run cannot be written: No space left on device. Make room there, or choose"
    ):
        export(plain_copy, head, tmp_path / "run", "# card", None)
    assert not list(tmp_path.iterdir())


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system ends no process for it, since Python ignores the signal: writing beyond fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("size", "writer"), [(500, "config.json"), (20_000, "model.safetensors"), (2_500, "tokenizer.json")]
)
def test_what_each_library_raises_when_a_write_fails_is_understood(plain_copy, tmp_path, monkeypatch, size, writer):
    if writer == "tokenizer.json":  # which is smaller than the weights
        monkeypatch.setattr(exporting, "_write_transformer", lambda *_, **__: None)
    with files_of_at_most(size), pytest.raises(NotWritable, match=r"run cannot be written: File too large. Make room"):
        export(plain_copy, HEAD, tmp_path / "run", "", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_a_stop_half_way_leaves_nothing_and_is_passed_on_as_it_is(plain_copy, tmp_path, monkeypatch, stop):
    def stopped(*_: object) -> None:
        raise stop("(at 28)")

    monkeypatch.setattr(exporting, "_write_reading", stopped)
    with pytest.raises(stop, match="at 28"):
        export(plain_copy, HEAD, tmp_path / "run", "", None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_an_ended_process_left_is_replaced(plain_copy, tmp_path, kind):
    part = tmp_path / "run.part"
    if kind == "folder":
        (part / "9_Dense").mkdir(parents=True)
        (part / "model.safetensors").write_text("half")
    else:
        part.write_text("half")
    export(plain_copy, HEAD, tmp_path / "run", "", None)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not (tmp_path / "run" / "9_Dense").exists()
    assert encoder_of(tmp_path / "run").head == HEAD


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file"])
def test_a_folder_that_is_there_already_is_not_written_over(plain_copy, tmp_path, kind):
    place = tmp_path / "run"
    if kind == "file":
        place.write_text("mine")
    else:
        place.mkdir()
    if kind == "folder":
        (place / "notes.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NotWritable, match=r"run exists already and is not overwritten. Choose another name, or"):
        export(plain_copy, HEAD, place, "", None)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("umask", [0o022, 0o077], ids=oct)
def test_every_file_of_an_export_gets_the_mode_of_any_other_new_file(plain_copy, tmp_path, umask):
    before = os.umask(umask)
    try:
        export(plain_copy, HEAD, tmp_path / "run", "# card", None)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert modes == dict.fromkeys(modes, 0o666 & ~umask)
    assert {"model.safetensors", "README.md"} <= set(modes)


def check(tuned: Tunable, head: Head, folder: Path) -> None:
    encoder = tuned.encoder
    prompt = encoder.head.prompt if encoder.head else ""
    alone = source_code.transformers(head, auto_class(encoder), prompt, encoder.lower_case)
    for code in (source_code.sentence_transformers(), alone):
        assert source_code.FOLDER in code
        known = typed(code, folder)
        expected = as_trained(tuned, head, tuple(known["sentences"]))
        np.testing.assert_allclose(np.asarray(known["vectors"].tolist()), expected, atol=1e-5)


@pytest.fixture(scope="module", params=["bert", "roberta", "t5"])
def base(request, tmp_path_factory) -> Path:
    return save_tiny(request.param, tmp_path_factory.mktemp("bases") / request.param)


@pytest.fixture(scope="module")
def tuned_base(base) -> Tunable:
    return tunable(encoder_of(base))


@pytest.mark.product(1)
@pytest.mark.parametrize(
    "head",
    [
        Head(("cls",)),
        Head(("mean",), normalize=True),
        Head(("max",)),
        Head(("sqrt mean",)),
        Head(("cls", "mean")),
        Head(("cls",), (dense(),)),
        Head(("cls",), (residual(), residual(8))),
        Head(("mean",), (dense(12, "GELU"), Dense(torch.ones(3, 12) / 7, None, "Identity")), normalize=True),
    ],
    ids=Head.describe,
)
def test_the_lines_of_a_card_give_the_vectors_of_the_run(tmp_path, base, tuned_base, head):
    export(tuned_base, head, tmp_path / "run", "", base)
    check(tuned_base, head, tmp_path / "run")


@pytest.mark.parametrize("prompt", ["", 'The "dog": '])
@pytest.mark.parametrize("lower_case", [True, False])
def test_prompt_and_lower_case_are_in_the_lines(tmp_path, prompt, lower_case):
    base = save_tiny("bert", tmp_path / "base")
    declare(base, "Transformer", "Pooling", pooling={})
    stated = {"prompts": {"ask": prompt}, "default_prompt_name": "ask"}
    (base / "config_sentence_transformers.json").write_text(json.dumps(stated))
    (base / "sentence_bert_config.json").write_text(json.dumps({"do_lower_case": lower_case}))
    tuned = tunable(encoder_of(base))
    assert (tuned.encoder.lower_case, tuned.encoder.head.prompt) == (lower_case, prompt)
    export(tuned, Head(("mean",)), tmp_path / "run", "", base)
    check(tuned, Head(("mean",)), tmp_path / "run")


def test_a_step_that_takes_more_lines_is_left_to_sentence_transformers():
    head = Head(("cls",), (LayerNorm(torch.ones(WIDTH), torch.zeros(WIDTH)),))
    assert source_code.transformers(head, "AutoModel") is None
