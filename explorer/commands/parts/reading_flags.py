"""Flags of every command that encodes sentences: layers & poolings, maximum length, precision, device, download."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from explorer.commands.parts.named_values import whole_number
from explorer.encoding.load.hardware import MEASURED

if TYPE_CHECKING:
    from explorer.measuring.scores.measure import Settings


def add(verb: argparse.ArgumentParser, *, precision: bool = True) -> None:
    """State the flags; without `precision`, everything is computed in float32."""
    verb.add_argument(
        "--max-length",
        type=whole_number,
        metavar="TOKENS",
        help="truncate longer sentences (default: the model's own limit)",
    )
    if precision:
        verb.add_argument("--precision", help=" (default) or ".join(MEASURED))
    verb.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    verb.add_argument("--online", action="store_true", help="download missing models and sets from the hub")


def add_of_two(verb: argparse.ArgumentParser) -> None:
    """State the flags of the layers & poolings of A and of B."""
    verb.add_argument(
        "--reading",
        metavar="TITLE",
        help="layer & pooling of A: 'mean of layer 6', 'last of layer 3', 'mean of layers 4-6', 'model default', … "
        "(default: the model default)",
    )
    verb.add_argument("--other-reading", metavar="TITLE", help="of B (default: what --reading says, else B's default)")


def add_of_scores(verb: argparse.ArgumentParser) -> None:
    """State the flags of the metric, and of how sub-corpora are aggregated."""
    verb.add_argument(
        "--metric",
        default="Spearman",
        help="spearman (default), pearson, or another one of the set; an unknown one is refused with all there are",
    )
    verb.add_argument(
        "--aggregate",
        default="all",
        help="all (default): one score over all pairs; mean over sub-corpora; wmean: weighted by their number of pairs",
    )


def ways(options: argparse.Namespace) -> tuple[str, str]:
    """The metric and the aggregation that the flags state; others than there are are refused."""
    from explorer.measuring.scores.metrics import check_agreement, named

    metric = named(options.metric)
    check_agreement(metric, options.aggregate)
    return metric, options.aggregate


def settings(options: argparse.Namespace) -> Settings:
    """The measurement settings that the flags state."""
    from explorer.measuring.scores.measure import Settings

    return Settings(MEASURED[0] if options.precision is None else options.precision, options.device, options.max_length)
