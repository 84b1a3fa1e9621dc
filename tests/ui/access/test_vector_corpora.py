"""Test that vectors on disk are opened again on the pages once a file is another one."""

import os

import numpy as np

from explorer.ui.access import cached


def test_a_file_with_the_name_size_and_time_of_another_is_another(tmp_path):
    path = tmp_path / "mine.npy"
    np.save(path, np.ones((3, 2)))
    before, first = path.stat(), cached._stamp(str(path))
    np.save(path, np.eye(3, 2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    second = cached._stamp(str(path))
    np.save(tmp_path / "other.npy", np.eye(3, 2))
    os.utime(tmp_path / "other.npy", ns=(before.st_atime_ns, before.st_mtime_ns))
    path.unlink()
    path.symlink_to(tmp_path / "other.npy")
    assert len({first, second, cached._stamp(str(path))}) == 3
    assert cached._stamp(str(path)) == cached._stamp(str(path))
