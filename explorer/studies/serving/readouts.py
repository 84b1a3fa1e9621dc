"""What a server may take as the vector of a sentence: every layer & pooling, without dense layers, or the pooler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.encoding.locate import families, layout, weights
from explorer.encoding.read.pooling import LAST, POOLINGS, layers_of, title_of
from explorer.errors import ModelError
from explorer.studies.serving import causes
from explorer.studies.serving.causes import Cause

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head

Hidden = Sequence["Tensor"]  # (layer, sentence, token, width)
Pool = Callable[[Hidden, "Tensor"], "Tensor"]
_OF_TOKENS = ("mean", "max")  # which special tokens change most; with them left out


@dataclass(frozen=True, eq=False)
class Readout:
    """Vectors (sentence, width), not yet normalised, of states and a mask; and in what they are not as declared."""

    pool: Pool
    width: int  # of the vectors
    causes: tuple[Cause, ...] = ()


def declared(encoder: Encoder) -> Readout:
    """The model default, without its normalisation."""
    return _of_head(replace(encoder.default_head, normalize=False), encoder)


def _of_head(head: Head, encoder: Encoder, *differences: Cause) -> Readout:
    return Readout(head, head.width(encoder.width), differences)


def every(encoder: Encoder) -> list[Readout]:
    """The model default first; then every pooling of every layer, of pairs of layers, and without special tokens."""
    head = replace(encoder.default_head, normalize=False)
    found = [_of_head(head, encoder)]
    if head.dense:
        found.append(_of_head(replace(head, dense=()), encoder, causes.no_dense()))
    for dense in [head.dense, ()] if head.dense else [()]:
        of_dense = () if dense == head.dense else (causes.no_dense(),)
        for row in encoder.rows:
            layers = (LAST,) if row == encoder.rows[_last(encoder)] else row.layers
            for name in POOLINGS:
                own = _causes(encoder.default_head, name, layers)
                title = name if layers == (LAST,) else title_of(name, layers)
                if own and _fits(changed := replace(head, poolings=(title,), layers=None, dense=dense), encoder):
                    found.append(_of_head(changed, encoder, *own, *of_dense))
    return [*found, *_without_special(encoder, head), *_pooler(encoder, head)]


def _last(encoder: Encoder) -> int:
    return int(encoder.model.config.num_hidden_layers)


def _fits(head: Head, encoder: Encoder) -> bool:
    return not head.misfit(encoder.width)


def _single(head: Head) -> tuple[str, tuple[int, ...]] | None:
    """The pooling and the layers of a head that has one pooling."""
    return layers_of(head.poolings[0]) if len(head.poolings) == 1 and head.layers is None else None


def _causes(head: Head, name: str, layers: tuple[int, ...]) -> tuple[Cause, ...]:
    """In what a pooling of some layers is not the declared one; nothing if it is."""
    own = _single(head)
    if own is None:
        title = name if layers == (LAST,) else title_of(name, layers)
        return (causes.pooling(f"{title} alone", head.facts().stages[0]),)
    pooling = (causes.pooling(name, own[0]),) if name != own[0] else ()
    return (*pooling, *((causes.layers(layers, own[1]),) if layers != own[1] else ()))


@dataclass(frozen=True, eq=False)
class _Trimmed:
    """A pooling without the first and the last tokens of each sentence."""

    head: Pool
    first: int
    last: int

    def __call__(self, hidden: Hidden, mask: Tensor) -> Tensor:
        import torch

        places = mask.long().cumsum(1)
        inner = mask & (places > self.first) & (places <= places[:, -1:] - self.last)
        return self.head(hidden, torch.where(inner.any(1, keepdim=True), inner, mask))


def special_tokens(encoder: Encoder) -> tuple[int, int, str]:
    """How many special tokens are before and after a sentence, and what they are called."""
    (ids,) = encoder.tokens(["a"], prompt="").ids
    special = set(encoder.tokenizer().all_special_ids)
    flags = [number in special for number in ids]
    first = flags.index(False) if False in flags else 0
    last = flags[::-1].index(False) if False in flags else 0
    names = encoder.texts([*ids[:first], *ids[len(ids) - last :]])
    return first, last, " ".join(names)


def _without_special(encoder: Encoder, head: Head) -> Iterator[Readout]:
    first, last, _ = special_tokens(encoder)
    own = _single(head)
    if not first + last or own is None:
        return
    for name in _OF_TOKENS:
        pooled = replace(head, poolings=(name,))
        own_causes = (*_causes(head, name, (LAST,)), causes.no_special_pooled())
        yield Readout(_Trimmed(pooled, first, last), pooled.width(encoder.width), own_causes)


def _pooler(encoder: Encoder, head: Head) -> Iterator[Readout]:
    """The pooler of a BERT, which an encoder is loaded without: a dense layer over the first token."""
    from explorer.encoding.read.head import Dense

    if encoder.folder is None:
        return
    for path in layout.weights(encoder.folder):
        try:
            names = [name for name in weights.shapes(path) if name.endswith(f"{families.POOLER}.dense.weight")]
            for prefix in (name.removesuffix("weight") for name in names):
                parts = weights.tensors(path, prefix)
                dense = Dense(parts["weight"], parts.get("bias"), "Tanh").to(encoder.device)
                pooled = replace(head, poolings=("cls",), layers=None, dense=(dense,))
                if _fits(pooled, encoder):
                    yield _of_head(pooled, encoder, causes.pooler(head.facts().stages[0]))
        except ModelError:  # an old format of weights, of which no names can be read
            continue
