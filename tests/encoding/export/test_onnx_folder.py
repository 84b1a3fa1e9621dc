"""Test ONNX files against sentence-transformers and torch, in a process without both, and what cannot be one."""

import json
import logging
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from explorer.encoding.export import onnx_folder, onnx_graph, onnx_packages, onnx_session
from explorer.encoding.export.encode import OnnxEncoder
from explorer.encoding.export.exporting import export
from explorer.encoding.export.quantisation import FLOAT32, INT8, ONNX_WEIGHTS, quantise
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, NotWritable, UnsupportedModel
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny

TEXTS = ["a man plays a guitar", "no", "two women are dancing " * 12, "", "the dog"]
WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = sys.modules["transformers"] = None  # importing them fails
sys.path.insert(0, {folder!r})
from encode import OnnxEncoder
encode = OnnxEncoder({file!r})
print(json.dumps([encode(json.loads(sys.argv[1]), prompt).tolist() for prompt in ("sentence", "query")]))
"""


def written(encoder, folder, weights, name):
    export(Tunable(encoder, 8), encoder.default_head, folder, "", None, more=partial(onnx_folder.add, encoder, weights))
    return folder


@pytest.fixture(scope="module")
def encoder(saved_bert):
    """A tiny BERT with a dense layer, a prompt for queries, and a limit of 20 tokens, in lower case."""
    found = encoder_of(saved_bert)
    found.max_length, found.lower_case = 20, True
    weight = torch.linspace(-1, 1, 8 * WIDTH).reshape(8, WIDTH).sin()
    roles = RolePrompts(query="the dog: ")
    found.head = Head(("mean",), (Dense(weight, torch.ones(8), "Tanh"),), normalize=True, roles=roles)
    return found


@pytest.fixture(scope="module")
def served(encoder, tmp_path_factory):
    return written(encoder, tmp_path_factory.mktemp("served") / "model", INT8, "model")


def test_without_torch_vectors_are_those_of_sentence_transformers_after_each_prompt(served, tmp_path):
    for name in (*onnx_folder.SETTINGS, onnx_folder.file_of(FLOAT32)):  # all that a server needs
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(served / name, tmp_path / name)
    code = WITHOUT_TORCH.format(folder=str(tmp_path), file=onnx_folder.file_of(FLOAT32))
    out = subprocess.run([sys.executable, "-c", code, json.dumps(TEXTS)], capture_output=True, text=True, check=True)
    theirs = SentenceTransformer(str(served), device="cpu")
    for vectors, due in zip(json.loads(out.stdout), (theirs.encode(TEXTS), theirs.encode_query(TEXTS)), strict=True):
        np.testing.assert_allclose(vectors, due, atol=1e-6)


def test_weights_in_8_bits_turn_vectors_a_little_and_the_head_is_exact(served, encoder):
    exact, rounded = (OnnxEncoder(onnx_folder.file_of(weights), served)(TEXTS) for weights in (FLOAT32, INT8))
    apart = np.abs(exact - rounded).max()
    assert 0 < apart < 0.06
    assert (exact * rounded).sum(1).min() > 0.99
    plain, small = (onnx_graph.size(served / onnx_folder.file_of(weights)) for weights in (FLOAT32, INT8))
    assert small < plain
    onnx_graph.after_the_layers(served / onnx_folder.file_of(FLOAT32))
    import onnx

    stored = onnx.load(served / onnx_folder.file_of(INT8)).graph.initializer
    tables = [one for one in stored if len(one.dims) == 2 and min(one.dims) > 1]
    assert {one.data_type for one in tables} == {onnx.TensorProto.INT8, onnx.TensorProto.UINT8}
    assert [8, WIDTH] not in [sorted(one.dims) for one in tables], "the dense layer of the head stays in float32"


@pytest.mark.parametrize("weights", [FLOAT32, INT8])
def test_of_no_text_there_is_no_vector_of_the_width_of_others(served, weights):
    encode = OnnxEncoder(onnx_folder.file_of(weights), served)
    found, some = encode([]), encode(TEXTS)
    assert (found.shape, found.dtype) == ((0, some.shape[1]), some.dtype)


@pytest.mark.parametrize("weights", [name for name in ONNX_WEIGHTS if name != FLOAT32])
def test_of_every_format_the_named_tables_are_integers(served, tmp_path, encoder, weights):
    import onnx

    chosen, path = ONNX_WEIGHTS[weights], tmp_path / ONNX_WEIGHTS[weights].file
    handlers = list(logging.getLogger().handlers)
    quantise(served / onnx_folder.file_of(FLOAT32), chosen, path)
    assert logging.getLogger().handlers == handlers, "messages of others are printed as before"
    dtypes = {tuple(one.dims): one.data_type for one in onnx.load(path).graph.initializer if len(one.dims) == 2}
    words = dtypes[(len(encoder.tokenizer()), WIDTH)]
    assert words == (onnx.TensorProto.UINT8 if "Gather" in chosen.quantised else onnx.TensorProto.FLOAT)
    scales = [one for one in onnx.load(path).graph.initializer if one.name.endswith("_scale")]
    assert any(len(one.dims) for one in scales) == chosen.per_channel
    vectors = onnx_session.Session(path, encoder).vectors(TEXTS)
    np.testing.assert_allclose(vectors, OnnxEncoder(onnx_folder.file_of(FLOAT32), served)(TEXTS), atol=0.05)


def test_large_weights_are_in_a_file_of_their_own(encoder, served, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "ONE_FILE", 1000)
    plain, small = tmp_path / "model.onnx", tmp_path / "model_qint8.onnx"
    onnx_graph.extract(
        served / onnx_folder.file_of(FLOAT32), {one: one for one in (onnx_graph.SENTENCES, onnx_graph.TOKENS)}, plain
    )
    assert plain.stat().st_size < (tmp_path / f"model.onnx{onnx_graph.DATA}").stat().st_size
    quantise(plain, ONNX_WEIGHTS[INT8], small)
    assert {path.name for path in tmp_path.iterdir()} == {
        one.name + end for one in (plain, small) for end in ("", onnx_graph.DATA)
    }
    same = served / onnx_folder.file_of(FLOAT32)
    assert onnx_graph.size(plain) == pytest.approx(onnx_graph.size(same), rel=0.1)
    exact = onnx_session.Session(plain, encoder).vectors(TEXTS)
    np.testing.assert_array_equal(exact, onnx_session.Session(same, encoder).vectors(TEXTS))
    np.testing.assert_allclose(onnx_session.Session(small, encoder).vectors(TEXTS), exact, atol=0.05)


def test_a_decoder_with_the_last_token_and_its_prompt_is_exported(tmp_path):
    decoder = encoder_of(save_tiny("qwen2", tmp_path / "qwen2"))
    decoder.head = Head(("last",), normalize=True, prompt="two ")
    folder = written(decoder, tmp_path / "model", FLOAT32, "model")
    theirs = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(OnnxEncoder(folder=folder)(TEXTS), theirs, atol=1e-5)


def test_a_file_that_gives_other_vectors_is_refused(encoder, served):
    ours = onnx_session.Session(served / onnx_folder.file_of(FLOAT32), encoder)
    onnx_session.check_same(ours.vectors, encoder)
    with pytest.raises(UnsupportedModel, match="gives other vectors than torch: numbers differ by up to"):
        onnx_session.check_same(lambda texts: 1.001 * ours.vectors(texts), encoder)


def test_what_no_file_can_stand_for_is_refused_with_the_reason(encoder, monkeypatch):
    left_out = encoder_of(encoder.folder)
    left_out.head = replace(encoder.head, roles=RolePrompts(query="the dog: ", pooled=False))
    with pytest.raises(UnsupportedModel, match="leaves the tokens of its prompt out of the pooling"):
        onnx_graph.check(left_out)
    monkeypatch.setattr(onnx_packages, "PACKAGES", ("onnx", "onnxruntime_of_tomorrow"))
    with pytest.raises(BadChoice, match=r"need onnxruntime_of_tomorrow, not installed here\. Type .*pip install"):
        onnx_graph.check(encoder)


def test_a_graph_that_torch_cannot_follow_is_refused_in_one_line(encoder, tmp_path):
    class Odd(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model, self.config = model, model.config

        def forward(self, **given):
            found = self.model(**given)
            found.hidden_states = (*found.hidden_states[:-1], torch.fft.fft(found.hidden_states[-1]).real)
            return found

    odd = encoder_of(encoder.folder)
    odd.model = Odd(odd.model)
    told = (
        r"is a bert that torch .* cannot write as an ONNX file: .*fft.* opset version 17 is not supported.*\. Use its"
    )
    with pytest.raises(UnsupportedModel, match=told):
        onnx_graph.write(odd, {onnx_graph.SENTENCES: odd.default_head}, tmp_path / "model.onnx")
    assert not any(tmp_path.iterdir())


def test_on_a_full_disk_nothing_is_left(encoder, served, tmp_path):
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, allowed[1]))
    try:
        with pytest.raises(NotWritable, match=r"File too large.*Free some space"):
            onnx_graph.extract(
                served / onnx_folder.file_of(FLOAT32), {onnx_graph.SENTENCES: onnx_graph.SENTENCES}, tmp_path / "m.onnx"
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
