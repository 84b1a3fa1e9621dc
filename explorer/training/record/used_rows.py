"""Find the rows of a set that the runs of models have used: to train a model, or to choose its checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from explorer import run_folder
from explorer.data import corpora, shared_rows
from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import ItemSet
from explorer.data.shared_rows import NONE_SHARED, SharedRows
from explorer.data.text_sets import Corpus
from explorer.errors import SetNotFound, StrataError
from explorer.training.record import runs

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found


def run_of(found: Found) -> runs.Run | None:
    """The run of a model or of a checkpoint; None for any other model."""
    name = run_folder.model_of(found.folder)
    return None if name is None else _named(name)


def _named(model: str) -> runs.Run | None:
    """The run of a model by its name; None if there is none, or a folder without a recipe."""
    with suppress(StrataError):
        return runs.find(run_folder.run_and_checkpoint(model)[0])
    return None


def in_dev(found: Iterable[Found], given: ItemSet, load: Callable[[SetIdentity], ItemSet]) -> SharedRows:
    """The items of a set that are in the dev set that chose a model in its run; of several runs the most."""
    every = [NONE_SHARED]
    for one in found:
        run = run_of(one)
        if run is None or run_folder.model_of(one.folder) != run_folder.model_name(run.name):
            continue  # no model of a run, or a checkpoint, which the dev set does not choose
        verdict = run.status().verdict
        if verdict is None or verdict.dev is None or not verdict.dev.chose:
            continue
        with suppress(StrataError):  # the recipe cannot be read, or the dev set is no longer there
            recipe = run.recipe()
            known = recipe.digest_of("dev")
            if given.digest == known:
                every.append(shared_rows.shared(given, given))
            elif not recipe.dev.is_own_rows:
                dev = load(recipe.dev)
                every += [shared_rows.shared(dev, given)] * (dev.digest == known)
    return max(every, key=lambda one: one.rows)


def in_training_text(found: Iterable[Found], given: ItemSet) -> SharedRows:
    """The items of a set that a model was trained on, in its run or in that of its base; of several runs the most.

    A text that is no longer there, or has changed since, is left out.
    """
    every = [NONE_SHARED]
    for one in found:
        run = run_of(one)
        while run is not None:
            try:
                recipe = run.recipe()
                every.append(_trained_on(_Question(run.name, repr(recipe), given.digest, given)))
            except StrataError:
                break
            run = _named(recipe.model) if recipe.model.startswith(run_folder.RUN) else None
    return max(every, key=lambda one: (one.leave_no_test, one.rows))


@dataclass(frozen=True)
class _Question:
    """Which rows of a set a run was trained on; the same recipe, with the digests of its texts, has the same answer."""

    run: str
    recipe: str
    digest: str
    given: ItemSet = field(compare=False)


@lru_cache(maxsize=256)
def _trained_on(asked: _Question) -> SharedRows:
    """A page asks anew whenever it is drawn, and a text may have a million rows. An error is not kept."""
    return shared_rows.trained_on(_texts(runs.find(asked.run)), asked.given)


def _texts(run: runs.Run) -> Iterator[Corpus]:
    """The rows of every training of a run; an error if a text has changed since."""
    from explorer.training.loop import training_texts

    recipe = run.recipe()
    texts = training_texts.read_texts(recipe)
    now = {"data_digest": texts.corpus.digest, **texts.stage_digests()}
    if any(recipe.made_with.get(name) != digest for name, digest in now.items()):
        raise SetNotFound(f"The training text of the run '{run.name}' was changed since. Restore it.")
    for own, corpus in zip(recipe.chain, (*(one.corpus for one in texts.stages), texts.corpus), strict=True):
        if own.kind.learns():
            count = training_texts.drawn_count(own, corpus)
            yield from (corpora.drawn(corpus, count, seed) for seed in recipe.seeds)
