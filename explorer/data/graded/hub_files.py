"""Find a file of a Hugging Face data set in the local cache, or download it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from explorer.data.tables.files import ENDINGS, read_bytes
from explorer.data.tables.table import Table
from explorer.errors import UnreadableFile

ZIPPED = ".gz"
PATIENCE = 10.0  # seconds until a hub without an answer counts as unreachable, as in huggingface_hub


def hub_table(hub_id: str, contains: Sequence[str], *, online: bool) -> Table | None:
    """The table in the file of a data set whose path contains one of these words; None if unavailable.

    Only the cache is used unless `online`. It is `huggingface_hub`'s cache, which `datasets` and `mteb` use too;
    `datasets` itself is not used, since it tries the network for 23 s even with `local_files_only`.
    """
    path = _path(hub_id, contains, online=False)
    if path is None and online:
        path = _path(hub_id, contains, online=True)
    if path is None:
        return None
    return read_bytes(path.name.removesuffix(ZIPPED), _unzipped(path))


def version_file(hub_id: str) -> Path:
    """The file in the local cache that says which version of a data set is read."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"datasets--{hub_id.replace('/', '--')}" / "refs" / "main"


def _unzipped(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ZIPPED else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:  # no permission, truncated, damaged
        raise UnreadableFile(
            f"{path.name} in the hub's cache cannot be read: {error}. Delete {path.resolve()}, so that it is "
            "downloaded "
            "again."  # the file behind the link, else the cache would return it again
        ) from error


def _path(hub_id: str, contains: Sequence[str], *, online: bool) -> Path | None:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    wanted = [f"*{word}*{ending}{zipped}" for word in contains for ending in ENDINGS for zipped in ("", ZIPPED)]
    try:
        if online:  # a test request first, since `snapshot_download` waits forever for a host that does not answer
            HfApi().dataset_info(hub_id, timeout=PATIENCE)
        folder = snapshot_download(hub_id, repo_type="dataset", allow_patterns=wanted, local_files_only=not online)
    # OSError, errors of the HTTP library, and invalid JSON such as a captive portal's page
    except (*HfHubHTTPError.__bases__, ValueError):
        return None
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return next((path for path in files if _fits(path.relative_to(folder).as_posix(), wanted)), None)


def _fits(path: str, patterns: list[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)
