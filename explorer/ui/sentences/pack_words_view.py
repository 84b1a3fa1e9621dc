"""Show what the words in which the pairs of a probe pack differ add to the cosine under A and B, on request."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer import in_words
from explorer.data.graded.probes import Pack
from explorer.data.kinds import digest_of
from explorer.measuring.scores.bootstrap import RESAMPLES
from explorer.measuring.sentences import word_tables
from explorer.measuring.sentences.pack_words import (
    PACKS,
    PackWords,
    PairSums,
    pack_word_rows,
    pack_words,
    pair_sums,
)
from explorer.progress import Progress, Work
from explorer.ui.access import cached, job_results, jobs
from explorer.ui.access.side_readers import Reader
from explorer.ui.widgets import downloads, segments

ALL = "all four"
SECONDS = 0.45  # of a pair under one model: the bundled encoder on two cores
STARTED = "_pack words started"
ABOUT = (
    "Mean over the pairs of a pack: what the words that only one of the two sentences has add to the cosine, together "
    "with every word of the other sentence, each pair of words once. The rest of the cosine is of the words that both "
    "sentences share. Low is good here: the pairs differ in meaning. Confidence interval: "
    f"{RESAMPLES:,} bootstrap resamples of the pairs."
)
HELP = "Integrated gradients of every pair. The time is that of the bundled encoder on two cores; others take longer."


def show(sides: tuple[Reader, ...], packs: tuple[Pack, ...]) -> None:
    """A button for a pack or all of them, then a sentence and a row for each pack that is computed."""
    st.subheader(word_tables.TITLE)
    by_name = {pack.name: pack for pack in packs if pack.name in PACKS}
    chosen: str = segments.chosen("Words that differ in", [ALL, *PACKS], default=ALL, key="word_pack")
    asked = [by_name[name] for name in (PACKS if chosen == ALL else (chosen,))]
    missing = [(pack, side) for pack in asked for side in sides if job_results.known(_key(pack, side)) is None]
    started: set[str] = st.session_state.setdefault(STARTED, set())
    keys = [_key(pack, side) for pack, side in missing]
    # another tab may have asked for it
    if missing and not any(key in started or jobs.find(key) for key in keys):
        seconds = in_words.duration(SECONDS * sum(len(pack) for pack, _ in missing))
        st.button(
            f"Weigh the words that differ (about {seconds})",
            on_click=started.update,
            args=(keys,),
            key="weigh pack words",
            icon=":material/play_arrow:",
            help=HELP,
        )
    else:
        _compute(missing)
    found = [of_pack for pack in asked if (of_pack := _known(pack, sides)) is not None]
    if found:
        _table(found, sides)


def _compute(missing: list[tuple[Pack, Reader]]) -> None:
    """One after another, each with its progress, so that Stop stops all of them."""
    for pack, side in missing:
        if job_results.made(_key(pack, side), f"Words of {pack.name}, {side.name}", partial(_read, pack, side)) is None:
            return


def _read(pack: Pack, side: Reader) -> Work[PairSums]:
    yield Progress(f"loading {side.found.name}", 0, 0)
    encoder = cached.attending(side.found)
    return (yield from pair_sums(encoder, pack, side.reading, max_length=side.settings.max_length))


def _key(pack: Pack, side: Reader) -> str:
    texts = digest_of((*pack.first, *pack.second))
    return f"pack words {side.found.digest} {texts} {side.reading.title} {side.settings.max_length}"


def _known(pack: Pack, sides: tuple[Reader, ...]) -> PackWords | None:
    known = {side.name: job_results.known(_key(pack, side)) for side in sides}
    return None if None in known.values() else pack_words(pack.name, known)


def _table(found: list[PackWords], sides: tuple[Reader, ...]) -> None:
    st.markdown("\n".join(f"- {one}" for one in found))
    st.dataframe(
        [_row(one) for one in found], hide_index=True, column_config={"pack": st.column_config.TextColumn(pinned=True)}
    )
    st.caption(ABOUT)
    stem = f"words of packs {' '.join(side.found.name for side in sides)}"
    downloads.rows(pack_word_rows(found), stem, "Words that differ (CSV)")


def _row(found: PackWords) -> dict[str, object]:
    """Numbers as text with their signs, as in the sentences."""
    means = found.sides | ({"change": found.change} if found.change else {})
    intervals = {
        f"95 % CI {name}": f"{in_words.signed(mean.low)} to {in_words.signed(mean.high)}"
        for name, mean in reversed(means.items())
    }
    return {"pack": found.name, **{name: in_words.signed(mean.value) for name, mean in means.items()}, **intervals}
