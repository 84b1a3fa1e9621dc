"""Load a model, and encode sentences with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.commands.parts import output
from explorer.encoding.load import chosen_prompts, declared, loading
from explorer.encoding.locate import layout, model_names, stored_vectors
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.read.attention import EAGER
from explorer.errors import BadChoice, DataError
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import of_reading
from strata.shown import Shown

if TYPE_CHECKING:
    import pandas as pd

    from explorer.encoding.read.encoder import Encoder


@dataclass(frozen=True, eq=False)
class Model(Shown):
    """A model on this disk, with the settings that it is measured with; its weights are loaded when they are needed."""

    source: str  # as it was named: a name, a folder, a hub id or run:NAME
    found: model_names.Found
    settings: Settings

    @property
    def name(self) -> str:
        """The name that tables show."""
        return self.found.name

    @property
    def digest(self) -> str:
        """The SHA-256 of every file that decides a vector."""
        return self.found.files.digest

    @property
    def default(self) -> str:
        """The model default, or the mean of the last layer of a model that declares none."""
        described = declared.described(declared.default(self.found.folder), self.found.folder)
        return described + chosen_prompts.in_words(self.found)

    @property
    def layers_and_poolings(self) -> tuple[str, ...]:
        """Every layer & pooling that `score` scores, by its title."""
        return tuple(one.title for one in declared.grid(self.found.folder))

    @cached_property
    def encoder(self) -> Encoder:
        """The loaded weights."""
        return load_encoder(self.found, self.settings)

    @cached_property
    def differentiable(self) -> Encoder:
        """The model in float32, with attention that has derivatives."""
        return loading.load(self.found, "float32", self.settings.device, attention=EAGER)

    def to_frame(self) -> pd.DataFrame:
        """What the model is: one row."""
        import pandas as pd

        vectors = stored_vectors.are_in(self.found.folder)
        about = {
            "model": self.name,
            "layers": None if vectors else layout.last_layer(self.found.folder),
            "model default": self.default,
            "folder": str(self.found.folder),
            "digest": self.digest,
        }
        return pd.DataFrame([about])

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.default}>"


SHOWN = 80  # characters of a value in an error
ModelLike = str | PathLike[str] | Model  # how every function takes a model


def load(
    model: ModelLike,
    *,
    precision: str = "float32",
    device: str = "auto",
    max_length: int | None = None,
    prompt: str | None = None,
    online: bool = False,
) -> Model:
    """The model of a name, a folder, a hub id, or run:NAME; a loaded one is returned as it is.

    A model that this disk lacks is downloaded from the hub only if `online` is true. `precision`, `device` and
    `max_length` (tokens) are the measurement settings of the pages. `prompt` is put before every text in place of the
    model's own, and of queries with passages before the queries alone: a name in the model's table of prompts, or a
    text.
    """
    if isinstance(model, Model):
        return model
    source = source_of(model)
    settings = Settings(precision, device, max_length)
    found = output.shown(model_names.fetch(source)) if online else model_names.find(source)
    return Model(source, chosen_prompts.after(found, prompt), settings)


def source_of(model: ModelLike) -> str:
    """The name of a model, as it was given."""
    if isinstance(model, Model):
        return model.source
    if isinstance(model, str | PathLike):
        return str(model)
    raise BadChoice(
        f"{shown_value(model)} is no model. Give a name such as '{BUNDLED}', a folder, a hub id, run:NAME, or what "
        "strata.load gives; the model of a run is its .model."
    )


def loaded_like(model: ModelLike, other: Model) -> Model:
    """A model for a comparison with another one: if it is named, with the settings of that one."""
    settings = other.settings
    return load(
        model,
        precision=settings.precision,
        device=settings.device,
        max_length=settings.max_length,
        prompt=other.found.prompt,
    )


def text(value: object, name: str) -> str:
    """A text, or an error that names its place and what is there instead."""
    if isinstance(value, str):
        return value
    raise DataError(
        f"{name} is {shown_value(value)}, and only text (str) can be encoded. Leave it out, as .dropna() does in a "
        "column of pandas, or turn it into text with str()."
    )


def texts(values: object, name: str) -> list[str]:
    """The texts of a list, an array or a column."""
    # a table or a mapping would give the names of its columns, and bytes would give numbers
    table = isinstance(values, Mapping) or getattr(values, "ndim", 1) != 1
    if table or isinstance(values, str | bytes) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise DataError(f"{name} is of type {kind}, not a list of texts. Give a list, or one column of a table.")
    return [text(value, f"{name}[{place}]") for place, value in enumerate(values)]


def shown_value(value: object) -> str:
    """A value and its type, on one line."""
    return f"{' '.join(repr(value).split())[:SHOWN]} ({type(value).__name__})"


def encode(
    model: ModelLike, sentences: str | Sequence[str], layer_and_pooling: str | None = None
) -> NDArray[np.float32]:
    """The vectors (sentence, width) of sentences, or the vector of a single one, in the order given.

    The layer & pooling is named by its title, such as "mean of layer 4"; without one it is the model default, and the
    vectors are those of `SentenceTransformer(model).encode`.
    """
    given = load(model)
    listed = texts([sentences] if isinstance(sentences, str) else sentences, "sentences")
    reading = declared.named(layer_and_pooling, given.found.folder)
    vectors = output.shown(of_reading(given.encoder, listed, reading, given.settings.max_length))
    return vectors[0] if isinstance(sentences, str) else vectors
