"""Which scores does the choice in the sidebar lead to, and what is shown on the way to them?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data import sets, sts
from explorer.data.kinds import GradedPairs
from explorer.encoding import finding
from explorer.encoding.finding import Found
from explorer.encoding.readings import Reading
from explorer.errors import HubUnreachable, SetNotFound, StrataError
from explorer.measuring.measure import measure, shelf_key
from explorer.measuring.scores import LayerScores
from explorer.progress import Progress, Work
from explorer.ui import cached, notices, work
from explorer.ui.controls import Choice


@dataclass(frozen=True)
class Shown:
    """An encoder, a set, what the one scored on the other, and the reading that is looked at."""

    found: Found
    pairs: GradedPairs
    scores: LayerScores
    reading: Reading


def shown(choice: Choice) -> Shown | None:
    """What the choice leads to; until it is there, what is in the way: an error, a question, progress."""
    found, pairs = _encoder(choice), _pairs(choice)
    if found is None or pairs is None:
        return None
    scores = _scores(found, pairs, choice)
    if scores is None:
        return None
    try:
        return Shown(found, pairs, scores, choice.reading_of(scores.last))
    except StrataError as error:
        notices.trouble(error)
        return None


def _scores(found: Found, pairs: GradedPairs, choice: Choice) -> LayerScores | None:
    # the folder too: what is wrong with one folder is not to be told of another that holds the same
    key = f"{found.folder} {shelf_key(found, pairs, choice.settings)}"
    scores = cached.kept_scores(found, pairs, choice.settings)
    if scores is not None:
        work.forget(key)  # its job holds the scores and the pairs a second time
        return scores
    job = work.follow(
        key,
        f"{found.name} on {pairs.name}",
        lambda: measure(found, pairs, choice.settings, load=cached.encoder),
    )
    if job.state == work.DONE:  # measured by this process, and not on the shelf: it cannot be written, or was emptied
        of_job: LayerScores = job.result
        return of_job
    notices.progress_of(job)
    return None


def _encoder(choice: Choice) -> Found | None:
    try:
        return choice.found()
    except HubUnreachable as error:
        notices.trouble(error)
        _offer(f"Fetch {choice.source} from the hub", lambda: finding.fetch(choice.source))
    except StrataError as error:
        notices.trouble(error)
    return None


def _pairs(choice: Choice) -> GradedPairs | None:
    try:
        return choice.pairs()
    except SetNotFound as error:
        notices.trouble(error)
        if choice.sts in sts.menu():
            _offer(f"Fetch {choice.sts} from the hub", lambda: _fetch_set(choice.sts))
    except StrataError as error:
        notices.trouble(error)
    return None


def _offer(label: str, make: work.Make) -> None:
    """A button that starts work on the network: never without being asked."""
    job = work.find(label)
    if job is not None and job.state != work.DONE:
        notices.progress_of(job)
    elif st.button(notices.plain(label), icon=":material/download:", key=label):
        work.forget(label)
        work.follow(label, label, make, lane=work.NETWORK)
        st.rerun()


def _fetch_set(name: str) -> Work[None]:
    yield Progress("asking huggingface.co", 0, 0)
    sets.by_name(name, online=True)
