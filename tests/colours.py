"""Measure the contrast of colours as WCAG 2.2 defines it; their parts are red, green and blue, from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterable


def parts_of(colour: str) -> tuple[float, ...]:
    """The parts of #rrggbb."""
    return tuple(int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))


def lightness(colour: Iterable[float]) -> float:
    """Relative luminance."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Iterable[float], other: Iterable[float]) -> float:
    """How far apart two colours are in lightness, from 1 to 21."""
    darker, lighter = sorted(map(lightness, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)
