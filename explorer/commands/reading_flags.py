"""How does an encoder read? The flags of every verb that has one read sentences."""

from __future__ import annotations

import argparse


def add(verb: argparse.ArgumentParser) -> None:
    """State them."""
    verb.add_argument(
        "--max-length", type=int, metavar="TOKENS", help="cut longer sentences (default: the model's own limit)"
    )
    verb.add_argument("--precision", default="auto", help="auto (default), float32 or bfloat16")
    verb.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    verb.add_argument("--online", action="store_true", help="fetch from the hub what is not on this disk")
