"""Flags of the command line: made from settings that are stated as knobs, and those that several commands share."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from explorer.errors import BadChoice
from explorer.evaluating.results import table_formats
from explorer.evaluating.tasks.judges import measure_of_a_kind
from explorer.knobs import LARGEST_SEED, Knob, Knobs
from explorer.measuring.scores import metrics

Stated = TypeVar("Stated", bound=Knobs)


def add(
    verb: argparse.ArgumentParser, *knobs: Knob, stated: bool = False, action: type[argparse.Action] | None = None
) -> None:
    """Add a flag for each setting; with `stated`, the options have those alone that are given.

    `action` is what becomes of a value, if it is not kept under the setting's name.
    """
    for knob in knobs:
        flag, help = knob.option, _help(knob)
        if knob.kind is bool:
            verb.add_argument(flag, dest=knob.name, action="store_true", help=help)
            continue
        shown = knob.metavar or ("{" + ",".join(knob.choices) + "}" if knob.choices else _METAVARS[knob.kind])
        listed = knob.many and not knob.repeated and not knob.metavar
        verb.add_argument(
            flag,
            dest=knob.name,
            action=action or ("append" if knob.repeated else "store"),
            default=argparse.SUPPRESS if stated else [] if knob.repeated else knob.default,
            # an error of a knob is none of argparse's, which would hide its reason
            type=(replace(knob, name=flag, **_ONE) if knob.repeated else replace(knob, name=flag)).checked,
            metavar=f"{shown},{shown}" if listed else shown,
            help=help,
        )


_ONE: dict[str, Any] = {"default": None}  # a flag that is repeated has one value of the list
_METAVARS = {int: "N", float: "NUMBER", str: "NAME"}


def _help(knob: Knob) -> str:
    """Name, explanation and default, as argparse formats it."""
    usual = (knob.usual and knob.kind is not bool and f" (default: {knob.usual})") or ""
    about = f"{knob.title}. {knob.help}" if knob.title else knob.help
    repeated = "; repeatable" if knob.repeated else ""
    return f"{about.rstrip('.')}{repeated}{usual}".replace("`", "'").replace("%", "%%")


def check(options: argparse.Namespace, *knobs: Knob) -> None:
    """Refuse flags that exclude each other, and those that have no effect without another one."""
    stated = {knob.name for knob in knobs if getattr(options, knob.name, knob.default) not in (knob.default, [])}
    by_name = {knob.name: knob for knob in knobs}
    for knob in knobs:
        if knob.name not in stated:
            continue
        for other in knob.excludes:
            if other in stated:
                one, two = knob.option, by_name[other].option
                raise BadChoice(f"{two} has no effect with {one}. Leave one of them out. {one}: {knob.help}")
        if knob.needs and knob.needs not in stated:
            raise BadChoice(f"{knob.option} needs {by_name[knob.needs].option}. Give both, or leave it out.")


def values(options: argparse.Namespace, knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """The values of the settings that have a flag, by name."""
    found = {name: getattr(options, name) for name in knobs if hasattr(options, name)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def read(options: argparse.Namespace, kind: type[Stated]) -> Stated:
    """The settings of a class that flags state; what has no flag has its default."""
    return kind.read(values(options, kind.knobs))


A_RUN = "run:NAME, its name, or its folder"  # how an argument for a run is given
A_MODEL = "a name, a folder, a hub id, or run:NAME"
SEED = Knob("seed", 0, "Of the random numbers.", low=0, high=LARGEST_SEED)
COLUMN = Knob(
    "column",
    (),
    "The column of the file that has a role, if it is detected wrongly: first=…, second=…, score=….",
    metavar="ROLE=NAME",
    repeated=True,
)
SET = Knob("set", (), "Any setting of the method.", metavar="KNOB=VALUE", repeated=True)
ONLINE = Knob("online", False, "Download missing models and sets from the hub.")
READINGS = (
    Knob(
        "reading",
        None,
        "Layer & pooling of A: 'mean of layer 6', 'last of layer 3', 'mean of layers 4-6', 'model default', ….",
        metavar="TITLE",
        empty="the model default",
    ),
    Knob("other_reading", None, "Of B.", metavar="TITLE", empty="what --reading says, else B's default"),
)
METRIC = Knob(
    "metric",
    None,
    "A measure that the set has, such as Pearson of scored pairs or MRR@10 of queries; its case does not matter.",
    metavar="NAME",
    empty="the main one of the set: Spearman, of pairs with two labels average precision, of queries nDCG@10, …",
)
SPLIT = Knob(
    "split",
    None,
    "Also the scores in each group of a column of the file, such as language or source, or of the length in words.",
    metavar="COLUMN",
)
AGGREGATE = Knob(
    "aggregate",
    "all",
    "all: one score over all pairs; mean over sub-corpora; wmean: weighted by their number of pairs.",
)


def add_forms(verb: argparse.ArgumentParser, json: str = "") -> None:
    """Add a flag for each form of a table, of which one may be chosen; `json` is the help of that one, if there is."""
    forms = verb.add_mutually_exclusive_group()
    if json:
        forms.add_argument("--json", action="store_true", help=json)
    for name in table_formats.FORMATS:
        forms.add_argument(f"--{name}", action="store_true", help=f"The table as {name}")


def form(options: argparse.Namespace) -> str:
    """The form of the table that was chosen; "" for that of a terminal."""
    return next((name for name in ("json", *table_formats.FORMATS) if getattr(options, name, False)), "")


def table(options: argparse.Namespace, header: table_formats.Header, rows: table_formats.Rows) -> str:
    """The table in the form that was chosen."""
    chosen = form(options)
    return table_formats.written(chosen, header, rows) if chosen else table_formats.as_text(header, rows)


def metric(options: argparse.Namespace) -> tuple[str | None, str]:
    """The metric, if one is stated, and the aggregation; others than any set has are refused."""
    metrics.check_aggregate(options.aggregate)
    return measure_of_a_kind(options.metric), options.aggregate


def roles(options: argparse.Namespace) -> dict[str, str]:
    """The columns by role that `--column score=rating` names."""
    return dict(_parts("--column ROLE=NAME", "score=rating", options.column))


def settings(options: argparse.Namespace) -> dict[str, str]:
    """The settings of a method that `--set temperature=0.05` states."""
    found = _parts("--set KNOB=VALUE", "temperature=0.05", options.set)
    return {name.replace("-", "_"): value for name, value in found}


def _parts(flag: str, example: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """The two sides of each equals sign."""
    name, form = flag.split()
    found = [text.partition("=") for text in texts]
    for text, equals, _ in found:
        if not equals:
            raise BadChoice(f"{name} {text} lacks an equals sign. Write {form}, for example {name} {example}.")
    return [(one, other) for one, _, other in found]
