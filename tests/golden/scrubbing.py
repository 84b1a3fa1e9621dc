"""Take out of a text what differs from run to run: durations, dates, processes, and folders of the machine."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# keys of JSON whose values differ each time
_KEYS = "seconds|second|ms|time|elapsed|started|ended|since|born|beat|created|made|measured|date|when|rate"
_KEYS += "|host|pid|memory|peak|free|disk|elsewhere"  # the last of seconds; a list of this key stays
_RULES = (
    (re.compile(rf'("(?:\w+_)?(?:{_KEYS})(?:_\w+)?": )(?:"[^"\n]*"|[-\d.e+]+|null)'), r"\1…"),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+\d\d:?\d\d)?)?"), "DATE"),
    (
        re.compile(
            r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}"
        ),
        "DATE",
    ),
    (re.compile(r"\b\d+(?:[.,]\d+)*(?: to \d+(?:\.\d+)?)? ?(?:ms|s|min|h|MB|GB|kB)\b"), "AMOUNT"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:seconds?|minutes?|hours?)\b"), "AMOUNT"),
    (re.compile(r"\b[\d.,]+ steps and [\d.,]+ rows a second"), "RATES"),
    (re.compile(r'("training (?:steps|rows) a second": )[\d.e-]+'), r"\1…"),
    (re.compile(r"\b\d+(?:,\d+)*(?:\.\d+)? (?:sentences|updates|rows|pairs|steps) (?:a|per) second"), "RATE"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r'("(?:id|plan)": ")[0-9a-f]{32}\b'), r"\1ID"),
    (re.compile(r"& \d+ &  & (\d+\.\d+ \\\\)$", re.MULTILINE), r"& SECONDS &  & \1"),
    (re.compile(r"(?<=^\| )(Sentences per second|Milliseconds per query) .*", re.MULTILINE), r"\1 RATES"),
)


def scrubbed(text: str, place: Path) -> str:
    """The text without them."""
    text = text.replace(str(place), "PLACE").replace(str(place).lstrip("/"), "PLACE").replace(str(ROOT), "ROOT")
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text
