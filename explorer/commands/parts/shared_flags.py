"""Flags that several commands have: their values, and those of every command that encodes sentences."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from explorer.encoding.load.hardware import MEASURED
from explorer.errors import BadChoice
from explorer.knobs import whole_in, wholes_in

if TYPE_CHECKING:
    from explorer.measuring.scores.measure import Settings

LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes


def role_and_name(column: str) -> tuple[str, str]:
    """`score=rating` as a role and the column that plays it."""
    role, equals, name = column.partition("=")
    if not equals:
        raise BadChoice(f"--column {column} lacks an equals sign. Write ROLE=NAME, for example --column score=rating.")
    return role, name


def knob_and_value(text: str) -> tuple[str, str]:
    """`temperature=0.05` as a setting and its value."""
    knob, equals, value = text.partition("=")
    if not equals:
        raise BadChoice(f"--set {text} lacks an equals sign. Write KNOB=VALUE, for example --set temperature=0.05.")
    return knob.replace("-", "_"), value


def whole_number(text: str) -> int:
    """A whole number, as the type of a flag: argparse adds the flag to the error."""
    found = whole_in(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text:.50} is not a whole number. Write it in the digits 0 to 9: 1000")
    return found


def seed(text: str) -> int:
    """A seed, as the type of a flag."""
    found = whole_number(text)
    if not 0 <= found <= LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text:.50} is not a seed. Choose 0 to {LARGEST_SEED}")
    return found


def whole_numbers(flag: str, text: str) -> tuple[int, ...]:
    """The different numbers in the list of a flag."""
    found = wholes_in(text)
    if found is None:
        raise BadChoice(f"{flag} {text} is not a list of whole numbers. Write, for example, {flag} 3 or {flag} 2,3.")
    return found


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
