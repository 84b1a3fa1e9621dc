"""Compute the maps' vectors, neighbours and coordinates for both sides, in the background."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from explorer.data.kinds import Attribute, Sentences, digest_of
from explorer.measuring.geometry import vector_geometry
from explorer.measuring.maps import projection, umap_layout
from explorer.measuring.maps.projection import Map, Maps, MapSettings
from explorer.measuring.neighbours.nearest import Neighbourhoods, neighbourhoods
from explorer.measuring.neighbours.neighbour_overlap import COMPARED, overlap_of
from explorer.progress import Work
from explorer.ui.access import job_results, jobs
from explorer.ui.access.side_readers import Reader
from explorer.ui.access.vectors import Vectors

MOVED, CHANGED = "moved (1 - cosine)", "neighbours changed"


@dataclass(frozen=True, eq=False)
class Mapped:
    """Sentences on one or two maps."""

    subject: str  # identifies the sentences and the encoders
    described: Sentences  # with what changed from A to B among the columns
    sides: tuple[Reader, ...]
    vectors: tuple[Vectors, ...]
    near: tuple[Neighbourhoods, ...]
    maps: Maps

    @property
    def drawn(self) -> tuple[Map, ...]:
        """A's map, and B's."""
        return (self.maps.one,) if self.maps.other is None else (self.maps.one, self.maps.other)


def mapped(described: Sentences, sides: tuple[Reader, ...], settings: MapSettings) -> Mapped | None:
    """The maps; None while they are being computed."""
    if settings.kind == "UMAP":
        jobs.follow("UMAP", "Loading UMAP", umap_layout.loaded, lane=jobs.LOADING)
    read: list[Vectors] = []
    for one in sides:
        of_one = one.vectors(described.texts)
        if of_one is None:
            return None
        read.append(of_one)
    subject = digest_of([described.digest, *(one.key for one in sides)])
    near = job_results.made(
        f"neighbours {subject}", f"Neighbours of {len(described):,} sentences", lambda: _near(tuple(read))
    )
    if near is None:
        return None
    maps = job_results.made(
        f"map {subject} {settings}",
        f"{settings.kind} of {len(described):,} sentences",
        lambda: _maps(tuple(read), near, settings),
    )
    if maps is None:
        return None
    known = _changes(tuple(read), near)
    return Mapped(subject, _with(described, known), sides, tuple(read), near, maps)


def _near(read: tuple[Vectors, ...]) -> Work[tuple[Neighbourhoods, ...]]:
    found = []
    for name, of_one in zip("AB", read, strict=False):
        found.append((yield from neighbourhoods(of_one, f"finding neighbours in {name}")))
    return tuple(found)


def _maps(read: tuple[Vectors, ...], near: tuple[Neighbourhoods, ...], settings: MapSettings) -> Work[Maps]:
    return (yield from projection.maps(read[0], read[1] if len(read) > 1 else None, near, settings))


def _changes(read: tuple[Vectors, ...], near: tuple[Neighbourhoods, ...]) -> Iterable[Attribute]:
    """The distance each sentence moved from A to B, and the share of its neighbours that changed."""
    if len(read) < 2:
        return
    moved = vector_geometry.moved(read[0], read[1])
    if moved is not None:
        yield Attribute(MOVED, tuple(moved.tolist()))
    changed = 1 - overlap_of(*(one.places[:, :COMPARED] for one in near)).jaccard
    if np.isfinite(changed).any():
        yield Attribute(CHANGED, tuple(changed.tolist()))


def _with(described: Sentences, known: Iterable[Attribute]) -> Sentences:
    """Put the change columns first, but after groups: the first column colours the map by default."""
    grouped = bool(described.columns) and not described.columns[0].counts
    first = described.columns[: 1 if described.lines or grouped else 0]
    return replace(described, columns=(*first, *known, *described.columns[len(first) :]))
