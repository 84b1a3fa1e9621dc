"""Score the blends of a base and a tuned model over the share α, and judge them: the curve, in words and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer import in_words
from explorer.data import sample, sources
from explorer.data.set_items import size_of
from explorer.data.shared_rows import NONE_SHARED, SharedRows
from explorer.evaluating.results import table_formats
from explorer.measuring.comparing.learned_facts import NOTHING, Learned, pack_items_changes
from explorer.measuring.comparing.verdict_sentence import Sentence, sentence
from explorer.measuring.scores import metrics
from explorer.measuring.scores.item_store import item_key, keep_items, kept_items
from explorer.measuring.scores.judge import PACKS, Floats, Judge, of_packs, percent, share_above
from explorer.measuring.scores.verdict import CHOSE, ELSEWHERE, WORDS, Verdict, judged
from explorer.progress import Progress, Work
from explorer.training.loop.elsewhere import Elsewhere

if TYPE_CHECKING:
    from explorer.encoding.tune.blending import Blending

POINTS = 11  # from the base to the tuned model
DEV, TEST = "dev", "test"
_NUMBERS = ("difference", "low", "high")


@dataclass(frozen=True, eq=False)
class BlendCurve:
    """What each item of each evaluation set gets from the base as it is used, and at every share α that was measured.

    Sets go by their use: `dev`, `test`, `test 2` and so on, and the probe packs.
    """

    base: str
    tuned: tuple[str, ...]
    judges: Mapping[str, Judge]
    before: Mapping[str, Floats]  # of the base under its model default
    points: Mapping[float, Mapping[str, Floats]]  # by α
    same_head: bool  # whether α = 0 is the base as it is used
    # the test sets of which the training text holds sentences, or the dev set holds rows, by use
    optimistic: tuple[str, ...] = ()
    shared: SharedRows = NONE_SHARED  # rows of the test sets that are in the dev set too

    @property
    def shares(self) -> tuple[float, ...]:
        """Every share α that was measured, from the base to the tuned model."""
        return tuple(sorted(self.points))

    @property
    def sets(self) -> dict[str, Judge]:
        """The evaluation sets by use, without the probe packs."""
        return {use: judge for use, judge in self.judges.items() if use != PACKS}

    def at(self, alpha: float) -> Mapping[str, Floats]:
        """What each item gets at a share that was measured, by use."""
        return self.points[_share(alpha)]

    def scores(self, use: str) -> dict[float, float]:
        """The score × 100 at each share."""
        return {alpha: self.judges[use].score(self.points[alpha][use]) for alpha in self.shares}

    @property
    def best(self) -> float:
        """The share with the highest score on the dev set; of several the smallest, which forgets least.

        It is that of the base if the dev set has no score.
        """
        found = self.scores(DEV)
        return max(found, key=lambda alpha: (-math.inf if math.isnan(found[alpha]) else found[alpha], -alpha))

    def label(self, use: str) -> str:
        """An evaluation set with its use: `STS-B test (test)`, and of the dev set that it chose."""
        return f"{sources.shown(self.judges[use].name)} ({use}{f', {WORDS[CHOSE].lower()}' * (use == DEV)})"

    def why_no_score(self, use: str) -> str:
        """Why an evaluation set has no score, in words; "" if it has one."""
        judge = self.judges[use]
        return metrics.no_score_in_words(judge.why_no_score, len(judge))

    def against_base(self, use: str, alpha: float) -> Verdict:
        """The verdict on the blend, against the base as it is used.

        At α = 0 the base has the layer & pooling of the tuned model: what differs from the base as it is used there is
        not due to training.
        """
        base = np.stack([self.before[use], self.points[min(self.points)][use]])
        return judged(self.judges[use], base, self.at(alpha)[use], chose=use == DEV)

    def against_tuned(self, use: str, alpha: float) -> Verdict:
        """The verdict on the blend, against the tuned model."""
        tuned = self.points[max(self.points)][use]
        return judged(self.judges[use], np.stack([tuned, tuned]), self.at(alpha)[use], chose=use == DEV)

    def learned(self, alpha: float) -> Learned:
        """What changed from the base to the blend: the probe packs, if held out, and the score of the main test set."""
        use = TEST if TEST in self.judges else DEV
        judge, packs = self.judges[use], NOTHING
        if PACKS in self.judges:
            as_trained = self.points[min(self.points)][PACKS]
            packs = pack_items_changes(self.before[PACKS], self.at(alpha)[PACKS], as_trained)
        return replace(
            packs,
            main=Elsewhere(judge.name, judge, len(judge)).verdict(self.against_base(use, alpha)),
            optimistic=use in self.optimistic,
            elsewhere=tuple(
                Elsewhere(one.name, one, len(one)).verdict(self.against_base(name, alpha))
                for name, one in self.sets.items()
                if name.startswith(ELSEWHERE)
            ),
        )

    def packs(self, alpha: float) -> dict[str, float]:
        """The share of couples in which a paraphrase is above a pair of each pack."""
        if PACKS not in self.judges:
            return {}
        by_pack = of_packs(sample.judged_packs(), self.at(alpha)[PACKS])
        same = by_pack.pop(sample.PARAPHRASE)
        return {name: share_above(same, pairs).value for name, pairs in by_pack.items()}

    def sentences(self, alpha: float) -> dict[str, tuple[Sentence, Sentence | None]]:
        """The verdicts on the blend in words, by use: against the base and, unless it is that, the tuned model."""
        found: dict[str, tuple[Sentence, Sentence | None]] = {}
        for use, judge in self.sets.items():
            on = f"{judge.name} ({size_of(judge.given)})"
            blend, seen = f"the blend at α = {_share(alpha):g}", use in self.optimistic
            tuned, why = f"the tuned model {' + '.join(self.tuned)}", self.why_no_score(use)
            to_base, to_tuned = (
                sentence(one, name, blend, on, optimistic=seen, why_none=why)
                for one, name in (
                    (self.against_base(use, alpha), f"the base {self.base}"),
                    (self.against_tuned(use, alpha), tuned),
                )
            )
            found[use] = to_base, to_tuned if _share(alpha) != max(self.points) else None
        return found


def curve(
    blending: Blending,
    judges: Mapping[str, Judge],
    shares: Iterable[float],
    *,
    optimistic: tuple[str, ...] = (),
    shared: SharedRows = NONE_SHARED,
) -> Work[BlendCurve]:
    """Score the blends at these shares and both ends; what each item gets is stored, and read the next time."""
    from explorer.encoding.tune.blending import BASE, TUNED, share
    from explorer.training.loop import judging

    base, every = blending.base.as_used, sorted({BASE, TUNED, *map(share, shares)})
    before: dict[str, Floats] = {}
    for use, judge in judges.items():
        as_used = judge.before or judge
        key = item_key(base.digest, as_used, "default", base.device, base.max_length)
        items = kept_items(key)
        if items is None:
            (vectors,) = yield from judging.under_heads(
                base, as_used.texts, (base.default_head,), f"scoring {base.name}"
            )
            items = as_used.items(vectors)
            keep_items(key, items)
        before[use] = items
    points: dict[float, dict[str, Floats]] = {}
    for place, alpha in enumerate(every):
        yield Progress(f"α = {alpha:g}", place, len(every))
        of_blend = blending.digest(alpha)
        keys = {
            use: item_key(of_blend, judge, "tuned", base.device, blending.tuned[0].max_length)
            for use, judge in judges.items()
        }
        points[alpha] = {use: items for use, key in keys.items() if (items := kept_items(key)) is not None}
        # the base as it is used, but for sets that it is asked otherwise
        if alpha == BASE and blending.same_head and base is blending.base:
            points[alpha] |= {use: before[use] for use, judge in judges.items() if judge.before is None}
        missing = {use: judge for use, judge in judges.items() if use not in points[alpha]}
        if not missing:
            continue
        encoder = blending.at(alpha)
        for use, judge in missing.items():
            work = judging.under_heads(encoder, judge.texts, (encoder.default_head,), f"α = {alpha:g}, {judge.name}")
            (vectors,) = yield from work
            points[alpha][use] = judge.items(vectors)
            keep_items(keys[use], points[alpha][use])
    yield Progress("α = 1", len(every), len(every))
    names = tuple(one.name for one in blending.tuned)
    return BlendCurve(base.name, names, dict(judges), before, points, blending.same_head, optimistic, shared)


def _share(alpha: float) -> float:
    """A share as the points of a curve have it, however many decimals were typed."""
    from explorer.encoding.tune.blending import share

    return share(alpha)


def as_text(found: BlendCurve, alpha: float | None = None) -> str:
    """The table of scores and probe packs over α, and the verdict on one blend, by default the best on the dev set."""
    packs = tuple(found.packs(max(found.points)))
    header = [
        table_formats.TableColumn("α", is_text=True),
        *(table_formats.TableColumn(found.label(use), judge.measure) for use, judge in found.sets.items()),
        *(table_formats.TableColumn(pack, metrics.DISTINGUISHED) for pack in packs),
    ]
    scores = {use: found.scores(use) for use in found.sets}
    rows = [("base", *(in_words.number(judge.score(found.before[use])) for use, judge in found.sets.items()))]
    chosen = found.best if alpha is None else _share(alpha)
    for share in found.shares:
        mark = "*" if share == chosen else ""
        shown = found.packs(share)
        rows.append(
            (
                f"{share:g}{mark}",
                *(in_words.number(scores[use][share]) for use in scores),
                *map(percent, shown.values()),
            )
        )
    rows[0] = (*rows[0], *[""] * len(packs))
    how = "the best on the dev set" if alpha is None else "as asked"
    if alpha is None and (why := found.why_no_score(DEV)):
        how = f"the base, since the dev set has no score: {why}"
    lines = [table_formats.as_text(header, rows), f"* α = {chosen:g}, {how}."]
    if not found.same_head:
        lines.append("At every α the layer & pooling is that of the tuned model; the base has another model default.")
    lines += [found.shared.words] * bool(found.shared)
    for use, (to_base, to_tuned) in found.sentences(chosen).items():
        lines += [f"{use}: {one.text}" for one in (to_base, to_tuned) if one is not None]
    return "\n".join(lines) + "\n"


def as_json(found: BlendCurve, alpha: float | None = None) -> dict[str, Any]:
    """The curve and the verdicts on one blend, with missing numbers as None."""
    chosen = found.best if alpha is None else _share(alpha)
    sets = {}
    for use, judge in found.sets.items():
        scores = [in_words.rounded(score) for score in found.scores(use).values()]
        base = in_words.rounded(judge.score(found.before[use]))
        verdicts = {"to_base": found.against_base(use, chosen), "to_tuned": found.against_tuned(use, chosen)}
        gaps = {
            name: {"kind": one.kind, **{key: in_words.rounded(getattr(one, key)) for key in _NUMBERS}}
            for name, one in verdicts.items()
        }
        sets[use] = {
            "set": judge.name,
            "measure": judge.measure,
            "items": len(judge),
            "item": judge.item,
            **({"passages": judge.pool} if judge.pool else {}),
            "optimistic": use in found.optimistic,
            "base": base,
            "scores": scores,
            **gaps,
        }
    packs = [found.packs(share) for share in found.shares]
    return {
        "base": found.base,
        "tuned": list(found.tuned),
        "alphas": list(found.shares),
        "best": found.best,
        "alpha": chosen,
        "same_layer_and_pooling": found.same_head,
        "optimistic": TEST in found.optimistic,
        "in_dev_set": found.shared.rows,
        "sets": sets,
        "packs": {name: [in_words.rounded(100 * one[name]) for one in packs] for name in packs[0]},
    }
