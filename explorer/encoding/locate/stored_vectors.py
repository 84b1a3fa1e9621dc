"""Vectors that another program computed, as a model: the folder of the cache that holds them with their sentences.

Such a model has no layers and no words, and encodes no sentence that it has no vector of.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from explorer.data.vectors import opening, vector_corpus
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.errors import DataError, NotAModelFolder, StrataError, UnsupportedModel
from explorer.places import Stamps, given_path
from explorer.progress import Work

POOLINGS = ("mean",)  # of its grid, which has one cell: the same vectors
_read: dict[tuple[str, Stamps], VectorCorpus] = {}  # by path and stamps of the files


def are_in(folder: Path) -> bool:
    """Whether a folder of a model holds vectors alone."""
    return all((folder / name).is_file() for name in (vector_corpus.ABOUT, vector_corpus.VECTORS))


def is_named(source: str) -> bool:
    """Whether a source names vectors. A folder with a model in it is one of a model, whatever else it holds."""
    if not source.strip():  # as a path, it would be the current folder
        return False
    with suppress(OSError, StrataError):
        return opening.is_vectors(source) and not (given_path(source) / "config.json").is_file()
    return False


def read(source: str) -> Work[VectorCorpus]:
    """The vectors of a source, checked and copied once."""
    try:
        key = str(given_path(source)), opening.stamps(source)
        if key not in _read:
            found = yield from vector_corpus.prepared(opening.opened(source))
            if key[1] == opening.stamps(source):
                _read[key] = found
            return found
        return _read[key]
    except DataError as error:
        raise NotAModelFolder(str(error)) from error
    except OSError as error:
        raise NotAModelFolder(f"'{source}' cannot be read: {error.strerror or error}.") from error


def are_read(source: str) -> bool:
    """Whether the vectors of a source have been read by this process, so that `read` takes no time."""
    with suppress(OSError, StrataError):
        return (str(given_path(source)), opening.stamps(source)) in _read
    return False


def refuse(folder: Path | None, name: str) -> None:
    """Refuse what needs a model, if the folder holds vectors alone."""
    if folder is not None and are_in(folder):
        raise UnsupportedModel(
            f"This needs the model itself, and '{name}' is vectors that another program computed: they can be scored, "
            "compared, searched and mapped, but not trained, blended, cut or explained by words. Choose an encoder."
        )


def lack(folder: Path, sentences: Sequence[str]) -> bool:
    """Whether a model is vectors alone, and has none of one of these sentences."""
    found = vector_corpus.stored(folder, folder.name) if are_in(folder) else None
    return found is not None and not all(found.rows_of(sentences))
