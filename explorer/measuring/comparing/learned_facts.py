"""Judge what a model learned, from the probe packs and the score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from explorer import in_words
from explorer.data import sample
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import HALF, Floats, PackChange, PairChange, of_packs, pack_changes
from explorer.measuring.scores.verdict import BETTER, CHANCE, MIXED, UNKNOWN, UNLEARNED, WORSE, Verdict

SHOWN = 3  # pairs, and packs that a headline names in a claim


@dataclass(frozen=True)
class Learned:
    """What changed from one model to another: the probe packs, if they were held out, and the score, if there is one.

    Its properties are the judgement: a pack is learned if it is distinguished more often than before, and more often
    than by chance; lost if less often than before; closer if more often than before but not more often than by chance;
    missed if less often than by chance. What another layer & pooling gains without training is not learned, and what it
    loses is lost all the same: the model that is used has lost it.
    """

    packs: tuple[PackChange, ...] = ()
    main: verdicts.ElsewhereVerdict | None = None  # the score, and the evaluation set that it is on
    tuned: bool = True  # whether one model was trained from the other
    optimistic: bool = False  # the training text holds sentences of the set, or the dev set holds rows of it
    pairs: tuple[PairChange, ...] = ()  # of the packs, to show what changed
    why_none: str = ""  # why no packs are judged
    elsewhere: tuple[verdicts.ElsewhereVerdict, ...] = ()  # on further test sets, and sets that it was not trained for
    poolings: str = ""  # which layer & pooling took the place of which, if that is a part of what changed
    nothing: NothingLearned | None = None  # why the tuned model equals the base, if it does
    optimistic_more: tuple[str, ...] = ()  # the names of the further test sets of which the same is true

    @property
    def score(self) -> Verdict | None:
        """The verdict on the main set."""
        return self.main.verdict if self.main else None

    @property
    def judged_by(self) -> Verdict | None:
        """The score, if it is a verdict: with an interval, and on a set that tests the model."""
        return self.score if self.score is not None and self.score.known else None

    @property
    def learned(self) -> tuple[PackChange, ...]:
        """The packs that were learned, the largest change first."""
        found = (one for one in self.packs if one.rose and one.after.low > HALF)
        return tuple(sorted(found, key=lambda one: -one.difference))

    @property
    def lost(self) -> tuple[PackChange, ...]:
        """The packs that fell by more than chance, the largest change first."""
        found = (one for one in self.packs if one.high < 0 or one.fell)
        return tuple(sorted(found, key=lambda one: one.difference))

    @property
    def scores(self) -> tuple[verdicts.ElsewhereVerdict, ...]:
        """The verdicts on every set that tests the model: the main one first, then those elsewhere."""
        main = [self.main] if self.main and self.judged_by else []
        return (*main, *(one for one in self.elsewhere if one.verdict.after is not None and one.verdict.is_test))

    def scored(self, kind: str) -> tuple[verdicts.ElsewhereVerdict, ...]:
        """The sets with a verdict of this kind, the largest change first."""
        found = (one for one in self.scores if one.verdict.kind == kind)
        return tuple(sorted(found, key=lambda one: -abs(one.verdict.difference or 0.0)))

    @property
    def closer(self) -> tuple[PackChange, ...]:
        """The packs that are closer to chance than before, or at it, the largest change first.

        Only those that rose by more than what was learned: next to that, a smaller rise below chance is no news.
        """
        learned = max((one.difference for one in self.learned), default=0.0)
        found = (one for one in self.packs if one.rose and one.after.low <= HALF and one.difference > learned)
        return tuple(sorted(found, key=lambda one: -one.difference))

    @property
    def shown_pairs(self) -> tuple[PairChange, ...]:
        """The pairs that show what changed: of packs that changed, and in their direction.

        Older runs have recorded others, too, such as paraphrases.
        """
        changed = {one.name: one for one in (*self.learned, *self.closer, *self.lost)}
        return tuple(one for one in self.pairs if one.pack in changed and shows(changed[one.pack], one))

    @property
    def missed(self) -> tuple[PackChange, ...]:
        """The packs that are missed, first the one that is missed most often."""
        found = (one for one in self.packs if one.missed)
        return tuple(sorted(found, key=lambda one: one.after.value))

    @property
    def kind(self) -> str:
        """Better if something is better and nothing worse, and so on; unknown if nothing was measured.

        A pack that is only closer to chance makes nothing better: a coin is still right as often, or more often.
        """
        if self.nothing:
            return UNLEARNED
        good, bad = bool(self.learned or self.scored(BETTER)), bool(self.lost or self.scored(WORSE))
        if good and bad:
            return MIXED
        if good or bad:
            return BETTER if good else WORSE
        if self.packs or self.scored(CHANCE):
            return CHANCE
        return self.score.kind if self.score and not self.score.is_test else UNKNOWN


def of_run(
    verdict: verdicts.RunVerdict,
    scored: Mapping[str, verdicts.ElsewhereVerdict],
    poolings: str = "",
    nothing: NothingLearned | None = None,
) -> Learned:
    """What a run learned, by its test set; without one its dev set has the score, which is a verdict unless it chose.

    `scored` are its verdicts with the sets that they are on, by `test`, `dev` and `test 2`; `poolings` says which layer
    & pooling took the place of which.
    """
    if nothing is not None:
        return Learned(nothing=nothing)
    rest = Learned(
        verdict.packs,
        pairs=verdict.pairs,
        elsewhere=(*(one for use, one in scored.items() if use not in ("test", "dev")), *verdict.elsewhere),
        poolings=poolings,
        optimistic_more=tuple(scored[use].name for use in verdict.optimistic_more if use in scored),
    )
    use = "test" if verdict.test is not None else "dev"
    main = scored.get(use)
    if main is None or main.verdict.kind == UNKNOWN:  # not scored yet, or it can have no score
        return rest
    return replace(rest, main=main, optimistic=verdict.is_optimistic(use))


NOTHING = Learned()


def probe_changes(
    packs: Sequence[sample.Pack],
    before: Mapping[str, Floats],
    after: Mapping[str, Floats],
    as_trained: Mapping[str, Floats] | None = None,
) -> Learned:
    """The changes of the probe packs, from the cosines (pair) of each pack under two models.

    `as_trained` are those of the model before under the layer & pooling of the one after, if it is another one.
    """
    changes = pack_changes(before, after, as_trained)
    return Learned(changes, pairs=chosen_pairs(Learned(changes), packs, before, after))


def pack_items_changes(before: Floats, after: Floats, as_trained: Floats) -> Learned:
    """The same, from the cosines of the pairs of all packs, as `ProbeJudge` has them.

    `as_trained` may be those of `before` again.
    """
    packs = sample.judged_packs()
    same = None if verdicts.are_alike(before, as_trained) else of_packs(packs, as_trained)
    return probe_changes(packs, of_packs(packs, before), of_packs(packs, after), same)


def shows(pack: PackChange, pair: PairChange) -> bool:
    """Whether the cosine of a pair changed, as it is shown, in the direction of its pack: down if it is noticed."""
    digits = in_words.cosine_digits(pair.before, pair.after)
    return pack.difference * in_words.gap(pair.before, pair.after, digits=digits) < 0


def chosen_pairs(
    found: Learned, packs: Sequence[sample.Pack], before: Mapping[str, Floats], after: Mapping[str, Floats]
) -> tuple[PairChange, ...]:
    """Up to three pairs that show what changed, chosen by a rule from the cosines (pair) of each pack.

    Of two packs that are noticed more often, then of one that is noticed less often, then of further ones, as far as a
    headline names them: of the pairs that show it the one whose cosine changed by the median amount, not the best one.
    """
    texts = {pack.name: pack for pack in packs}
    more, less = (*found.learned[:SHOWN], *found.closer[:SHOWN]), found.lost[:SHOWN]
    chosen: list[PairChange] = []
    for change in (*more[:2], *less[:1], *more[2:], *less[1:]):
        pack, sides = texts[change.name], (before[change.name], after[change.name])
        rows = zip(pack.first, pack.second, *(side.tolist() for side in sides), strict=True)
        every = [PairChange(pack.name, *row) for row in rows]
        showing = sorted((one for one in every if shows(change, one)), key=lambda one: one.after - one.before)
        chosen += showing[(len(showing) - 1) // 2 :][:1]
    return tuple(chosen[:SHOWN])
