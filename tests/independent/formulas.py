"""The losses a second time, from their papers: one anchor, one candidate, one exponential at a time, in float64.

A side is a list of vectors; row i of one side belongs to row i of the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Side = Sequence[Tensor]


def cosine(one: Tensor, other: Tensor) -> Tensor:
    """The product of two vectors by the product of their lengths."""
    return (one * other).sum() / (one.square().sum().sqrt() * other.square().sum().sqrt())


def mean(terms: Sequence[Tensor]) -> Tensor:
    """The mean of numbers."""
    return sum(terms[1:], terms[0]) / len(terms)


def term(positive: Tensor, negatives: Sequence[Tensor]) -> Tensor:
    """-log of the share of the positive's exponential among all."""
    return -torch.log(positive.exp() / sum((one.exp() for one in negatives), positive.exp()))


def nt_xent(c: Side, h: Side, temperature: float) -> Tensor:
    """Kim, Yoo and Lee 2021, section 3.2: L_base without its regulariser."""
    x, b, terms = [*c, *h], len(c), []
    for m in range(2 * b):
        partner = m + b if m < b else m - b
        others = [n for n in range(2 * b) if n not in (m, partner)]
        terms.append(term(cosine(x[m], x[partner]) / temperature, [cosine(x[m], x[n]) / temperature for n in others]))
    return mean(terms)


def opt1(c: Side, h: Side, temperature: float) -> Tensor:
    """Section 3.3: only c is an anchor."""
    terms = []
    for i in range(len(c)):
        others = [side[j] for j in range(len(c)) if j != i for side in (c, h)]
        terms.append(term(cosine(c[i], h[i]) / temperature, [cosine(c[i], other) / temperature for other in others]))
    return mean(terms)


def opt2(c: Side, h: Side, temperature: float) -> Tensor:
    """Section 3.3: without the other anchors among the negatives; also SimCSE's equation 1."""
    terms = []
    for i in range(len(c)):
        others = [h[j] for j in range(len(c)) if j != i]
        terms.append(term(cosine(c[i], h[i]) / temperature, [cosine(c[i], other) / temperature for other in others]))
    return mean(terms)


info_nce = opt2


def opt3(c: Side, views: Sequence[Side], temperature: float) -> Tensor:
    """Section 3.3: every view of a sentence is a positive in turn; its other views are no negatives."""
    terms = []
    for i in range(len(c)):
        others = [view for m in range(len(c)) if m != i for view in views[m]]
        negatives = [cosine(c[i], other) / temperature for other in others]
        terms += [term(cosine(c[i], view) / temperature, negatives) for view in views[i]]
    return mean(terms)


def with_hard_negatives(x: Side, y: Side, z: Side, temperature: float, weight: float = 0.0) -> Tensor:
    """Oh and others 2022, equation 8; `weight` is added to the logit of a row's own hard negative."""
    terms = []
    for i in range(len(x)):
        negatives = [cosine(x[i], y[j]) / temperature for j in range(len(x)) if j != i]
        negatives += [cosine(x[i], z[j]) / temperature + (weight if i == j else 0.0) for j in range(len(x))]
        terms.append(term(cosine(x[i], y[i]) / temperature, negatives))
    return mean(terms)


def ranking(
    x: Side,
    candidates: Side,
    temperature: float,
    symmetric: bool = False,
    left_out: Sequence[Sequence[bool]] = (),
    left_out_back: Sequence[Sequence[bool]] = (),
) -> Tensor:
    """Henderson and others 2017, section 4.4: the first candidates are the positives, all others negatives."""
    there, back = [], []
    for i in range(len(x)):
        right = cosine(x[i], candidates[i]) / temperature
        wrong = [j for j in range(len(candidates)) if j != i and not (left_out and left_out[i][j])]
        there.append(term(right, [cosine(x[i], candidates[j]) / temperature for j in wrong]))
        wrong = [j for j in range(len(x)) if j != i and not (left_out_back and left_out_back[i][j])]
        back.append(term(right, [cosine(candidates[i], x[j]) / temperature for j in wrong]))
    return (mean(there) + mean(back)) / 2 if symmetric else mean(there)


def gist(
    sides: Sequence[Side],
    guide: Sequence[Side],
    temperature: float,
    margin: float = 0.0,
    relative: bool = False,
    blocks: str = "ap aa pp",
) -> Tensor:
    """Solatorio 2024: anchors a, positives p, then hard negatives, without what the guide finds too close."""
    terms = []
    for i in range(len(sides[0])):
        (a, guided_a), (p, guided_p) = ((sides[k][i], guide[k][i]) for k in (0, 1))
        bound = cosine(guided_a, guided_p)
        bound = bound - (bound.abs() * margin if relative else margin)
        pairs = [(a, guided_a, 1, j) for j in range(len(sides[0])) if j != i]
        pairs += [(a, guided_a, 0, j) for j in range(len(sides[0])) if j != i and "aa" in blocks]
        pairs += [(p, guided_p, 1, j) for j in range(len(sides[0])) if j != i and "pp" in blocks]
        pairs += [(a, guided_a, k, j) for k in range(2, len(sides)) for j in range(len(sides[0]))]
        kept = [
            cosine(one, sides[k][j]) / temperature
            for one, guided, k, j in pairs
            if cosine(guided, guide[k][j]) <= bound
        ]
        terms.append(term(cosine(a, p) / temperature, kept))
    return mean(terms)


def angle_similarity(one: Tensor, other: Tensor) -> Tensor:
    """Li and Li 2024, equation 7: halves of the vectors as complex numbers, and real plus imaginary part of z w*."""
    lengths = one.square().sum().sqrt() * other.square().sum().sqrt()
    half = len(one) // 2
    total = torch.zeros_like(lengths)
    for k in range(half):
        a, b, c, d = one[k], one[half + k], other[k], other[half + k]
        total = total + (a * c + b * d) + (b * c - a * d)  # (a + bi)(c - di)
    return (total / lengths).abs()


def cosent(cosines: Side, scores: Sequence[float], scale: float) -> Tensor:
    """Su 2022: every two rows with different scores should have cosines in the same order."""
    rows = range(len(scores))
    ordered = [(i, j) for i in rows for j in rows if scores[i] > scores[j]]
    return torch.log(1 + sum((torch.exp(scale * (cosines[j] - cosines[i])) for i, j in ordered), cosines[0] * 0))


def regression(cosines: Side, scores: Sequence[float]) -> Tensor:
    """Reimers and Gurevych 2019, section 3: the mean squared error."""
    return mean([(cosine - score) ** 2 for cosine, score in zip(cosines, scores, strict=True)])


def interaction(same: Side, other: Side) -> Tensor:
    """Sun and Huang 2022, equation 8, for each number of a score."""
    terms = []
    for y, z in zip(same, other, strict=True):
        terms += [-torch.log(a.exp() / (a.exp() + b.exp())) for a, b in zip(y, z, strict=True)]
    return mean(terms)


def interaction_by_class(same: Side, other: Side) -> Tensor:
    """The same as a classification: `same` is of class 0, `other` of class 1."""
    inputs = [(one, 0) for one in same] + [(one, 1) for one in other]
    return mean([-torch.log(scores[right].exp() / scores.exp().sum()) for scores, right in inputs])


def vector_regression(student: Side, teacher: Side) -> Tensor:
    """The mean squared difference of every number of every vector."""
    pairs = zip(student, teacher, strict=True)
    return mean([(one - other) ** 2 for own, whole in pairs for one, other in zip(own, whole, strict=True)])


def similarity_regression(student: Side, teacher: Side) -> Tensor:
    """The mean squared difference of the cosines of every two rows, of a row with itself too."""
    rows = range(len(student))
    own = {(row, other): cosine(student[row], student[other]) for row in rows for other in rows}
    return mean([(own[row, other] - cosine(teacher[row], teacher[other])) ** 2 for row, other in own])


def distance(one: Tensor, other: Tensor, euclidean: bool) -> Tensor:
    """The length of the difference, or 1 - cosine."""
    return (one - other).square().sum().sqrt() if euclidean else 1 - cosine(one, other)


def _hinged(gap: Tensor, margin: float | None) -> Tensor:
    return torch.log(1 + gap.exp()) if margin is None else torch.relu(gap + margin)


def batch_hard(vectors: Side, classes: Sequence[int], margin: float | None, euclidean: bool) -> Tensor:
    """Hermans, Beyer and Leibe 2017, equation 5; rows without a positive or a negative do not count."""
    terms = []
    for a, own in enumerate(classes):
        away = {b: distance(vectors[a], vectors[b], euclidean) for b in range(len(classes)) if b != a}
        same = [away[b] for b in away if classes[b] == own]
        other = [away[b] for b in away if classes[b] != own]
        if same and other:
            terms.append(_hinged(max(same) - min(other), margin))
    return mean(terms)


def semi_hard(vectors: Side, classes: Sequence[int], margin: float | None, euclidean: bool) -> Tensor:
    """Schroff and others 2015: every two rows of a class, with the nearest negative beyond, or the farthest."""
    terms = []
    for a, own in enumerate(classes):
        away = {b: distance(vectors[a], vectors[b], euclidean) for b in range(len(classes)) if b != a}
        other = [away[b] for b in away if classes[b] != own]
        for positive in (away[b] for b in away if classes[b] == own):
            beyond = [one for one in other if one > positive]
            terms.append(_hinged(positive - (min(beyond) if beyond else max(other)), margin))
    return mean(terms)


def margin_mse(student: Sequence[Side], teacher: Sequence[Side]) -> Tensor:
    """Hofstätter and others 2020, equation 6, for each candidate after the positive; scores are (row, candidate)."""
    rows = zip(student, teacher, strict=True)
    return mean([((s[0] - s[k]) - (t[0] - t[k])) ** 2 for s, t in rows for k in range(1, len(s))])


def divergence(student: Sequence[Side], teacher: Sequence[Side], temperature: float) -> Tensor:
    """Lin, Yang and Lin 2020: the sum of p log(p / q) over candidates, p the teacher's, times temperature squared."""
    terms = []
    for s, t in zip(student, teacher, strict=True):
        q, p = ([(one / temperature).exp() for one in scores] for scores in (s, t))
        q, p = ([one / sum(side) for one in side] for side in (q, p))
        terms.append(sum(b * torch.log(b / a) for a, b in zip(q, p, strict=True)))
    return mean(terms) * temperature**2


def orthogonality(vectors: Side) -> tuple[Tensor, Tensor]:
    """Zhang, Yu, Kumar and Chang 2017, section 3.2: M1 squared, and max(0, M2 - 1/d), over every two rows."""
    rows = range(len(vectors))
    every = [cosine(vectors[i], vectors[j]) for i in rows for j in rows if i != j]
    return mean(every) ** 2, torch.relu(mean([one**2 for one in every]) - 1 / len(vectors[0]))
