"""ConIsI (Sun and Huang 2022): contrast a sentence paired with itself with the sentence paired with another one.

Section 3: one encoder encodes the sentence alone (x), with itself (Y) and with another one (Z). The three methods
differ only in the other sentence.
"""

import re
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.text_sets import SENTENCES
from explorer.data.wordnet import WORDNET, antonym
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.sentence_pairs import Composer
from explorer.gathering import gathered, of_all
from explorer.knobs import Values
from explorer.losses import info_nce, interaction, interaction_by_class
from explorer.methods import Pooled, Schedule, cited, knob, temperature_knob

SCORINGS = ("scalar", "two classes", "element-wise")
_WORD = re.compile(r"[^\W\d_]+")


class ConIsI(Pooled):
    """L = (1 - λ) L_C + λ L_I."""

    family = "ConIsI"
    paper = cited("sun-huang-2022-conisi")
    rows = SENTENCES
    training_only: ClassVar[tuple[str, ...]] = ("hidden", "score")
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"share": 0.1},
        "BERT-large": {"share": 0.1, "max_length": 28},
    }

    temperature: float = temperature_knob(0.05, "paper, section 4.1: 0.05")
    share: float = knob(
        0.8,
        low=0.0,
        high=1.0,
        front=True,
        help="λ: weight of the interaction loss, from 0 to 1 (paper, section 4.1: 0.8 for BERT-base, 0.1 for "
        "RoBERTa-base and BERT-large).",
    )
    scoring: str = knob(
        "scalar",
        choices=SCORINGS,
        help="Scores in equation 8: one per input; two classes per input; or one per dimension.",
    )
    joint_norm: bool = knob(
        True, help="Batch-normalise x, Y and Z together; off: each by itself, which hides differences of their means."
    )

    seen: Tensor  # the number of sentences so far, and of those without an antonym

    def build(self) -> None:
        """Build the head that both losses share, and the scores of the second loss."""
        self.composer = Composer(self.base.encoder)
        self.width = self.pooled.width(self.base.width)
        self.make_head()

    def make_head(self) -> None:
        """The part that only the loss uses, initialised at random."""
        dense = nn.Linear(self.width, self.width)
        self.score = nn.Linear(self.width, {"scalar": 1, "two classes": 2, "element-wise": self.width}[self.scoring])
        for layer in (dense, self.score):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        self.hidden = nn.Sequential(dense, nn.BatchNorm1d(self.width), nn.ELU())
        self.register_buffer("seen", torch.zeros(2, dtype=torch.long))

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """For each sentence the tokens of another one to pair it with; None if there is none."""
        raise NotImplementedError

    def loss(self, *columns: list[str]) -> Tensor:
        """Compute the contrast of x with Y, and the interaction of Y and Z."""
        (sentences,) = columns
        pieces = self.composer.pieces(sentences, self.base.max_length)
        others = self.others(sentences, pieces)
        has_other = of_all([other is not None for other in others])
        valid = torch.tensor([place for place, here in enumerate(has_other) if here])
        device = self.base.model.device
        valid = valid.long().to(device, non_blocking=True)
        # without another sentence, use the sentence itself, so that every process has the same number of rows
        paired = [own if other is None else other for own, other in zip(pieces, others, strict=True)]
        ids, types = self.composer.pairs([*pieces, *pieces], [*pieces, *paired])
        alone = gathered(self.encode(sentences, self.before_normalising))
        head, passes = self.before_normalising, self.base.grouped_tokens(ids, types)
        pairs = in_order((places, head(states.hidden, states.mask)) for places, states in passes)
        same, other = (gathered(part) for part in pairs.chunk(2))
        self.record_similarities(alone, same)
        if self.training:
            self.seen += torch.tensor([len(has_other), len(has_other) - len(valid)]).to(device, non_blocking=True)
        return self.both_losses(alone, same, other[valid], valid)

    def both_losses(self, alone: Tensor, same: Tensor, different: Tensor, valid: Tensor) -> Tensor:
        """Both losses of vectors (sentence, width); `different` holds only the rows at the valid places."""
        # means and variances of few rows need more precision than bfloat16
        with torch.autocast(alone.device.type, enabled=False):
            sides = alone.float(), same.float(), different.float()
            if self.joint_norm:
                one, two, three = torch.split(self.hidden(torch.cat(sides)), [len(side) for side in sides])
            else:
                one, two, three = (self.hidden(side) if len(side) > 1 else side for side in sides)
            contrast = info_nce(one, two, self.temperature)
            scores = self.score(two), self.score(three)
            formula = interaction_by_class if self.scoring == "two classes" else interaction
            # a single row has no variance
            enough = len(three) > (0 if self.joint_norm else 1)
            interactions = formula(scores[0][valid], scores[1]) if enough else scores[0].sum() * 0
        return (1 - self.share) * contrast + self.share * interactions

    def remark(self) -> str:
        """Report how many sentences had no counterpart."""
        sentences, without = self.seen.tolist()
        share = 100 * without / max(1, sentences)
        return f"{without} of {sentences} sentences ({share:.1f} %) had no antonym" if without else ""


class ConIsIReplaced(ConIsI):
    """ConIsI-o1: distinguish a sentence paired with itself from one paired with a partly replaced copy.

    Sun and Huang 2022, section 3.2: four in five of the chosen tokens are replaced by random ones of the vocabulary;
    the paper does not say how many are chosen. At least one token changes: else both inputs would be equal.
    """

    # the hardest of the three if few words are replaced
    name = "conisi-o1"
    when_to_use = "To repeat the paper: the gain of the model default could be chance, and [CLS] got worse."

    chosen: float = knob(
        0.15, low=0.01, high=1.0, front=True, help="Share of tokens chosen to be replaced (not given in the paper)."
    )
    replaced: float = knob(
        0.8, low=0.01, high=1.0, help="Share of the chosen tokens that are replaced (paper, section 3.2: 0.8)."
    )

    def build(self) -> None:
        """Collect the tokens that may replace others."""
        super().build()
        self._words = torch.tensor(self.composer.words)

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Copies of sentences with some tokens replaced."""
        return [self.changed(own) for own in pieces]

    def changed(self, own: list[int]) -> list[int] | None:
        """A copy with at least one token replaced; None for a sentence without tokens."""
        if not own:
            return None
        drawn = self._words[torch.randint(0, len(self._words), (len(own),))].tolist()
        replace = (torch.rand(len(own)) < self.chosen) & (torch.rand(len(own)) < self.replaced)
        other = [new if here else old for old, new, here in zip(own, drawn, replace.tolist(), strict=True)]
        if other == own:
            place = torch.randint(0, len(own), (1,)).tolist()[0]
            words = self._words.numpy()  # indexing a tensor by a mask could make a GPU wait
            words = words[words != own[place]]
            other[place] = int(words[torch.randint(0, len(words), (1,)).tolist()[0]])
        return other


class ConIsIAntonyms(ConIsI):
    """ConIsI-o2: distinguish a sentence paired with itself from one paired with its antonym version.

    Sun and Huang 2022, section 3.2: chosen words are replaced by their antonyms in WordNet; the paper does not say how
    many are chosen. Sentences without an antonym are left out of the interaction loss; their number is reported.
    """

    name = "conisi-o2"
    when_to_use = "English sentences and the model default: a small gain; [CLS] gained less than by SimCSE."
    needs = (WORDNET,)

    chosen: float = knob(
        0.15,
        low=0.01,
        high=1.0,
        front=True,
        help="Share of the words with an antonym that are replaced, at least one (not given in the paper).",
    )

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Copies of sentences with some words replaced by antonyms."""
        cuts = self.composer.read_to(sentences, self.base.max_length)
        opposites = [opposite(one, cut, self.chosen) for one, cut in zip(sentences, cuts, strict=True)]
        opposite_pieces = self.composer.pieces([one or "" for one in opposites], self.base.max_length)
        # skip an antonym that has the same tokens as the word
        rows = zip(opposites, pieces, opposite_pieces, strict=True)
        return [other if one and other != own else None for one, own, other in rows]


def opposite(sentence: str, cut: int, share: float) -> str | None:
    """The sentence with at least one antonym among its first `cut` characters; None if no word there has one."""
    words = [word for word in _WORD.finditer(sentence) if word.end() <= cut]
    found = [(word, other) for word in words if (other := antonym(word.group()))]
    if not found:
        return None
    drawn = (torch.rand(len(found)) < share).tolist()
    if not any(drawn):
        drawn[torch.randint(0, len(found), (1,)).tolist()[0]] = True
    for (word, other), here in reversed(list(zip(found, drawn, strict=True))):
        if here:
            written = other.capitalize() if word.group()[0].isupper() else other
            sentence = sentence[: word.start()] + written + sentence[word.end() :]
    return sentence


class ConIsISampled(ConIsI):
    """ConIsI-s: distinguish a sentence paired with itself from one paired with another sentence.

    Sun and Huang 2022, section 3.2: the other sentence is drawn uniformly from the mini-batch.
    """

    # the easiest of the three: the two sentences are usually unrelated
    name = "conisi-s"
    when_to_use = "Only sentences, and [CLS] must be the vector; SimCSE gained more in less time."

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """A random other row of the batch for each sentence."""
        return [pieces[place] for place in neighbours(len(pieces))]


def neighbours(count: int) -> list[int]:
    """A random other row for each row."""
    steps = torch.randint(1, count, (count,)).tolist()
    return [(place + step) % count for place, step in enumerate(steps)]
