"""Models, rows and learners for the parts: BERT's shapes with random weights, and the text that ships with Strata."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from benchmarks.by_hand import prepared
from benchmarks.gpu.parts import Setting
from explorer import methods
from explorer.data import sample
from explorer.data.text_sets import Corpus, Document, GradedPairs, Kind, Score
from explorer.encoding.load.loading import load
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.locate.model_names import Found, find, of_folder

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.training.loop.learner import Learner
    from tests.trainings import Place

# layers, width, heads, inner width: as published (Devlin and others 2019, section 3), and that of all-MiniLM-L6-v2
SHAPES = {"BERT-base": (12, 768, 12, 3072), "MiniLM": (6, 384, 12, 1536)}
SEED = 1
LONG, DOCUMENT = 20, 200  # sentences of a long text, and of a document, of which DeCLUTR takes 2,048 tokens


def miniature(setting: Setting) -> Place:
    """A tiny model, text and scored pairs, made on first use."""
    from tests.trainings import Place, furnish

    place = Place(Path(setting.folder) / "miniature")
    if not place.folder.is_dir():
        place.folder.mkdir()
        furnish(place.folder)
    return place


def small(setting: Setting) -> Found:
    """The model for what does not depend on the size: the one that ships with Strata, or a tiny one."""
    return of_folder("tiny", miniature(setting).model) if setting.dry else find(BUNDLED)


def shaped(setting: Setting, shape: str) -> Found:
    """A model of a shape with random weights and the tokenizer that ships with Strata, made on first use."""
    if setting.dry:
        return small(setting)
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = Path(setting.folder) / shape
    if not folder.is_dir():
        tokenizer = AutoTokenizer.from_pretrained(find(BUNDLED).folder)
        layers, width, heads, inner = SHAPES[shape]
        config = BertConfig(
            vocab_size=len(tokenizer),
            num_hidden_layers=layers,
            hidden_size=width,
            num_attention_heads=heads,
            intermediate_size=inner,
        )
        torch.manual_seed(SEED)
        with torch.device(setting.device):  # a large one takes its time to be drawn on a processor
            model = BertModel(config, add_pooling_layer=False)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return of_folder(f"{shape} shape", folder)


def encoder(setting: Setting, found: Found, precision: str = "float32", device: str = "") -> Encoder:
    """The encoder on the device of the setting, or on another."""
    return load(found, precision, device or setting.device)


@cache
def sentences(count: int) -> tuple[str, ...]:
    """Different sentences: those of the sample, with a number after the first pass."""
    texts = list(dict.fromkeys((*sample.sentences().texts, *sample.pairs().sentences)))
    return tuple(texts[n % len(texts)] + f" {n // len(texts)}" * (n >= len(texts)) for n in range(count))


def pairs(count: int) -> GradedPairs:
    """Scored pairs of different sentences."""
    texts = sentences(2 * count)
    gold = tuple(float(number % 6) for number in range(count))
    return GradedPairs("sample sentences", texts[:count], texts[count:], gold, ("",) * count)


@cache
def long_texts(count: int, length: int = LONG) -> tuple[str, ...]:
    """Different texts of so many sentences; the usual length is about 250 tokens."""
    texts = sentences(count + length)
    return tuple(" ".join(texts[start : start + length]) for start in range(count))


def corpus(kind: Kind, rows: int, long: bool = False, texts: int = 0) -> Corpus:
    """Rows of any kind, with every column that it can have, or so many texts."""
    documents = isinstance(kind.texts[0], Document)
    count = rows * (texts or len(kind.texts))
    every = long_texts(count, DOCUMENT if documents else LONG) if documents or long else sentences(count)
    columns = [every[start : start + rows] for start in range(0, count, rows)]
    if isinstance(kind.answer, Score):
        columns.append(tuple(number % 6 / 5 for number in range(rows)))
    elif kind.answer:
        columns.append(tuple(str(number % 2) for number in range(rows)))
    return Corpus("sample sentences", kind, tuple(columns))


def learner(
    setting: Setting, of: Encoder, method: str, text: int | Corpus, precision: str = "float32", **values: object
) -> Learner:
    """A learner of a method on a text or so many rows; its settings are the method's but for `values`."""
    from explorer.progress import finish
    from explorer.training.loop.learner import Learner
    from explorer.training.loop.processes import World
    from explorer.training.recipe import Recipe

    kind = methods.load(method)
    named = {one.name: str(generator(setting, of)) for one in kind.knobs.values() if one.masked_model}
    if setting.dry and "projection" in kind.knobs:
        named["projection"] = False  # a head of width 4096 is a hundred times as large as the tiny model
    recipe = Recipe(method, settings={"steps": 10_000, **named, **values})
    texts = 1 if kind.predicts() else len(kind.rows.texts)
    rows = corpus(kind.rows, text, texts=texts) if isinstance(text, int) else text
    made = Learner(prepared(recipe, of, rows, sample.dev(), SEED), SEED, World(precision, of.device))
    finish(made.fit())
    return made


def generator(setting: Setting, of: Encoder) -> Path:
    """A masked language model with the encoder's vocabulary, untrained: what it predicts does not matter here."""
    from explorer.encoding.load.language_models import with_new_head

    folder = Path(setting.folder) / f"generator-{of.width}"
    if not folder.is_dir():
        with_new_head(of).save(folder, of.tokenizer())
    return folder


def trained_methods() -> list[str]:
    """Every method that has a loss."""
    return [name for name in methods.names() if methods.load(name).trains()]


@contextmanager
def every_need(setting: Setting) -> Iterator[None]:
    """What methods need from elsewhere: a WordNet of a few words."""
    from explorer.data import wordnet
    from tests import tiny_wordnet

    folder = Path(setting.folder) / "nltk"
    if not folder.is_dir():
        tiny_wordnet.write(folder)
    wordnet.antonym.cache_clear()
    with mock.patch.dict(os.environ, {"NLTK_DATA": str(folder)}):
        yield
    wordnet.antonym.cache_clear()
