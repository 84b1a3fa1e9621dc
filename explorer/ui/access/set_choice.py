"""Evaluation sets to choose: their names in menus, which are on this disk, and cards that fetch the others."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import streamlit as st

from explorer.data import sample, sources, uploads
from explorer.data.graded import sets, sts
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, TRIPLETS, Kind
from explorer.errors import SetNotFound, StrataError
from explorer.evaluating.kinds import shipped
from explorer.progress import Progress, Work
from explorer.training.record import run_results
from explorer.ui import messages
from explorer.ui.access import cached_texts, jobs

FETCH = "Fetch {} from the hub"
NOT_HERE = "{} (not on this disk)"
NOT_ON_DISK = "{} is not on this disk. Fetch it from the hub, or set {}"
NOT_ON_HUB = "{} is not on this disk, and the hub does not have it. Set {}"
SCORED = (SCORED_PAIRS, PAIRS, TRIPLETS, LABELLED_TEXTS)  # kinds of rows that models can be scored on
READ_FOR_TRAINING = (SCORED_PAIRS, PAIRS, TRIPLETS)  # and by training, as dev and test set


def set_names() -> list[str]:
    """Every set on this disk by its name in the menu; published sets are also listed if they are not there."""
    named = [name for name in shipped() if name not in (sample.PROBE_PACKS, sources.QUORA)]
    files = map(sources.label, paths_of(*SCORED))
    return [sets.SAMPLE.written, *uploaded_sets(), *files, *test_rows(), *named, *sts.menu()]


def in_menu() -> Callable[[str], str]:
    """What names texts and sets in a menu that is not bound to the address: a published one says if it is not here."""
    here = sts.on_disk()

    def named(source: str) -> str:
        given, label = sources.identity(source), sources.label(source)
        away = given.kind == sets.SetKind.PUBLISHED and not any(
            name == given.name and given.piece in ("", split) for name, split in here
        )
        return NOT_HERE.format(label) if away else label

    return named


def uploaded_sets() -> list[str]:
    """The uploaded sets of scored pairs, newest first."""
    return [one.written for one in sets.kept_sets()]


def test_rows() -> list[str]:
    """The test rows of the latest runs that held some out."""
    return [one.written for one in run_results.latest_test_rows()]


def paths_of(*kinds: Kind) -> list[str]:
    """The paths of uploaded files that hold rows of some kinds, or a set of a kind with a format of its own."""
    return [path for path in uploads.paths() if kind_of(path) in kinds or cached_texts.has_own_format(path)]


def kind_of(path: str) -> Kind | None:
    """The kind of rows of an uploaded file; None of any other source, and if it cannot be read."""
    return cached_texts.kind_of_file(path) if uploads.name_of(path) else None


def evaluated_on(given: sets.SetIdentity, *, for_runs: bool = False) -> ItemSet | None:
    """An evaluation set of any kind, or `for_runs` of those that training reads; None, with the error, if not here."""
    with or_offered(*published(given)[-1:]):  # without a split it is the test split, the last one
        return cached_texts.graded_pairs(given) if given.is_scored else cached_texts.evaluated_on(given, for_runs)
    return None


def on_this_disk(given: sets.SetIdentity) -> bool:
    """Whether a set can be loaded without a network."""
    try:
        cached_texts.graded_pairs(given)
    except StrataError:
        return False
    return True


def published(given: sets.SetIdentity) -> tuple[sets.SetIdentity, ...]:
    """The published splits that a set is: one, all of a set without a split, or none."""
    if given.kind == sets.SetKind.PUBLISHED and given.piece:
        return (given,)
    return sets.published(given.name) if given.kind in (sets.SetKind.PUBLISHED, sets.SetKind.OTHER) else ()


@contextmanager
def or_offered(*splits: sets.SetIdentity) -> Iterator[None]:
    """Offer those of the published splits that are not on this disk, if that is the error; show any other one."""
    try:
        yield
    except SetNotFound as error:
        set_not_found(error, *splits)
    except StrataError as error:
        messages.trouble(error)


def text_or_offered(text: Sequence[sets.SetIdentity]) -> AbstractContextManager[None]:
    """Offer those of the published splits of a text that are not on this disk, if that is the error; show any other."""
    splits = (split for given in text for split in published(given))
    return or_offered(*dict.fromkeys(splits))


def set_not_found(error: SetNotFound, *splits: sets.SetIdentity) -> None:
    """A card for each published split that is not on this disk; the error, if it is about anything else."""
    missing = {}  # by name and split
    for split in splits:
        try:
            cached_texts.graded_pairs(split)
        except SetNotFound as why:
            missing[why.split] = split
        except StrataError:
            pass
    if error.split not in missing:
        messages.trouble(error)
    for split in missing.values():
        offer_set(split)


def offer_set(split: sets.SetIdentity) -> None:
    """A card for a published split that is not on this disk, with a button that fetches it if the hub has it."""
    title, found = split.title, sts.find_split(sts.find(split.name), split.piece)
    folder = f"`{sts.VARIABLE}` to a folder that has it as `{found.file}`."
    if not found.on_hub:
        st.info(NOT_ON_HUB.format(messages.plain(title), folder), icon=":material/database_off:")
        return

    def fetch() -> Work[None]:
        yield Progress("connecting to huggingface.co", 0, 0)
        sets.load(split, online=True)

    st.info(NOT_ON_DISK.format(messages.plain(title), folder), icon=":material/cloud_download:")
    offer(FETCH.format(title), fetch)


def offer(label: str, make: jobs.Make, icon: str = ":material/download:") -> None:
    """A button that starts a download; nothing is fetched without a click."""
    job = jobs.find(label)
    if job is not None and job.state != jobs.DONE:
        jobs.progress_of(job)
    elif st.button(messages.plain(label), icon=icon, key=label):
        jobs.forget(label)
        jobs.follow(label, label, make, lane=jobs.NETWORK)
        st.rerun()
