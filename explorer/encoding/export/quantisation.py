"""Store the weights of an ONNX file as 8-bit integers; numbers between layers are rounded while it runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from explorer.places import writing

FLOAT32, INT8 = "onnx-float32", "int8"
LINEAR, WORDS = ("MatMul", "Gemm"), ("Gather",)


@dataclass(frozen=True)
class OnnxWeights:
    """How the weights of an ONNX file are stored."""

    file: str  # in the folder `onnx`, as sentence-transformers names such files
    title: str
    quantised: tuple[str, ...] = ()  # operations whose weights are integers
    per_channel: bool = False  # whether each output of a layer has a scale of its own


ONNX_WEIGHTS: Mapping[str, OnnxWeights] = {
    FLOAT32: OnnxWeights("model.onnx", "float32 (ONNX)"),
    INT8: OnnxWeights("model_qint8.onnx", "int8 (ONNX)", LINEAR + WORDS, per_channel=True),
    "int8-per-tensor": OnnxWeights("model_qint8_per_tensor.onnx", "int8 per tensor (ONNX)", LINEAR + WORDS),
    "int8-layers": OnnxWeights(
        "model_qint8_layers.onnx", "int8, word embeddings float32 (ONNX)", LINEAR, per_channel=True
    ),
    "int8-layers-per-tensor": OnnxWeights(
        "model_qint8_layers_per_tensor.onnx", "int8 per tensor, word embeddings float32 (ONNX)", LINEAR
    ),
}


def quantise(source: Path, weights: OnnxWeights, path: Path) -> None:
    """Write an ONNX file in float32 again with its weights stored in another way."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from explorer.encoding.export.onnx_graph import ONE_FILE, ROOM, after_the_layers, size

    # the library tells it to prepare the file, which changes nothing here, and gives it a handler for that
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    root.setLevel(logging.ERROR)
    try:
        with writing(path, ROOM):
            quantize_dynamic(
                source,
                path,
                op_types_to_quantize=list(weights.quantised),
                nodes_to_exclude=after_the_layers(source),
                per_channel=weights.per_channel,
                weight_type=QuantType.QInt8,
                use_external_data_format=size(source) > ONE_FILE,
            )
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
