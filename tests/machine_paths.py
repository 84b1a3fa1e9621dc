"""Find folders of the author's machine in committed text."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.floors import Breach

MACHINE = re.compile(r"(?<![\w.~<>-])/(?:work|root|home|Users)/\w")


def machine_paths(root: Path) -> Iterator[Breach]:
    """No committed text names a folder of the machine it was written on."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True)
    for path in filter(None, listed.stdout.split("\0")):
        content = (root / path).read_bytes() if (root / path).is_file() else b""
        if b"\0" in content:  # not a text
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
            if found := MACHINE.search(line):
                what = f"names {found[0]}…, a folder of one machine; a path starts at the project's root"
                yield Breach(path, number, "machine path", what)
