"""Show how often A and B distinguish a paraphrase from a change of meaning, and which words differ in the packs."""

from functools import partial

import streamlit as st

from explorer import in_words, progress
from explorer.data import sample, text_sets
from explorer.drawing.sentences import pair_figures
from explorer.measuring.scores.bootstrap import RESAMPLES
from explorer.measuring.sentences import probe_cosines, word_tables
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders, sidebar_choice
from explorer.ui.widgets import controls, cosine_meaning, downloads, microscope

COSINE = "Cosine of the two sentences, −1 to 1. Higher is more similar."
GOOD = "Share of cases in which a paraphrase has a higher cosine than a pair with different meaning. Higher is better."
ALL = "all four"
PARTS = PACKS, WORDS, PAIRS = "Packs", "Words that differ", "Pairs"
TALL = 300  # pixels of the table of pairs, above the microscope
SECONDS = 0.45  # of a pair under one model: the bundled encoder on two cores
STARTED = "_pack words started"
ABOUT_WORDS = (
    "Mean over the pairs of a pack: what the words that only one of the two sentences has add to the cosine, together "
    "with every word of the other sentence, each pair of words once. The rest of the cosine is of the words that both "
    "sentences share. Low is good here: the pairs differ in meaning. Confidence interval: "
    "Student's t over the pairs."
)
WEIGH_HELP = (
    "Integrated gradients of every pair. The time is that of the bundled encoder on two cores; others take longer."
)


def show(sides: tuple[sidebar_choice.Reader, ...]) -> None:
    """The shares, the bars of every pack, the pairs, and the microscope for a selected pair."""
    packs = sample.probe_packs()
    made = [(side.name, side.vectors(probe_cosines.sentences_of(packs))) for side in sides]
    known = {name: probe_cosines.probed(packs, vectors) for name, vectors in made if vectors is not None}
    if len(known) < len(sides):
        return  # progress is shown
    one, other = known["A"], known.get("B")
    st.markdown(" · ".join(side.title for side in sides))
    part = controls.segments("Part", PARTS, default=PACKS, key="probe_part", label_visibility="collapsed")
    if part == PAIRS:
        _pairs(sides, one, other)
        return
    if part == WORDS:
        _words(sides, packs)
        return
    cards = st.container(horizontal=True)
    for name, side in known.items():
        share = side.distinguished_from_all()
        interval = f"95 % CI {in_words.interval(100 * share.low, 100 * share.high, digits=0)} %, chance 50 %"
        messages.number(cards, f"Distinguished by {name}", str(share), interval, border=True, help=GOOD)
    different = sum(len(pack) for pack in one.packs if not pack.same)
    alike = len(one.of(sample.PARAPHRASE))
    st.caption(
        f"Share of the {alike * different:,} cases, each a paraphrase and a pair with different meaning, in which the "
        "paraphrase has the higher cosine. Higher is better; 50 % is chance. "
        f"This is a probe of {alike + different} pairs, not a benchmark."
    )
    downloads.draw(
        pair_figures.packs_side_by_side(known),
        key="probes",
        config=downloads.config("probes"),
        alt="Mean cosine of every pack. The table below has the numbers.",
    )
    st.caption(
        "Bar: mean cosine of a pack. Point: one pair. Good: high bars left of the line (same meaning), low bars right "
        "of it (different meaning). The opposite means that the model compares words, not meaning."
    )
    _packs(one, other)


def _packs(probed_a: probe_cosines.Probed, probed_b: probe_cosines.Probed | None) -> None:
    of_cases = st.column_config.TextColumn(alignment="right", help=f"{GOOD} 50 % is chance.")
    number = st.column_config.NumberColumn(
        format="%.3f",
        help="−1 to 1. High is good for pairs with the same meaning, low for pairs with different meaning.",
    )
    sides = [(name, side) for name, side in (("A", probed_a), ("B", probed_b)) if side is not None]
    rows = [
        # shares as text: a browser rounds halves another way than the sentences below
        {**row, "about": pack.about}
        | {f"distinguished {name}": None if pack.same else str(side.distinguished(pack.name)) for name, side in sides}
        for row, pack in zip(probe_cosines.pack_rows(probed_a, probed_b), probed_a.packs, strict=True)
    ]
    st.dataframe(
        rows,
        hide_index=True,
        column_order=["pack", "about", *(key for key in rows[0] if key not in ("pack", "about", "pairs"))],
        column_config={
            "about": st.column_config.TextColumn(width="medium"),
            **{f"mean cosine {name}": number for name, _ in sides},
            **{f"distinguished {name}": of_cases for name, _ in sides},
        },
        placeholder=messages.MISSING,
    )
    st.markdown(
        "\n".join(
            f"- **{pack.name}**: "
            + " ".join(probe_cosines.verdict(name, pack.name, side.distinguished(pack.name)) for name, side in sides)
            for pack in probed_a.packs
            if not pack.same
        )
    )
    same = " and ".join(pack.name for pack in probed_a.packs if pack.same)
    st.caption(
        f"Confidence interval: {RESAMPLES:,} bootstrap resamples of the pairs. "
        f"{messages.MISSING}: pairs of {same} have the same meaning, so there is nothing to distinguish."
    )


def _pairs(
    sides: tuple[sidebar_choice.Reader, ...], probed_a: probe_cosines.Probed, probed_b: probe_cosines.Probed | None
) -> None:
    names = [pack.name for pack in probed_a.packs]
    name: str = controls.segments("Pack", names, default="negation", key="pack")
    every = probe_cosines.pair_rows(probed_a, probed_b)
    rows = [row for row in every if row["pack"] == name]
    number = st.column_config.NumberColumn(format="%.3f", help=COSINE)
    event = st.dataframe(
        [
            cosine_meaning.columns({key: value for key, value in row.items() if key not in ("pack", "meaning")})
            for row in rows
        ],
        hide_index=True,
        height=TALL,
        key=f"pairs of {name}",
        on_select="rerun",
        selection_mode="single-row",
        column_config=dict.fromkeys(("cosine A", "cosine B"), number) | {"B - A": number | {"label": "B − A"}},
        placeholder=messages.MISSING,
    )
    downloads.rows(every, f"probes {' '.join(side.found.name for side in sides)}", "Probes (CSV)")
    st.subheader(microscope.TITLE)
    chosen = event["selection"]["rows"]
    if not chosen:
        st.caption("Select a row of the table to see its pair token by token.")
        return
    row = rows[chosen[0]]
    microscope.of_sides(sides, str(row["first"]), str(row["second"]))


def _words(sides: tuple[sidebar_choice.Reader, ...], packs: tuple[sample.Pack, ...]) -> None:
    """A button for a pack or all of them, then a sentence and a row for each pack that is computed."""
    st.subheader(word_tables.TITLE)
    by_name = {pack.name: pack for pack in packs if pack.name in probe_cosines.PACKS}
    chosen: str = controls.segments("Words that differ in", [ALL, *probe_cosines.PACKS], default=ALL, key="word_pack")
    wanted = [by_name[name] for name in (probe_cosines.PACKS if chosen == ALL else (chosen,))]
    missing = [(pack, side) for pack in wanted for side in sides if jobs.known(_key(pack, side)) is None]
    started: set[str] = st.session_state.setdefault(STARTED, set())
    keys = [_key(pack, side) for pack, side in missing]
    # another tab may have started it
    if missing and not any(key in started or jobs.find(key) for key in keys):
        seconds = in_words.duration(SECONDS * sum(len(pack) for pack, _ in missing))
        st.button(
            f"Weigh the words that differ (about {seconds})",
            on_click=started.update,
            args=(keys,),
            key="weigh pack words",
            icon=":material/play_arrow:",
            help=WEIGH_HELP,
        )
    else:
        for pack, side in missing:  # one after another, each with its progress, so that Stop stops all of them
            work = partial(_sums, pack, side)
            if jobs.result(_key(pack, side), f"Words of {pack.name}, {side.name}", work) is None:
                break
    found = []
    for pack in wanted:
        known = {side.name: jobs.known(_key(pack, side)) for side in sides}
        if None not in known.values():
            found.append(probe_cosines.pack_words(pack.name, known))
    if found:
        _words_table(found, sides)


def _sums(pack: sample.Pack, side: sidebar_choice.Reader) -> progress.Work[probe_cosines.PairSums]:
    yield progress.Progress(f"loading {side.found.name}", 0, 0)
    encoder = loaded_encoders.attending(side.found)
    return (yield from probe_cosines.pair_sums(encoder, pack, side.reading, max_length=side.settings.max_length))


def _key(pack: sample.Pack, side: sidebar_choice.Reader) -> str:
    texts = text_sets.digest_of((*pack.first, *pack.second))
    return f"pack words {side.found.digest} {texts} {side.reading.title} {side.settings.max_length}"


def _words_table(words: list[probe_cosines.PackWords], sides: tuple[sidebar_choice.Reader, ...]) -> None:
    st.markdown("\n".join(f"- {one}" for one in words))
    rows = []
    for one in words:  # numbers as text with their signs, as in the sentences
        intervals = {f"95 % CI {name}": ends for name, (_, ends) in reversed(one.written.items())}
        rows.append({"pack": one.name, **{name: mean for name, (mean, _) in one.written.items()}, **intervals})
    st.dataframe(rows, hide_index=True, column_config={"pack": st.column_config.TextColumn(pinned=True)})
    st.caption(ABOUT_WORDS)
    stem = f"words of packs {' '.join(side.found.name for side in sides)}"
    downloads.rows(probe_cosines.pack_word_rows(words), stem, "Words that differ (CSV)")
