"""Show two sentences in A and B: word by word, layer by layer and token by token."""

import numpy as np
import streamlit as st

from explorer import in_words, progress
from explorer.data.text_sets import digest_of
from explorer.drawing import style
from explorer.drawing.sentences import pair_figures
from explorer.encoding.read.pooling import PAD, POOLINGS
from explorer.measuring.sentences import sentence_pair
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.widgets import controls, cosine_meaning, downloads
from explorer.ui.widgets.pair_words import reference_control, show_words

TITLE = "Pair microscope"
PARTS = WORDS, LAYERS, TOKENS = "Words", "Layers", "Tokens"
ONE_TOKEN = (
    "no contributions, because {} is one token's state: the cosine is not a sum over tokens. Choose mean or max "
    "pooling in the sidebar to see contributions."
)
NO_SUCH_LAYER = "{} has no layer {}: its last layer is {}."
AS_CHOSEN = "as chosen"  # in the address: the pooling of the side's layer & pooling
COSINE = (
    "Cosine of the two sentence vectors, −1 to 1. Higher is more similar; compare it with random pairs of this model."
)


Pairs = dict[str, tuple[Reader, sentence_pair.TokenPair]]


def of_sides(sides: tuple[Reader, ...], first: str, second: str, where: str = "") -> None:
    """The part of the microscope that is chosen above it; `where` is part of the keys of words."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        part = controls.segments("Look at", PARTS, default=WORDS, key="pair_part")
        reference = reference_control() if part == WORDS else PAD
    if part == WORDS:
        show_words(sides, first, second, reference, where)
        return
    encoded = [(side, _token_pair(side, first, second)) for side in sides]
    pairs: Pairs = {side.name: (side, pair) for side, pair in encoded if pair is not None}
    if not pairs or len(pairs) < len(sides):
        return  # progress is shown
    for _, pair in pairs.values():
        messages.warn_of_cuts((first, second), pair.by_layer.cut, pair.by_layer.max_length)
    numbers = {name: pair for name, (_, pair) in pairs.items()}
    stem = f"pair {digest_of((first, second))[:8]}"
    if part == TOKENS:
        layers = _tokens(pairs)
        downloads.rows(sentence_pair.token_rows(numbers, layers), f"{stem} tokens", "Token similarity (CSV)")
        return
    _cosines(pairs, first, second)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        _by_layer(pairs)
    with right:
        _shares(pairs)
    with st.container(horizontal=True):
        downloads.rows(sentence_pair.layer_rows(numbers), f"{stem} layers", "By layer (CSV)")
        if shares := sentence_pair.share_rows(numbers):
            downloads.rows(shares, f"{stem} shares", "Token contributions (CSV)")


def _cosines(pairs: Pairs, first: str, second: str) -> None:
    """Both sentences, and their cosine under each side."""
    for sentence in (first, second):
        st.markdown(f"> {messages.plain(messages.shortened(sentence, 300))}")
    cards = st.container(horizontal=True)
    digits = in_words.cosine_digits(*(pair.cosine for _, pair in pairs.values()), digits=3)
    for name, (side, pair) in pairs.items():
        cosine = in_words.number(pair.cosine, digits)
        messages.number(cards, f"Cosine {name}", cosine, side.reading.title, border=True, help=COSINE)
    if len(pairs) == 2:
        change = in_words.gap(pairs["A"][1].cosine, pairs["B"][1].cosine, digits=digits)
        messages.number(
            cards,
            "B − A",
            in_words.signed(change, digits),
            "more similar in B" if change > 0 else "less similar in B" if change < 0 else "as similar in B",
            help="Change of the cosine. Good if it moves towards the meaning of the pair.",
            border=True,
        )
    for name, (_, pair) in pairs.items():
        if meaning := cosine_meaning.note(name, pair.cosine):
            st.caption(f"{name}: {meaning}")


def _token_pair(side: Reader, first: str, second: str) -> sentence_pair.TokenPair | None:
    def encode() -> progress.Work[sentence_pair.TokenPair]:
        yield progress.Progress(f"loading {side.found.name}", 0, 0)
        encoder = loaded_encoders.encoder(side.found, side.settings)
        return (yield from sentence_pair.token_pair(encoder, first, second, side.reading, side.settings.max_length))

    key = f"tokens {side.found.digest} {digest_of((first, second))} {side.reading.title} {side.settings}"
    return jobs.result(key, f"Encoding two sentences with {side.found.name}", encode)


def _by_layer(pairs: Pairs) -> None:
    st.markdown("**By layer**")
    chosen: str = controls.segments("Pooling", [AS_CHOSEN, *POOLINGS], default=AS_CHOSEN, key="pair_pooling")
    drawn = {}
    for name, (_, pair) in pairs.items():
        own = pair.pooled.pooling if pair.pooled else "mean"  # where maps follow its pooling
        drawn[name] = pair.by_layer, own if chosen == AS_CHOSEN else chosen, _layers(pair)
    downloads.draw(
        pair_figures.side_by_side(drawn),
        key="pair by layer",
        config=downloads.config("pair"),
        alt="The cosine of the two sentences by layer.",
    )


def _layers(pair: sentence_pair.TokenPair) -> tuple[int, ...]:
    """The layers that the side's vector is pooled from, if it is pooled from layers."""
    return pair.pooled.row.layers if pair.pooled else ()


def _shares(pairs: Pairs) -> None:
    st.markdown("**Contribution of each token's state to the cosine**")
    known = {name: (pair, pair.shares) for name, (_, pair) in pairs.items() if pair.shares is not None}
    same_tokens = len({pair.tokens for pair, _ in known.values()}) == 1
    for figure in [known] if same_tokens else [{name: one} for name, one in known.items()]:
        downloads.draw(
            pair_figures.token_shares(figure),
            key=f"shares {' '.join(figure)}",
            config=downloads.config("pair"),
            alt="The contribution of each token of either sentence to the cosine.",
        )
    for name, (side, pair) in pairs.items():
        if pair.shares is None:
            why = ONE_TOKEN.format(messages.plain(side.reading.title))
            if pair.pooled is None:
                why = (
                    "no contributions, because a dense layer follows the pooling: the cosine is not a sum over tokens."
                )
            elif np.isnan(pair.cosine):
                why = "no cosine, because a sentence's vector has length 0."
            st.info(f"{name}: {why}", icon=":material/block:")
    if known:
        st.caption(_meaning({pair.pooled.pooling for pair, _ in known.values() if pair.pooled}, pairs))


def _meaning(poolings: set[str], pairs: Pairs) -> str:
    parts = []
    if poolings - {"max"}:
        parts.append(
            "Bar: the inner product of a token's part of its sentence vector with the other sentence's vector, divided "
            "by both lengths."
        )
    if "max" in poolings:
        parts.append(
            "Under max pooling each dimension comes from one token. Bar: the part of the cosine from a token's "
            "dimensions."
        )
    parts.append(
        "The bars of either sentence sum to the cosine. In these states attention has already mixed the words."
    )
    for name, (_, pair) in pairs.items():
        if pair.shares is not None and any(pair.left_out):
            rest = [float(values[sentence_pair.MOST :].sum()) for values in pair.shares]
            parts.append(
                f"{name}: only the first {sentence_pair.MOST} tokens of each sentence are drawn; the others contribute "
                f"{' and '.join(in_words.signed(value, 3) for value in rest)}."
            )
    return " ".join(parts)


def _tokens(pairs: Pairs) -> dict[str, int]:
    """Cosines between tokens at a layer of each side; returns the layers."""
    st.markdown("**Token similarity**")
    most = max(len(pair.cosines) for _, pair in pairs.values())
    options = [AS_CHOSEN, *map(str, range(most))]
    chosen: str = controls.menu("Layer", options, default=AS_CHOSEN, key="token_layer", width=190)
    layers = {
        name: (_layers(pair) or (len(pair.cosines) - 1,))[-1] if chosen == AS_CHOSEN else int(chosen)
        for name, (_, pair) in pairs.items()
    }
    there = {name: layer for name, layer in layers.items() if layer < len(pairs[name][1].cosines)}
    columns = st.columns(2, gap="medium")
    for column, (name, (side, pair)) in zip(columns, pairs.items(), strict=False):
        with column:
            if name not in there:
                st.info(NO_SUCH_LAYER.format(name, chosen, len(pair.cosines) - 1), icon=":material/block:")
                continue
            st.markdown(f"**{name}** {messages.plain(runs.model_title(side.found.name))}, layer {there[name]}")
            downloads.draw(
                pair_figures.token_by_token(pair, there[name]),
                key=f"tokens {name}",
                config=downloads.config("pair"),
                alt=f"{name}: cosines of the tokens of the first sentence and those of the second.",
            )
    caption = "Rows: tokens of the first sentence; columns: tokens of the second. "
    caption += f"Colour: cosine of their hidden states, from {in_words.interval(*style.COSINE_RANGE)}."
    left_out = [
        f"{name} {' and '.join(map(str, pair.left_out))}" for name, (_, pair) in pairs.items() if any(pair.left_out)
    ]
    if left_out:
        caption += f" Only the first {sentence_pair.MOST} tokens of each are shown; left out: {', '.join(left_out)}."
    st.caption(caption)
    return there
