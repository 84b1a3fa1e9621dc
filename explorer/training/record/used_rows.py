"""Find the rows of a set that the runs of models have used: to train a model, or to choose its checkpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from explorer import run_folder
from explorer.data import corpora, shared_rows
from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import ItemSet
from explorer.data.shared_rows import UsedRows
from explorer.data.text_sets import Corpus
from explorer.encoding.locate import model_names
from explorer.errors import StrataError
from explorer.training.record import runs

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.training.recipe import Recipe

Places = frozenset[int]  # of rows in a set


def run_of(found: Found) -> runs.Run | None:
    """The run of a model or of a checkpoint; None for any other model."""
    name = run_folder.model_of(found.folder)
    if name is None:
        return None
    try:
        return runs.find(run_folder.run_and_checkpoint(name)[0])
    except StrataError:
        return None  # a folder without a recipe


def used(found: Iterable[Found], given: ItemSet, load: Callable[[SetIdentity], ItemSet]) -> UsedRows:
    """The items of a set that a model was trained on, or that chose its checkpoint; `load` reads a dev set."""
    every = in_training_text(found, given)
    for one in found:
        every |= replace(UsedRows.of_set(given), chosen=_in_dev(one, given, load))
    return every


def in_training_text(found: Iterable[Found], given: ItemSet) -> UsedRows:
    """The items of a set that a model was trained on, in its run or in that of its base."""
    every = UsedRows.of_set(given)
    for one in found:
        for run, checkpoint in _trainings(one):
            every |= _of_run(run, checkpoint, given)
    return every


def _of_run(run: runs.Run, checkpoint: str, given: ItemSet) -> UsedRows:
    """The items of a set that are in the training text of a run."""
    none = UsedRows.of_set(given)
    try:
        recipe = run.recipe()
    except StrataError:
        return replace(none, unknown=(run.name,))
    unchanged = not checkpoint and run.status().facts.nothing is not None  # the weights are those of its base
    if unchanged or not any(own.kind.learns() for own in recipe.chain):
        return none
    texts = _texts(run.name, repr(recipe), _stamps(recipe))
    if texts is None:
        return replace(none, unknown=(run.name,))
    trained, seen = texts.trained_on(given, _seed(run, recipe, checkpoint))
    return replace(none, trained=trained, seen=seen)


def _in_dev(found: Found, given: ItemSet, load: Callable[[SetIdentity], ItemSet]) -> Places:
    """The items of a set that are in the dev set that chose a model in its run."""
    none: Places = frozenset()
    run = run_of(found)
    if run is None or run_folder.model_of(found.folder) != run_folder.model_name(run.name):
        return none  # no model of a run, or a checkpoint, which the dev set does not choose
    verdict = run.status().verdict
    if verdict is None or verdict.dev is None or not verdict.dev.chose:
        return none
    with suppress(StrataError):  # the recipe cannot be read, or the dev set is no longer there
        recipe = run.recipe()
        known = recipe.digest_of("dev")
        if given.digest == known:
            return frozenset(range(len(given)))
        dev: ItemSet | None
        if recipe.dev.is_own_rows:
            texts = _texts(run.name, repr(recipe), _stamps(recipe))
            dev = None if texts is None else texts.dev
        else:
            dev = load(recipe.dev)
        if dev is not None and dev.digest == known:
            return shared_rows.places_in(dev, given)
    return none


def _trainings(found: Found) -> Iterator[tuple[runs.Run, str]]:
    """The run that made a model, then that of its base, and so on; each with its checkpoint, "" for its model."""
    passed, base = set(), found
    while (run := run_of(base)) is not None and run.name not in passed:
        passed.add(run.name)
        yield run, run_folder.run_and_checkpoint(run_folder.model_of(base.folder) or "")[1]
        try:
            before = _base(run.recipe())
        except StrataError:
            return
        if before is None:
            return
        base = before


def _base(recipe: Recipe) -> Found | None:
    """The model that a run began with, by its digest: under its name, or as the model of a run that was renamed."""
    digest = recipe.digest_of("model")
    renamed = (run_folder.model_name(one.name) for one in runs.every() if one.status().facts.model_digest == digest)
    for name in (recipe.model, *renamed):
        with suppress(StrataError):
            if (found := model_names.find(name)).digest == digest:
                return found
    return None


def _seed(run: runs.Run, recipe: Recipe, checkpoint: str) -> int:
    """The seed of the weights of a run, or of one of its checkpoints, as the loop keeps them."""
    if found := re.match(r"seed-(\d+)-", checkpoint):
        return int(found[1])
    scored = [one for one in run.status().results if one.selection_score is not None]
    if recipe.is_cross_fitted or not scored:
        return recipe.seeds[0]
    return max(scored, key=lambda one: one.selection_score or 0.0).seed


@dataclass(frozen=True, eq=False)
class _Texts:
    """What a run was trained on, and the dev set; with what was asked of it."""

    trained: tuple[tuple[Recipe, Corpus], ...]  # the rows of each training, of which a seed draws some
    dev: ItemSet
    answers: dict[tuple[str, int], tuple[Places, Places]] = field(default_factory=dict)

    def trained_on(self, given: ItemSet, seed: int) -> tuple[Places, Places]:
        """The items of a set that a seed trained on, and others whose sentences it did."""
        from explorer.training.loop.training_texts import drawn_count

        asked = given.digest, seed
        if asked not in self.answers:
            texts = (corpora.drawn(corpus, drawn_count(own, corpus), seed) for own, corpus in self.trained)
            self.answers[asked] = shared_rows.trained_on(texts, given)
        return self.answers[asked]


@lru_cache(maxsize=4)  # of both models that are compared, and of their bases
def _texts(name: str, recipe: str, stamps: Hashable) -> _Texts | None:
    """The texts of a run, which a page asks of whenever it is drawn; None if they are not what they were."""
    from explorer.training.loop import training_texts

    try:
        made = runs.find(name).recipe()
        texts = training_texts.read_texts(made)
    except StrataError:
        return None
    now = {"data_digest": texts.corpus.digest, **texts.stage_digests()}
    if any(made.made_with.get(what) != digest for what, digest in now.items()):
        return None
    every = zip(made.chain, (*(one.corpus for one in texts.stages), texts.corpus), strict=True)
    return _Texts(tuple((own, corpus) for own, corpus in every if own.kind.learns()), texts.dev)


def _stamps(recipe: Recipe) -> Hashable:
    """A value that changes when a text or an evaluation set of a run does."""
    named = [one for own in recipe.chain for one in own.data]
    judged = [one for one in (recipe.dev, *recipe.tests) if not one.is_own_rows]
    return tuple(corpora.stamp(one) for one in (*named, *judged))
