"""Judge what a model learned from the probe packs and the score, and word it.

The words are one line of at most two clauses, the best news and the worst, how sure it is, and where it shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from explorer import in_words
from explorer.data import sample, sources
from explorer.data.graded.sets import SetKind
from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, counted
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import HALF, Floats, Gap, PackChange, PairChange, of_packs, pack_changes
from explorer.measuring.scores.metrics import ACCURACY, DISTINGUISHED, SPEARMAN
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CHOSE,
    CI,
    MIXED,
    NO_TEST,
    UNKNOWN,
    UNLEARNED,
    WORDS,
    WORSE,
    Marked,
    Sentence,
    Verdict,
)

SHOWN = 3  # pairs
MOST_NAMED = 3  # packs in a clause
COIN = "a coin would get 50 %"
# the name of a pack in a sentence, where it is another
_NAMES = {"number": "numbers", "antonym": "antonyms", "role swap": "role swaps", "quantifier": "quantifiers"}
_CHANGES = {BETTER: "better", WORSE: "worse", CHANCE: "no certain change"}
_SEARCH = {BETTER: "finds the right text sooner", WORSE: "finds the right text later", CHANCE: "no certain change"}
# what the score of a set measures
_SUBJECTS = {PAIR: "similarity", TRIPLET: "triplets in the right order", QUERY: "search", ROW: "classification"}
HOW_CHOSEN = (
    "Neither model's run trained on these pairs. Of each difference that was learned (at most two) or lost (one), this "
    "is the pair whose cosine changed by the median amount: half of the pairs changed more. Of the difference that is "
    "missed most, it is the median one of the pairs that are still more similar than the median paraphrase. What is "
    "left of three is a paraphrase, which should stay similar. Words that differ are bold."
)
NOT_HELD_OUT = (
    "Small differences in meaning are not judged: a run trained on sentences of the probe packs, or chose its "
    "checkpoint by them."
)
HOW_SURE = (
    "In brackets the 95 % confidence intervals, by a paired bootstrap. Those of small differences are so wide that all "
    "of them hold together with 95 %. A case is a paraphrase and a pair with that difference, of 60 pairs of each; it "
    "is right if the paraphrase has the higher cosine. The pairs are the probe packs of the Sentences page."
)


@dataclass(frozen=True)
class Learned:
    """What changed from one model to another: the probe packs, if they were held out, and the score, if there is one.

    Its properties are the judgement: a pack is learned if it is distinguished more often than before, and more often
    than by chance; lost if less often than before; closer if more often than before but not more often than by chance;
    missed if less often than by chance. A change that another layer & pooling makes without training is none of these.
    """

    packs: tuple[PackChange, ...] = ()
    score: Verdict | None = None
    tuned: bool = True  # whether one model was trained from the other
    measure: str = SPEARMAN  # of the score, and the evaluation set by its name, with its number of items
    on: str = ""
    size: int = 0
    item: str = PAIR  # what its items are
    optimistic: bool = False  # the training text holds sentences of the set, or the dev set holds rows of it
    pairs: tuple[PairChange, ...] = ()  # of the packs, to show what changed
    why_none: str = ""  # why no packs are judged
    elsewhere: tuple[verdicts.ElsewhereVerdict, ...] = ()  # on sets that the run was not trained for
    poolings: str = ""  # which layer & pooling took the place of which, if that is a part of what changed
    nothing: NothingLearned | None = None  # why the tuned model equals the base, if it does

    @property
    def judged_by(self) -> Verdict | None:
        """The score, if it is a verdict: with an interval, and not on a set that chose the model."""
        return self.score if self.score is not None and self.score.known else None

    @property
    def is_chosen_by_score(self) -> bool:
        """Whether the only score is on a set that chose the model."""
        return self.score is not None and self.score.kind == CHOSE

    @property
    def general(self) -> bool:
        """Whether the set is the sample or a published one, and not a user's own."""
        given = sources.identity(self.on)
        return given.is_scored and given.kind != SetKind.UPLOADED

    @property
    def learned(self) -> tuple[PackChange, ...]:
        """The packs that were learned, the largest change first."""
        found = (one for one in self.packs if one.rose and one.after.low > HALF)
        return tuple(sorted(found, key=lambda one: -one.difference))

    @property
    def lost(self) -> tuple[PackChange, ...]:
        """The packs that were lost, the largest change first."""
        return tuple(sorted((one for one in self.packs if one.fell), key=lambda one: one.difference))

    @property
    def closer(self) -> tuple[PackChange, ...]:
        """The packs that are closer to chance than before, or at it, the largest change first."""
        found = (one for one in self.packs if one.rose and one.after.low <= HALF)
        return tuple(sorted(found, key=lambda one: -one.difference))

    @property
    def missed(self) -> tuple[PackChange, ...]:
        """The packs that are missed, first the one that is missed most often."""
        found = (one for one in self.packs if one.after.high < HALF)
        return tuple(sorted(found, key=lambda one: one.after.value))

    @property
    def kind(self) -> str:
        """Better if something is better and nothing worse, and so on; unknown if nothing was measured."""
        if self.nothing:
            return UNLEARNED
        score = self.judged_by.kind if self.judged_by else UNKNOWN
        good, bad = bool(self.learned) or score == BETTER, bool(self.lost) or score == WORSE
        if good and bad:
            return MIXED
        if good or bad:
            return BETTER if good else WORSE
        if self.packs or self.judged_by:
            return CHANCE
        return CHOSE if self.is_chosen_by_score else UNKNOWN


def of_run(
    verdict: verdicts.RunVerdict,
    sets: Mapping[str, Mapping[str, Any]],
    poolings: str = "",
    nothing: NothingLearned | None = None,
) -> Learned:
    """What a run learned, by its test set; without one its dev set has the score, which is a verdict unless it chose.

    `sets` are the fields of both that say what a score is of, by `test` and `dev`; `poolings` says which layer &
    pooling took the place of which.
    """
    if nothing is not None:
        return Learned(nothing=nothing)
    for use, found in (("test", verdict.test), ("dev", verdict.dev)):
        if found is not None:
            if found.kind == UNKNOWN:  # not scored yet, or it can have no score
                break
            of_run = Learned(verdict.packs, found, pairs=verdict.pairs, elsewhere=verdict.elsewhere, poolings=poolings)
            return replace(of_run, optimistic=verdict.optimistic and use == "test", **sets[use])
    return Learned(verdict.packs, pairs=verdict.pairs, elsewhere=verdict.elsewhere, poolings=poolings)


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
    return Learned(changes, pairs=shown_pairs(Learned(changes), packs, before, after))


def pack_items_changes(before: Floats, after: Floats, as_trained: Floats) -> Learned:
    """The same, from the cosines of the pairs of all packs, as `ProbeJudge` has them.

    `as_trained` may be those of `before` again.
    """
    packs = sample.judged_packs()
    same = None if verdicts.are_alike(before, as_trained) else of_packs(packs, as_trained)
    return probe_changes(packs, of_packs(packs, before), of_packs(packs, after), same)


def shown_pairs(
    found: Learned, packs: Sequence[sample.Pack], before: Mapping[str, Floats], after: Mapping[str, Floats]
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
        add(one.name, np.flatnonzero(after[one.name] > np.median(after[sample.PARAPHRASE])))
    add(sample.PARAPHRASE, np.arange(len(before[sample.PARAPHRASE])))
    for one in found.missed[1:]:
        add(one.name, np.flatnonzero(after[one.name] > np.median(after[sample.PARAPHRASE])))
    return tuple(chosen)


def line(found: Learned) -> Sentence | None:
    """The best news and the worst news, in one line of at most two clauses; None if nothing was measured."""
    if found.nothing:
        return Sentence.of(UNLEARNED, found.nothing.words)
    best: Marked = ()
    worst: Marked = ()
    score = found.judged_by
    scored = _scored(found, score) if score else ()
    fell = score is not None and score.kind == WORSE
    if found.kind == CHOSE:
        best = ((_chosen(found), False),)
    elif found.learned:
        lead = "Learned to notice " if found.tuned else "B notices more often than A: "
        best = (lead, False), *_packs(found.learned)
    elif score and score.kind == BETTER:
        best = scored
    if fell or found.lost:  # never left out
        lead = "; less often noticed: " if fell else "Less often noticed: "
        worst = (*(scored if fell else ()), *(((lead, False), *_packs(found.lost)) if found.lost else ()))
    elif found.learned:
        worst = scored or _missed(found)
    elif best:
        worst = _missed(found)
    elif found.closer:  # those that are still missed, else those at chance
        below = tuple(one for one in found.closer if one in found.missed)
        lead = _misses(found) if below else "No better than a coin, but better than before at "
        best, worst = ((lead, False), *_packs(below or found.closer)), scored
        best = (*best, (f"; {COIN}", False)) if below else best
    elif not found.packs or (score and not found.general):  # of one's own set only its score is news
        best = scored
    else:
        noticed = "the small differences that it notices"
        text = f"No certain change in {noticed}"
        if score:
            numbers = _numbers(found, score)
            text = f"No certain change: neither in general similarity ({numbers}) nor in {noticed}"
        best = ((text, False),)
    clauses = [clause for clause in (best, worst) if clause]
    pieces = [piece for clause in clauses for piece in (*clause, (". ", False))]
    return Sentence(found.kind, (*pieces[:-1], (".", False))) if pieces else None


def short(found: Learned) -> str | None:
    """The news in a few words, for a table: `Learned numbers, negation; score worse`; None if there are none."""
    if found.nothing:
        return WORDS[UNLEARNED]
    if line(found) is None:
        return None
    score = found.judged_by.kind if found.judged_by else UNKNOWN
    parts = [
        f"learned {', '.join(map(_name, found.learned))}" if found.learned else "",
        f"lost {', '.join(map(_name, found.lost))}" if found.lost else "",
        {BETTER: "score better", WORSE: "score worse"}.get(score, ""),
        "elsewhere worse" if verdicts.worst(found.elsewhere) == WORSE else "",
    ]
    if not any(parts) and found.kind != CHOSE:
        parts = ["no certain change"]
    return _capitalised("; ".join(filter(None, [*parts, "no test" * found.is_chosen_by_score])))


def sure(found: Learned) -> str:
    """How sure the line is: the intervals of the packs that it names, and that of the score."""
    if found.nothing:
        return "The saved weights were compared with the base's, one by one: all are equal."
    parts = []
    changed = (*(found.learned or found.closer), *found.lost)[:MOST_NAMED]
    if changed:
        listed = [
            f"{_name(one)} ({in_words.signed(one.points, 0)}{'' if place else ' points'}, "
            f"{in_words.ends(one.points, 100 * one.low, 100 * one.high, digits=0)})"
            for place, one in enumerate(changed)
        ]
        parts.append(f"{_capitalised(' and '.join(filter(None, (', '.join(listed[:-1]), listed[-1]))))}: not chance.")
    elif found.packs:
        certain = " by training" * any(one.training for one in found.packs)
        parts.append(f"None of {len(found.packs)} kinds of small difference changed{certain} by more than chance.")
    if others := [one for one in found.packs if one.by_pooling]:
        named = ", ".join(f"{_name(one)} {in_words.signed(one.points, 0)}" for one in others[:MOST_NAMED])
        due = f" ({found.poolings})" * bool(found.poolings)
        parts.append(f"Due to the layer & pooling{due} and not to training: {named} points.")
    if score := found.judged_by:
        before, after, *gap = score.known
        chance = "not chance, its {} excludes 0" if Gap(*gap).is_sure else "could be chance, its {} includes 0"
        parts.append(f"{_on(found, before, after)}: {chance.format(CI)}.")
        if words := score.parts(found.poolings):
            parts.append(f"Of {in_words.signed(score.shown_difference)}, {words}.")
    elif found.score and found.is_chosen_by_score:
        parts.append(f"{_on(found, found.score.declared_base, found.score.exported)}. {NO_TEST}")
    return " ".join(parts)


def _on(found: Learned, before: float | None, after: float | None) -> str:
    """`Spearman 79.61 → 83.76 on Sample pairs, dev half (120 pairs)`."""
    scores = in_words.arrow(before, after)
    on = f"{sources.shown(found.on)} ({counted(found.size, found.item)})"
    return f"{_begun(found.measure)} {scores} on {on}"


def lines(found: Learned, where: str = "") -> list[str]:
    """The line, how sure it is, where, elsewhere, and the pairs, as plain text; none if nothing was measured."""
    text, elsewhere = line(found), verdicts.elsewhere(found.elsewhere)
    second = [elsewhere.text] if elsewhere else []
    if text is None:
        return second
    shown = [f"{in_words.arrow(one.before, one.after)}  {one.first} / {one.second} ({one.pack})" for one in found.pairs]
    return [
        text.text,
        *second,
        f"How sure: {sure(found)}",
        *([f"Where: {where}"] if where else []),
        *(["Pairs that show it, with the cosine before and after:", *shown] if shown else []),
    ]


def as_json(found: Learned) -> dict[str, object] | None:
    """The line, how sure it is, and what it is about; None if nothing was measured."""
    text, elsewhere = line(found), verdicts.elsewhere(found.elsewhere)
    if text is None:
        return None
    second = {"elsewhere": {"kind": elsewhere.kind, "text": elsewhere.text}} if elsewhere else {}
    of_score = {}
    if found.score:
        about = found.measure, found.on, found.size, found.item
        of_score = {"scored_on": dict(zip(("measure", "set", "items", "item"), about, strict=True))}
    return {
        "kind": text.kind,
        "text": text.text,
        **second,
        **of_score,
        "how_sure": sure(found),
        "packs": [asdict(one) for one in found.packs],
        "pairs": [asdict(one) for one in found.pairs],
    }


def _packs(packs: Sequence[PackChange]) -> Marked:
    """`negation (7 → 69 % of cases) and numbers (3 → 74 %)`."""
    named = packs[:MOST_NAMED]
    more = len(packs) - len(named)
    pieces: list[tuple[str, bool]] = []
    for place, one in enumerate(named):
        last = place == len(named) - 1 and not more
        joint = "" if not place else " and " if last else ", "
        shares = in_words.arrow(100 * one.before.value, 100 * one.after.value, digits=0)
        share = f" ({shares} %{'' if place else ' of cases'})"
        pieces += [(joint, False), (_name(one), True), (share, False)]
    return (*pieces, (f" and {more} more", False)) if more else tuple(pieces)


def _missed(found: Learned) -> Marked:
    """The pack that is missed most: `Still misses antonyms (14 %; a coin would get 50 %)`."""
    if not found.missed:
        return ()
    one = found.missed[0]
    return (_misses(found), False), (_name(one), True), (f" ({one.after}; {COIN})", False)


def _misses(found: Learned) -> str:
    return "Still misses " if found.tuned else "B misses "


def _scored(found: Learned, score: Verdict) -> Marked:
    """`General similarity: no certain change (+1.1, −3.2 to +5.6)`."""
    change = (_SEARCH if found.item == QUERY else _CHANGES)[score.kind]
    return ((f"{_capitalised(_subject(found))}: {change} ({_numbers(found, score)})", False),)


def _subject(found: Learned) -> str:
    """What the score measures, in words."""
    if found.measure == DISTINGUISHED:
        return "small differences in meaning"
    if found.item == PAIR and found.general:
        return "general similarity"
    return f"{_SUBJECTS[found.item]} on {sources.shown(found.on)}"


def _numbers(found: Learned, score: Verdict) -> str:
    """The difference and its interval: `+1.1, −3.2 to +5.6`; of another layer & pooling also what training changed.

    The measure is named if the subject does not say it.
    """
    measure = "" if found.measure in (SPEARMAN, ACCURACY, DISTINGUISHED) else f"{found.measure} "
    text = f"{measure}{in_words.signed(score.shown_difference, 1)}, {score.ends(1)}"
    if part := score.training:
        by_training = in_words.ends(part.difference, part.low, part.high, digits=1)
        text += f"; by training {in_words.signed(score.shown_parts[1], 1)}, {by_training}"
    return text + "; optimistic, since some of its rows were trained on or chose the model" * found.optimistic


def _chosen(found: Learned) -> str:
    """What is said where the only score is on a set that chose the model."""
    return f"No test: {sources.shown(found.on)} chose the model, so its score there is no evidence"


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _begun(measure: str) -> str:
    """A measure at the start of a sentence; a name such as nDCG@10 stays as it is."""
    return _capitalised(measure) if measure.islower() else measure


def _name(pack: PackChange) -> str:
    return _NAMES.get(pack.name, pack.name)
