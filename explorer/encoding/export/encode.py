"""Encode sentences with the ONNX file beside this one: needs onnxruntime, tokenizers and numpy alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


class OnnxEncoder:
    """Pooling, dense layers and normalisation are in the file; prompts and limits are read from its folder."""

    def __init__(self, file: str = "onnx/model.onnx", folder: str | Path = Path(__file__).parent) -> None:
        folder = Path(folder)
        names = ("sentence_bert_config", "config_sentence_transformers", "config")
        limits, roles, model = (json.loads((folder / f"{name}.json").read_text("utf-8")) for name in names)
        self.lower_case, self.prompts = limits["do_lower_case"], roles["prompts"]
        self.padding: int = model.get("pad_token_id") or 0
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(limits["max_seq_length"])
        self.session = onnxruntime.InferenceSession(folder / file)
        # int8 rounds by the largest number of a batch: alone, a sentence has the same vector whatever else is encoded
        self.batch = 1 if "qint8" in file else 32

    def __call__(self, sentences: Sequence[str], prompt: str = "sentence", batch: int = 0) -> "np.ndarray[Any, Any]":
        """The vector of each sentence (sentence, width), after the "query", "document" or "sentence" prompt."""
        if not len(sentences):
            return self(["a"])[:0]  # no vector, of the width that any has
        texts = [self.prompts.get(prompt, "") + sentence for sentence in sentences]
        ids = [one.ids for one in self.tokenizer.encode_batch([t.lower() for t in texts] if self.lower_case else texts)]
        shortest_first = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        found = []
        for start in range(0, len(ids), size := batch or self.batch):
            some = [ids[place] for place in shortest_first[start : start + size]]
            numbers = np.full((len(some), max(map(len, some))), self.padding, dtype=np.int64)
            for row, one in zip(numbers, some, strict=True):
                row[: len(one)] = one
            mask = (np.arange(numbers.shape[1]) < [[len(one)] for one in some]).astype(np.int64)
            found += self.session.run(["sentence_embedding"], {"input_ids": numbers, "attention_mask": mask})
        return np.concatenate(found)[np.argsort(shortest_first)]
