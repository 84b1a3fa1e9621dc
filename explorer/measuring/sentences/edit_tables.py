"""The costs of the edits between two sentences as text, tables and JSON."""

from collections.abc import Mapping, Sequence

import numpy as np

from explorer import in_words
from explorer.in_words import Rows, number, rounded
from explorer.measuring.sentences.edit_costs import EXACT, EditCosts, Mean, MeanCosts, apart_from
from explorer.measuring.sentences.edits import REWORDED

Sides = Mapping[str, EditCosts]  # by side: A, or A and B

TITLE = "Which difference did it?"
NAMED = 4  # edits in a sentence; the others are one number
ONE = "{} costs {}: the cosine is {}."
ONE_UNDER_TWO = "{} costs {} under A and {} under B: the cosine is {}."
WHOLE = "Almost every word differs, so none can be named: together they cost {}, and the cosine is {}."
WHOLE_UNDER_TWO = (
    "Almost every word differs, so none can be named: together they cost {} under A and {} under B, and the cosine "
    "is {}."
)
SEVERAL = "The {} differences cost {}, and the cosine is {}: {}."
SEVERAL_UNDER_TWO = "The {} differences cost {} under A and {} under B, and the cosine is {}: {}."
OTHERS = "{} others"
MOST_IN = "Of all layers, layer {} has the highest cost: {}."
FROM = "The cost is {} under B than under A from layer {} on."
SIGNIFICANT_FROM = "The change is significant from layer {} on."
ERROR = "These costs are of sampled orders of the differences: standard error at most {}."
FIRST = "These are first costs, of sampled orders (standard error at most {}): exact ones come with the words."
ABOUT = (
    "The differences turn the first sentence into the second. The cost of one is what the cosine falls by when it is "
    "made, in the mean over every order of them (Shapley value), so the costs add up to 1 minus the cosine."
)
MEAN = "In the mean of {} pairs, what differs costs {} (95 % CI {})."
MEAN_UNDER_TWO = "In the mean of {} pairs, what differs costs {} under A and {} under B (change {}, 95 % CI {})."


def summary(sides: Sides) -> str:
    """One sentence: what differs, and what it costs under each side. The costs add up to 1 minus the cosine shown."""
    shown, digits = _shown(sides), _digits(sides)
    totals = [number(sum(costs), digits) for costs in shown.values()]
    cosine = _arrow([1 - one.total for one in sides.values()], digits)
    first = next(iter(sides.values()))
    if first.edits[0].kind == REWORDED:
        return (WHOLE_UNDER_TWO if len(sides) > 1 else WHOLE).format(*totals, cosine)
    if len(first.edits) == 1:
        name = str(first.edits[0])
        return (ONE_UNDER_TWO if len(sides) > 1 else ONE).format(name, *totals, cosine)
    largest = order(sides)
    few = largest if len(largest) <= NAMED + 1 else largest[:NAMED]
    parts = [f"{first.edits[at]} {_arrow([costs[at] for costs in shown.values()], digits)}" for at in few]
    if rest := largest[len(few) :]:
        others = [sum(costs[at] for at in rest) for costs in shown.values()]
        parts.append(f"{OTHERS.format(len(rest))} {_arrow(others, digits)}")
    text = SEVERAL_UNDER_TWO if len(sides) > 1 else SEVERAL
    return text.format(len(first.edits), *totals, cosine, ", ".join(parts))


def order(sides: Sides) -> list[int]:
    """The numbers of the edits, the most costly under any side first."""
    count = len(next(iter(sides.values())).edits)
    return sorted(range(count), key=lambda at: -max(abs(float(one.costs[at])) for one in sides.values()))


def notes(sides: Sides) -> list[str]:
    """At which layer the difference is noticed, and how exact sampled costs are."""
    found = []
    one, *others = sides.values()
    if others:
        gaps = [in_words.gap(*costs) for costs in zip(one.totals, others[0].totals, strict=False)]
        same_layers = len(one.totals) == len(others[0].totals)
        if same_layers and (layer := apart_from(gaps)) is not None:
            found.append(FROM.format("higher" if gaps[-1] > 0 else "lower", layer))
    elif np.isfinite(one.totals).all():
        highest = int(np.argmax(one.totals))
        found.append(MOST_IN.format(highest, number(one.totals[highest])))
    errors = [float(one.errors.max()) for one in sides.values() if one.errors is not None]
    if errors:
        text = ERROR if len(one.edits) > EXACT else FIRST
        found.append(text.format(in_words.bound(max(errors), 3)))
    return found


def rows(sides: Sides) -> Rows:
    """What each edit costs, with a column for each side and the change; the most costly first."""
    first = next(iter(sides.values()))
    found: Rows = []
    for at in order(sides):
        edit, costs = first.edits[at], [float(one.costs[at]) for one in sides.values()]
        row: dict[str, object] = {
            "difference": str(edit),
            "kind": edit.kind,
            "before": edit.before,
            "after": edit.after,
        }
        row |= {side: rounded(cost, 6) for side, cost in zip(sides, costs, strict=True)}
        if len(costs) > 1:
            row["change"] = rounded(costs[1] - costs[0], 6)
        for side, one in sides.items():
            if one.errors is not None:
                row[f"error {side}"] = rounded(one.errors[at], 6)
        found.append(row)
    return found


def layer_rows(sides: Sides) -> Rows:
    """What each edit costs in every layer, of each side."""
    return [
        {"side": side, "layer": layer, "pooling": one.pooling, "difference": str(edit), "cost": rounded(cost, 6)}
        for side, one in sides.items()
        for layer, costs in enumerate(one.by_layer)
        for edit, cost in zip(one.edits, costs, strict=True)
    ]


def mean_text(found: MeanCosts) -> str:
    """The mean cost of several pairs, with its interval, and from which layer on both sides differ."""
    means = [mean for mean, *_ in found.sides.values()]
    if found.change is None:
        ((mean, low, high),) = found.sides.values()
        text = MEAN.format(found.pairs, number(mean), in_words.ends(mean, low, high))
    else:
        gap, ends = in_words.gap(*means), in_words.ends(*found.change)
        text = MEAN_UNDER_TWO.format(found.pairs, *map(number, means), in_words.signed(gap), ends)
    layer = found.apart_from
    return text if layer is None else f"{text} {SIGNIFICANT_FROM.format(layer)}"


def mean_content(found: MeanCosts) -> dict[str, object]:
    """The mean cost of several pairs with its 95 % interval, its change from A to B, and both by layer, for JSON."""

    def ends(mean: Mean) -> dict[str, float | None]:
        return dict(zip(("mean", "low", "high"), map(rounded, mean), strict=True))

    sides = {side: ends(mean) for side, mean in found.sides.items()}
    change = {} if found.change is None else {"change": ends(found.change), "significant from layer": found.apart_from}
    changes = {"changes by layer": list(map(ends, found.changes))} if found.changes else {}
    return {"pairs": found.pairs, **sides, **change, "by layer": mean_rows(found), **changes, "told": mean_text(found)}


def mean_rows(found: MeanCosts) -> Rows:
    """The mean cost in every layer, with its interval, of each side."""
    return [
        {"side": side, "layer": layer, "cost": rounded(mean), "low": rounded(low), "high": rounded(high)}
        for side, layers in found.by_layer.items()
        for layer, (mean, low, high) in enumerate(layers)
    ]


def lines(sides: Sides) -> list[str]:
    """The costs as lines of text: the sentence of `summary`, the notes, and, of several, each difference."""
    first, shown, digits = next(iter(sides.values())), _shown(sides), _digits(sides)
    found = [summary(sides), *notes(sides)]
    if len(first.edits) > 1:
        for at in order(sides):
            found.append(
                "  ".join([*(f"{number(costs[at], digits):>8}" for costs in shown.values()), str(first.edits[at])])
            )
    return found


def _shown(sides: Sides) -> dict[str, list[float]]:
    """The costs of each side as they are shown: they add up to 1 minus the shown cosine."""
    digits = _digits(sides)
    return {
        side: in_words.adding_up(one.costs, 1 - round(1 - one.total, digits), digits=digits)
        for side, one in sides.items()
    }


def _digits(sides: Sides) -> int:
    """The digits of the cosines, which the costs have too."""
    return in_words.cosine_digits(*(1 - one.total for one in sides.values()))


def _arrow(values: Sequence[float], digits: int) -> str:
    return in_words.arrow(*values, digits=digits) if len(values) > 1 else number(values[0], digits)
