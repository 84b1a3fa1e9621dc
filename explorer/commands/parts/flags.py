"""Flags of the command line: made from settings that are stated as knobs, and those that several commands share."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from explorer.errors import BadChoice
from explorer.evaluating.results import table_formats
from explorer.knobs import Knob, Knobs, knob
from explorer.places import file_to_write

Stated = TypeVar("Stated", bound=Knobs)


def add(
    verb: argparse.ArgumentParser,
    *settings: Knob | type[Knobs],
    stated: bool = False,
    action: type[argparse.Action] | None = None,
) -> None:
    """Add a flag for each setting, of classes or alone; with `stated`, the options have those alone that are given.

    `action` is what becomes of a value, if it is not kept under the setting's name.
    """
    for setting in _each(settings):
        flag, help = setting.option, _help(setting)
        if setting.kind is bool:
            verb.add_argument(flag, dest=setting.name, action="store_true", help=help)
            continue
        shown = setting.metavar or (
            "{" + ",".join(setting.choices) + "}" if setting.choices else _METAVARS[setting.kind]
        )
        listed = setting.many and not setting.repeated and not setting.metavar
        verb.add_argument(
            flag,
            dest=setting.name,
            action=action or ("append" if setting.repeated else "store"),
            default=argparse.SUPPRESS if stated else [] if setting.repeated else setting.default,
            # an error of a setting is none of argparse's, which would hide its reason
            type=(replace(setting, name=flag, **_ONE) if setting.repeated else replace(setting, name=flag)).checked,
            metavar=f"{shown},{shown}" if listed else shown,
            help=help,
        )


def _each(settings: Sequence[Knob | type[Knobs]]) -> list[Knob]:
    return [setting for one in settings for setting in ((one,) if isinstance(one, Knob) else one.knobs.values())]


_ONE: dict[str, Any] = {"default": None}  # a flag that is repeated has one value of the list
_METAVARS = {int: "N", float: "NUMBER", str: "NAME"}


def _help(setting: Knob) -> str:
    """Name, explanation and default, as argparse formats it."""
    usual = (setting.usual and setting.kind is not bool and f" (default: {setting.usual})") or ""
    about = f"{setting.title}. {setting.help}" if setting.title else setting.help
    repeated = "; repeatable" if setting.repeated else ""
    return f"{about.rstrip('.')}{repeated}{usual}".replace("`", "'").replace("%", "%%")


def check(options: argparse.Namespace, *settings: Knob | type[Knobs]) -> None:
    """Refuse flags that exclude each other, and those that have no effect without another one."""
    knobs = _each(settings)
    stated = {
        setting.name
        for setting in knobs
        if getattr(options, setting.name, setting.default) not in (setting.default, [])
    }
    by_name = {setting.name: setting for setting in knobs}
    for setting in knobs:
        if setting.name not in stated:
            continue
        for other in setting.excludes:
            if other in stated:
                one, two = setting.option, by_name[other].option
                raise BadChoice(f"{two} has no effect with {one}. Leave one of them out. {one}: {setting.help}")
        if setting.needs and setting.needs not in stated:
            raise BadChoice(f"{setting.option} needs {by_name[setting.needs].option}. Give both, or leave it out.")


def values(options: argparse.Namespace, knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """The values of the settings that have a flag, by name."""
    found = {name: getattr(options, name) for name in knobs if hasattr(options, name)}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def read(options: argparse.Namespace, kind: type[Stated]) -> Stated:
    """The settings of a class that flags state; what has no flag has its default.

    Flags that exclude each other, or lack one that they need, are refused.
    """
    check(options, kind)
    return kind.read(values(options, kind.knobs))


A_RUN = "run:NAME, its name, or its folder"  # how an argument for a run is given
A_MODEL = "a name, a folder, a hub id, or run:NAME"


@dataclass(frozen=True)
class Shared(Knobs):
    """What several commands take: how single values are written in a line, and whether the hub is asked."""

    column: tuple[str, ...] = knob(
        (),
        metavar="ROLE=NAME",
        repeated=True,
        help="The column of the file that has a role, if it is detected wrongly: first=…, second=…, score=….",
    )
    setting: tuple[str, ...] = knob((), metavar="KNOB=VALUE", repeated=True, help="Any setting of the method.")
    online: bool = knob(False, help="Download missing models and sets from the hub.")


COLUMN, SET, ONLINE = Shared.knobs.values()
SET = replace(SET, name="set")  # a class of settings has a method of this name


def add_estimate(verb: argparse.ArgumentParser, prints: str) -> None:
    """Add the flag that prints what a command takes, and does no more."""
    verb.add_argument("--estimate", action="store_true", help=f"{prints}, and stop")


def add_report(verb: argparse.ArgumentParser, writes: str, *also: str) -> None:
    """Add the flag that names the file of a report; `writes` says what is in it, `also` are other names of the flag."""
    verb.add_argument("--report", *also, type=file_to_write, metavar="FILE", help=f"{writes} as one HTML file")


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


def roles(options: argparse.Namespace) -> dict[str, str]:
    """The columns by role that `--column score=rating` names."""
    return dict(_parts("--column ROLE=NAME", "score=rating", options.column))


def settings(options: argparse.Namespace) -> dict[str, str]:
    """The settings of a method that `--set temperature=0.05` states."""
    found = _parts("--set KNOB=VALUE", "temperature=0.05", options.set)
    return {name.replace("-", "_"): value for name, value in found}


def jobs(texts: Sequence[str]) -> dict[str, list[str]]:
    """The options of jobs that `--job partition=gpu` names; some may be given several times."""
    found: dict[str, list[str]] = {}
    for name, value in _parts("--job NAME=VALUE", "partition=gpu", texts):
        found.setdefault(name, []).append(value)
    return found


def _parts(flag: str, example: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """The two sides of each equals sign."""
    name, form = flag.split()
    found = [text.partition("=") for text in texts]
    for text, equals, _ in found:
        if not equals:
            raise BadChoice(f"{name} {text} lacks an equals sign. Write {form}, for example {name} {example}.")
    return [(one, other) for one, _, other in found]
