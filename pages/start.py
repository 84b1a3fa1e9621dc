"""What is Strata, which encoder is loaded, and where to go next?"""

import streamlit as st

from explorer.drawing import by_layer
from explorer.ui import about, bring, camera, controls, frame, panels

frame.enter()
choice = controls.chosen()
st.title("Strata")
st.write(
    "A sentence encoder is a stack of layers, and each of them, read under each pooling, knows something else "
    "about a sentence. Strata measures all of them at once. **Choose an encoder in the sidebar**: one that is on "
    "this disk, a hub id, or a folder. Nothing is sent anywhere, and no GPU is needed."
)

shown = panels.shown(choice)
if shown is not None:
    about.encoder(shown)
    st.subheader("What each layer knows")
    st.plotly_chart(
        by_layer.score_by_layer(shown.scores, "Spearman", "all", shown.reading),
        config=camera.config("by-layer"),
        alt="Spearman by layer, a line for each pooling. The Layers page holds the same numbers as a table.",
    )
    st.page_link("pages/layers.py", label="Look closer, and choose a reading", icon=":material/layers:")

st.subheader("Encoders on this disk")
about.on_disk(choice)

st.subheader("Your own graded pairs")
bring.own_pairs()
