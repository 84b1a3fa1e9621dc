"""Settings with bounds and help text, stated once and used by form, command line, recipe and documentation.

A subclass of Knobs states its settings as class attributes. It may be a frozen dataclass: its values are then checked
when it is built, so that no instance holds one that is not allowed, and its other fields are values that no one types.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

from explorer.data.text_sets import Kind
from explorer.errors import BadChoice, at
from explorer.typed_json import READS
from explorer.typed_numbers import number_of, number_text, part_in

Value = TypeVar("Value")
Values = Mapping[str, bool | int | float | str]

LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes
_SWITCH = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


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
    encoder: bool = False  # its value names an encoder, which is found before training, unless it is the default
    no_models: tuple[str, ...] = ()  # other values of it that name no model
    part: bool = False  # its text is how much of a whole: a share, `25 %`, or a number
    rows: Kind | None = None  # only for methods that train on such rows
    paper: bool | int | float | str | None = None  # the paper's value, if it is not the default
    item: Any = str  # the type of a value that may be missing, and of each value of a list or a mapping
    reads: Callable[[str], Any] = str  # makes the value, an `item`, of its text, which `str` gives back
    title: str = ""  # of its field; its name in words if empty
    titles: Mapping[str, str] = field(default_factory=dict)  # of its choices in a form, where they differ
    empty: str = ""  # what an empty value stands for: `the model's limit`
    flag: str = ""  # on the command line: its name with hyphens if empty
    metavar: str = ""  # of the flag: `FILE|NAME`
    repeated: bool = False  # a list that is typed with a flag for each value, not with commas
    least: int = 0  # values of a list
    most: int | None = None  # values of a list; None for any number
    distinct: bool = False  # whether a list holds each value once
    required: bool = False  # whether it has no default
    optional: bool = False  # whether it may be None although its default is not
    of: type[Knobs] | None = None  # the class that states it, or each value of a list
    listed: bool = False  # whether it is a list although its default is not
    nested: bool = False  # whether it is a list of lists
    typed: bool = True  # else it is of files alone: it has no flag and no field
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
    def option(self) -> str:
        """Its flag: `--max-length`."""
        return "--" + (self.flag or self.name).replace("_", "-")

    def names_model(self, value: object) -> bool:
        """Whether a value of it names a model that has to be found before training."""
        return self.masked_model or (self.encoder and value not in (self.default, *self.no_models))

    def words(self, value: Any) -> list[str]:
        """The words of a command that state a value."""
        if self.kind is bool and not self.many:
            return [self.option] * bool(value)
        return [word for one in (value if self.repeated else [value]) for word in (self.option, self.text(one))]

    @property
    def many(self) -> bool:
        """Whether it is a list of values."""
        return self.listed or isinstance(self.default, tuple)

    @property
    def kind(self) -> type:
        """The type of its values, or of each value of a list: bool, int, float or str."""
        return str if self.reads is not str else self.item if self.default is None or self.many else type(self.default)

    @property
    def allowed(self) -> str:
        """The bounds in words: `0.001 to 1`, `1 or more`, `one of cls, mean, max`, `on or off`, `a name`."""
        if self.is_mapping:
            return f"a {_ITEMS.get(self.item, 'value')} for each name"
        if self.of is not None:
            return f"{', '.join(self.of.declared)}, by name"
        if self.nested:
            return "texts, or lists of texts"
        if self.choices:
            return f"{'any' if self.many else 'one'} of {', '.join(self.choices)}"
        if self.kind is bool:
            return "on or off"
        if self.many and (self.least or self.most or self.distinct):
            count = f"{self.least} or more" if self.most is None else f"{self.least} to {self.most} of them"
            each = ["each once"] if self.distinct else []
            return ", ".join([replace(self, least=0, most=None, distinct=False).allowed, count, *each])
        if self.part:
            values = "shares such as 25 %, or whole numbers, with commas between them"
            return values if self.many else "a share above 0 %, at most 100 %, or a whole number from 1"
        if self.kind is str:
            return "names with commas between them" if self.many else "a name"
        whole = "whole " * (self.kind is int)
        number = f"{whole}numbers with commas between them" if self.many else f"a {whole}number"
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

    @property
    def is_mapping(self) -> bool:
        """Whether it has a value for each of some names."""
        return isinstance(self.default, dict)

    def parsed(self, value: object) -> Any:
        """The value that a file, a flag or a field states: its text is parsed, and one value may stand for a list."""
        is_plain = self.of is None and not self.is_mapping and not self.nested
        if is_plain and isinstance(value, str) and (self.kind is not str or (self.many and not self.repeated)):
            return self.checked(value)
        return self.accepted(tuple(value) if isinstance(value, list) else value)

    def accepted(self, value: object) -> Any:
        """The value of an instance, if it is allowed: text stays text, and a list has each value that it was given."""
        if value is None and (self.default is None or self.optional):
            return None
        if self.is_mapping:
            return self._mapping(value)
        parts = value if self.many and isinstance(value, tuple | list) else (value,)
        if self.of is not None:
            if not all(isinstance(part, self.of) for part in parts):
                raise self._refused(value)
            if not self.many:
                return value
            found = tuple(parts)
        elif self.nested:
            found = tuple(self._texts(part, value) for part in parts)
        else:
            if self.kind is str and not all(isinstance(part, (str, self.item)) for part in parts):
                raise self._refused(value)
            if not self.many or (isinstance(value, str) and not self.repeated):
                return self.checked(value)
            found = tuple(self._one(part, value) for part in parts)
        few, many = len(found) < self.least, self.most is not None and len(found) > self.most
        if few or many or (self.distinct and len(set(found)) < len(found)):
            raise self._refused(value)
        return found

    def _texts(self, part: object, value: object) -> tuple[Any, ...]:
        """A list of what texts make; one text may stand for it."""
        given = part if isinstance(part, tuple | list) else (part,)
        if not all(isinstance(one, (str, self.item)) for one in given):
            raise self._refused(value)
        return tuple(map(self._read, given))

    def _mapping(self, value: object) -> Mapping[str, Any]:
        """A mapping from names to values of the type."""
        if not isinstance(value, Mapping):
            raise self._refused(value)
        for name, one in value.items():
            if not isinstance(name, str) or not isinstance(one, self.item):
                raise self._refused({name: one})
        return value

    def _one(self, part: object, value: object) -> Any:
        """A part of a value, or the value itself, in its type; an error names the whole value."""
        found = self._read(part)
        if found is None or (self.choices and found not in self.choices):
            raise self._refused(value)
        if not isinstance(found, (bool, str)):
            below, above = self.low is not None and found < self.low, self.high is not None and found > self.high
            if below or above or (isinstance(found, float) and not math.isfinite(found)):
                raise self._refused(value)
        return found

    def _read(self, value: object) -> Any:
        """The value in this knob's type; None if it cannot be converted."""
        if self.kind is bool:
            return value if isinstance(value, bool) else _SWITCH.get(str(value).strip().lower())
        if self.part:
            return part_in(value)
        if self.kind is str:
            return value if isinstance(value, self.item) else self.reads(str(value))
        return number_of(value, self.kind)

    def _refused(self, value: object) -> BadChoice:
        usual = self.usual and f" (default {self.usual})"
        given = value if not isinstance(value, tuple) else list(value) if self.reads is str else self.plain(value)
        return BadChoice(f"{self.name} cannot be {given!r:.300}. Choose {self.allowed}{usual}. {self.help}")

    def plain(self, value: Any) -> Any:
        """A value as YAML and JSON hold it."""
        if self.reads is not str and isinstance(value, tuple | list):
            return [self.plain(one) for one in value]
        return str(value) if self.reads is not str and isinstance(value, self.item) else _plain(value)

    @property
    def usual(self) -> str:
        """The default in words; what an empty value stands for if there is none."""
        return self.empty if self.default in (None, {}) else self.text(self.default) or self.empty

    @staticmethod
    def text(value: Any) -> str:
        """A value as text: `on`, `5e-05`, `cls`, `1, 2`; parsing it gives the same value."""
        if isinstance(value, tuple | list):
            return ", ".join(map(Knob.text, value))
        if isinstance(value, bool):
            return "on" if value else "off"
        return number_text(value) if isinstance(value, float) else "" if value is None else str(value)


NUMBER_OR_TEXT = (bool, int, float, str)  # the type of each value of a mapping of settings
_ITEMS = {str: "text", NUMBER_OR_TEXT: "number, a text, on or off"}


def knob(default: Value, *, help: str, **stated: Any) -> Value:
    """State a setting in a subclass of Knobs, with any field of `Knob`; for the type checker it is its value."""
    how: dict[str, Any] = {"default_factory": dict} if isinstance(default, dict) else {"default": default}
    found: Value = field(**how, metadata={"knob": Knob("", default, help, **stated), READS: stated.get("reads", str)})
    return found


def needed(*, help: str, **stated: Any) -> str:
    """State a setting that is text and has no default."""
    found: str = field(metadata={"knob": Knob("", "", help, required=True, **stated)})
    return found


class Knobs:
    """Named settings. A frozen dataclass checks them when it is built; any other subclass calls `set` with some."""

    knobs: ClassVar[Mapping[str, Knob]] = {}  # those that are typed
    declared: ClassVar[Mapping[str, Knob]] = {}  # all of them

    def __post_init__(self) -> None:
        """Check every value, then the rules between them."""
        for name, one in self.declared.items():
            value = getattr(self, name)
            if value is not one.default:
                object.__setattr__(self, name, one.accepted(value))
        self.consistent()

    def consistent(self) -> None:
        """Refuse values that are allowed alone, but not together."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, dataclasses.Field)}
        own = {name: value.metadata["knob"] for name, value in fields.items() if "knob" in value.metadata}
        inherited: dict[str, Knob] = {}
        for above in reversed(cls.__mro__[1:]):
            inherited |= vars(above).get("declared", {})
        cls.declared = {**inherited, **{name: replace(value, name=name) for name, value in own.items()}}
        cls.knobs = {name: one for name, one in cls.declared.items() if one.typed}

    @classmethod
    def read(cls, stated: object, where: str = "") -> Self:
        """The instance that a mapping states, such as one of YAML, of flags or of a form; the rest are the defaults.

        An error begins with `where`: the file, or the part of it.
        """
        if not isinstance(stated, Mapping):
            allowed = f"Give any of {', '.join(cls.declared)}, by name."
            raise BadChoice(f"{where or 'This'} cannot be {stated!r:.200}. {allowed}")
        values: dict[str, Any] = {}
        for name, value in stated.items():
            with at(where):
                one = find(cls.declared, str(name))
                if one.of is None:
                    values[one.name] = one.parsed(value)
                    continue
            called = ", ".join(filter(None, [where, (one.title or one.name).lower()]))
            if not one.many:
                values[one.name] = one.of.read(value, called)
                continue
            every = value if isinstance(value, list | tuple) else [value]
            values[one.name] = tuple(one.of.read(part, f"{called} {place}") for place, part in enumerate(every, 1))
        with at(where):
            lacking = [name for name, one in cls.declared.items() if one.required and name not in values]
            if lacking:
                raise BadChoice(f"{lacking[0]} is missing. There are: {', '.join(cls.declared)}.")
            return cls(**values)

    def stated(self) -> dict[str, Any]:
        """The settings that are not the default, as YAML and JSON hold them; `read` gives the same instance."""
        usual = {name: one.plain(one.default) for name, one in self.declared.items()}
        return {name: value for name, value in self.every().items() if value != usual[name]}

    def every(self) -> dict[str, Any]:
        """Every setting by name, as YAML and JSON hold it."""
        return {name: one.plain(getattr(self, name)) for name, one in self.declared.items()}

    def set(self, values: Values) -> None:
        """Set these values, and the defaults for the rest."""
        for name, value in {**{name: one.default for name, one in self.knobs.items()}, **values}.items():
            setattr(self, name, find(self.knobs, name).checked(value))

    def by_name(self) -> dict[str, Any]:
        """Every setting by name."""
        return {name: getattr(self, name) for name in self.knobs}


def _plain(value: Any) -> Any:
    if isinstance(value, Knobs):
        return value.stated()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def find(knobs: Mapping[str, Knob], name: str) -> Knob:
    """The knob with this name, or an error that suggests the nearest."""
    if name in knobs:
        return knobs[name]
    near = difflib.get_close_matches(name, knobs, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no setting '{name}'.{meant} There are: {', '.join(knobs)}.")
