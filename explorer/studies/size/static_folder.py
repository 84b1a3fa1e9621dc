"""Write the static encoder of a model as a folder with its card: to a new one, or once into the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.data.text_sets import digest_of
from explorer.encoding.export import source_code
from explorer.encoding.locate import model_names
from explorer.escaping import fenced, plain, table
from explorer.places import cache_folder
from explorer.progress import Phase, Progress, Work
from explorer.studies.size.small_encoder import metadata
from explorer.studies.size.static_encoder import StaticOptions, distilled

if TYPE_CHECKING:
    from explorer.encoding.load.static_embedding import StaticEncoder
    from explorer.encoding.locate.model_names import Found

STATIC = "static:"  # before the source of a model, where its static encoder is meant
VERSION = "1"  # a new one if the same options give other vectors
PRECISION = "float32"  # in which every model is encoded for it, so that a folder does not depend on the machine


def name_of(found: Found) -> str:
    """What the static encoder of a model is called."""
    return f"{found.name}, static"


def of_source(source: str, find: Callable[[str], Found]) -> Work[Found]:
    """The model that a source names, by how models are found; `static:MODEL` is the static encoder of a model."""
    found = find(whole(source))
    return found if whole(source) == source else (yield from stored(found, StaticOptions()))


def whole(source: str) -> str:
    """The source of the model itself."""
    return source.removeprefix(STATIC)


def stored(found: Found, options: StaticOptions) -> Work[Found]:
    """The static encoder of a model as a folder of the cache, which is written if it is not there."""
    folder = place(found, options)
    if not folder.is_dir():
        yield from export(found, options, folder)
    return model_names.of_folder(name_of(found), folder)


def place(found: Found, options: StaticOptions) -> Path:
    """The folder of the cache for the static encoder of a model."""
    return cache_folder() / "static" / digest_of(("static", VERSION, found.files.digest, repr(options)))


def export(found: Found, options: StaticOptions, folder: Path) -> Work[None]:
    """Make the static encoder of a model, and write it to a new folder, atomically, as sentence-transformers does."""
    from explorer.encoding.export import exporting
    from explorer.encoding.load.loading import load
    from explorer.encoding.tune.tunable import Tunable

    found = found.files  # a chosen prompt has no part in it
    yield Progress(Phase.LOADING, 0, 0, about=found.name)
    static = yield from distilled(load(found, PRECISION), options)
    yield Progress(Phase.SAVING, 0, 0)
    tuned = Tunable(static, static.max_length)
    exporting.export(tuned, static.default_head, folder, card(static, found, options), None)


def card(static: StaticEncoder, found: Found, options: StaticOptions) -> str:
    """The text of README.md."""
    parts = (
        metadata(found),
        f"# {plain(name_of(found))}",
        *about(found, options, static.width),
        "## Use",
        fenced("python", source_code.sentence_transformers(static.default_head)),
        "## Size",
        table(("", ""), [("Tokens with a vector", f"{_count(static):,}")]),
    )
    return "\n\n".join(parts) + "\n"


def about(found: Found, options: StaticOptions, width: int) -> tuple[str, ...]:
    """What the encoder of this width is, of which model it was made, and how, as parts of a card."""
    values = options.by_name()
    texts = {name: one.titles.get(values[name], one.text(values[name])) for name, one in options.knobs.items()}
    texts["dimensions"] = f"{width}" if options.dimensions else f"{width}, without PCA"
    rows = [(one.label, texts[name]) for name, one in options.knobs.items()]
    return (
        f"Static embeddings of {plain(found.name)}: one vector for each token of its vocabulary. The vector of a text "
        "is the normalised mean of the vectors of its tokens. Made with Strata by the recipe of model2vec: each token "
        "was encoded alone, between the special tokens of a sentence, in float32. Special tokens and placeholders have "
        f"the vector zero. No text was needed. SHA-256 of the model that it was made of: {found.digest}.",
        table(("Setting", ""), rows),
    )


def _count(static: StaticEncoder) -> int:
    return int(static.model.get_input_embeddings().weight.any(1).sum())
