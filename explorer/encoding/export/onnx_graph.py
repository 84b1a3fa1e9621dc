"""Export an encoder as an ONNX file that computes the vectors of sentences, and cut others out of it.

The file has the states of the tokens as one output, as sentence-transformers expects them, and a vector under each of
some heads as others: pooling, dense layers and normalisation are in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from explorer.encoding.export.onnx_packages import require
from explorer.encoding.load.static_embedding import StaticEncoder
from explorer.encoding.read.encoder import every_layer
from explorer.encoding.tune import editing
from explorer.errors import UnsupportedModel
from explorer.places import writing

if TYPE_CHECKING:
    from onnx import ModelProto
    from transformers import PreTrainedModel

    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head

INPUTS = ("input_ids", "attention_mask")
TOKENS, SENTENCES = "token_embeddings", "sentence_embedding"  # as files on the hub name their outputs
OPSET = 17  # the first with a layer norm in one piece
ONE_FILE = 2**31 - 2**24  # bytes of weights; a larger protobuf file cannot be read, and they get a file of their own
DATA = ".data"  # what the name of that file ends with
ROOM = "Free some space, or choose another folder."
_EXAMPLES = ("A sentence.", "A longer sentence.")  # of two lengths, so that one of them is padded


def check(encoder: Encoder) -> None:
    """Refuse an encoder that no ONNX file can stand for, with the reason; call it before long work."""
    require()
    head = encoder.default_head
    if isinstance(encoder, StaticEncoder):
        raise UnsupportedModel(
            f"'{encoder.name}' is static embeddings, a table that is read without a network: an ONNX file would not be "
            "faster. Use its folder as it is."
        )
    if not head.roles.pooled and (head.prompt or head.roles.query or head.roles.document):
        raise UnsupportedModel(
            f"'{encoder.name}' leaves the tokens of its prompt out of the pooling, and an ONNX file is not given which "
            "tokens these are. Use its folder with sentence-transformers."
        )
    if not encoder.tokenizer().is_fast:
        raise UnsupportedModel(
            f"'{encoder.name}' has a tokenizer without tokenizer.json, which encoding without transformers needs. Save "
            "the tokenizer with transformers as a fast one, and copy its tokenizer.json into the folder."
        )


class _Graph(nn.Module):
    """The states of the last layer, and the vectors under some heads."""

    def __init__(self, model: PreTrainedModel, heads: Sequence[Head]) -> None:
        super().__init__()
        self.model, self.heads = model, heads

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        states = every_layer(self.model, input_ids=input_ids, attention_mask=attention_mask)
        return states[-1], *(head(states, attention_mask.bool()) for head in self.heads)


def write(encoder: Encoder, heads: Mapping[str, Head], path: Path) -> None:
    """Write the graph of an encoder, with a vector under each head as the output of that name.

    Torch's exporter by tracing: the newer one takes ten times as long, and changes how torch computes in all threads
    meanwhile, so that a training at the same time would end in other weights.
    """
    import onnx

    whole = editing.recast(encoder, "float32", "cpu")
    ids, mask = whole.padded(whole.tokens(_EXAMPLES).ids)
    graph = _Graph(whole.model, [head.to("cpu") for head in heads.values()]).eval()
    outputs = (TOKENS, *heads)
    tokens = {name: {0: "sentences", 1: "tokens"} for name in (*INPUTS, TOKENS)}
    with TemporaryDirectory(dir=path.parent) as parts, _quiet(), torch.no_grad(), writing(path, ROOM):
        part = Path(parts) / path.name  # with files of weights around it, if these are too large for one
        try:
            torch.onnx.export(
                graph,
                (ids, mask.long()),
                str(part),  # of a Path it says that it is none, where the weights are too large for one file
                input_names=INPUTS,
                output_names=outputs,
                dynamic_axes={**{name: {0: "sentences"} for name in heads}, **tokens},
                opset_version=OPSET,
                dynamo=False,
            )
        except OSError:
            raise
        except Exception as error:  # whatever part of a family's code the exporter cannot follow
            raise _refused(encoder, error) from error
        if len(list(part.parent.iterdir())) == 1:
            part.replace(path)
        else:
            save(onnx.load(part), path)


def extract(source: Path, outputs: Mapping[str, str], path: Path) -> None:
    """Write the part of a graph that computes some of its outputs, under new names."""
    import onnx

    part = onnx.utils.Extractor(onnx.load(source)).extract_model(list(INPUTS), list(outputs))
    for output in part.graph.output:
        renamed = outputs[output.name]
        for node in part.graph.node:
            for names in (node.input, node.output):
                names[:] = [renamed if name == output.name else name for name in names]
        output.name = renamed
    save(part, path)


def save(graph: ModelProto, path: Path) -> None:
    """Write a graph; what is too large for one file has its weights in another one next to it."""
    import onnx

    large = sum(map(len, (tensor.raw_data for tensor in graph.graph.initializer))) > ONE_FILE
    with writing(path, ROOM):
        onnx.save(graph, path, save_as_external_data=large, location=path.name + DATA)


def after_the_layers(path: Path) -> list[str]:
    """The names of the nodes that the states of the last layer do not depend on: those of poolings and maps."""
    import onnx

    nodes = onnx.load(path, load_external_data=False).graph.node
    made_by = {name: node for node in nodes for name in node.output}
    before, waiting = set(), [TOKENS]
    while waiting:
        node = made_by.get(waiting.pop())
        if node is not None and node.name not in before:
            before.add(node.name)
            waiting += node.input
    after = [node.name for node in nodes if node.name not in before]
    return [*after, *(f"{name}_MatMul" for name in after)]  # what quantising calls the product in a Gemm


def size(path: Path) -> int:
    """The bytes of an ONNX file, with those of its weights next to it."""
    data = path.with_name(path.name + DATA)
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def _refused(encoder: Encoder, error: Exception) -> UnsupportedModel:
    first: BaseException = error
    while first.__cause__ is not None:  # the exporter wraps what stopped it in advice
        first = first.__cause__
    reason = next((line.strip().rstrip(".") for line in f"{first}".splitlines() if line.strip()), type(first).__name__)
    return UnsupportedModel(
        f"'{encoder.name}' is a {encoder.model.config.model_type} that torch {torch.__version__} cannot write as an "
        f"ONNX file: {reason}. Use its folder with sentence-transformers."
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep from the terminal what tracing says of branches, which `check_same` finds if they matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
