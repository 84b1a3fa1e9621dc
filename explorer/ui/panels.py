"""Which scores does the choice in the sidebar lead to, and what is shown on the way to them?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data import sts
from explorer.data.kinds import GradedPairs
from explorer.encoding import finding
from explorer.encoding.finding import Found
from explorer.encoding.readings import Reading
from explorer.errors import HubUnreachable, SetNotFound, StrataError
from explorer.measuring.measured import layer_scores, shelf_key
from explorer.progress import Progress, Work
from explorer.measuring.scores import LayerScores
from explorer.ui import cached, notices, work
from explorer.ui.controls import Choice


@dataclass(frozen=True)
class Measured:
    """An encoder, a set, and what the one scored on the other."""

    found: Found
    pairs: GradedPairs
    scores: LayerScores
    reading: Reading


def measured(choice: Choice) -> Measured | None:
    """The scores of the choice; until there are any, what is in their way: an error, a question, progress."""
    found = _encoder(choice)
    pairs = _pairs(choice)
    if found is None or pairs is None:
        return None
    scores = cached.layer_scores(found, pairs, choice.settings)
    if scores is None:
        key = shelf_key(found, pairs, choice.settings)
        job = work.follow(
            key,
            f"{found.name} on {pairs.name}",
            lambda: layer_scores(found, pairs, choice.settings, load=cached.encoder),
        )
        notices.progress_of(job)
        return None
    try:
        reading = choice.reading_of(scores.last)
    except StrataError as error:
        notices.trouble(error)
        return None
    return Measured(found, pairs, scores, reading)


def _encoder(choice: Choice) -> Found | None:
    try:
        return choice.found()
    except HubUnreachable as error:
        notices.trouble(error)
        name = f"{choice.source}@{choice.revision}" if choice.revision else choice.source
        _offer(f"Fetch {name} from the hub", f"hub {name}", lambda: _fetch_encoder(choice))
    except StrataError as error:
        notices.trouble(error)
    return None


def _pairs(choice: Choice) -> GradedPairs | None:
    try:
        return choice.pairs()
    except SetNotFound as error:
        notices.trouble(error)
        if choice.sts in sts.menu():
            _offer(f"Fetch {choice.sts} from the hub", f"hub {choice.sts}", lambda: _fetch_set(choice.sts))
    except StrataError as error:
        notices.trouble(error)
    return None


def _offer(label: str, key: str, make: work.Make) -> None:
    """A button that starts work on the network: never without being asked."""
    job = work.find(key)
    if job is not None and job.state != work.DONE:
        notices.progress_of(job)
    elif st.button(label, icon=":material/download:"):
        work.forget(key)
        work.follow(key, label, make)
        st.rerun()


def _fetch_encoder(choice: Choice) -> Work[None]:
    yield Progress("asking huggingface.co", 0, 0)
    finding.find(choice.source, choice.revision, online=True)


def _fetch_set(name: str) -> Work[None]:
    yield Progress("asking huggingface.co", 0, 0)
    sts.load(*sts.name_and_split(name), online=True)
