"""The places of Strata: its folders, paths that users write, and files and folders written whole or not at all."""

import errno
import os
import re
import secrets
import shutil
import site
import stat
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from explorer.errors import BadChoice, NotReadable, NotWritable, UnreadableFile

PART = ".part"  # ending of a file that is not whole yet
_DIGITS = (8, 16, 64)  # of a digest in the name of a file
Stamps = tuple[tuple[str, tuple[int, ...]], ...]
_NO_FILES: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # numbers of errors against which room helps
_PROJECT = Path(__file__).parent.parent
_ROOM = "Make room there, or set STRATA_CACHE to a folder that can be written to."


def given_path(written: str | Path) -> Path:
    """The path that a user wrote, with ~ for a home folder; an error if it can never be looked up."""
    try:
        path = Path(written).expanduser()
        str(path).encode()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
        return path
    except UnicodeEncodeError:
        reason = "it is not UTF-8"
    except RuntimeError:  # of expanduser
        reason = "there is no user with this home folder"
    except OSError as error:  # too long, or in a folder that may not be read
        reason = error.strerror or str(error)
    except ValueError:  # a null byte
        reason = "it has a character that no path has"
    raise BadChoice(f"'{written}' cannot be looked up: {reason}. Write another path, such as a full one.")


def check_regular(path: Path, next_step: str = "Save its content as a file, and give that one.") -> None:
    """Refuse a named pipe, a socket or a device: opening it could wait for ever, and reading it never end.

    A folder, and a path with nothing there, are errors of whoever opens them.
    """
    with suppress(OSError, ValueError):
        mode = path.stat().st_mode
        for is_kind, words in _NO_FILES:
            if is_kind(mode):
                raise UnreadableFile(f"{path} is {words}, not a file. {next_step}")


def file_to_write(written: str | Path) -> Path:
    """The path of a file that a user wants written, as long work ends with it; an error now if it cannot be one."""
    path = given_path(written)
    if path.is_dir():
        raise BadChoice(f"'{written}' is a folder. Give the path of a file in it, such as {path / 'name.ending'}.")
    check_regular(path, "Choose another path.")
    above = nearest(path.parent)  # what is missing below is made
    reason = "is no folder" if not above.is_dir() else "" if os.access(above, os.W_OK) else "cannot be written to"
    if reason:
        raise BadChoice(f"'{written}' cannot be written, since {above} {reason}. Choose another path.")
    return path


def nearest(path: Path) -> Path:
    """The path, or the nearest above it that is there."""
    return next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())


def is_utf8(name: str | Path) -> bool:
    """Whether a name can be shown, and written into files; one of other bytes holds halves of surrogate pairs."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def cache_folder() -> Path:
    """The folder of scores and uploaded files: STRATA_CACHE, or `strata` in the user's cache folder."""
    chosen = os.environ.get("STRATA_CACHE")
    if chosen:
        return given_path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return given_path(caches) / "strata"


def app_file() -> Path:
    """What Streamlit opens: app.py next to this package, or where `pip install` puts it."""
    installed = (Path(base) / "share" / "strata" for base in (sysconfig.get_path("data"), site.getuserbase()))
    found = (folder / "app.py" for folder in (_PROJECT, *installed))
    return next((file for file in found if (file.parent / "pages").is_dir()), _PROJECT / "app.py")


def version() -> str:
    """The version, read from pyproject.toml, or from the package if it is installed; a copied folder has neither."""
    import importlib.metadata
    import tomllib

    project = _PROJECT / "pyproject.toml"
    if project.exists():
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    try:
        return importlib.metadata.version("strata")
    except importlib.metadata.PackageNotFoundError:
        return "(of unknown version)"


def runs_folder() -> Path:
    """The folder of training runs: STRATA_RUNS, `checkpoints` next to app.py, or the user's data folder."""
    return _kept_in("STRATA_RUNS", "checkpoints")


def results_folder() -> Path:
    """The folder of evaluation results: STRATA_RESULTS, `results` next to app.py, or the user's data folder."""
    return _kept_in("STRATA_RESULTS", "results")


def talks_folder() -> Path:
    """The folder of talks: STRATA_TALKS, `talks` next to app.py, or the user's data folder."""
    return _kept_in("STRATA_TALKS", "talks")


def _kept_in(variable: str, name: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return given_path(chosen)
    if (_PROJECT / "app.py").exists():
        return _PROJECT / name
    return given_path(os.environ.get("XDG_DATA_HOME") or "~/.local/share") / "strata" / name


def examples_folder() -> Path:
    """The read-only folder of finished runs that ship with Strata."""
    return Path(__file__).parent / "data" / "examples"


def stamp(path: Path) -> tuple[int, ...]:
    """Numbers that change if a file does, or another one takes its place.

    A copy may keep size and time of modification (`cp -p`, tar, rsync), but not the time of its inode.
    """
    now = path.stat()
    return now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino


def free_start(digest: str, stored: Callable[[str], str | None]) -> str:
    """As few first digits of a digest as name its content alone; `stored` is the digest of what is under some, if any.

    What is stored under digits of another digest was changed, and is replaced.
    """
    starts = (digest[:digits] for digits in _DIGITS)
    return next(start for start in starts if (there := stored(start)) in (None, digest) or not there.startswith(start))


def stamps(paths: Iterable[Path]) -> Stamps:
    """The stamps of those files and folders that exist, each with its path."""
    found = []
    for path in paths:
        with suppress(OSError, ValueError):  # gone, or no path at all
            found.append((str(path), stamp(path)))
    return tuple(found)


def readable(folder: Path, next_step: str) -> Path:
    """The folder, which need not be there yet; an error if what is in it cannot be listed."""
    try:
        with os.scandir(folder):
            (folder / "..").stat()  # a folder may be listed and yet not be searched
    except FileNotFoundError:
        pass
    except OSError as error:
        raise NotReadable(f"{folder} cannot be read: {error.strerror or error}. {next_step}") from error
    return folder


def cache_fault() -> str:
    """Why nothing can be kept in the cache, in one line; "" if nothing is wrong with its folder."""
    try:
        readable(cache_folder(), "Check its permissions, or set STRATA_CACHE to another folder.")
    except NotReadable as error:
        return str(error)
    return ""


def kept(folder: Path, pattern: str) -> list[Path]:
    """The paths in a folder of the cache that match; none if it cannot be listed: Strata works without."""
    try:
        return list(folder.glob(pattern))
    except OSError:
        return []


def refused(error: OSError) -> NotReadable:
    """An error of the system in one line, for what nobody expected of a file."""
    reason = error.strerror or error
    if error.filename is None:
        return NotReadable(f"The system refuses what is asked of it: {reason}. Check disks and network, and try again.")
    return NotReadable(f"{error.filename} cannot be used: {reason}. Check that it is there, its permissions and disk.")


def write_whole(
    path: Path, write: Callable[[IO[bytes]], object], next_step: str = _ROOM, *, durable: bool = True
) -> None:
    """Write a file atomically: to a temporary file in its folder, then rename.

    `durable`: it is on the disk before it has its name, so that a power cut leaves no empty file that looks whole.
    """
    with whole_file(path, next_step, durable=durable) as file:
        write(file)


@contextmanager
def whole_file(path: Path, next_step: str = _ROOM, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A file to write, which has its name when the block ends without an error; `write_whole` in several steps."""
    with writing(path.parent, next_step):
        path.parent.mkdir(parents=True, exist_ok=True)
        # not by tempfile, whose files nobody else may read: this one gets the permissions that the umask leaves
        temporary = path.parent / f"tmp{secrets.token_hex(8)}{PART}"
        try:
            with temporary.open("xb") as file:
                yield file
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
            if durable:
                sync(path.parent)
        except BaseException:  # also when the process is stopped: remove the incomplete file
            temporary.unlink(missing_ok=True)
            raise


@contextmanager
def writing(place: Path, next_step: str, otherwise: str = "") -> Iterator[None]:
    """Turn an error of the system in this block into one that names the place and the next step.

    `otherwise` is the next step where room would not help, if it is another one.
    """
    try:
        yield
    except OSError as error:
        next_step = next_step if error.errno in _FULL else otherwise or next_step
        raise NotWritable(f"{place} cannot be written to: {error.strerror or error}. {next_step}") from error


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks cannot synchronise a folder
            raise
    finally:
        os.close(opened)


def settle(folder: Path) -> None:
    """Wait until a new folder with everything in it is on the disk, with files that others may read if they may it."""
    allowed = folder.stat().st_mode & 0o666  # what the umask leaves: safetensors' files are for their owner alone
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(allowed)
        sync(path)
    sync(folder)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside a new one, renamed to it when it is complete; or nothing is left of it."""
    if folder.exists():
        raise NotWritable(f"{folder} exists already and is not overwritten. Choose another name, or remove it.")
    part = folder.with_name(f"{folder.name}{PART}")
    try:
        _remove(part)  # left by a process that was killed
        part.mkdir(parents=True)
        yield part
        settle(part)
        part.rename(folder)
        sync(folder.parent)
    except BaseException as error:  # also when the process is stopped: remove the incomplete folder
        with suppress(OSError):
            _remove(part)
        number = _number(error)
        if number is None and not isinstance(error, OSError):
            raise
        reason = str(error) if number is None else os.strerror(number)
        step = "Make room there, or choose a folder on another disk" if number in _FULL else "Choose another folder"
        raise NotWritable(f"{folder} cannot be written: {reason}. {step}; for runs, STRATA_RUNS names it.") from error


def _number(error: BaseException) -> int | None:
    """The number of an error of the system; None if there is none.

    safetensors and tokenizers write it into errors of their own, and shutil into that of many copies, one for each.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    found = re.search(r"\(os error (\d+)\)|\[Errno (\d+)\]", str(error))
    return int(found[1] or found[2]) if found else None


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)
