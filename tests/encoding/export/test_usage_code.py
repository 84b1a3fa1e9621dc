"""Test that the usage code of a model card runs and gives the vectors of the run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.encoding.export import source_code
from explorer.encoding.export.exporting import export, opener
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_norm import LayerNorm
from explorer.encoding.tune.tunable import Tunable
from tests.exports import as_trained, dense, tunable
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny


def typed(code: str, folder: Path) -> dict[str, Any]:
    """What a Python of one's own knows after the lines."""
    assert source_code.FOLDER in code
    known: dict[str, Any] = {}
    exec(code.replace(source_code.FOLDER, str(folder)), known)
    return known


def check(tuned: Tunable, head: Head, folder: Path) -> None:
    encoder = tuned.encoder
    prompt = encoder.head.prompt if encoder.head else ""
    alone = source_code.transformers(head, opener(encoder), prompt, encoder.lower_case)
    for code in (source_code.sentence_transformers(), alone):
        known = typed(code, folder)
        expected = as_trained(tuned, head, tuple(known["sentences"]))
        np.testing.assert_allclose(np.asarray(known["vectors"].tolist()), expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "t5"])
@pytest.mark.parametrize(
    "head",
    [
        Head(("cls",)),
        Head(("mean",), normalize=True),
        Head(("max",)),
        Head(("sqrt mean",)),
        Head(("cls", "mean")),
        Head(("cls",), (dense(),)),
        Head(("mean",), (dense(12, "GELU"), Dense(torch.ones(3, 12) / 7, None, "Identity")), normalize=True),
    ],
    ids=Head.describe,
)
def test_the_lines_of_a_card_give_the_vectors_of_the_run(tmp_path, kind, head):
    base = save_tiny(kind, tmp_path / "base")
    tuned = tunable(encoder_of(base))
    export(tuned, head, tmp_path / "run", "", base)
    check(tuned, head, tmp_path / "run")


@pytest.mark.parametrize("prompt", ["", 'The "dog": '])
@pytest.mark.parametrize("lower_case", [True, False])
def test_prompt_and_lower_case_are_in_the_lines(tmp_path, prompt, lower_case):
    base = save_tiny("bert", tmp_path / "base")
    lines = [{"path": path, "type": f"x.{kind}"} for path, kind in (("", "Transformer"), ("1_Pooling", "Pooling"))]
    (base / "modules.json").write_text(json.dumps(lines))
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
