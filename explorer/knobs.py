"""What can be set, between which bounds, and what is it good for?

A class that is Knobs states its settings once, as class attributes. Command line, form, recipe and documentation are
drawn from them, and a value is checked in one place.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar, cast

from explorer.errors import BadChoice

Value = TypeVar("Value", bool, int, float, str)
Values = Mapping[str, bool | int | float | str]


@dataclass(frozen=True)
class Knob:
    """A setting: what it is without being touched, what is allowed, and what it does."""

    name: str
    default: bool | int | float | str
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    front: bool = False  # among the few a form shows before it is unfolded
    masked_model: bool = False  # its value names a masked language model, looked for before anything is trained
    triplets: bool = False  # only for methods that train on triplets
    paper: bool | int | float | str | None = None  # what the paper uses, where that is not the default

    @property
    def paper_value(self) -> bool | int | float | str:
        """What the paper uses: the default, unless stated otherwise."""
        return self.default if self.paper is None else self.paper

    @property
    def kind(self) -> type:
        """What its values are: bool, int, float or str."""
        return type(self.default)

    @property
    def allowed(self) -> str:
        """The bounds in words: `0.001 to 1`, `1 or more`, `one of cls, mean, max`, `on or off`."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "on or off"
        number = "a whole number" if self.kind is int else "a number"
        if self.low is None or self.high is None:
            least = "" if self.low is None else f", {self.told(self.low)} or more"
            return f"{number}{least}" if self.high is None else f"{number}, {self.told(self.high)} or less"
        return f"{number} from {self.told(self.low)} to {self.told(self.high)}"

    def checked(self, value: object) -> bool | int | float | str:
        """The value, as its kind, if it is allowed; text is read as the command line gives it."""
        found = self._read(value)
        if found is None or (self.choices and found not in self.choices):
            raise self._refused(value)
        if not isinstance(found, (bool, str)):
            below, above = self.low is not None and found < self.low, self.high is not None and found > self.high
            if below or above or (isinstance(found, float) and not math.isfinite(found)):
                raise self._refused(value)
        return found

    def _read(self, value: object) -> bool | int | float | str | None:
        """The value as this knob's kind; None where it is no such thing."""
        if self.kind is bool:
            words = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
            return value if isinstance(value, bool) else words.get(str(value).strip().lower())
        if self.kind is str:
            return str(value)
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        if self.kind is int and isinstance(value, int):  # as it is: a float would round a long one
            return value
        try:
            number = float(value)
        except (ValueError, OverflowError):
            return None
        if self.kind is int:
            return int(number) if number.is_integer() else None
        return number

    def _refused(self, value: object) -> BadChoice:
        return BadChoice(
            f"{self.name} cannot be {value!r}: it is {self.allowed} ({self.told(self.default)} unless set). {self.help}"
        )

    @staticmethod
    def told(value: bool | int | float | str) -> str:
        """A value as it is typed: `on`, `5e-05`, `cls`; read again, it is the same."""
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, (int, str)):
            return str(value)
        short = f"{value:g}"
        return short if float(short) == value else repr(value)


def knob(
    default: Value,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    front: bool = False,
    masked_model: bool = False,
    triplets: bool = False,
    paper: Value | None = None,
) -> Value:
    """State a setting in a class of Knobs; to the type checker it is its value."""
    return cast(Value, Knob("", default, help, low, high, choices, front, masked_model, triplets, paper))


class Knobs:
    """Settings with names; `Knobs(temperature=0.1)` checks and holds them, the rest are the defaults."""

    knobs: ClassVar[Mapping[str, Knob]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Knob)}
        inherited: dict[str, Knob] = {}
        for above in reversed(cls.__mro__[1:]):
            inherited |= vars(above).get("knobs", {})
        cls.knobs = {**inherited, **{name: replace(value, name=name) for name, value in own.items()}}

    def set(self, values: Values) -> None:
        """Take these values, and the defaults for the rest."""
        for name, value in {**{name: one.default for name, one in self.knobs.items()}, **values}.items():
            setattr(self, name, find(self.knobs, name).checked(value))

    def values(self) -> dict[str, bool | int | float | str]:
        """Every setting by name."""
        return {name: getattr(self, name) for name in self.knobs}


def find(knobs: Mapping[str, Knob], name: str) -> Knob:
    """The knob of that name, or an error that names the nearest."""
    if name in knobs:
        return knobs[name]
    near = difflib.get_close_matches(name, knobs, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no setting '{name}'.{meant} There are: {', '.join(knobs)}.")
