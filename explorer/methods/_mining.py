"""Hard negatives that are mined from pairs before training: the settings, and which of those found are dropped."""

import re
from dataclasses import dataclass

from explorer.data.text_sets import digest_of
from explorer.errors import BadChoice
from explorer.knobs import Knob, Values, knob
from explorer.methods._additions import THE_BASE, guide_knob
from explorer.methods._method import Method

DIGITS = 10  # of the digest of each of two texts
_DROPPED = re.compile(rf"([0-9a-f]{{{DIGITS}}}):([0-9a-f]{{{DIGITS}}})")


@dataclass(frozen=True)
class Mining:
    """Of each anchor's nearest second texts, those ranked `first` to `last` that are far enough from the positive.

    A candidate's cosine is at most that of the positive less the share `margin`: what is closer is probably another
    right answer that nobody marked (a false negative). The guide finds a text too close, as in GIST, if its cosine is
    higher than that of the positive less `guide_margin`.
    """

    negatives: int  # of each row
    first: int
    last: int
    margin: float
    guide: str = THE_BASE
    guide_margin: float = 0.0
    drop_closer: bool = False  # whether what the guide finds too close is no candidate
    dropped: frozenset[tuple[str, str]] = frozenset()  # the ids of an anchor, and of a text that is none for it


def negative_id(anchor: str, negative: str) -> tuple[str, str]:
    """What names a hard negative in a recipe: the ids of both texts, whatever their rows."""
    return text_id(anchor), text_id(negative)


def written_id(ids: tuple[str, str]) -> str:
    """The name of a hard negative as `dropped` lists it."""
    return ":".join(ids)


def text_id(text: str) -> str:
    """The beginning of the digest of a text."""
    return digest_of((text,))[:DIGITS]


class MinedNegatives(Method):
    """Hard negatives that are mined from pairs with the base, each one more column of the rows.

    A form shows the first three settings open, the others folded.
    """

    hard_negatives: int = knob(
        0,
        low=0,
        high=16,
        help="Hard negatives per row, mined from the second texts of the other rows: the nearest to the anchor under "
        "the base, within the window of ranks and the margin. A batch then has so many more texts per row. 0: none.",
    )
    guide: str = guide_knob(
        "Hard negatives: the encoder that judges which of them are closer to the anchor than the positive, and so "
        "perhaps right answers.",
        front=False,
    )
    drop_closer: bool = knob(
        False,
        help="Hard negatives: those that are too close for the guide are not used. The next nearest text takes the "
        "place of each.",
    )
    first_rank: int = knob(
        1, low=1, high=1000, help="Hard negatives: the nearest rank that is taken; above 1, the closest are left out."
    )
    last_rank: int = knob(50, low=1, high=1000, help="Hard negatives: the farthest rank that is taken.")
    margin: float = knob(
        0.05,
        low=0.0,
        high=1.0,
        help="Hard negatives: a text is taken only if its cosine to the anchor is lower than the positive's by this "
        "share, since a closer one is probably a right answer that is not marked (a false negative).",
    )
    guide_margin: float = knob(
        0.0,
        low=0.0,
        high=1.0,
        help="Hard negatives: one is too close for the guide if its cosine to the anchor is higher than that of the "
        "positive less this margin, as in GIST.",
    )
    dropped: str = knob(
        "",
        empty="none",
        help="Hard negatives: single ones that are not used, by their ids, as the tab Hard negatives of the Train page "
        "and the command mine show them. The next nearest text takes the place of each.",
    )

    @classmethod
    def mining(cls, values: Values) -> Mining | None:
        """How they are mined before training under these settings; None if they are not."""
        found = {name: values.get(name, one.default) for name, one in mining_knobs(cls).items()}
        if not found["hard_negatives"]:
            return None
        first, last = int(found["first_rank"]), int(found["last_rank"])
        if first > last:
            raise BadChoice(
                f"first_rank cannot be {first} with last_rank {last}: no rank is between them. Set first_rank to "
                f"{last} or less, or raise last_rank."
            )
        return Mining(
            int(found["hard_negatives"]),
            first,
            last,
            float(found["margin"]),
            str(found["guide"]),
            float(found["guide_margin"]),
            bool(found["drop_closer"]),
            frozenset(_ids(str(found["dropped"]))),
        )


def mining_knobs(kind: type[Method]) -> dict[str, Knob]:
    """The settings of a method that say how hard negatives are mined; none if it mines none."""
    if not issubclass(kind, MinedNegatives):
        return {}
    return {name: kind.knobs[name] for name in MinedNegatives.knobs if name not in Method.knobs}


def _ids(text: str) -> list[tuple[str, str]]:
    """The ids of anchors and negatives that are written with spaces or commas between them."""
    found: list[tuple[str, str]] = []
    for one in re.split(r"[\s,]+", text.strip(" ,")) if text.strip(" ,") else []:
        ids = _DROPPED.fullmatch(one)
        if ids is None:
            raise BadChoice(
                f"dropped cannot be '{one[:60]}': a hard negative is named by two times {DIGITS} digits from 0 to f "
                "with a colon between them. Copy its id from the tab Hard negatives, or from the command mine."
            )
        found.append((ids[1], ids[2]))
    return found
