"""Word the headline of every verdict: the largest certain gain, the largest certain loss, what is unchanged or unknown.

`CLAIMS` is the whole rule. Each row says what it claims of which changes, and when; what got worse is never left out.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from explorer import in_words
from explorer.data import sources
from explorer.data.graded.sets import SetKind
from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, several
from explorer.measuring.comparing.learned_facts import SHOWN, Learned
from explorer.measuring.comparing.verdict_sentence import Marked, Sentence
from explorer.measuring.scores.judge import PackChange
from explorer.measuring.scores.metrics import ACCURACY, DISTINGUISHED, SPEARMAN, item_by_main
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CHOSE,
    TRAINED_ON,
    UNKNOWN,
    UNLEARNED,
    WORDS,
    WORSE,
    ElsewhereVerdict,
)

COIN = "a coin: 50 %"  # named once in a headline
LITTLE = 1.0  # points × 100: a score that fell by more, which could be chance, is named as a possible loss
NO_EVIDENCE = {
    CHOSE: "No test: {} chose the model, so its score there is no evidence",
    TRAINED_ON: "No test: a model was trained on all of {}, so its score there is no evidence",
}
SMALL = "the small differences that it notices"
# the name of a pack in a sentence, where it is another
_NAMES = {"number": "numbers", "antonym": "antonyms", "role swap": "role swaps", "quantifier": "quantifiers"}
# what the score of a set measures, where it is not named after its items
_SUBJECTS = {PAIR: "similarity", TRIPLET: "triplets in the right order", QUERY: "search", ROW: "classification"}

Changes = Sequence[PackChange | ElsewhereVerdict]
GAIN, LOSS, PERHAPS, SAME, CLOSER = "gain", "loss", "perhaps lost", "unchanged", "closer to a coin"
MISSED, UNSCORED = "missed", "unknown"
CERTAIN = {GAIN, LOSS, CLOSER}  # claims of changes that are not chance


@dataclass(frozen=True)
class Claim:
    """A clause of the headline: what it claims, of which changes, and in which words.

    `leads` begins it for a tuned model, and for B against A; `short` in a table. It stands only if nothing that it
    claims after (`unless`) is claimed already.
    """

    claim: str
    of: Callable[[Learned], Changes]
    leads: tuple[str, str]
    short: str = ""
    unless: Set[str] = frozenset()


def _possible(found: Learned) -> Changes:
    return [one for one in found.scored(CHANCE) if (one.verdict.shown_difference or 0.0) <= -LITTLE]


def _unchanged(found: Learned) -> Changes:
    return [one for one in found.scored(CHANCE) if (one.verdict.shown_difference or 0.0) > -LITTLE]


CLAIMS = (
    Claim(GAIN, lambda found: found.learned, ("Learned to notice ", "B notices more often than A: "), "learned "),
    Claim(GAIN, lambda found: found.scored(BETTER), ("Better: ",) * 2, "better: "),
    Claim(LOSS, lambda found: found.scored(WORSE), ("Worse: ",) * 2, "worse: "),
    Claim(LOSS, lambda found: found.lost, ("Less often noticed: ",) * 2, "lost "),
    Claim(PERHAPS, _possible, ("Perhaps lost, could be chance: ",) * 2, "perhaps lost: "),
    Claim(SAME, _unchanged, ("No certain change: ",) * 2),
    # no gain: what a coin would get right more often is not learned, so it follows what is known of the scores
    Claim(CLOSER, lambda found: found.closer, ("More often right, but no better than a coin: ",) * 2),
    Claim(MISSED, lambda found: found.missed[:1], ("Still misses ", "B misses "), unless={LOSS, PERHAPS, SAME, CLOSER}),
    Claim(UNSCORED, lambda found: found.scored(UNKNOWN), ("No score that can be compared: ",) * 2),
)


def claims(found: Learned) -> list[tuple[Claim, Changes]]:
    """The claims that stand, in their order, each with its changes."""
    standing: list[tuple[Claim, Changes]] = []
    for claim in CLAIMS:
        changes = claim.of(found)
        if changes and not claim.unless & {one.claim for one, _ in standing}:
            standing.append((claim, changes))
    return standing


def line(found: Learned) -> Sentence | None:
    """The headline; None if nothing was measured."""
    if found.nothing:
        return Sentence.of(UNLEARNED, found.nothing.words)
    clauses: list[Marked] = []
    # what the probe packs say stands beside rows that were trained on, which somebody chose to compare on
    if found.main and found.main.verdict.kind in {found.kind, TRAINED_ON} & {*NO_EVIDENCE}:
        clauses.append(((NO_EVIDENCE[found.main.verdict.kind].format(sources.shown(found.main.name)), False),))
    standing, coin = claims(found), False
    certain = CERTAIN & {claim.claim for claim, _ in standing}
    for claim, changes in standing:
        pieces: list[tuple[str, bool]] = [(claim.leads[not found.tuned], False)]
        for place, one in enumerate(changes[:SHOWN]):
            last = place == min(len(changes), SHOWN) - 1 == len(changes) - 1
            pieces += [("" if not place else " and " if last else ", ", False)]
            if isinstance(one, PackChange):
                pieces += [(name_of(one), True), (_shares(one, claim.claim == MISSED, first=not coin), False)]
                coin = True
            else:
                pieces += [(subject(found, one), claim.claim in (GAIN, LOSS, PERHAPS)), (_numbers(found, one), False)]
        if len(changes) > SHOWN:
            pieces.append((f" and {len(changes) - SHOWN} more", False))
        if claim.claim == SAME and found.packs and not certain:
            pieces.append((f", nor in {SMALL}", False))
        clauses.append(tuple(pieces))
    if found.packs and not certain and SAME not in {claim.claim for claim, _ in standing}:
        clauses.append(((f"No certain change in {SMALL}", False),))
    if not clauses:
        return None
    pieces = [piece for clause in clauses for piece in (*clause, (". ", False))]
    return Sentence(found.kind, (*pieces[:-1], (".", False)))


def short(found: Learned) -> str | None:
    """The headline in a few words, for a table: `Learned negation; perhaps lost: similarity −6.8`; None without one."""
    if found.nothing:
        return WORDS[UNLEARNED]
    if line(found) is None:
        return None
    parts = []
    for claim, changes in claims(found):
        if claim.short:
            parts.append(claim.short + ", ".join(_briefly(found, one) for one in changes))
    if not parts and found.kind not in NO_EVIDENCE:
        parts = ["no certain change"]
    untested = found.score is not None and not found.score.is_test
    return capitalised("; ".join([*parts, *["no test"] * untested]))


def name_of(pack: PackChange) -> str:
    """The name of a pack in a sentence."""
    return _NAMES.get(pack.name, pack.name)


def capitalised(text: str) -> str:
    """Text at the start of a sentence."""
    return text[:1].upper() + text[1:]


def subject(found: Learned, one: ElsewhereVerdict) -> str:
    """What the score of a set measures: `general similarity`, `search on Sample search nDCG@10`."""
    if one.measure == DISTINGUISHED:
        return "small differences in meaning"
    measure = "" if one.measure in (SPEARMAN, ACCURACY) else f" {one.measure}"
    if is_general(found, one):
        return f"general similarity{measure}"
    return f"{_SUBJECTS.get(_item(one)) or several(_item(one))} on {sources.shown(one.name)}{measure}"


def is_general(found: Learned, one: ElsewhereVerdict) -> bool:
    """Whether a set is the main one, of pairs, and the sample or a published one, not a user's own."""
    if not _is_main(found, one) or _item(one) != PAIR:
        return False
    given = sources.identity(one.name)
    return given.is_scored and given.kind != SetKind.UPLOADED


def _is_main(found: Learned, one: ElsewhereVerdict) -> bool:
    return found.main is not None and one.name == found.main.name


def _item(one: ElsewhereVerdict) -> str:
    return one.item or item_by_main(one.measure)


def _briefly(found: Learned, one: PackChange | ElsewhereVerdict) -> str:
    """`negation`, `similarity −6.8` or `Sample search −2.8`, for a table."""
    if isinstance(one, PackChange):
        return name_of(one)
    what = "similarity" if is_general(found, one) else sources.shown(one.name)
    return f"{what} {in_words.signed(one.verdict.shown_difference, 1)}"


def _shares(pack: PackChange, alone: bool, *, first: bool) -> str:
    """` (3 → 63 % of cases; a coin: 50 %)`; after the first pack without its explanation, `alone` the share after."""
    shares = str(pack.after) if alone else pack.shares
    return f" ({shares}{f' of cases; {COIN}' if first else ''})"


def _numbers(found: Learned, one: ElsewhereVerdict) -> str:
    """`+1.1 (−3.2 to +5.6)`; of another layer & pooling also what training changed."""
    score = one.verdict
    if not score.known:
        return ""
    text = score.ends(1)
    if part := score.training:
        by_training = in_words.ends(part.difference, part.low, part.high, digits=1)
        text += f"; by training {in_words.signed(score.shown_parts[1], 1)}, {by_training}"
    optimistic = found.optimistic if _is_main(found, one) else one.name in found.optimistic_more
    text += "; optimistic, since some of its rows were trained on or chose the model" * optimistic
    return f" {in_words.signed(score.shown_difference, 1)} ({text})"
