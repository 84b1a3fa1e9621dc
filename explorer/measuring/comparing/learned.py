"""Judge what a model learned: its best news and its worst news, from the probe packs and the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.data import sources
from explorer.data.graded.probes import PARAPHRASE, Pack
from explorer.data.graded.sets import SetKind
from explorer.measuring.scores.judge import HALF, Floats, PackChange, PairChange, pack_changes
from explorer.measuring.scores.metrics import SPEARMAN
from explorer.measuring.scores.verdict import BETTER, CHANCE, MIXED, UNKNOWN, WORSE, RunVerdict, Verdict

SHOWN = 3  # pairs


@dataclass(frozen=True)
class ProbeChanges:
    """What changed in the probe packs, from the model before to the model after; nothing, and why."""

    packs: tuple[PackChange, ...] = ()
    pairs: tuple[PairChange, ...] = ()
    why_none: str = ""


NOTHING = ProbeChanges()


@dataclass(frozen=True)
class Learned:
    """What changed from one model to another: the probe packs, if they were held out, and the score, if there is one.

    Its properties are the judgement: a pack is learned if it is distinguished more often than before, and more often
    than by chance; lost if less often than before; closer if more often than before but not more often than by chance;
    missed if less often than by chance.
    """

    packs: tuple[PackChange, ...] = ()
    score: Verdict | None = None
    tuned: bool = True  # whether one model was trained from the other
    measure: str = SPEARMAN  # of the score, and the evaluation set by its name, with its number of items
    on: str = ""
    size: int = 0
    optimistic: bool = False  # the training text holds sentences of the set

    @property
    def general(self) -> bool:
        """Whether the set is the sample or a published one, and not a user's own."""
        given = sources.identity(self.on)
        return given.is_scored and given.kind != SetKind.UPLOADED

    @property
    def learned(self) -> tuple[PackChange, ...]:
        """The packs that were learned, the largest change first."""
        found = (one for one in self.packs if one.low > 0 and one.after.low > HALF)
        return tuple(sorted(found, key=lambda one: -one.difference))

    @property
    def lost(self) -> tuple[PackChange, ...]:
        """The packs that were lost, the largest change first."""
        return tuple(sorted((one for one in self.packs if one.high < 0), key=lambda one: one.difference))

    @property
    def closer(self) -> tuple[PackChange, ...]:
        """The packs that are closer to chance than before, or at it, the largest change first."""
        found = (one for one in self.packs if one.low > 0 and one.after.low <= HALF)
        return tuple(sorted(found, key=lambda one: -one.difference))

    @property
    def missed(self) -> tuple[PackChange, ...]:
        """The packs that are missed, first the one that is missed most often."""
        found = (one for one in self.packs if one.after.high < HALF)
        return tuple(sorted(found, key=lambda one: one.after.value))

    @property
    def kind(self) -> str:
        """Better if something is better and nothing worse, and so on; unknown if nothing was measured."""
        score = self.score.kind if self.score else UNKNOWN
        good, bad = bool(self.learned) or score == BETTER, bool(self.lost) or score == WORSE
        if good and bad:
            return MIXED
        if good or bad:
            return BETTER if good else WORSE
        return CHANCE if self.packs or self.score else UNKNOWN


def of_run(
    verdict: RunVerdict, names: Mapping[str, str], sizes: Mapping[str, int], measures: Mapping[str, str]
) -> Learned:
    """What a run learned, by its test set, or by its dev set if there is no test set.

    `names`, `sizes` and `measures` are those of the evaluation sets, by `test` and `dev`.
    """
    for use, found in (("test", verdict.test), ("dev", verdict.dev)):
        if found is not None and found.exported is not None:
            if found.kind == UNKNOWN:
                break
            optimistic = verdict.optimistic and use == "test"
            about = measures.get(use, SPEARMAN), names.get(use, ""), sizes.get(use, 0), optimistic
            return Learned(verdict.packs, found, True, *about)
    return Learned(verdict.packs)


def probe_changes(packs: Sequence[Pack], before: Mapping[str, Floats], after: Mapping[str, Floats]) -> ProbeChanges:
    """The changes of the probe packs, from the cosines (pair) of each pack under two models."""
    changes = pack_changes(before, after)
    return ProbeChanges(changes, shown_pairs(Learned(changes), packs, before, after))


def shown_pairs(
    found: Learned, packs: Sequence[Pack], before: Mapping[str, Floats], after: Mapping[str, Floats]
) -> tuple[PairChange, ...]:
    """Three pairs that show the news, chosen by a rule from the cosines (pair) of each pack.

    Of up to two packs that were learned, then of one that was lost, the pair whose cosine changed by the median of its
    pack: not the best one. Then, of the pack that is missed most, the pair at the median of those that are still above
    the median paraphrase. What is left of three is a paraphrase, also at the median, then further missed packs.
    """
    texts = {pack.name: pack for pack in packs}
    chosen: list[PairChange] = []

    def add(name: str, places: np.ndarray) -> None:
        if len(places) and len(chosen) < SHOWN and all(one.pack != name for one in chosen):
            change = (after[name] - before[name])[places]
            at = int(places[np.argsort(change, kind="stable")[(len(places) - 1) // 2]])
            pack = texts[name]
            chosen.append(
                PairChange(name, pack.first[at], pack.second[at], float(before[name][at]), float(after[name][at]))
            )

    for one in (*found.learned[:2], *found.lost[:1]):
        add(one.name, np.arange(one.pairs))
    for one in found.missed[:1]:
        add(one.name, np.flatnonzero(after[one.name] > np.median(after[PARAPHRASE])))
    add(PARAPHRASE, np.arange(len(before[PARAPHRASE])))
    for one in found.missed[1:]:
        add(one.name, np.flatnonzero(after[one.name] > np.median(after[PARAPHRASE])))
    return tuple(chosen)
