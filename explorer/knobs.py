"""Settings with bounds and help text, stated once and used by form, command line, recipe and documentation.

A subclass of Knobs states its settings as class attributes; values are checked here. It may be a frozen dataclass: its
other fields are then values that no one types. A number that is typed is written in the digits 0 to 9: `int` and
`float` also take `1_000`, and digits of every script.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from explorer.data.text_sets import Kind
from explorer.errors import BadChoice

Value = TypeVar("Value")
Values = Mapping[str, bool | int | float | str]

_WHOLE = re.compile(r"[+-]?[0-9]{1,300}")  # longer ones cannot be compared with a float
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
MOST_ROWS = 10**9  # in a setting
LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes
_SWITCH = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


def whole_in(text: str) -> int | None:
    """The whole number that a text states; None if it states none."""
    return int(text) if _WHOLE.fullmatch(text.strip()) else None


def number_in(text: str) -> float | None:
    """The number that a text states, such as `5e-5`; None if it states none."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def percent_in(text: str) -> float | None:
    """The number of percent that a text states, such as `25 %`; None if it states none."""
    typed = text.strip()
    return number_in(typed[:-1]) if typed[-1:] == "%" else None


@dataclass(frozen=True)
class Knob:
    """A setting: its default, what is allowed, what it does, and its name in forms and on the command line.

    A default that is a tuple makes it a list, and a default of None lets it be left empty; `item` is then the type of
    each value.
    """

    name: str
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    front: bool = False  # shown in a form before it is unfolded
    masked_model: bool = False  # its value names a masked language model, which is found before training
    part: bool = False  # its text is how much of a whole: a share, `25 %`, or a number
    rows: Kind | None = None  # only for methods that train on such rows
    paper: bool | int | float | str | None = None  # the paper's value, if it is not the default
    item: type = str  # of a value that may be missing, or of each value of a list
    title: str = ""  # of its field; its name in words if empty
    titles: Mapping[str, str] = field(default_factory=dict)  # of its choices in a form, where they differ
    empty: str = ""  # what an empty value stands for: `the model's limit`
    flag: str = ""  # on the command line: its name with hyphens if empty
    metavar: str = ""  # of the flag: `FILE|NAME`
    repeated: bool = False  # a list that is typed with a flag for each value, not with commas
    excludes: tuple[str, ...] = ()  # settings that have no effect with it
    needs: str = ""  # the setting without which it has no effect

    @property
    def paper_value(self) -> bool | int | float | str:
        """The paper's value: the default, unless stated otherwise."""
        return self.default if self.paper is None else self.paper

    def for_family(self, value: bool | int | float | str) -> Knob:
        """The knob for a family of encoders for which the paper states this value.

        It is the default, unless Strata's default differs from the paper's value for all encoders.
        """
        return replace(self, default=value) if self.paper is None else replace(self, paper=value)

    @property
    def label(self) -> str:
        """The name of its field in a form: `Batch size`."""
        return self.title or self.name.replace("_", " ").capitalize().replace("Lora", "LoRA")

    @property
    def many(self) -> bool:
        """Whether it is a list of values."""
        return isinstance(self.default, tuple)

    @property
    def kind(self) -> type:
        """The type of its values, or of each value of a list: bool, int, float or str."""
        return self.item if self.default is None or self.many else type(self.default)

    @property
    def allowed(self) -> str:
        """The bounds in words: `0.001 to 1`, `1 or more`, `one of cls, mean, max`, `on or off`, `a name`."""
        if self.choices:
            return f"{'any' if self.many else 'one'} of {', '.join(self.choices)}"
        if self.kind is bool:
            return "on or off"
        if self.part:
            values = "shares such as 25 %, or whole numbers, with commas between them"
            return values if self.many else "a share above 0 %, at most 100 %, or a whole number from 1"
        if self.kind is str:
            return "names with commas between them" if self.many else "a name"
        if self.many:
            number = (
                "whole numbers with commas between them" if self.kind is int else "numbers with commas between them"
            )
        else:
            number = "a whole number" if self.kind is int else "a number"
        if self.low is None or self.high is None:
            least = "" if self.low is None else f", {self.text(self.low)} or more"
            return f"{number}{least}" if self.high is None else f"{number}, {self.text(self.high)} or less"
        return f"{number} from {self.text(self.low)} to {self.text(self.high)}"

    def checked(self, value: object) -> Any:
        """The value in its type, if it is allowed; text is parsed as on the command line."""
        if self.default is None and value is None:
            return None
        if not self.many:
            return self._one(value, value)
        parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
        given = [part.strip() if isinstance(part, str) else part for part in parts]
        return tuple(dict.fromkeys(self._one(part, value) for part in given if part != ""))

    def _one(self, part: object, value: object) -> bool | int | float | str:
        """A part of a value, or the value itself, in its type; an error names the whole value."""
        found = self._read(part)
        if found is None or (self.choices and found not in self.choices):
            raise self._refused(value)
        if not isinstance(found, (bool, str)):
            below, above = self.low is not None and found < self.low, self.high is not None and found > self.high
            if below or above or (isinstance(found, float) and not math.isfinite(found)):
                raise self._refused(value)
        return found

    def _read(self, value: object) -> bool | int | float | str | None:
        """The value in this knob's type; None if it cannot be converted."""
        if self.kind is bool:
            return value if isinstance(value, bool) else _SWITCH.get(str(value).strip().lower())
        if self.part:
            return self._part(value)
        if self.kind is str:
            return str(value)
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        whole = whole_in(value) if isinstance(value, str) else value if isinstance(value, int) else None
        if self.kind is int and whole is not None:  # not through float, which rounds large integers
            return whole
        try:
            number = number_in(value) if isinstance(value, str) else float(value)
        except OverflowError:
            return None
        if self.kind is int:
            return int(number) if number is not None and number.is_integer() else None
        return number

    def _part(self, value: object) -> str | None:
        """How much of a whole, in the one way in which it is written: `25 %` or `2000`."""
        percent = percent_in(value) if isinstance(value, str) else None
        if percent is not None:
            return f"{self.text(percent)} %" if 0 < percent <= 100 else None
        whole = whole_in(value) if isinstance(value, str) else value if type(value) is int else None
        return str(whole) if whole is not None and 1 <= whole <= MOST_ROWS else None

    def _refused(self, value: object) -> BadChoice:
        usual = self.usual and f" (default {self.usual})"
        return BadChoice(f"{self.name} cannot be {value!r:.300}. Choose {self.allowed}{usual}. {self.help}")

    @property
    def usual(self) -> str:
        """The default in words; what an empty value stands for if there is none."""
        return self.empty if self.default in (None, (), "") else self.text(self.default)

    @staticmethod
    def text(value: Any) -> str:
        """A value as text: `on`, `5e-05`, `cls`, `1, 2`; parsing it gives the same value."""
        if isinstance(value, tuple | list):
            return ", ".join(map(Knob.text, value))
        if isinstance(value, bool):
            return "on" if value else "off"
        if not isinstance(value, float):
            return "" if value is None else str(value)
        short = f"{value:g}"
        return short if float(short) == value else repr(value)


def knob(default: Value, *, help: str, **stated: Any) -> Value:
    """State a setting in a subclass of Knobs, with any field of `Knob`; for the type checker it is its value."""
    return field(default=default, metadata={"knob": Knob("", default, help, **stated)})


class Knobs:
    """Named settings; `Knobs(temperature=0.1)` checks and stores them, the rest are the defaults."""

    knobs: ClassVar[Mapping[str, Knob]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, dataclasses.Field)}
        own = {name: value.metadata["knob"] for name, value in fields.items() if "knob" in value.metadata}
        inherited: dict[str, Knob] = {}
        for above in reversed(cls.__mro__[1:]):
            inherited |= vars(above).get("knobs", {})
        cls.knobs = {**inherited, **{name: replace(value, name=name) for name, value in own.items()}}

    def set(self, values: Values) -> None:
        """Set these values, and the defaults for the rest."""
        for name, value in {**{name: one.default for name, one in self.knobs.items()}, **values}.items():
            setattr(self, name, find(self.knobs, name).checked(value))

    def values(self) -> dict[str, Any]:
        """Every setting by name."""
        return {name: getattr(self, name) for name in self.knobs}


def find(knobs: Mapping[str, Knob], name: str) -> Knob:
    """The knob with this name, or an error that suggests the nearest."""
    if name in knobs:
        return knobs[name]
    near = difflib.get_close_matches(name, knobs, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no setting '{name}'.{meant} There are: {', '.join(knobs)}.")
