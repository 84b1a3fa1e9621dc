"""A map that moves through frames in the browser, with the neighbours of a clicked sentence next to it.

Everything that `moving_map.js` draws is in `content`: positions, colours, neighbours and cosines of every frame.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.set_items import Attribute
from explorer.drawing.sentences import sentence_maps
from explorer.drawing.style import GRID_SCALE, QUIET, SIDES, scale_colours
from explorer.measuring.maps.frames import Frames
from explorer.measuring.maps.map_tables import clusters

WHOLE = 15  # sentences up to which every label is whole
LONGEST = 300  # characters of a sentence
LEVELS = 64  # colours of a scale
OTHER_INKS = (QUIET, "#E0218A")  # the first and the last frame where they are not A and B
HTML = """
<div class="moving-map">
  <div class="map">
    <div class="bar"><b class="kind"></b>
    <button class="play travels" title="Move from the first to the last"></button>
    <span class="from travels"></span>
    <input class="time travels" type="range" min="0" value="0" aria-label="Frame">
    <span class="to travels"></span><b class="now"></b>
    <span class="tools"><button class="lasso" title="Select: drag around sentences, as with the shift key"
      aria-label="Select with the lasso" aria-pressed="false">⬚</button>
    <button class="in" title="Zoom in" aria-label="Zoom in">+</button>
    <button class="out" title="Zoom out" aria-label="Zoom out">−</button>
    <button class="all" title="Show all" aria-label="Show all">⤢</button>
    <button class="save" title="Save the picture" aria-label="Save the picture">⤓</button></span></div>
    <div class="room"><canvas tabindex="0" role="img"></canvas><div class="tip" hidden></div></div>
    <div class="legend"></div>
  </div>
  <div class="panel" aria-live="polite"></div>
</div>
"""
CSS = """
.moving-map { display: flex; gap: 0.75rem; width: 100%; font-family: var(--st-font, sans-serif); font-size: 0.82rem;
  color: var(--st-text-color, #1b2a2e); height: 23rem; }
.moving-map [hidden] { display: none !important; }
.moving-map .map { flex: 1; min-width: 0; display: flex; flex-direction: column; gap: 0.3rem; }
.moving-map .bar { display: flex; gap: 0.5rem; align-items: center; }
.moving-map .bar span, .moving-map .bar b { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.moving-map .from, .moving-map .to { font-weight: 600; }
.moving-map .now { min-width: 3rem; }
.moving-map .time { flex: 1; min-width: 4rem; accent-color: var(--st-primary-color, #0f6b70); }
.moving-map .tools { margin-left: auto; display: flex; gap: 0.25rem; }
.moving-map .room { position: relative; flex: 1; min-height: 0; overflow: hidden; border-radius: 6px;
  border: 1px solid var(--st-border-color, #8884); }
.moving-map canvas { position: absolute; width: 100%; height: 100%; touch-action: pan-y; cursor: grab; }
.moving-map canvas:active { cursor: grabbing; }
.moving-map[data-lasso="yes"] canvas { cursor: crosshair; }
.moving-map button { border: 1px solid var(--st-border-color, #8888); border-radius: 6px; background: transparent;
  color: inherit; cursor: pointer; font: inherit; min-width: 1.9rem; min-height: 1.7rem; }
.moving-map button[aria-pressed="true"] { background: var(--st-secondary-background-color, #8883); }
.moving-map .play { min-width: 5rem; white-space: nowrap; font-weight: 600; }
.moving-map .legend { display: flex; flex-wrap: wrap; gap: 0 0.7rem; align-items: center; max-height: 2.6rem;
  overflow: hidden; font-size: 0.78rem; }
.moving-map .legend i { display: inline-block; width: 0.6rem; height: 0.6rem; border-radius: 50%;
  margin-right: 0.25rem; }
.moving-map .legend i.scale { width: 6rem; border-radius: 3px; margin: 0 0.4rem; }
.moving-map .legend .ends { white-space: nowrap; }
.moving-map .panel { width: 17rem; overflow-y: auto; border-left: 1px solid var(--st-border-color, #8884);
  padding-left: 0.6rem; }
.moving-map p { margin: 0 0 0.3rem; }
.moving-map .head { font-weight: 600; overflow-wrap: anywhere; }
.moving-map .back { float: right; margin-left: 0.4rem; }
.moving-map h4 { margin: 0.5rem 0 0.2rem; padding: 0 0 0 0.4rem; font-size: inherit; line-height: 1.3; }
.moving-map ol { list-style: none; margin: 0; padding: 0; }
.moving-map li { display: flex; gap: 0.4rem; align-items: baseline; border-bottom: 1px solid #8882; }
.moving-map li .sentence { flex: 1; border: 0; text-align: left; padding: 0.15rem 0; overflow-wrap: anywhere;
  line-height: 1.25; }
.moving-map li .sentence:hover { text-decoration: underline; }
.moving-map .value { white-space: nowrap; font-variant-numeric: tabular-nums; }
.moving-map .tip { position: absolute; max-width: 16rem; padding: 4px 8px; border-radius: 6px; font-size: 0.8rem;
  pointer-events: none; background: rgba(27,42,46,0.92); color: #fff; z-index: 2; }
.moving-map :focus-visible { outline: 2px solid currentColor; outline-offset: -2px; }
@media (max-width: 700px) {
  .moving-map { flex-direction: column; height: auto; }
  .moving-map .room { height: 20rem; flex: none; }
  .moving-map .bar { flex-wrap: wrap; }
  .moving-map .panel { width: auto; border: 0; padding: 0; max-height: 20rem; }
}
"""


@cache
def script() -> str:
    """The code that draws it."""
    files = map(Path(__file__).with_name, ("map_labels.js", "moving_map.js"))
    return "".join(file.read_text(encoding="utf-8") for file in files)


@dataclass(frozen=True, eq=False)
class Shades:
    """The colour of each sentence, in every frame or the same in all: its number in a palette, and the legend."""

    palette: list[str]
    numbers: NDArray[np.uint8]  # (sentence,) or (frame, sentence)
    legend: dict[str, Any]
    values: list[str] | None = None  # of each sentence, on hover


def shades_of(colour: Attribute) -> Shades:
    """The colours of groups, or of numbers on a scale whose ends are clipped where sentences are many."""
    palette: list[str] = []
    numbers = np.zeros(len(colour.cells), dtype=np.uint8)
    listed, scale, title = [], {}, colour.name
    for group in sentence_maps.groups(colour):
        if group.colour is not None:
            numbers[group.members] = len(palette)
            palette.append(group.colour)
            listed.append([group.name, group.colour])
            continue
        style = sentence_maps.marker(group, colour, 1)
        found = on_scale(style["color"], style["cmin"], style["cmax"])
        numbers[group.members] = found.numbers + len(palette)
        palette += found.palette
        scale = found.legend
        title = style["colorbar"]["title"]["text"]  # says whether the ends are clipped
    values = [
        in_words.number(cell) if isinstance(cell, float) else cell or sentence_maps.MISSING for cell in colour.cells
    ]
    return Shades(palette or [QUIET], numbers, {**scale, "title": title, "groups": listed}, values)


def on_scale(values: NDArray[Any], low: float, high: float, title: str = "") -> Shades:
    """The colours of numbers between two ends."""
    share = np.clip((np.nan_to_num(np.asarray(values, dtype=np.float64)) - low) / max(high - low, 1e-9), 0, 1)
    palette = scale_colours(np.linspace(0, 1, LEVELS), 0, 1, GRID_SCALE)
    ends = {"low": f"{in_words.number(low)}", "high": f"{in_words.number(high)}", "scale": palette[:: LEVELS // 8]}
    return Shades(palette, np.rint(share * (LEVELS - 1)).astype(np.uint8), {"title": title, "groups": [], **ends})


def content(
    key: str,
    texts: Sequence[str],
    names: Sequence[str],
    places: NDArray[np.floating],
    frames: Frames,
    shades: Shades,
    *,
    title: str,
    most: Sequence[int],
    most_title: str,
    trails: Sequence[int] | None = None,
    pairs: Sequence[tuple[int, int, str]] = (),
    regions: Sequence[tuple[str, Sequence[tuple[float, float]]]] = (),
    sides: bool = True,
) -> dict[str, Any]:
    """What the browser draws of positions (frame, sentence, 2); `sides` says that the frames are A and B."""
    spans = sentence_maps.spans(*np.asarray(places, dtype=np.float32))
    return {
        "key": key,
        "texts": [one if len(one) <= LONGEST else one[: LONGEST - 1] + "…" for one in texts],
        "frames": list(names),
        "places": _packed(places, "<f4"),
        "low": [low for low, _ in spans],
        "high": [high for _, high in spans],
        "palette": shades.palette,
        "shades": _packed(shades.numbers, "u1"),
        "legend": shades.legend,
        "values": shades.values,
        **_neighbours(frames),
        "whole": WHOLE,
        "title": title,
        "most": list(most),
        "mostTitle": most_title,
        "trails": list(most if trails is None else trails),
        "pairs": [list(one) for one in pairs],
        "regions": [[name, [list(spot) for spot in where]] for name, where in regions],
        "ends": sides,
        "inks": list(SIDES if sides else OTHER_INKS),
    }


def _neighbours(frames: Frames) -> dict[str, Any]:
    """The nearest sentences of each in every frame, and how far it moves between the first and the last."""
    return {
        "near": _packed(frames.near, "<i4"),
        "own": _packed(frames.cosines, "<f4"),
        "before": _packed(frames.before, "<f4"),
        "after": _packed(frames.after, "<f4"),
        "moved": None if frames.moved is None else _packed(frames.moved, "<f4"),
        "nearest": frames.nearest,
    }


def regions(texts: Sequence[str], places: NDArray[np.floating], of: int) -> list[tuple[str, list[tuple[float, float]]]]:
    """The names of the regions of one frame, and where their sentences are in each; none of few sentences."""
    if len(texts) < sentence_maps.FEW:
        return []
    return [(one.name, [one.middle(frame) for frame in places]) for one in clusters(texts, places[of])]


def _packed(values: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
