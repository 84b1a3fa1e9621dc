"""Flags of every command that encodes sentences: maximum length, precision, device, download."""

from __future__ import annotations

import argparse

from explorer.commands.parts.named_values import whole_number


def add(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument(
        "--max-length",
        type=whole_number,
        metavar="TOKENS",
        help="truncate longer sentences (default: the model's own limit)",
    )
    verb.add_argument("--precision", default="auto", help="auto (default), float32 or bfloat16")
    verb.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    verb.add_argument("--online", action="store_true", help="download missing models and sets from the hub")
