"""Show what the differences of two sentences cost, in a figure by layer, and their words coloured by what each adds."""

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from explorer import in_words, progress
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import pair_figures
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import PAD, Reading
from explorer.measuring.sentences import edit_tables, word_pairs
from explorer.measuring.sentences.edit_costs import EditCosts, costs_of, first_passes
from explorer.measuring.sentences.edits import Edited, between
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached_texts, jobs, loaded_encoders, sidebar_choice
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.widgets import downloads

AT_ONCE = 4  # edits: their subsets are 16 texts, encoded in less than the time of a redraw
LEGEND = "Blue raises the cosine, brown lowers it, grey adds little. Hover a word for its number."
# The words are text in markdown, escaped; the style sheet has numbers alone. A number is over its word when that is
# hovered, and always there for screen readers.
_LOOK = """
.st-key-{key} p { unicode-bidi: plaintext; text-align: start; overflow-wrap: anywhere; line-height: 1.75;
  padding-inline-end: 1rem; }
.st-key-{key} .stMarkdownColoredBackground { position: relative; padding: 0.1em 0.25em; }
.st-key-{key} .stMarkdownColoredBackground > span:last-child { position: absolute; left: 50%; bottom: 100%; opacity: 0;
  transform: translateX(-50%); pointer-events: none; user-select: none; white-space: nowrap; direction: ltr;
  unicode-bidi: isolate; padding: 0 0.3em; border-radius: 0.25rem; background: inherit; color: inherit; z-index: 1; }
.st-key-{key} .stMarkdownColoredBackground:hover > span:last-child { opacity: 1; }
"""
_WORD = (
    ".st-key-{key} :nth-child({place} of .stMarkdownColoredBackground) "
    "{{ background-color: {background} !important; color: {ink} !important; }}"
)


def edit_costs_of(sides: Sequence[Reader], first: str, second: str) -> dict[str, EditCosts] | None:
    """What the edits of two sentences cost, by side; empty if they have none, None with progress shown until known.

    Of many edits, or of long sentences, these are first costs, with their error, until `refined` has the words.
    """
    made = {side.name: _edit_costs(side, (first, second)) for side in sides}
    if any(costs is None for costs in made.values()):
        return None
    known = {name: costs[0] for name, costs in made.items() if costs}
    return known if len(known) == len(made) else {}


def refined(costs: dict[str, EditCosts] | None, pairs: Mapping[str, word_pairs.WordPair]) -> dict[str, EditCosts]:
    """The costs, or better ones that were computed with the words."""
    exact = {name: pair.edits for name, pair in pairs.items() if pair.edits is not None}
    return {name: exact.get(name, one) if one.errors is not None else one for name, one in (costs or {}).items()}


def _edit_costs(side: Reader, sentences: tuple[str, str]) -> tuple[EditCosts, ...] | None:
    """The costs, in a tuple that is empty if there are none; at once for few edits, which need no place in a queue."""
    length = side.settings.max_length
    edited = between(*sentences)
    if edited is None or not edited.edits:
        return ()
    kept = word_pairs.kept(word_pairs.key(side.found.digest, sentences, side.reading.title, PAD, length))
    if kept is not None and kept.edits is not None and kept.edits.edits == edited.edits:
        return (kept.edits,)  # the model need not be loaded
    if len(edited.edits) <= AT_ONCE:
        if sidebar_choice.attending(side.found) is None:
            return None  # it is being loaded
        return (computed(side.found, edited, side.reading, length),)

    def make() -> progress.Work[EditCosts]:
        yield progress.Progress(f"loading {side.found.name}", 0, 0)
        encoder = loaded_encoders.attending(side.found)
        passes = first_passes(encoder, edited, length)
        return (yield from costs_of(encoder, edited, side.reading, length, passes))

    key = f"edits {side.found.digest} {digest_of(sentences)} {side.reading.title} {length}"
    made = jobs.result(key, f"Comparing two sentences with {side.found.name}", make)
    return None if made is None else (made,)


@cached_texts.by_stamp(
    lambda found, edited, reading, length: (found.digest, digest_of((edited.first, edited.second)), reading.title), 32
)
def computed(_found: Found, _edited: Edited, _reading: Reading, length: int | None) -> EditCosts:
    """The costs of a few edits."""
    return progress.finish(costs_of(loaded_encoders.attending(_found), _edited, _reading, length))


def cost_by_layer(costs: Mapping[str, EditCosts], where: str = "", height: int | None = None) -> None:
    """What the differences cost in every layer, as a figure, and from which layer on A and B differ."""
    downloads.draw(
        pair_figures.cost_by_layer(costs),
        key=f"cost by layer {where}".rstrip(),
        config=downloads.config("differences"),
        height=height,
        alt="What the differences cost in every layer. The file of differences by layer has the numbers.",
    )
    if lines := edit_tables.notes(costs):
        st.caption(messages.plain(" ".join(lines)))


def coloured_words(
    sides: Sequence[Reader], pairs: Mapping[str, word_pairs.WordPair], sentences: tuple[str, str], where: str
) -> None:
    """Model and cosine, then both sentences, of each side; all have one colour scale. `where` is part of the keys."""
    most = pair_figures.largest(*pairs.values())
    rules = []
    for side in sides:
        pair, cosine = pairs[side.name], in_words.cosine(pairs[side.name].cosine)
        with st.container(gap=None):
            st.markdown(f"**{side.name}** {messages.plain(runs.model_title(side.found.name))}, cosine **{cosine}**")
            for number, (sentence, words, values) in enumerate(
                zip(sentences, pair.words, pair.contributions, strict=True), start=1
            ):
                key = "-".join(("coloured", *where.split(), side.name, str(number)))
                found, rest = pair_figures.coloured(sentence, words, values, most)
                pieces = []  # a directive for each word, in which its number follows; all texts are escaped
                for one in found:
                    pieces.append(_text(one.before))
                    pieces.append(f":gray-background[{_text(one.word)}:small[ {in_words.signed(one.value)}]]")
                with st.container(key=key):
                    st.markdown("".join((*pieces, _text(rest))).strip())
                rules.append(_LOOK.replace("{key}", key))
                rules += [
                    _WORD.format(key=key, place=place, background=one.background, ink=one.ink)
                    for place, one in enumerate(found, start=1)
                ]
    st.html(f"<style>{''.join(rules)}</style>")
    st.caption(LEGEND)


def _text(text: str) -> str:
    """Text on one line, escaped; a space at either end is kept."""
    return messages.plain(re.sub(r"\s+", " ", text)) if text.strip() else " " * bool(text)
