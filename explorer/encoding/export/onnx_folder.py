"""Add ONNX files to an exported folder, and the Python file that encodes with them alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from explorer.encoding.export import encode, onnx_graph, onnx_session
from explorer.encoding.export.quantisation import FLOAT32, ONNX_WEIGHTS, quantise

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

FOLDER, SCRIPT = "onnx", "encode.py"
# what encoding needs beside the file of weights
SETTINGS = (SCRIPT, "tokenizer.json", "config.json", "sentence_bert_config.json", "config_sentence_transformers.json")


def file_of(weights: str) -> str:
    """The file of weights in one of the formats, in an exported folder."""
    return f"{FOLDER}/{ONNX_WEIGHTS[weights].file}"


def add(encoder: Encoder, weights: str, folder: Path) -> None:
    """Write the ONNX file in float32, which has to give the vectors of the encoder, and that with these weights."""
    place = folder / FOLDER
    place.mkdir()
    (folder / SCRIPT).write_text(Path(encode.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    plain = folder / file_of(FLOAT32)
    onnx_graph.write(encoder, {onnx_graph.SENTENCES: encoder.default_head}, plain)
    onnx_session.check_same(encode.OnnxEncoder(file_of(FLOAT32), folder), encoder)
    if weights != FLOAT32:
        quantise(plain, ONNX_WEIGHTS[weights], folder / file_of(weights))
