"""Rows for the tests of methods: four of each kind, of different lengths."""

import random
from collections.abc import Sequence

import torch

from explorer import methods
from explorer.data.text_sets import KINDS, LABELLED_TEXTS, Corpus, Document, Kind, Score
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import WrongColumns
from explorer.methods import Method
from explorer.methods.post_processing import MappedVectors
from explorer.optimizers import UPDATE
from explorer.progress import finish

# those with a loss; those of them that train an encoder; those of them whose loss compares the rows of a batch
TRAINED = [name for name in methods.names() if methods.load(name).trains()]
TUNING = [name for name in TRAINED if not issubclass(methods.load(name), MappedVectors)]
COMPARING = [name for name in TUNING if methods.load(name).compares_rows]

# in place of what is drawn, by what is to be patched; rows stand in for each other in pairs
FIXED_DRAWS = {
    "torch.randint": lambda *bounds, **_: torch.zeros(bounds[-1], dtype=torch.long),
    "torch.rand": lambda *shape, **_: torch.zeros(*shape),
    "explorer.methods.conisi.neighbours": lambda count: [place ^ 1 for place in range(count)],
}

FIRST = [
    "no",
    "a man plays a guitar",
    "two women talk about the weather while they wait for a late train to the city",
    "the dog runs after a red ball in the park",
]
SECOND = [
    "not in the city",
    "A man is playing the guitar on a stage",
    "two women wait and talk",
    "the dog is in the park after the ball",
]
THIRD = ["a late train", "the man is a dog", "no women", "a red guitar runs"]
_WORDS = " ".join(FIRST + SECOND + THIRD).lower().split()


def _columns(kind: Kind) -> tuple[list[str] | list[float], ...]:
    """Sentences for each column of text, then scores or labels."""
    texts = [FIRST, SECOND, THIRD][: len(kind.texts)]
    if isinstance(kind.texts[0], Document):
        texts = [[" ".join(random.Random(seed).choices(_WORDS, k=2100)) for seed in range(4)]]
    if kind.answer is None:
        return tuple(texts)
    return (*texts, [0.0, 0.5, 0.25, 1.0] if isinstance(kind.answer, Score) else ["0", "0", "1", "0"])


COLUMNS = {kind: _columns(kind) for kind in KINDS}


def columns_of(method: Method | type[Method]) -> tuple[list[str] | list[float], ...]:
    """Rows that a method can train on; of labelled texts those of one sentence, if it refuses two."""
    columns = COLUMNS[method.rows]
    if method.rows == LABELLED_TEXTS:
        try:
            method.check_rows(Corpus("labelled", LABELLED_TEXTS, tuple(map(tuple, columns))))
        except WrongColumns:
            return columns[0], columns[-1]
    return columns


def vectors_of(method: Method, sentences: list[str]) -> torch.Tensor:
    """Vectors (sentence, width) as after training."""
    return finish(method.vectors(sentences))


def seeded(name: str, base: Tunable, **values: object) -> Method:
    """A method whose own weights are drawn anew from the same seed."""
    torch.manual_seed(0)
    return methods.load(name)(base, values)


def descend(method: Method, columns: Sequence[object], steps: int, rate: float = 1e-3) -> list[float]:
    """The losses of one batch over so many steps by the method's own optimiser."""
    schedule = method.schedule.with_values({"learning_rate": rate})
    optimizer = method.make_optimizer(method.groups(schedule), schedule)
    losses = []
    for update in range(steps):
        loss = method(*columns)
        loss.backward()
        missing = [name for name, weight in method.named_parameters() if weight.requires_grad and weight.grad is None]
        assert missing == [], "processes that train together wait for the gradient of every weight"
        for group in optimizer.param_groups:
            group[UPDATE] = update
        optimizer.step()
        optimizer.zero_grad()
        method.after_update()
        losses.append(loss.item())
    return losses


def take_steps(method: Method) -> None:
    """Two large steps."""
    descend(method, columns_of(method), 2, 1e-2)


# more than a vector of theirs has dimensions
MANY = [*FIRST, *(" ".join(random.Random(seed).choices(_WORDS, k=4 + seed % 5)) for seed in range(200))]
