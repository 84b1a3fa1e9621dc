"""Refuse a folder that is no complete encoder, or states impossible sizes, before anything of these is allocated.

transformers checks none of this: it initialises what is missing at random, and allocates what config.json states.
"""

from __future__ import annotations

import math
import re
import reprlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import errors, in_words
from explorer.encoding.load import hardware
from explorer.encoding.locate import configuration, families, layout, weights

if TYPE_CHECKING:
    from torch import Tensor, nn

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
HEADROOM = 1.2  # sentences need memory beside the weights
# names of how often a part of a model is repeated; configurations make lists of these lengths before any model is built
_REPEATED = (
    r"(num|n)_(\w+_)?(layers?|blocks?|heads?|groups?|experts?|stages?)|(\w+_)?(layers|blocks|heads|depths?|group_num)"
)
MOST_LABELS = 100_000  # each gets a name, whether weights for it are saved or not
_MOST = 2**31  # of any one size
_SPARE = 64_000_000  # numbers; what a model may have beyond its weights, in any case
_MODULES = 50_000
_TENSORS = 1_000  # what a model may have beyond eight times as many as its weights, which may hold several as one
_FEWEST_BYTES = 2  # of a value in a pickle, which is not opened: it holds at most so many as its size allows
_COPY = "Copy the config.json that was saved with the weights."


def check(folder: Path, free: float | None = None) -> Path:
    """Refuse what cannot be loaded into `free` bytes; return the folder of the transformer.

    Weights are counted in float32, since they are loaded so whatever precision follows.
    """
    declared = layout.modules(folder)
    routed = next((module for module in declared if module.kind in layout.ROUTERS), None)
    if routed is not None:
        routes = ", ".join(
            f"{route}: {' → '.join(module.kind for module in modules) or 'nothing'}"
            for route, modules in layout.routes_of(routed.folder).items()
        )
        raise errors.UnsupportedModel(
            f"{folder} reads texts by a Router, each kind with modules of its own ({routes}). Strata reads all texts "
            "with the same ones: choose the model of one route."
        )
    if declared and declared[0].kind not in ("Transformer", families.STATIC_MODULE):
        raise errors.UnsupportedModel(
            f"{folder} starts with a module '{declared[0].kind}'. Strata reads transformers and static embeddings: "
            f"choose a model whose first module is a Transformer or a {families.STATIC_MODULE}."
        )
    place, adapter = layout.transformer(folder), layout.adapter(folder)
    for inside in (folder, place, adapter):
        for path in inside.iterdir() if inside is not None and inside.is_dir() else ():
            configuration.check_regular(path)
    if layout.is_static(folder):
        return _check_static(place, free)
    path = place / "config.json"
    if not path.is_file():
        layout.refuse(place)
    config = configuration.settings(path)
    if configuration.module(place, "model_type", "architectures").model_type is None:
        raise errors.NotAModelFolder(
            f"{path} does not say which model it is: it has no 'model_type'. Copy the config.json that was saved with "
            "the weights."
        )
    check_type(place, config)
    if adapter is not None:
        weights.check_adapter(adapter)
    if not layout.vocabulary(place) and not (adapter and layout.vocabulary(adapter)):
        raise _no_tokenizer(place, "for example tokenizer.json or vocab.txt")
    check_room(count(place, config), "float32", hardware.free_memory() if free is None else free)
    check_sizes(path, config, lambda: _largest(place))
    return place


def _check_static(place: Path, free: float | None) -> Path:
    """Refuse static embeddings without their tokenizer or table, or which do not fit."""
    if not (place / "tokenizer.json").is_file():
        raise _no_tokenizer(place, "here tokenizer.json alone")
    check_room(count(place, {}), "float32", hardware.free_memory() if free is None else free)
    return place


def _no_tokenizer(place: Path, files: str) -> errors.TokenizerMissing:
    return errors.TokenizerMissing(
        f"{place} has no tokenizer: it holds {layout.contents(place)}. Copy the tokenizer's files there too, {files}; "
        "without them every word would be unknown."
    )


def _largest(place: Path) -> int:
    """The largest size of any weight; of pickles, which are not opened, the number of values."""
    shapes = (shape for file in layout.weights(place) for shape in weights.outline(file, _FEWEST_BYTES))
    return max(chain.from_iterable(shapes), default=0)


def check_type(place: Path, config: dict[str, Any]) -> None:
    """Refuse a model type that transformers does not know, in particular one that needs its own code."""
    from transformers import __version__
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    kind = config["model_type"]
    if kind in CONFIG_MAPPING:
        return
    if "auto_map" in config:
        raise errors.RemoteCodeRefused(
            f"The model type '{kind}' in {place} is not part of transformers {__version__}: it would run Python "
            "code that comes with the model. Strata never runs such code. Choose a model of a type transformers "
            f"has, {families.SUCH_AS}."
        )
    raise errors.UnsupportedModel(
        f"transformers {__version__} does not know the model type '{kind}' in {place}. A newer release may: "
        "pip install --upgrade transformers. Or choose another model."
    )


def check_room(numbers: int, precision: str, free: float) -> None:
    """Refuse a model whose weights would not fit into `free` bytes."""
    needed = numbers * BYTES[precision] * HEADROOM
    if needed > free:
        raise errors.ModelTooLarge(
            f"A model of {numbers / 1e6:,.0f} million weights needs about {in_words.size(needed)} in {precision}; "
            f"only {in_words.size(free)} are free. Choose a smaller model, close other programs, or use a machine with "
            "more memory."
        )


def count(place: Path, config: dict[str, Any]) -> int:
    """Count the numbers in the weights; refuse a file that cannot be weights."""
    files = layout.weights(place)
    if not files:
        raise errors.NotWeights(
            f"{place} has no weights: it holds {layout.contents(place)}. Strata reads model.safetensors or "
            "pytorch_model.bin, in one file or in shards. Copy or download the weights too."
        )
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise errors.NotWeights(
            f"{place} lacks {len(missing)} of the {len(files)} files its weights are split into, the first being "
            f"{missing[0]}. Copy or download them too."
        )
    each = BYTES.get(str(config.get("dtype") or config.get("torch_dtype")), 4)
    return sum(math.prod(shape) for path in files for shape in weights.outline(path, each))


def check_sizes(path: Path, stated: Mapping[str, Any], largest: Callable[[], int]) -> None:
    """Refuse a config.json with a size that no model has; `largest` is the largest dimension in its weights."""
    repeated, needed, sizes = _repeated(), _sizes("sizes"), _sizes("sizes", "other_sizes")
    for name, number in numbers(stated):
        if repeated.fullmatch(name) and number > layout.MOST_LAYERS:
            raise _absurd(path, name, number, f"at most {layout.MOST_LAYERS:,} is allowed")
        if name == "num_labels" and number > MOST_LABELS and number > largest():
            reason = f"the largest dimension in the weights is {largest():,}, and at most {MOST_LABELS:,} is allowed"
            raise _absurd(path, name, number, reason)
        if name in sizes and number > _MOST:
            raise _absurd(path, name, number, f"the largest dimension in the weights is {largest():,}")
    for name, number in stated.items():
        if name in needed and type(number) is int and number < 1:
            raise _absurd(path, name, number, "at least 1 is allowed")


def numbers(stated: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """The whole numbers in a configuration, also of its parts and lists, each with its name."""
    if type(stated) is int:
        yield name, stated
    elif isinstance(stated, Mapping):
        for inner, value in stated.items():
            yield from numbers(value, inner)
    elif isinstance(stated, list):
        for value in stated:
            yield from numbers(value, name)


@contextmanager
def bounded(folder: Path, free: float | None = None) -> Iterator[None]:
    """Stop transformers if it builds a model that is far larger than the weights in its folder, or than memory.

    It builds a model without memory (on the device 'meta') before it allocates or reads weights.
    """
    from torch.nn.modules import module as registration

    meter = _Meter(folder, hardware.free_memory() if free is None else free)
    with ExitStack() as hooks:
        for register, hook in (
            (registration.register_module_parameter_registration_hook, meter.tensor),
            (registration.register_module_buffer_registration_hook, meter.tensor),
            (registration.register_module_module_registration_hook, meter.module),
        ):
            hooks.callback(register(hook).remove)
        yield


class _Meter:
    """Counts the numbers and modules of a model while it is built."""

    def __init__(self, folder: Path, free: float) -> None:
        files = layout.weights(folder)
        self.path = folder / "config.json"
        self.stated = configuration.settings(self.path)
        shapes = [shape for path in files for shape in weights.outline(path, _FEWEST_BYTES)]
        self.dimensions = set(chain.from_iterable(shapes))
        self.held = sum(map(math.prod, shapes))
        # of a pickle it is not known how many tensors it holds
        self.saved = len(shapes) if all(path.suffix == ".safetensors" for path in files) else math.inf
        self.fit = free / 4
        self.thread = threading.get_ident()  # the hooks are of the whole process
        self.shared: set[tuple[int, ...]] = set()
        self.seen: set[int] = set()
        self.numbers = self.modules = 0

    def tensor(self, module: nn.Module, name: str, value: Tensor | None) -> None:
        """Count a weight or a table once."""
        of_another = threading.get_ident() != self.thread
        if of_another or value is None or value.device.type != "meta" or id(value) in self.seen:
            return
        self.seen.add(id(value))
        shape = tuple(value.shape)
        if len(self.seen) > 8 * self.saved + _TENSORS:
            raise errors.WeightsMissing(
                f"{self.path} describes a model of more than {len(self.seen) - 1:,} tensors ({self._stated(())}); its "
                f"weights hold {self.saved:,.0f}. {_COPY}"
            )
        if shape[:1] == (self.stated.get("vocab_size"),):  # input and output of a model usually share these
            if shape in self.shared:
                return
            self.shared.add(shape)
        self.numbers += math.prod(shape)
        if self.numbers > 2 * self.held + _SPARE:
            raise errors.WeightsMissing(
                f"{self.path} describes a model of at least {self.numbers:,} numbers ({self._stated(shape)}); its "
                f"weights hold {self.held:,}. {_COPY}"
            )
        if self.numbers > max(self.held, self.fit):
            raise errors.ModelTooLarge(
                f"{self.path} describes a model of at least {self.numbers:,} numbers ({self._stated(shape)}), which "
                f"need {in_words.size(4 * self.numbers)}; only {in_words.size(4 * self.fit)} are free, and its weights "
                f"hold {self.held:,}. {_COPY}"
            )

    def module(self, module: nn.Module, name: str, value: nn.Module | None) -> None:
        """Count a module."""
        if threading.get_ident() != self.thread:
            return
        self.modules += 1
        if self.modules > _MODULES:
            raise errors.UnsupportedModel(
                f"{self.path} describes a model of more than {_MODULES:,} modules ({self._stated(())}). {_COPY}"
            )

    def _stated(self, shape: tuple[int, ...]) -> str:
        """The sizes in config.json that make a tensor of this shape, and are no dimension of the weights; else all."""
        names, repeated = _sizes("sizes", "other_sizes"), _repeated()
        known = [(name, number) for name, number in numbers(self.stated) if name in names or repeated.fullmatch(name)]
        new = [(name, number) for name, number in numbers(self.stated)
               if number in shape and number not in self.dimensions]  # fmt: skip
        return ", ".join(f"{name} {number:,}" for name, number in (new or known)[:8])


def _repeated() -> re.Pattern[str]:
    stated = dict.fromkeys(name for row in families.FAMILIES for name in (row.layers, *row.repeated) if name)
    return re.compile("|".join((_REPEATED, *stated)))


def _sizes(*fields: str) -> frozenset[str]:
    """The names of settings in these fields of all families; each has its own."""
    return frozenset(name for row in families.FAMILIES for field in fields for name in getattr(row, field))


def _absurd(path: Path, name: str, number: int, reason: str) -> errors.UnsupportedModel:
    shown = f"{number:,}" if abs(number) < 10**21 else reprlib.repr(number)
    return errors.UnsupportedModel(f"{path} says that {name} is {shown}; {reason}. {_COPY}")
