"""A tiny model with a prompt, a dense layer and a limit, as Strata and sentence-transformers load it, and texts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import Found, of_folder
from explorer.encoding.read.encoder import Encoder
from tests.tiny_models import SENTENCES, WIDTH, save_tiny

PROMPTS = {"query": "the dog ", "document": "two women "}
LIMIT = 24
TEXTS = [
    *SENTENCES,
    "The city",
    "A late train waits",
    "a man and a dog",
    *(" ".join((*SENTENCES[count::-1], SENTENCES[4])) for count in (0, 1, 2)),
    "play the guitar in the park",
]


@dataclass(frozen=True)
class Served:
    """A model, and the same as sentence-transformers serves it."""

    found: Found
    encoder: Encoder
    library: SentenceTransformer

    def encode(self, texts=TEXTS, **how):
        """The vectors of the library."""
        return self.library.encode(texts, **how)

    def states(self, texts=TEXTS, prompt="the dog ", special=True, length=LIMIT):
        """Every layer of texts in one batch, by transformers alone, and the attention mask."""
        tokenizer = self.library.tokenizer
        given = [prompt + text for text in texts]
        batch = tokenizer(
            given, padding=True, truncation=True, max_length=length, return_tensors="pt", add_special_tokens=special
        )
        with torch.no_grad():
            hidden = self.library[0].auto_model(**batch, output_hidden_states=True).hidden_states
        return hidden, batch["attention_mask"][:, :, None].float()

    def after(self, pooled):
        """Pooled vectors through the dense layer, and normalised."""
        with torch.no_grad():
            return unit(self.dense({"sentence_embedding": pooled})["sentence_embedding"].numpy())

    @cached_property
    def dense(self):
        return self.library[2]


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    # weights so large that each change of a setting shows
    transformer = Transformer(
        str(save_tiny("bert", folder / "bert", lower=True, initializer_range=0.7)), max_seq_length=LIMIT
    )
    torch.manual_seed(0)
    modules = [transformer, Pooling(WIDTH, "mean"), Dense(WIDTH, 20, activation_function=torch.nn.Tanh()), Normalize()]
    library = SentenceTransformer(modules=modules, prompts=PROMPTS, default_prompt_name="query", device="cpu")
    library.save(str(folder / "model"))
    found = of_folder("served", folder / "model")
    return Served(found, load(found, "float32", "cpu"), library)
