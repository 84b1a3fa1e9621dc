"""The loss formulas of the papers, on tensors.

Vectors are (sentence, width), views (sentence, view, width); row i of one side belongs to row i of the other. Every
formula takes cosines over a temperature, sums in float32 whatever the autocast, and gives the mean over its anchors.
At a temperature of 0.001 the exponents reach ±1000: only log-sum-exp keeps them finite.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


def cosines(one: Tensor, other: Tensor) -> Tensor:
    """Cosines of every vector of one side with every vector of the other: (sentence, sentence), in float32."""
    with torch.autocast(one.device.type, enabled=False):
        return _unit(one) @ _unit(other).T


def paired_cosines(one: Tensor, other: Tensor) -> Tensor:
    """The cosine of each row of one side with the same row of the other, in float32."""
    with torch.autocast(one.device.type, enabled=False):
        return (_unit(one) * _unit(other)).sum(-1)


def nt_xent(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    """NT-Xent: classify the positive of each of the 2b vectors among the 2b - 1 others.

    L_base of self-guided contrastive learning without its regulariser (Kim, Yoo and Lee 2021, equations 1 to 3).
    """
    vectors = torch.cat([one, other])
    logits = (cosines(vectors, vectors) / temperature).fill_diagonal_(float("-inf"))
    positives = torch.arange(len(vectors), device=vectors.device).roll(len(one))
    return functional.cross_entropy(logits, positives)


def self_guided_1(tuned: Tensor, guide: Tensor, temperature: float) -> Tensor:
    """L_opt1: the tuned vector is the anchor, its guide the positive, all others of both sides negatives."""
    among_tuned = cosines(tuned, tuned).fill_diagonal_(float("-inf"))
    logits = torch.cat([among_tuned, cosines(tuned, guide)], dim=1) / temperature
    return functional.cross_entropy(logits, _own_rows(tuned) + len(tuned))


def self_guided_2(tuned: Tensor, guide: Tensor, temperature: float) -> Tensor:
    """L_opt2: as L_opt1, without the other tuned sentences among the negatives."""
    return info_nce(tuned, guide, temperature)


def self_guided_3(tuned: Tensor, views: Tensor, temperature: float) -> Tensor:
    """L_opt3: as L_opt2 for every view (sentence, view, width); views of the same sentence are no negatives."""
    sentences, per_sentence, width = views.shape
    # (anchor, sentence, view)
    logits = cosines(tuned, views.reshape(-1, width)).view(sentences, sentences, per_sentence) / temperature
    own = logits[_own_rows(tuned), _own_rows(tuned)]  # (anchor, view)
    itself = torch.eye(sentences, dtype=torch.bool, device=tuned.device)[:, :, None]
    negatives = logits.masked_fill(itself, float("-inf")).flatten(1).logsumexp(1, keepdim=True)
    return (torch.logaddexp(own, negatives) - own).mean()


def info_nce(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    """InfoNCE: classify the positive of each vector on the other side (SimCSE: Gao, Yao and Chen 2021, eq. 4)."""
    return functional.cross_entropy(cosines(one, other) / temperature, _own_rows(one))


def info_nce_hard(anchor: Tensor, positive: Tensor, negative: Tensor, temperature: float, weight: float) -> Tensor:
    """InfoNCE with a hard negative per row (SimCSE, eq. 5); `weight` is added to its logit: 0 in SimCSE."""
    to_negatives = cosines(anchor, negative) / temperature
    to_negatives = to_negatives + weight * torch.eye(len(anchor), device=anchor.device)
    logits = torch.cat([cosines(anchor, positive) / temperature, to_negatives], dim=1)
    return functional.cross_entropy(logits, _own_rows(anchor))


def ranking(
    anchor: Tensor,
    candidates: Tensor,
    temperature: float,
    symmetric: bool = False,
    left_out: Tensor | None = None,
    left_out_back: Tensor | None = None,
) -> Tensor:
    """Multiple-negatives ranking (Henderson and others 2017, section 4.4), of cosines over a temperature.

    The first candidates are the positives, row by row; any others are hard negatives. `symmetric` adds the reverse
    direction, from each positive to the anchors, and takes the mean of both. `left_out` (anchor, candidate) and
    `left_out_back` (positive, anchor) are true where a sentence is no negative, such as a duplicate.
    """
    logits = cosines(anchor, candidates) / temperature
    there = functional.cross_entropy(_without(logits, left_out), _own_rows(anchor))
    if not symmetric:
        return there
    back = logits[:, : len(anchor)].T
    return (there + functional.cross_entropy(_without(back, left_out_back), _own_rows(anchor))) / 2


def guided_cosines(sides: Sequence[Tensor], anchors: bool = True, positives: bool = True) -> Tensor:
    """The cosines (row, candidate) of GIST (Solatorio 2024): the anchors with all positives, the first candidates.

    After them come the anchors with all anchors and the positives with all positives, unless these are left out, and
    the anchors with the hard negatives, which the sides after the first two hold.
    """
    anchor, positive, *negatives = sides
    blocks = [cosines(anchor, positive)]
    if anchors:
        blocks.append(cosines(anchor, anchor))
    if positives:
        blocks.append(cosines(positive, positive))
    return torch.cat([*blocks, *(cosines(anchor, negative) for negative in negatives)], dim=1)


def false_negatives(guided: Tensor, margin: float, relative: bool) -> Tensor:
    """Which candidates are closer than a row's own positive less a margin, by the cosines (row, candidate) of a guide.

    The margin is a cosine, or a share of the positive's. A row's own positive, on the diagonal, is never among them.
    """
    own = guided.diagonal()[:, None]
    return (guided > own - (own.abs() * margin if relative else margin)).fill_diagonal_(False)


def guided_ranking(cosine: Tensor, temperature: float, left_out: Tensor) -> Tensor:
    """GIST: classify the positive of each row, on the diagonal, among the candidates that are not left out."""
    return functional.cross_entropy(_without(cosine / temperature, left_out), _own_rows(cosine))


def angle_similarities(one: Tensor, other: Tensor) -> Tensor:
    """AnglE's similarity of each row of one side with the same row of the other, in float32 (Li and Li 2024, eq. 7).

    The halves of a vector are the real and the imaginary parts of complex numbers. For unit vectors, the sum over all
    parts of the product with the other side's conjugate has the cosine as its real part and, as its imaginary part, a
    sine; the similarity is the size of real plus imaginary. A vector of odd width has a last imaginary part of 0.
    """
    with torch.autocast(one.device.type, enabled=False):
        one, other = (_unit(functional.pad(side, (0, side.shape[-1] % 2))) for side in (one, other))
        (real, imaginary), (real_other, imaginary_other) = one.chunk(2, -1), other.chunk(2, -1)
        sines = (imaginary * real_other - real * imaginary_other).sum(-1)
        return ((one * other).sum(-1) + sines).abs()


def cosent(similarity: Tensor, score: Tensor, scale: float) -> Tensor:
    """CoSENT (Su 2022): log(1 + sum of exp(scale × (similarity j - similarity i))) over rows with score i > score j.

    The similarities are cosines there, and those of `angle_similarities` in AnglE.
    """
    similarity = _wide(similarity) * scale
    differences = similarity[None, :] - similarity[:, None]  # (i, j)
    ordered = score[:, None] > score[None, :]
    exponents = differences.masked_fill(~ordered, float("-inf")).flatten()
    return torch.cat([exponents.new_zeros(1), exponents]).logsumexp(0)


def cosine_regression(cosine: Tensor, score: Tensor) -> Tensor:
    """The mean squared difference of cosines and scores from 0 to 1 (Reimers and Gurevych 2019, section 3)."""
    cosine = _wide(cosine)
    return functional.mse_loss(cosine, score.to(cosine.dtype))


def vector_regression(student: Tensor, teacher: Tensor) -> Tensor:
    """The mean squared difference of vectors, over rows and dimensions (Reimers and Gurevych 2020, section 2)."""
    return functional.mse_loss(_wide(student), _wide(teacher))


def similarity_regression(student: Tensor, teacher: Tensor) -> Tensor:
    """The mean squared difference of two matrices of cosines: of the rows of each side with each other."""
    return functional.mse_loss(cosines(student, student), cosines(teacher, teacher))


def candidate_scores(sides: Sequence[Tensor], dot: bool = False) -> Tensor:
    """The cosines or dot products (row, candidate) of the first side with the same rows of the others, in float32."""
    anchor, *others = sides
    if not dot:
        return torch.stack([paired_cosines(anchor, other) for other in others], dim=1)
    with torch.autocast(anchor.device.type, enabled=False):
        return torch.stack([(_wide(anchor) * _wide(other)).sum(-1) for other in others], dim=1)


def margin_regression(student: Tensor, teacher: Tensor) -> Tensor:
    """Margin-MSE (Hofstätter and others 2020, eq. 6): the mean squared difference of margins of two encoders.

    A margin is the score of the positive, the first of a row's scores (row, candidate), less that of another candidate.
    """
    return functional.mse_loss(student[:, :1] - student[:, 1:], teacher[:, :1] - teacher[:, 1:])


def score_divergence(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """The divergence of the teacher's distribution over candidates from the student's, by scores (row, candidate).

    Kullback-Leibler, of softmaxes of scores over a temperature, times its square (Lin, Yang and Lin 2020, eq. 4).
    """
    own, taught = ((scores / temperature).log_softmax(1) for scores in (student, teacher))
    return functional.kl_div(own, taught, reduction="batchmean", log_target=True) * temperature**2


def distances(vectors: Tensor, euclidean: bool) -> Tensor:
    """The distance of every two rows: (row, row), in float32; of a row to itself exactly 0 if it is Euclidean.

    Otherwise it is 1 - cosine.
    """
    if not euclidean:
        return 1 - cosines(vectors, vectors)
    with torch.autocast(vectors.device.type, enabled=False):
        products = _wide(vectors) @ _wide(vectors).T
        lengths = products.diagonal()
        squares = lengths[:, None] - 2 * products + lengths[None, :]
        apart = squares > 0  # the slope of a root is infinite at 0
        return torch.where(apart, squares, 1.0).sqrt() * apart


def hardest_triplets(distance: Tensor, classes: Tensor, margin: float | None) -> Tensor:
    """Batch-hard triplets (Hermans, Beyer and Leibe 2017, eq. 5): each row with the farthest one of its class.

    The negative is the nearest row of another class. The margin is soft, log(1 + e^x), if it is None. A row without
    another one of its class, or of another class, has no triplet.
    """
    same, other = _same_and_other(classes)
    farthest = distance.masked_fill(~same, float("-inf")).amax(1)
    nearest = distance.masked_fill(~other, float("inf")).amin(1)
    return _mean_triplet(farthest - nearest, same.any(1) & other.any(1), margin)


def semi_hard_triplets(distance: Tensor, classes: Tensor, margin: float | None) -> Tensor:
    """Semi-hard triplets (Schroff, Kalenichenko and Philbin 2015) of every two rows of a class.

    The negative is the nearest row of another class that is farther away than the positive; if none is, the farthest.
    """
    same, other = _same_and_other(classes)
    ordered = distance.masked_fill(~other, float("inf")).sort(1).values
    place = torch.searchsorted(ordered.detach(), distance.detach(), right=True).clamp(max=len(distance) - 1)
    beyond = ordered.gather(1, place)
    farthest = distance.masked_fill(~other, float("-inf")).amax(1, keepdim=True)
    negative = torch.where(beyond.isfinite(), beyond, farthest)
    return _mean_triplet(distance - negative, same & other.any(1, keepdim=True), margin)


def orthogonality(vectors: Tensor) -> Tensor:
    """Both terms of global orthogonal regularisation (Zhang, Yu, Kumar and Chang 2017, section 3.2), over all two rows.

    The square of the mean cosine, and how much the mean square is above 1 / width, that of vectors at random.
    """
    alike = cosines(vectors, vectors).fill_diagonal_(0.0)
    pairs = max(len(vectors) * (len(vectors) - 1), 1)
    mean, second_moment = alike.sum() / pairs, alike.square().sum() / pairs
    return torch.stack([mean.square(), (second_moment - 1 / vectors.shape[1]).clamp(min=0)])


def tension(one: Tensor, other: Tensor, same: Tensor, counted: Tensor) -> Tensor:
    """Contrastive tension (Carlsson and others 2021): a logistic loss of the dot product of each pair of vectors.

    `same` (pair) is 1 where both are of one sentence and 0 elsewhere; pairs that are not `counted` (1 or 0) are left
    out.
    """
    with torch.autocast(one.device.type, enabled=False):
        products = (_wide(one) * _wide(other)).sum(-1)
    each = functional.binary_cross_entropy_with_logits(products, same.to(products.dtype), reduction="none")
    return (each * counted).sum() / counted.sum()


def tension_in_batch(one: Tensor, other: Tensor, scale: Tensor | float, dot: bool = False) -> Tensor:
    """Contrastive tension with in-batch negatives: InfoNCE in both directions, of cosines or dot products × `scale`."""
    if dot:
        with torch.autocast(one.device.type, enabled=False):
            alike = _wide(one) @ _wide(other).T
    else:
        alike = cosines(one, other)
    logits, own = alike * scale, _own_rows(one)
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)) / 2


def bootstrapped(predicted: Tensor, target: Tensor) -> Tensor:
    """The squared distance of unit vectors, 2 - 2 cos, averaged over the rows (BSL: Zhang and others 2021)."""
    return (2 - 2 * paired_cosines(predicted, target)).mean()


def with_queue(query: Tensor, key: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """InfoNCE of a row's own key among the keys of a queue (momentum contrast; CERT: Fang and others 2020, eq. 1)."""
    logits = torch.cat([paired_cosines(query, key)[:, None], cosines(query, queue)], dim=1)
    return functional.cross_entropy(logits / temperature, _own_rows(query) * 0)


def interaction(same: Tensor, other: Tensor) -> Tensor:
    """ConIsI's L_II (Sun and Huang 2022, eq. 8): the input of a sentence with itself should have the higher score.

    A two-way softmax over inputs, so a logistic loss of the difference; of wider scores, dimension by dimension.
    """
    return functional.softplus(other.float() - same.float()).mean()


def interaction_by_class(same: Tensor, other: Tensor) -> Tensor:
    """ConIsI's L_II as classification: scores (input, 2), class 0 for an input with itself, 1 for one with another."""
    scores = torch.cat([same, other]).float()
    classes = torch.cat([scores.new_zeros(len(same)), scores.new_ones(len(other))]).long()
    return functional.cross_entropy(scores, classes)


def _same_and_other(classes: Tensor) -> tuple[Tensor, Tensor]:
    """Masks (row, row): another row of the same class, and a row of another class."""
    same = classes[:, None] == classes[None, :]
    return same & ~torch.eye(len(classes), dtype=torch.bool, device=classes.device), ~same


def _mean_triplet(gap: Tensor, counted: Tensor, margin: float | None) -> Tensor:
    """The mean loss of triplets that count, by how much farther the positive is than the negative."""
    each = functional.softplus(gap) if margin is None else (gap + margin).clamp(min=0)
    return torch.where(counted, each, 0.0).sum() / counted.sum().clamp(min=1)


def _unit(vectors: Tensor) -> Tensor:
    return functional.normalize(_wide(vectors), dim=-1, eps=1e-8)


def _wide(numbers: Tensor) -> Tensor:
    """At least float32; float64 stays."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))


def _without(logits: Tensor, left_out: Tensor | None) -> Tensor:
    return logits if left_out is None else logits.masked_fill(left_out, float("-inf"))


def _own_rows(vectors: Tensor) -> Tensor:
    """Row i belongs to row i."""
    return torch.arange(len(vectors), device=vectors.device)
