"""Find the setting of a server that explains its vectors: try changes one by one, then two at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.locate import stored_vectors
from explorer.errors import BadChoice
from explorer.progress import Progress, Work
from explorer.studies.serving import causes, changes, given_vectors, readouts, row_order, truncation, verdict
from explorer.studies.serving.causes import Cause
from explorer.studies.serving.closeness import Closeness, Grid, closeness, grid_of, mean_cosine
from explorer.studies.serving.given_vectors import GivenVectors, VerifyOptions
from explorer.studies.serving.readouts import Readout
from explorer.studies.serving.servers import Server, ServerChange
from explorer.studies.serving.verdict import Attempt, Verification

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

Rows = NDArray[np.intp]
TRIED_ON, FEWEST, TOKENS = 16, 6, 1500  # sentences on which settings are tried, and tokens of all of them together
CLOSEST = 4  # layers & poolings of a server that are compared number by number: those with the highest cosines
PADDED = 6  # sentences on which padding is tried
BEAM = 3  # settings of tokens to which a second one is added
MOST_EQUAL = 0.5  # the share of equal vectors from which on no second change is looked for
ENCODING, TRYING = "encoding sentences", "trying settings"


@dataclass(frozen=True, eq=False)
class TriedSetting:
    """A setting that was tried: the server, what it takes as vectors, the order of the rows, and how close they are."""

    server: Server
    readout: Readout
    rows: Rows
    near: Closeness
    order: Cause | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """In what it is not as the model declares."""
        of_order = (self.order,) if self.order else ()
        return (*self.server.causes, *self.readout.causes, *of_order, *self.near.causes)

    @property
    def words(self) -> str:
        """Its causes in words."""
        return causes.in_words(self.causes)

    @cached_property
    def rank(self) -> tuple[float, ...]:
        """Which of two explains more; of those that explain as much, the one with fewer causes."""
        many = len([one for one in self.causes if one.kind != causes.ROUNDING])
        return (*self.near.rank, -many, float(self.near.cosines.mean()))


@dataclass(eq=False)
class Search:
    """The settings tried so far, and the best of them."""

    model: Found
    encoder: Encoder
    given: GivenVectors
    grid: Grid
    tried: list[TriedSetting] = field(default_factory=list)
    count: int = 0  # of all settings, also those that were far off

    @property
    def best(self) -> TriedSetting:
        """The setting that explains most."""
        return max(self.tried, key=lambda one: one.rank)

    @property
    def ended(self) -> bool:
        """Whether a setting explains every vector that it was tried on."""
        return bool(self.tried) and self.best.near.share_equal == 1

    def measured(
        self, server: Server, readout: Readout, pooled: NDArray[Any], rows: Rows, *, shuffled: bool = False
    ) -> TriedSetting | None:
        """A setting with the vectors that it makes of some rows; None if these are narrower, or in their own order."""
        order, at = None, rows
        if shuffled:
            moved = row_order.rows_of(pooled, rows, self.given.vectors)
            if moved is None:
                return None
            order, at = row_order.cause(moved, rows, self.given.sentences), moved
        normalises = self.encoder.default_head.normalize
        near = closeness(pooled, normalises, self.given.vectors[at], self.grid.rows(at))
        return None if near is None else TriedSetting(server, readout, rows, near, order)

    def attempt(
        self, server: Server, rows: Rows, some: Sequence[Readout], *, shuffled: bool = False
    ) -> Work[list[TriedSetting]]:
        """Measure a server on some rows under readouts, in their order or, if they are shuffled, in another one."""
        vectors = yield from server.vectors(self.given.sentences, rows.tolist(), some, TRYING)
        self.count += len(some)
        nearest = list(range(len(some)))
        if len(some) > CLOSEST and not shuffled and not self.grid.codes:
            wanted = self.given.vectors[rows]
            cosines = [mean_cosine(pooled, wanted) for pooled in vectors]
            nearest = sorted(nearest, key=lambda place: -cosines[place])[:CLOSEST]
        found = (self.measured(server, some[at], vectors[at], rows, shuffled=shuffled) for at in nearest)
        return [one for one in found if one is not None]

    def each(
        self, servers: Sequence[Server], rows: Rows, some: Sequence[Readout], *, shuffled: bool = False
    ) -> Work[None]:
        """Try servers one after the other, until one explains every vector."""
        for done, server in enumerate(servers):
            if not self.ended:
                yield Progress(TRYING, done, len(servers))
                self.tried += yield from self.attempt(server, rows, some, shuffled=shuffled)

    def fit_length(self, tried: TriedSetting) -> Work[None]:
        """Try the length that explains which vectors differ under a setting, if one does."""
        if tried.near.share_equal == 1 or any(one.kind in (causes.LENGTH, causes.ORDER) for one in tried.causes):
            return
        most, rows, sentences = changes.most_tokens(self.encoder), tried.rows, self.given.sentences
        lengths = np.array(tried.server.encoder.lengths([sentences[row] for row in rows]))

        def cosine(limit: int, place: int) -> Work[float]:
            server = tried.server.after(changes.cut_at(self.encoder, limit, most))
            (one,) = yield from self.attempt(server, rows[place : place + 1], [tried.readout])
            return float(one.near.cosines[0])

        limit = yield from truncation.fitted(lengths, tried.near.equal, most, cosine)
        if limit not in (None, self.encoder.max_length):
            server = tried.server.after(changes.cut_at(self.encoder, limit, int(lengths.max())))
            self.tried += yield from self.attempt(server, rows, [tried.readout])


def verify(model: Found, encoder: Encoder, given: GivenVectors, options: VerifyOptions) -> Work[Verification]:
    """Compare vectors with those of a model under its default; if they differ, find the setting that explains it."""
    stored_vectors.refuse(model.folder, model.name)
    given_vectors.check(given)
    rows = given.compared(options.sentences)
    search = Search(model, encoder, given, grid_of(given.vectors[rows]))
    server, readout = Server(encoder), readouts.declared(encoder)
    (pooled,) = yield from server.vectors(given.sentences, rows.tolist(), [readout], ENCODING)
    normalises, wanted = encoder.default_head.normalize, given.vectors[rows]
    declared = closeness(pooled, normalises, wanted, search.grid.rows(rows), as_declared=True)
    free = search.measured(server, readout, pooled, rows)
    tokens = encoder.lengths([given.sentences[row] for row in rows])
    if free is None or free.near.share_equal < 1:
        yield from _searched(search, server, rows[_places(np.minimum(tokens, encoder.max_length))], max(tokens))
        best = yield from _confirmed(search, rows, free)
    else:
        best = free
    return _verification(search, best, declared, rows, tokens)


def _places(lengths: NDArray[np.int_]) -> Rows:
    """Places of sentences, spread over their lengths: so many that a pass through the model takes little time."""
    count = min(len(lengths), max(FEWEST, min(TRIED_ON, TOKENS // max(1, int(lengths.mean())))))
    by_length = np.argsort(lengths, kind="stable")
    return np.sort(by_length[np.linspace(0, len(lengths) - 1, count).round().astype(np.intp)])


def _searched(search: Search, server: Server, rows: Rows, longest: int) -> Work[None]:
    """Try other readouts, one change of tokens, padding, then two changes, until one explains every vector."""
    some, width, usual = readouts.every(search.encoder), search.given.width, readouts.declared(search.encoder).width
    # wider vectors may have been cut, but not where those that the model declares have the right width
    some = [one for one in some if one.width == width or usual != width < one.width]
    single = [one for one in some if len(one.causes) < 2]
    if not some:
        raise BadChoice(
            f"{search.given.name} has vectors of width {width:,}; {search.model.name} has {usual:,}. They are of "
            "another model: name the one that the server runs."
        )
    yield from search.each([server], rows, some)
    yield from search.each([server], rows, single, shuffled=True)
    yield from search.fit_length(search.best)
    sentences = [search.given.sentences[row] for row in rows]
    of_tokens = changes.distinct(server, list(changes.of_tokens(search.model, search.encoder, longest)), sentences)
    yield from search.each([changed for _, changed in of_tokens], rows, some)
    yield from search.fit_length(search.best)
    yield from search.each([changed for _, changed in of_tokens], rows, some[:1], shuffled=True)
    few = rows[np.linspace(0, len(rows) - 1, min(PADDED, len(rows))).round().astype(np.intp)]
    padded = changes.distinct_padding(server, search.given.sentences, few.tolist())
    yield from search.each([changed for _, changed in padded], few, single)
    # a second change explains neither what most sentences lack nor what rounding does
    if search.best.near.share_equal < MOST_EQUAL and not search.best.near.arithmetic():
        yield from _two_changes(search, [change for change, _ in (*of_tokens, *padded)], rows, few, some)


def _two_changes(
    search: Search, every: Sequence[ServerChange], rows: Rows, few: Rows, some: Sequence[Readout]
) -> Work[None]:
    """Add a second change of tokens to those that alone explain most."""
    ranked = sorted((one for one in search.tried if one.server.causes), key=lambda one: one.rank, reverse=True)
    first = list(dict.fromkeys(one.server for one in ranked))[:BEAM]
    sentences = [search.given.sentences[row] for row in rows]
    for server in first:
        kinds = {one.kind for one in server.causes}
        others = [change for change in every if change.cause.kind not in kinds]
        for _, changed in changes.distinct(server, others, sentences):
            yield from search.each([changed], few if changed.padding else rows, some)
    yield from search.fit_length(search.best)


def _confirmed(search: Search, rows: Rows, free: TriedSetting | None) -> Work[TriedSetting]:
    """The setting that explains most, measured on all rows that are compared."""
    best, every = search.best, []
    for _ in range(2):
        every += yield from search.attempt(best.server, rows, [best.readout], shuffled=best.order is not None)
        if not every or every[-1].near.share_equal in (0, 1):
            break
        count = len(search.tried)
        yield from search.fit_length(every[-1])
        if len(search.tried) == count:
            break
        best = search.tried[-1]
    return max([*every, *([free] if free else [])] or [best], key=lambda one: one.rank)


def _verification(
    search: Search, best: TriedSetting, declared: Closeness | None, rows: Rows, tokens: Sequence[int]
) -> Verification:
    kind, every = verdict.kind_of(best.causes, best.near)
    given, encoder = search.given, search.encoder
    tried = {one.words: one for one in sorted(search.tried, key=lambda one: one.rank)}
    ranked = sorted(tried.values(), key=lambda one: one.rank, reverse=True)[: verdict.LISTED]
    attempts = [Attempt.of(best.causes, best.near)]
    attempts += [Attempt.of(one.causes, one.near) for one in ranked if one.words != best.words]
    about = rows.tolist(), given.sentences, tokens, declared, best.near, kind
    return Verification(
        model=search.model.name,
        vectors=given.name,
        width=given.width,
        rows=len(given),
        kind=kind,
        causes=every,
        declared=None if declared is None else Attempt.of((), declared),
        best=attempts[0],
        tried=tuple(attempts),
        count=max(1, search.count),
        different=verdict.differing(*about),
        notes=verdict.notes_of(given.left_out, len(given), len(rows), max(tokens), encoder.max_length),
        even=best.near.is_even,
    )
