"""Read back the numbers that a text shows, and what is shown of a difference, by decimal arithmetic."""

import re
from decimal import Decimal

NUMBER = re.compile(r"(?<![\w.])[+\-−]?\d[\d,]*(?:\.\d+)?")


def numbers(text: str) -> list[Decimal]:
    """Every number of a text in order; its minus is the sign that people read."""
    found = [match[0] for match in NUMBER.finditer(text)]
    assert not [one for one in found if one.startswith("-")], f"a hyphen for a minus: {text}"
    assert not [one for one in found if one.startswith("−") and not Decimal(one[1:].replace(",", ""))], f"−0: {text}"
    return [Decimal(one.replace("−", "-").replace(",", "")) for one in found]


def value_of(text: str) -> float:
    """The number that a text is."""
    return float(text.replace("−", "-"))


def written(value: float | Decimal, digits: int = 2, sign: str = "+") -> str:
    """A number as it is shown, with a sign."""
    exact = Decimal(f"{value:.{digits}f}") if isinstance(value, float) else value
    return format(exact + 0, f"{sign}.{digits}f").replace("-", "−")


def difference(before: float, after: float, digits: int = 2) -> str:
    """The difference of two numbers as they are shown: `+1.13` of 82.31 and 83.44."""
    one, other = (Decimal(f"{side:.{digits}f}") for side in (before, after))
    return written(other - one, digits)
