"""Test that a .npy file is refused by its header before anything of the size it states is read."""

import os
import struct

import numpy as np
import pytest

from explorer.data.vectors.vector_corpus import opened
from explorer.errors import DataError, UnreadableFile
from tests.data.vectors.made_vectors import VECTORS


def with_header(npy, shape, descr="'<f4'", order=False):
    """The file with another header before the same numbers."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    npy.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + VECTORS.tobytes())
    return npy


DAMAGED = [
    ("(-7, 4)", "'<f4'", r"not a \.npy file \(its header states the shape \(-7, 4\)"),
    ("(-1, -28)", "'<f4'", r"states the shape \(-1, -28\)"),
    ("(True, 4)", "'<f4'", r"states the shape \(True, 4\)"),
    ("(7.0, 4)", "'<f4'", "shape is not valid"),
    ("(7, 2)", "'<f4'", r"has 240 bytes; .* shape \(7, 2\) of float32 it would have 184"),
    ("(7, 8)", "'<f4'", r"shape \(7, 8\) of float32 it would have 352"),
    ("(7, 4)", "'<f8'", r"shape \(7, 4\) of float64 it would have 352"),
    (f"({10**18}, 4)", "'<f4'", "cut off or damaged"),
    (f"({10**18}, {10**18})", "'<f4'", "width 1,000,000,000,000,000,000"),
    (f"({'9' * 400}, 4)", "'<f4'", "cut off or damaged"),
    ("(7, 0)", "'<f4'", r"shape \(7, 0\)"),
    ("(7, 65537)", "'<f4'", r"width 65,537; at most 65,536"),
    ("(7, 4)", "'|b1'", "holds bool"),
    ("(7, 4)", "'|O'", "Python objects, which are never unpickled"),
    ("(7, 4)", "[('a', '<f4')]", r"holds \[\('a', '<f4'\)\]"),
    ("(7, 4)", "'<f4', 'more': 1", "not a .npy file"),
    ("(7, 4)", "(" * 300, "not a .npy file"),
    ("(7, 4)", "-" * 5000 + "1", "not a .npy file"),
]


@pytest.mark.parametrize(("shape", "descr", "words"), DAMAGED, ids=range(len(DAMAGED)))
def test_a_header_that_does_not_describe_the_file_is_refused_in_a_line(npy, shape, descr, words):
    with pytest.raises(DataError, match=words):
        opened(with_header(npy, shape, descr))


def test_a_header_of_a_wrong_length_is_refused(npy):
    npy.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{")
    with pytest.raises(UnreadableFile, match=r"mine\.npy is not a \.npy file"):
        opened(npy)


def test_more_bytes_than_the_header_states_are_refused(npy):
    with npy.open("ab") as file:
        np.save(file, VECTORS)
    with pytest.raises(UnreadableFile, match="has 480 bytes"):
        opened(npy)


@pytest.mark.parametrize("ending", [".npy", ".txt"])
def test_a_named_pipe_is_refused_at_once(npy, ending):
    pipe = npy.with_suffix(ending)
    pipe.unlink()
    os.mkfifo(pipe)
    with pytest.raises(UnreadableFile, match=rf"mine\{ending} is a named pipe, not a file"):
        opened(npy)
