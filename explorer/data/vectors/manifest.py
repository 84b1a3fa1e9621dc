"""The manifest of a folder of vectors: what they are vectors of, and under which settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from explorer import typed_json
from explorer.data.tables.regular_files import check_regular
from explorer.errors import CannotResume, NotWritable
from explorer.places import PART, write_whole

NAME = "manifest.json"
SHARDS = "shards"  # the folder of the shards
CHECKSUMS = "checksums"  # the folder of the checksum of each
MERGED = "vectors.parquet"
LOCK = ".lock"
LARGEST = 10_000_000  # bytes of a manifest
ROW, TEXT = "row", "text"  # columns next to those of vectors
KEY = b"strata.key"  # of a file's metadata: which embedding it belongs to
ABOUT = b"strata"  # model, text and settings as JSON
ROOM = "Make room there and start the same command again: shards that are whole are kept."
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pyarrow")


@dataclass(frozen=True)
class StoredReading:
    """A layer & pooling, and the dimension of its vectors."""

    title: str
    width: int = field(metadata={"least": 1})


@dataclass(frozen=True)
class Manifest:
    """Everything that the vectors depend on, and in which form they are stored."""

    model: str
    model_digest: str
    texts: tuple[str, ...]  # names; the digest decides
    text_digest: str
    rows: int = field(metadata={"least": 1})
    shards: int = field(metadata={"least": 1})
    rows_per_shard: int = field(metadata={"least": 1})
    vectors: tuple[StoredReading, ...]
    max_length: int = field(metadata={"least": 1})
    precision: str
    dtype: str
    with_text: bool
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        """What decides the content of every shard."""
        # another name or release does not make it another embedding, and the shards follow from the rows
        names = ("model", "texts", "versions", "shards")
        return {name: value for name, value in asdict(self).items() if name not in names}

    @property
    def key(self) -> str:
        """The digest of the settings, kept in every shard."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    def range_of(self, shard: int) -> tuple[int, int]:
        """The number of the first row of a shard, and how many rows it has."""
        start = shard * self.rows_per_shard
        return start, min(self.rows_per_shard, self.rows - start)

    @property
    def bytes_per_row(self) -> int:
        """Bytes of the vectors of a row."""
        return sum(column.width for column in self.vectors) * (2 if self.dtype == "float16" else 4)


def shard_path(folder: Path, number: int) -> Path:
    """The path of a shard."""
    return folder / SHARDS / f"{number:08d}.parquet"


def read(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if there is none. A folder with anything else in it is refused."""
    path = folder / NAME
    check_regular(path)
    try:
        if folder.exists() and not folder.is_dir():
            raise NotWritable(f"{folder} is a file. Choose a folder for --out.")
        size = path.stat().st_size
        if size > LARGEST:
            raise CannotResume(f"{path} has {size:,} bytes; a manifest has at most {LARGEST:,}. Choose another folder.")
        stated = typed_json.parsed(path.read_bytes())
    except FileNotFoundError:
        there = [one.name for one in folder.iterdir() if _is_foreign(one.name)] if folder.is_dir() else []
        if there:
            raise NotWritable(
                f"{folder} holds something else, such as '{min(there)}', and no {NAME}. Choose a new or empty folder."
            ) from None
        return None
    except ValueError:
        stated = None
    except OSError as error:
        raise NotWritable(f"{path} cannot be read: {error.strerror or error}. Check its permissions.") from error
    wrong = typed_json.misfit(Manifest, stated) if isinstance(stated, dict) else "it is no JSON object"
    manifest = typed_json.read(Manifest, stated)
    if manifest is not None and not wrong and manifest.shards != -(-manifest.rows // manifest.rows_per_shard):
        wrong = (
            f"{manifest.rows:,} rows in shards of {manifest.rows_per_shard:,} are "
            f"{-(-manifest.rows // manifest.rows_per_shard):,} shards, and not {manifest.shards:,}"
        )
    if manifest is None or wrong:
        raise CannotResume(f"{path} is damaged: {wrong}. Choose another folder, or delete this one.")
    return manifest


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically."""
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1) + "\n"
    write_whole(folder / NAME, lambda file: file.write(text.encode("utf-8", "surrogatepass")), ROOM)


def check_same(there: Manifest, now: Manifest, where: str) -> None:
    """Refuse to mix vectors of two embeddings in one folder; the error says what differs."""
    if there.key == now.key:
        return
    pairs = ((name, value, now.settings[name]) for name, value in there.settings.items())
    differs = (f"{_words(name)}: {_told(one)} there, {_told(other)} now" for name, one, other in pairs if one != other)
    raise CannotResume(
        f"{where} has vectors of other settings. {'; '.join(differs)}. Use the same model, text and settings to "
        "resume, or another folder for --out."
    )


def _words(name: str) -> str:
    return {"vectors": "layers & poolings"}.get(name, name.replace("_", " "))


def _told(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(one["title"]) for one in value)
    text = str(value)
    return f"{text[:12]}…" if len(text) == 64 else text


def _is_foreign(name: str) -> bool:
    """Whether a file is not one that an embedding leaves when it is killed before there is a manifest."""
    return name not in (LOCK, SHARDS, CHECKSUMS) and not name.endswith(PART)
