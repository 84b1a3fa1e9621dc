"""The folder that an embedding writes: its manifest, its shards, and the SHA-256 of each in a file of its own.

The manifest states what the vectors are vectors of, and under which settings. A checksum is computed from what is
written, not from what the disk made of it; `sha256sum --check` reads it. Each process writes those of its own shards.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from explorer import typed_json
from explorer.errors import CannotResume, NotWritable
from explorer.places import PART, check_regular, whole_file, write_whole

NAME = "manifest.json"
SHARDS = "shards"  # the folder of the shards
CHECKSUMS = "checksums"  # the folder of the checksum of each
MERGED = "vectors.parquet"
LOCK = ".lock"
LARGEST_MANIFEST = 10_000_000  # bytes of a manifest
ROW, TEXT = "row", "text"  # columns next to those of vectors
TEXT_ROW, START, END = "text_row", "start", "end"  # of windows, in place of `row`: the text, and its characters
KEY = b"strata.key"  # of a file's metadata: which embedding it belongs to
ABOUT = b"strata"  # model, text and settings as JSON
ROOM = "Make room there and start the same command again: shards that are whole are kept."
ELSEWHERE = "Choose another folder for --out."  # where room would not help
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pyarrow")
SHA_DIGITS = 64
LONGEST_CHECKSUM = 1000  # bytes of such a file that are read
_SHARD = re.compile(r"([0-9]{8,})\.parquet")


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
    rows: int = field(metadata={"least": 1})  # of the corpus; if its texts are in windows, there are more vectors
    shards: int = field(metadata={"least": 1})
    rows_per_shard: int = field(metadata={"least": 1})
    vectors: tuple[StoredReading, ...]
    max_length: int = field(metadata={"least": 1})
    precision: str
    dtype: str
    with_text: bool
    windows: bool = False  # whether texts beyond the maximum length are in windows, each with a vector
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        """What decides the content of every shard."""
        # another name or release does not make it another embedding, and the shards follow from the rows
        names = ["model", "texts", "versions", "shards"]
        names += ["windows"] * (not self.windows)  # so that folders from before there were windows can be resumed
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


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if there is none. A folder with anything else in it is refused."""
    path = folder / NAME
    check_regular(path)
    try:
        if folder.exists() and not folder.is_dir():
            raise NotWritable(f"{folder} is a file. Choose a folder for --out.")
        size = path.stat().st_size
        if size > LARGEST_MANIFEST:
            raise CannotResume(
                f"{path} has {size:,} bytes; a manifest has at most {LARGEST_MANIFEST:,}. Choose another folder."
            )
        stated = typed_json.parsed(path.read_bytes())
    except FileNotFoundError:
        names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
        # what an embedding leaves when it is killed before there is a manifest is not foreign
        there = [name for name in names if name not in (LOCK, SHARDS, CHECKSUMS) and not name.endswith(PART)]
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
    if manifest is not None and not wrong:
        shards = -(-manifest.rows // manifest.rows_per_shard)
        if manifest.shards != shards:
            of = f"{manifest.rows:,} rows in shards of {manifest.rows_per_shard:,}"
            wrong = f"{of} are {shards:,} shards, and not {manifest.shards:,}"
    if manifest is None or wrong:
        raise CannotResume(f"{path} is damaged: {wrong}. Choose another folder, or delete this one.")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically."""
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1) + "\n"
    write_whole(folder / NAME, lambda file: file.write(text.encode("utf-8", "surrogatepass")), ROOM)


def check_same(there: Manifest, now: Manifest, where: str) -> None:
    """Refuse to mix vectors of two embeddings in one folder; the error says what differs."""
    if there.key == now.key:
        return

    def short(value: object) -> str:
        if isinstance(value, list | tuple):
            return ", ".join(str(one["title"]) for one in value)
        text = str(value)
        return f"{text[:12]}…" if len(text) == 64 else text

    differs = []
    stated, wanted = (asdict(manifest) for manifest in (there, now))
    for name in {**there.settings, **now.settings}:
        if stated[name] != wanted[name]:
            called = "layers & poolings" if name == "vectors" else name.replace("_", " ")
            differs.append(f"{called}: {short(stated[name])} there, {short(wanted[name])} now")
    raise CannotResume(
        f"{where} has vectors of other settings. {'; '.join(differs)}. Use the same model, text and settings to "
        "resume, or another folder for --out."
    )


def shards_in(folder: Path) -> set[int]:
    """The numbers of the shards that are in a folder."""
    found = ((_SHARD.fullmatch(path.name), path) for path in (folder / SHARDS).glob("*.parquet"))
    return {int(name[1]) for name, path in found if name and path.is_file()}


def has_rows(path: Path, manifest: Manifest, start: int, rows: int) -> bool:
    """Whether a file has the rows of an embedding from `start` on, by its footer; the numbers in it are not read.

    Of texts in windows it has each text at least once, and those of one text are together.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():  # a named pipe would be waited for
        return False
    try:
        footer = pq.read_metadata(path)
        stated = (footer.metadata or {}).get(KEY)
        groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
        ranges = [(group.column(0).path_in_schema, group.column(0).statistics, group.num_rows) for group in groups]
    except (OSError, ValueError, OverflowError, RuntimeError, MemoryError, pa.ArrowException):
        return False
    if stated != manifest.key.encode():
        return False
    if manifest.windows:
        return _has_texts([(name, values) for name, values, _ in ranges], start, rows)
    for name, values, count in ranges:
        if name != ROW or values is None or (values.min, values.max) != (start, start + count - 1):
            return False
        start += count
    return bool(footer.num_rows == rows)


def _has_texts(ranges: Sequence[tuple[str, Any]], start: int, rows: int) -> bool:
    """Whether row groups have the windows of consecutive texts, of which two groups may share one."""
    last: int = start - 1
    for name, values in ranges:
        if name != TEXT_ROW or values is None or values.min not in (max(last, start), last + 1):
            return False
        last = values.max
    return last == start + rows - 1


def vectors_in(folder: Path, manifest: Manifest) -> int:
    """How many vectors a whole folder has under each layer & pooling."""
    import pyarrow.parquet as pq

    shards = range(manifest.shards) if manifest.windows else ()
    return sum(pq.read_metadata(shard_path(folder, number)).num_rows for number in shards) or manifest.rows


@contextmanager
def written_with_checksum(folder: Path, path: Path) -> Iterator[IO[bytes]]:
    """A file to write atomically, and after it its checksum."""
    with whole_file(path, ROOM) as file:
        summed = _Summed(file)
        yield summed  # type: ignore[misc]  # pyarrow writes, and asks for the position
    write_checksum(folder, path, summed.sha.hexdigest())


def write_checksum(folder: Path, path: Path, digest: str) -> None:
    """Write the checksum of a file."""
    with whole_file(_checksum_file(folder, path), ROOM) as file:
        file.write(_checksum_line(folder, path, digest).encode())


def stated_checksum(folder: Path, path: Path) -> str | None:
    """The checksum that was written for a file; None if there is none."""
    stated = _checksum_file(folder, path)
    if not stated.is_file():  # a named pipe would be waited for
        return None
    try:
        with stated.open("rb") as file:
            text = file.read(LONGEST_CHECKSUM).decode("ascii")
    except (OSError, ValueError):
        return None
    return text[:SHA_DIGITS] if text == _checksum_line(folder, path, text[:SHA_DIGITS]) else None


def computed_checksum(path: Path) -> str:
    """The checksum of a file as it is; "" if the disk cannot read it."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _checksum_line(folder: Path, path: Path, digest: str) -> str:
    return f"{digest}  {path.relative_to(folder).as_posix()}\n"


def _checksum_file(folder: Path, path: Path) -> Path:
    return folder / CHECKSUMS / f"{path.stem}.sha256"


class _Summed(io.RawIOBase):
    """A file that is written, with the SHA-256 of what was."""

    def __init__(self, file: IO[bytes]) -> None:
        self.sha, self._file = hashlib.sha256(), file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()
